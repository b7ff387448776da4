// SPDX-License-Identifier: MIT

//! The cost of timers in Rust, for tools/bindings/bench: lines in nanoseconds for each timer.

use std::time::{Duration, Instant};
use std::{cell::Cell, io, rc::Rc, thread::sleep};
use twheel::{Config, Loop, Queue};

const HOUR: Duration = Duration::from_secs(3600);

fn delay(i: usize) -> Duration {
    Duration::from_millis((i * 7919 % 1800000 + 1000) as u64)
}

struct Lap(Instant, usize);

impl Lap {
    fn lap(&mut self) -> f64 {
        let before = std::mem::replace(&mut self.0, Instant::now());
        (self.0 - before).as_nanos() as f64 / self.1 as f64
    }
}

fn show(name: &str, times: [f64; 4]) {
    let [a, b, c, d] = times;
    println!("{:28} {:7.0} {:7.0} {:7.0} {:7.0}", name, a, b, c, d);
}

fn timers(wheel: &Loop, n: usize) -> io::Result<[f64; 4]> {
    let called = Rc::new(Cell::new(0));
    let timers: Vec<_> = (0..n)
        .map(|_| {
            let called = called.clone();
            wheel.timer(move |_| called.set(called.get() + 1))
        })
        .collect();
    let mut clock = Lap(Instant::now(), n);
    for (i, timer) in timers.iter().enumerate() {
        timer.as_ref().start(delay(i))?;
    }
    wheel.flush()?;
    let start = clock.lap();
    for timer in &timers {
        timer.as_ref().again(HOUR)?;
    }
    let again = clock.lap();
    for timer in &timers {
        timer.stop()?;
    }
    wheel.flush()?;
    let stop = clock.lap();
    for timer in &timers {
        timer.as_ref().start(Duration::from_millis(1))?;
    }
    wheel.flush()?;
    sleep(Duration::from_millis(20));
    clock.lap();
    while called.get() < n {
        wheel.dispatch()?;
    }
    Ok([start, again, stop, clock.lap()])
}

fn queue(wheel: &Loop, n: usize) -> io::Result<[f64; 4]> {
    let mut queue = Queue::new(wheel);
    let mut clock = Lap(Instant::now(), n);
    let keys: Vec<_> = (0..n).map(|i| queue.push(i, delay(i)).unwrap()).collect();
    wheel.flush()?;
    let start = clock.lap();
    for key in &keys {
        queue.reset(*key, HOUR)?;
    }
    let again = clock.lap();
    for key in &keys {
        queue.remove(*key)?;
    }
    wheel.flush()?;
    let stop = clock.lap();
    for i in 0..n {
        queue.push(i, Duration::from_millis(1))?;
    }
    wheel.flush()?;
    sleep(Duration::from_millis(20));
    clock.lap();
    for value in &mut queue {
        value?;
    }
    Ok([start, again, stop, clock.lap()])
}

fn main() -> io::Result<()> {
    let n = std::env::args().nth(1).map_or(100_000, |n| n.parse().unwrap());
    let wheel = Loop::with(&Config { by_hand: true, ..Config::default() })?;
    show("Rust, timers", timers(&wheel, n)?);
    show("Rust, a queue", queue(&wheel, n)?);
    Ok(())
}
