// SPDX-License-Identifier: MIT

//! Tests of the crate's promises, over the backend that TWHEEL_BACKEND names.

#![deny(unsafe_code)]

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::os::unix::io::{AsRawFd, FromRawFd, OwnedFd};
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::pin::Pin;
use std::rc::Rc;
use std::sync::atomic::{AtomicU32, Ordering::SeqCst};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};
use twheel::{Backend, Clock, Config, Loop, Queue, Resolve, Result, Timer};

const MS: Duration = Duration::from_millis(1);

fn ms(n: u32) -> Duration {
    MS * n
}

fn new() -> Loop {
    let wheel = Loop::new().unwrap();
    let device = std::env::var("TWHEEL_BACKEND").as_deref() == Ok("device");
    assert_eq!(wheel.backend(), if device { Backend::Device } else { Backend::User });
    wheel
}

/// Waits for the whole time, whatever expires; fails if that fails.
fn wait_for(wheel: &Loop, time: Duration) {
    let end = Instant::now() + time;
    while Instant::now() < end {
        wheel.wait(Some(end - Instant::now())).unwrap();
    }
}

/// A counter, and a callback that counts.
fn counter() -> (Rc<Cell<u32>>, impl FnMut(u64) + Clone) {
    let count = Rc::new(Cell::new(0));
    let counted = count.clone();
    (count, move |n| counted.set(counted.get() + n as u32))
}

#[test]
fn a_timer_expires_once_and_not_early() {
    let wheel = new();
    let (count, callback) = counter();
    let timer = Box::pin(Timer::new(&wheel, callback)); // it may be pinned anywhere
    for delay in [0, 1, 7, 50] {
        wheel.update();
        let began = Instant::now();
        timer.as_ref().start(ms(delay)).unwrap();
        assert!(timer.remaining().unwrap() <= ms(delay));
        wheel.run().unwrap();
        assert!(began.elapsed() >= ms(delay));
    }
    assert_eq!((count.get(), timer.remaining()), (4, None));
}

#[test]
fn timers_repeat_and_start_again() {
    let wheel = new();
    let (count, callback) = counter();
    let timer = wheel.timer(callback);
    timer.as_ref().repeat(ms(10), ms(10)).unwrap();
    wheel.flush().unwrap();
    std::thread::sleep(ms(55));
    wheel.wait(None).unwrap();
    assert!(count.get() >= 5);
    assert!(timer.stop().unwrap());
    count.set(0);
    timer.as_ref().again(ms(20)).unwrap();
    timer.as_ref().again(ms(60_000)).unwrap();
    assert_eq!(wheel.wait(Some(ms(30))).unwrap(), 0); // it was put off
    timer.as_ref().again(MS).unwrap();
    wheel.run().unwrap(); // once, as it was stopped
    timer.as_ref().again(MS).unwrap();
    wheel.run().unwrap();
    assert_eq!(count.get(), 2);
    timer.as_ref().start(ms(3_600_000)).unwrap();
    timer.as_ref().again(MS).unwrap();
    timer.as_ref().again(None).unwrap();
    assert!(timer.remaining().unwrap() > ms(3_000_000));
    timer.as_ref().repeat(MS, ms(3_600_000)).unwrap();
    timer.set_interval(Duration::ZERO).unwrap();
    wheel.run().unwrap();
    assert_eq!(count.get(), 3);
}

#[test]
fn what_is_stopped_or_dropped_is_not_called() {
    let wheel = new();
    let (count, callback) = counter();
    let (stopped, dropped) = (wheel.timer(callback), wheel.timer(|_| panic!("dropped")));
    stopped.as_ref().start(MS).unwrap();
    dropped.as_ref().start(MS).unwrap();
    wheel.flush().unwrap();
    std::thread::sleep(ms(5));
    assert!(stopped.stop().unwrap());
    assert!(!stopped.stop().unwrap());
    drop(dropped);
    wait_for(&wheel, ms(10));
    assert_eq!(count.get(), 0);
}

#[test]
fn a_callback_may_drop_its_timer_and_others() {
    let wheel = new();
    let own = Rc::new(RefCell::new(Vec::new()));
    let count = Rc::new(Cell::new(0));
    for _ in 0..100 {
        let (all, count, text) = (own.clone(), count.clone(), String::from("alive"));
        let timer = wheel.timer(move |_| {
            all.borrow_mut().clear();
            assert_eq!(text, "alive"); // the closure outlives its timer
            count.set(count.get() + 1);
        });
        timer.as_ref().repeat(MS, MS).unwrap();
        own.borrow_mut().push(timer);
    }
    wait_for(&wheel, ms(10));
    assert_eq!(count.get(), 1);
}

#[test]
fn a_panic_comes_out_of_wait_and_the_others_are_called() {
    let wheel = new();
    let (count, callback) = counter();
    let (bad, good) = (wheel.timer(|_| panic!("as it should")), wheel.timer(callback));
    for round in 1..3 {
        bad.as_ref().start(MS).unwrap();
        good.as_ref().start(MS).unwrap();
        let mut panics = 0;
        while panics == 0 || count.get() < round {
            let caught = catch_unwind(AssertUnwindSafe(|| wheel.wait(Some(ms(10))).unwrap()));
            panics += caught.is_err() as u32;
        }
        assert_eq!((panics, count.get()), (1, round));
    }
}

#[test]
fn other_threads_post() {
    let wheel = new();
    let sum = Arc::new(AtomicU32::new(0));
    let threads: Vec<_> = (0..3).map(|_| (wheel.poster(), sum.clone())).map(|(poster, sum)| {
        std::thread::spawn(move || for _ in 0..1000 {
            let sum = sum.clone();
            poster.post(move |_| { sum.fetch_add(1, SeqCst); }).unwrap();
        })
    }).collect();
    while sum.load(SeqCst) < 3000 {
        wheel.wait(None).unwrap();
    }
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    let poster = wheel.poster();
    poster.post(|_| panic!("posted")).unwrap();
    assert!(catch_unwind(AssertUnwindSafe(|| wheel.wait(None))).is_err());
    drop(wheel);
    assert!(poster.post(|_| ()).is_err());
}

#[test]
fn run_ends_when_no_timer_is_left_or_at_stop() {
    let wheel = new();
    let (count, callback) = counter();
    let (timer, often) = (wheel.timer(callback), wheel.timer(|_| ()));
    often.as_ref().repeat(ms(10_000), MS).unwrap();
    often.set_unref(true).unwrap();
    timer.as_ref().start(ms(5)).unwrap();
    assert_eq!(wheel.count().unwrap(), 1);
    wheel.run().unwrap();
    assert_eq!((count.get(), wheel.count().unwrap()), (1, 0));
    often.set_unref(false).unwrap();
    let poster = wheel.poster();
    std::thread::spawn(move || poster.post(|wheel| wheel.stop()).unwrap()).join().unwrap();
    wheel.run().unwrap();
    wheel.stop();
    wheel.run().unwrap(); // it ends at once
    often.set_unref(true).unwrap();
    timer.as_ref().again(MS).unwrap();
    wheel.run().unwrap();
    assert!(count.get() == 2 && often.stop().unwrap());
}

mod c {
    pub type Thread = usize;
    extern "C" {
        pub fn signal(number: i32, handler: extern "C" fn(i32)) -> usize;
        pub fn pthread_self() -> Thread;
        pub fn pthread_kill(thread: Thread, number: i32) -> i32;
        pub fn fork() -> i32;
        pub fn _exit(status: i32) -> !;
        pub fn waitpid(pid: i32, status: *mut i32, options: i32) -> i32;
    }
}

/// Interrupts what this thread is waiting for, several times.
#[allow(unsafe_code)]
fn interrupt_later() -> std::thread::JoinHandle<()> {
    extern "C" fn nothing(_: i32) {}
    let waiting = unsafe {
        c::signal(10, nothing); // SIGUSR1
        c::pthread_self()
    };
    std::thread::spawn(move || for _ in 0..3 {
        std::thread::sleep(ms(20));
        unsafe { c::pthread_kill(waiting, 10) };
    })
}

#[test]
fn a_signal_ends_neither_run_nor_the_wait_for_a_value() {
    let wheel = new();
    let (count, callback) = counter();
    let (timer, signals) = (wheel.timer(callback), interrupt_later());
    timer.as_ref().start(ms(100)).unwrap();
    wheel.run().unwrap();
    assert_eq!(count.get(), 1);
    signals.join().unwrap();
    let mut queue = Queue::new(&wheel);
    queue.push(1, ms(100)).unwrap();
    let signals = interrupt_later();
    assert_eq!(queue.next().unwrap().unwrap(), 1);
    signals.join().unwrap();
    let signals = interrupt_later();
    let error = wheel.wait(Some(ms(10_000))).unwrap_err();
    assert_eq!(std::io::Error::from(error).kind(), std::io::ErrorKind::Interrupted);
    signals.join().unwrap();
}

#[test]
#[allow(unsafe_code)] // fork
fn a_child_cannot_post() {
    let wheel = new();
    let (poster, sum) = (wheel.poster(), Arc::new(AtomicU32::new(0)));
    for is_pending in [false, true] {
        let child = match unsafe { c::fork() } {
            0 => unsafe { c::_exit((code(poster.post(|_| ())) != 130) as i32) }, // EOWNERDEAD
            child => child,
        };
        let mut status = -1;
        assert_eq!(unsafe { c::waitpid(child, &mut status, 0) }, child);
        assert_eq!(status, 0, "is_pending: {}", is_pending);
        let sum = sum.clone();
        poster.post(move |_| { sum.fetch_add(1, SeqCst); }).unwrap();
    }
    wheel.wait(None).unwrap();
    assert_eq!(sum.load(SeqCst), 2);
}

/// The timers of a process, by their numbers; it does not know others.
fn adopt(wheel: OwnedFd, numbers: &[u64]) -> Result<(Loop, Rc<Cell<u32>>, Timers)> {
    let ((count, callback), timers) = (counter(), Timers::default());
    let (known, numbers) = (Rc::downgrade(&timers), numbers.to_vec());
    let resolve: Rc<Resolve> = Rc::new(move |wheel, number| {
        let make = || Rc::pin(Timer::new(wheel, callback.clone()));
        let known = known.upgrade()?;
        let mut known = known.borrow_mut();
        numbers.contains(&number).then(|| known.entry(number).or_insert_with(make).clone())
    });
    let config = Config { resolve: Some(resolve), ..Default::default() };
    Ok((Loop::adopt(wheel, &config)?, count, timers))
}

type Timers = Rc<RefCell<HashMap<u64, Pin<Rc<Timer>>>>>;

#[test]
#[allow(unsafe_code)] // a descriptor that was passed on
fn timers_outlive_their_process() {
    let null = || std::fs::File::open("/dev/null").unwrap().into();
    assert_eq!(code(adopt(null(), &[])), 19); // ENODEV
    if new().backend() == Backend::User {
        return;
    }
    let resolve: Option<Rc<Resolve>> = Some(Rc::new(|_, _| None));
    let config = Config { clock: Clock::Tai, resolve, ..Default::default() };
    let wheel = Loop::with(&config).unwrap();
    let make = |number, delay| {
        let timer = wheel.timer(|_| panic!("of the previous process"));
        timer.set_data(number);
        timer.as_ref().start(delay).unwrap();
        timer
    };
    let old = [make(7, MS), make(8, ms(3_600_000)), make(9, ms(10))];
    wheel.flush().unwrap();
    let passed_on = unsafe { OwnedFd::from_raw_fd(wheel.as_raw_fd()) };
    std::mem::forget((old, wheel)); // dropping a timer stops it, but a process just ends
    let (wheel, count, timers) = adopt(passed_on, &[7, 8]).unwrap();
    wait_for(&wheel, ms(30));
    assert_eq!((count.get(), wheel.count().unwrap()), (1, 1));
    let later = timers.borrow()[&8].clone();
    assert!(later.remaining().unwrap() > ms(3_000_000));
    later.as_ref().again(MS).unwrap();
    wheel.run().unwrap();
    assert_eq!(count.get(), 2);
    let info = format!("/proc/self/fdinfo/{}", wheel.as_raw_fd());
    timers.borrow_mut().clear();
    drop((wheel, later));
    assert!(std::fs::metadata(&info).is_err(), "the loop is gone, and its descriptor is not");
}

#[test]
fn a_callback_cannot_wait() {
    let wheel = new();
    let seen = Rc::new(Cell::new(false));
    let (inner, noted) = (wheel.clone(), seen.clone());
    let timer = wheel.timer(move |_| {
        noted.set(inner.wait(None).is_err() && inner.dispatch().is_err() && inner.run().is_err());
        inner.flush().unwrap();
    });
    timer.as_ref().repeat(MS, MS).unwrap();
    wheel.wait(None).unwrap();
    assert!(seen.get());
}

#[test]
fn timers_may_outlive_their_loop_and_be_forgotten() {
    let timer = new().timer(|_| panic!("dropped"));
    timer.as_ref().start(Duration::ZERO).unwrap();
    assert!(timer.stop().unwrap());
    timer.as_ref().again(MS).unwrap();
    drop(timer);
    let wheel = new();
    let timer = wheel.timer(|_| ());
    timer.as_ref().start(MS).unwrap();
    std::mem::forget(timer);
    assert_eq!(wheel.wait(None).unwrap(), 1);
}

fn code<T>(result: Result<T>) -> i32 {
    result.err().and_then(|error| error.cause.raw_os_error()).unwrap_or(0)
}

#[test]
fn bad_input_is_an_error() {
    const EINVAL: i32 = 22;
    let wheel = new();
    let timer = wheel.timer(|_| ());
    let error = timer.as_ref().again(MS).unwrap_err();
    assert_eq!(error.to_string(), "twheel_again: Invalid argument (os error 22)");
    assert_eq!(code(timer.as_ref().repeat(MS, Duration::ZERO)), EINVAL);
    timer.as_ref().start(Duration::MAX).unwrap();
    timer.as_ref().start(MS).unwrap();
    assert!(timer.stop().unwrap());
    if wheel.backend() == Backend::User {
        let config = Config { backend: Backend::Device, ..Config::default() };
        assert_eq!(code(Loop::with(&config)), 2); // ENOENT
    }
    for config in [
        Config { clock: Clock::Tai, backend: Backend::User, ..Config::default() },
        Config { tick: Duration::from_nanos(1), ..Config::default() },
        Config { wheel_size: 1, ..Config::default() },
    ] {
        assert_eq!(code(Loop::with(&config)), EINVAL);
    }
    assert_eq!(wheel.wait(Some(Duration::ZERO)).unwrap(), 0);
}

#[test]
fn clocks_and_sizes() {
    let config = Config { wheel_size: 3, tick: ms(20), kernel: true, ..Config::default() };
    for (clock, is_calendar) in [(Clock::Boottime, false), (Clock::Realtime, true)] {
        let wheel = Loop::with(&Config { clock, ..config.clone() }).unwrap();
        let (count, callback) = counter();
        let timer = wheel.timer(callback);
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap();
        assert_eq!(wheel.now() > now - ms(10_000), is_calendar);
        timer.as_ref().start_at(wheel.now() + ms(3_600_000)).unwrap();
        assert!(timer.remaining().unwrap() > ms(3_000_000));
        assert!(timer.as_ref().again(None).is_err()); // it had no delay
        timer.as_ref().start(MS).unwrap();
        wheel.run().unwrap();
        assert_eq!(count.get(), 1);
    }
}

#[test]
fn a_clock_of_the_programs_own() {
    let config = Config { clock: Clock::Manual, ..Config::default() };
    let wheel = Loop::with(&config).unwrap();
    let (count, callback) = counter();
    let (timer, inner) = (wheel.timer(callback), wheel.clone());
    let often = wheel.timer(move |_| assert!(inner.advance(MS).is_err()));
    assert_eq!(wheel.timeout().unwrap(), None);
    timer.as_ref().start(ms(3_600_000)).unwrap();
    often.as_ref().repeat(ms(600_000), ms(600_000)).unwrap();
    assert_eq!(wheel.timeout().unwrap(), Some(ms(600_000)));
    assert_eq!(wheel.advance(ms(3_599_999)).unwrap(), 5);
    assert_eq!((wheel.now(), count.get()), (ms(3_599_999), 0));
    assert_eq!(wheel.advance(MS).unwrap(), 2);
    assert_eq!(count.get(), 1);
    assert!(wheel.wait(None).is_err() && new().advance(MS).is_err() && new().timeout().is_err());
}

#[test]
fn no_timer_is_lost_at_a_limit() {
    let wheel = Loop::with(&Config { max_timers: 10, ..Config::default() }).unwrap();
    let (count, callback) = counter();
    let timers: Vec<_> = (0..100).map(|_| wheel.timer(callback.clone())).collect();
    for (timer, i) in timers.iter().zip(1..) {
        timer.as_ref().start(ms(i % 20)).unwrap();
    }
    assert_eq!(code(wheel.flush()), 28); // ENOSPC
    while count.get() < 100 {
        assert!([0, 28].contains(&code(wheel.wait(Some(ms(10))))));
    }
    // In a loop of the program's own, too, the error comes again until there is room.
    let wheel = Loop::with(&Config { max_timers: 1, timed: true, ..Config::default() }).unwrap();
    let timers = [ms(60_000), MS].map(|delay| (wheel.timer(callback.clone()), delay));
    timers.iter().for_each(|(timer, delay)| timer.as_ref().start(*delay).unwrap());
    for _ in 0..3 {
        assert_eq!(code(wheel.timeout()), 28);
        wheel.dispatch().unwrap();
    }
    assert!(timers[0].0.stop().unwrap());
    std::thread::sleep(wheel.timeout().unwrap().unwrap());
    wheel.dispatch().unwrap();
    assert_eq!(count.get(), 101);
}

#[test]
fn a_queue_returns_values_in_their_order() {
    let wheel = new();
    let mut queue = Queue::new(&wheel);
    assert!(queue.next().is_none());
    // Their order holds on a busy machine, too: it stalls for less than 200 ms between two pushes.
    let later_by = |n: u32| ms(20 * n);
    let push = |n| queue.push(n, later_by(n)).unwrap();
    push(30);
    let (expired, later, gone) = (push(10), push(5), push(15));
    push(20);
    assert!(queue.reset(later, later_by(60)).unwrap());
    assert_eq!(queue.remove(gone).unwrap(), Some(15));
    assert_eq!(queue.remove(gone).unwrap(), None);
    assert!(!queue.reset(gone, MS).unwrap());
    push(40);
    push(50);
    while wheel.dispatch().unwrap() == 0 { std::thread::sleep(later_by(35)) } // three at once
    assert!(!queue.reset(expired, MS).unwrap());
    assert_eq!(queue.remove(expired).unwrap(), Some(10));
    assert_eq!(queue.len(), 5);
    let all: Vec<u32> = queue.by_ref().map(|value| value.unwrap()).collect();
    assert_eq!((all, queue.len()), (vec![20, 30, 40, 50, 5], 0));
}

#[test]
fn a_queue_may_change_while_next_waits() {
    let wheel = new();
    let mut queue = Queue::new(&wheel);
    let last = queue.push(1, ms(60_000)).unwrap();
    let (other, removed) = (queue.clone(), Rc::new(Cell::new(None)));
    let (result, mut later, mut step) = (removed.clone(), None, 0);
    // Adds an earlier value, brings one forward, and removes the last one.
    let act = wheel.timer(move |_| {
        match (step, other.len()) {
            (0, 1) => {
                later = Some(other.push(2, ms(120_000)).unwrap());
                other.push(3, MS).unwrap();
            }
            (1, 2) => assert!(other.reset(later.unwrap(), Duration::ZERO).unwrap()),
            (2, 1) => result.set(other.remove(last).unwrap()),
            _ => return, // a value that has expired has not been taken yet
        }
        step += 1;
    });
    act.as_ref().repeat(ms(50), ms(50)).unwrap();
    let values: Vec<i32> = queue.by_ref().map(|value| value.unwrap()).collect();
    assert_eq!((values, removed.get()), (vec![3, 2], Some(1)));
    // Another thread adds one.
    let poster = wheel.poster();
    thread_local!(static SHARED: RefCell<Option<Queue<i32>>> = RefCell::default());
    SHARED.with(|shared| shared.replace(Some(queue.clone())));
    queue.push(4, ms(60_000)).unwrap();
    let thread = std::thread::spawn(move || poster.post(|_| {
        SHARED.with(|shared| shared.take().unwrap().push(5, MS).unwrap());
    }));
    assert_eq!(queue.next().unwrap().unwrap(), 5);
    thread.join().unwrap().unwrap();
}

#[test]
fn try_next_does_not_wait() {
    let wheel = new();
    let queue = Queue::new(&wheel);
    assert!(queue.try_next().unwrap().is_none());
    queue.push(1, ms(20)).unwrap();
    queue.push(2, ms(60_000)).unwrap();
    assert!(queue.try_next().unwrap().is_none());
    std::thread::sleep(ms(50));
    assert_eq!(queue.try_next().unwrap(), Some(1));
    assert!(queue.try_next().unwrap().is_none());
    // Also in a callback, for what has expired.
    let (other, seen) = (queue.clone(), Rc::new(Cell::new(None)));
    let found = seen.clone();
    queue.push(3, MS).unwrap();
    let timer = wheel.timer(move |_| found.set(other.try_next().unwrap()));
    timer.as_ref().start(ms(30)).unwrap();
    while timer.remaining().is_some() {
        wheel.wait(None).unwrap();
    }
    assert_eq!((seen.get(), queue.len()), (Some(3), 1));
}
