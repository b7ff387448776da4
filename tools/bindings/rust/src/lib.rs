// SPDX-License-Identifier: MIT

//! Millions of timers, over libtwheel: a hierarchical timing wheel in the kernel, behind
//! `/dev/twheel`, or in the program's memory.
//!
//! ```no_run
//! use std::time::Duration;
//!
//! let wheel = twheel::Loop::new()?;
//! let idle = wheel.timer(|_| println!("idle"));
//! idle.as_ref().start(Duration::from_secs(60))?;
//! idle.as_ref().again(Duration::from_secs(60))?; // puts it off: a store
//! wheel.wait(None)?;
//! # std::io::Result::Ok(())
//! ```
//!
//! A [`Loop`] and its timers belong to one thread:
//!
//! ```compile_fail
//! let wheel = twheel::Loop::new().unwrap();
//! std::thread::spawn(move || wheel.dispatch());
//! ```
//!
//! A [`Queue`] is an iterator that returns values when their time has come. Changes are collected in
//! memory, and take effect with the next [`Loop::flush`], which [`Loop::wait`] includes.

#![deny(missing_docs, unsafe_op_in_unsafe_fn)]

mod error;
mod ffi;
mod post;
mod queue;
mod timer;

use std::os::unix::io::{AsRawFd, IntoRawFd, OwnedFd, RawFd};
use std::panic::{catch_unwind, resume_unwind, AssertUnwindSafe};
use std::{any::Any, cell::Cell, io, mem::forget, pin::Pin, ptr, rc::Rc, sync::Arc, time::Duration};

use error::{call, fail};
pub use error::{Error, Result};
pub use post::Poster;
pub use queue::{Key, Queue};
pub use timer::Timer;

/// The backend of a loop: any, `/dev/twheel`, or the program's memory.
#[allow(missing_docs)]
#[non_exhaustive]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Backend {
    #[default]
    Any = 0,
    Device = 1,
    User = 2,
}

/// The clock of a loop. `Boottime` goes on while the machine is suspended; the calendar's,
/// `Realtime`, and `Tai`, over the device, may be set, and timers follow them.
#[allow(missing_docs)]
#[non_exhaustive]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Clock {
    #[default]
    Monotonic = 0,
    Realtime = 0x10000,
    Boottime = 0x10007,
    Tai = 0x1000b,
    /// Begins at 0, and goes on by [`Loop::advance`]: for tests and simulations.
    Manual = 0x1ffff,
}

/// The parameters of a loop; `..Default::default()` has the library's, and those to come.
#[derive(Clone, Default)]
pub struct Config {
    /// The length of a tick, 1 us to 1 h; zero stands for 1 ms.
    pub tick: Duration,
    /// How many timers may be armed at once; 0 stands for the module's limit.
    pub max_timers: u64,
    /// Buckets per level, 2 to 65536; 0 stands for 256.
    pub wheel_size: u32,
    /// The clock of the loop.
    pub clock: Clock,
    /// The backend of the loop.
    pub backend: Backend,
    /// Whether [`Backend::Any`] prefers the device.
    pub kernel: bool,
    /// Whether the program waits as long as [`Loop::timeout`] says, not for the descriptor.
    pub timed: bool,
    /// For timers that another process may adopt, over the device: finds one by its number
    /// ([`Timer::set_data`]). The program keeps the timer. A closure that refers to it needs a
    /// [`std::rc::Weak`], as a loop lives as long as its timers.
    pub resolve: Option<Rc<Resolve>>,
}

/// Finds a timer of a loop by its number.
pub type Resolve = dyn Fn(&Loop, u64) -> Option<Pin<Rc<Timer>>>;

/// A set of timers. Clones are the same loop, which lives as long as they, timers and queues do.
#[derive(Clone)]
pub struct Loop(Rc<Inner>);

struct Inner {
    raw: Cell<*mut ffi::Loop>, // null: its wheel could not be adopted
    resolve: Option<Rc<Resolve>>,
    dispatching: Cell<bool>,
    stopped: Cell<bool>,
    panic: Cell<Option<Box<dyn Any + Send>>>, // of a callback
    posted: Arc<post::Shared>,
}

impl Drop for Inner {
    fn drop(&mut self) {
        self.posted.set_loop(ptr::null_mut());
        // SAFETY: no timer and no other thread refers to it any more.
        unsafe { ffi::twheel_loop_free(self.raw.get()) }
    }
}

/// The library's callback, for a timer that the program keeps.
unsafe extern "C" fn resolve(raw: *mut ffi::Loop, data: u64) -> *mut ffi::Handle {
    // SAFETY: the loop's data is its Inner, which is alive.
    let owner = unsafe {
        let inner = ffi::twheel_loop_data(raw) as *const Inner;
        Rc::increment_strong_count(inner);
        Loop(Rc::from_raw(inner))
    };
    owner.0.raw.set(raw);
    let found = catch_unwind(AssertUnwindSafe(|| {
        let find = owner.0.resolve.as_ref()?;
        // SAFETY: it does not move. This copy must not be the last one.
        let timer = unsafe { Pin::into_inner_unchecked(find(&owner, data)?) };
        let is_own = Rc::ptr_eq(&timer.owner.0, &owner.0);
        timer.set_data(data);
        (is_own && Rc::strong_count(&timer) > 1).then(|| timer.handle())
    }));
    match found {
        Ok(handle) => handle.unwrap_or(ptr::null_mut()),
        Err(panic) => {
            forget(owner.0.panic.replace(Some(panic)));
            ptr::null_mut()
        }
    }
}

/// Nanoseconds, or the library's maximum.
fn nanoseconds(time: Duration) -> u64 {
    time.as_nanos().min(ffi::TIME_MAX.into()) as u64
}

impl Loop {
    /// Makes a loop with the usual parameters.
    pub fn new() -> Result<Loop> {
        Loop::with(&Config::default())
    }

    /// Makes a loop. The environment variable `TWHEEL_BACKEND` chooses between device and
    /// memory if the config does not.
    pub fn with(config: &Config) -> Result<Loop> {
        Loop::make(config, None)
    }

    /// Makes a loop over the wheel of another process. `resolve` is called for each of its
    /// timers, which then runs; if it returns `None`, the timer is cancelled. Expired timers may
    /// be called again (twheel_loop_adopt(3)). A failure closes only this descriptor.
    pub fn adopt(wheel: OwnedFd, config: &Config) -> Result<Loop> {
        Loop::make(config, Some(wheel))
    }

    fn make(config: &Config, wheel: Option<OwnedFd>) -> Result<Loop> {
        let owner = Loop(Rc::new(Inner {
            raw: Cell::new(ptr::null_mut()),
            resolve: config.resolve.clone(),
            dispatching: Cell::new(true),
            stopped: Cell::default(),
            panic: Cell::default(),
            posted: post::Shared::new(),
        }));
        let config = ffi::Config {
            tick_ns: nanoseconds(config.tick),
            max_timers: config.max_timers,
            wheel_size: config.wheel_size,
            clock: config.clock as u32,
            backend: config.backend as u32,
            flags: config.kernel as u32 | (config.timed as u32) << 1,
            data: Rc::as_ptr(&owner.0) as usize,
            resolve: config.resolve.as_ref().map(|_| resolve as _),
            ..Default::default()
        };
        // SAFETY: the config lives while it is read.
        let (function, raw) = match &wheel {
            None => ("twheel_loop_new", unsafe { ffi::twheel_loop_new(&config) }),
            Some(wheel) => ("twheel_loop_adopt", unsafe {
                ffi::twheel_loop_adopt(wheel.as_raw_fd(), &config)
            }),
        };
        let error = io::Error::last_os_error();
        owner.0.raw.set(raw);
        if raw.is_null() {
            return fail(function, error);
        }
        wheel.map(OwnedFd::into_raw_fd); // it is the library's
        owner.0.posted.set_loop(raw);
        owner.0.dispatching.set(false);
        owner.resume();
        Ok(owner)
    }

    fn raw(&self) -> *mut ffi::Loop {
        self.0.raw.get()
    }

    /// The backend of the loop.
    pub fn backend(&self) -> Backend {
        // SAFETY: here and below, the loop lives as long as `self`.
        match unsafe { ffi::twheel_loop_backend(self.raw()) } {
            1 => Backend::Device,
            _ => Backend::User,
        }
    }

    /// The loop's time: the one that delays count from.
    pub fn now(&self) -> Duration {
        Duration::from_nanos(unsafe { ffi::twheel_loop_now(self.raw()) })
    }

    /// Updates the loop's time, after work that took long, so that no delay ends early.
    pub fn update(&self) {
        unsafe { ffi::twheel_loop_update(self.raw()) };
    }

    /// For other threads, to call functions in this one.
    pub fn poster(&self) -> Poster {
        Poster(self.0.posted.clone())
    }

    /// Makes a timer on the heap. [`Timer::new`] makes one to be pinned elsewhere.
    pub fn timer(&self, callback: impl FnMut(u64) + 'static) -> Pin<Box<Timer>> {
        Box::pin(Timer::new(self, callback))
    }

    /// Applies all changes, and returns how long the program may wait before it dispatches;
    /// `None` if no timer runs. For loops with [`Config::timed`], before each wait.
    pub fn timeout(&self) -> Result<Option<Duration>> {
        let left = unsafe { ffi::twheel_loop_timeout(self.raw()) };
        let error = io::Error::last_os_error();
        match error.raw_os_error() {
            Some(0) => Ok(u64::try_from(left).ok().map(Duration::from_nanos)),
            _ => fail("twheel_loop_timeout", error),
        }
    }

    /// Applies all changes, as the next dispatch would. If there is no room for a timer, the
    /// flush fails, and the timer waits for the next one.
    pub fn flush(&self) -> Result<()> {
        unsafe { call!(twheel_loop_flush(self.raw())) }.map(drop)
    }

    /// Calls back for all expired timers, and returns how many. Does not wait.
    pub fn dispatch(&self) -> Result<usize> {
        self.enter(|raw| unsafe { call!(twheel_loop_dispatch(raw)) })
    }

    /// Lets time pass on [`Clock::Manual`], and calls back for each tick; returns how many.
    pub fn advance(&self, time: Duration) -> Result<usize> {
        self.enter(|raw| unsafe { call!(twheel_loop_advance(raw, nanoseconds(time))) })
    }

    /// Flushes, waits for at most this long, or with `None` without a limit, and dispatches.
    pub fn wait(&self, timeout: Option<Duration>) -> Result<usize> {
        let ns = timeout.map_or(-1, |t| nanoseconds(t) as i64);
        self.enter(|raw| unsafe { call!(twheel_loop_wait(raw, ns)) })
    }

    /// Waits and dispatches, also after a signal, until no timer is left, or after [`Loop::stop`].
    pub fn run(&self) -> Result<()> {
        while !self.0.stopped.replace(false) && self.count()? > 0 {
            self.wait_on()?;
        }
        Ok(())
    }

    /// Waits for anything but a signal.
    fn wait_on(&self) -> Result<usize> {
        self.wait(None).or_else(|error| match error.cause.kind() {
            io::ErrorKind::Interrupted => Ok(0),
            _ => Err(error),
        })
    }

    /// Ends [`Loop::run`] after the callbacks of all expired timers; without a run, the next one.
    pub fn stop(&self) {
        self.0.stopped.set(true);
    }

    /// The number of running timers, without those of [`Timer::set_unref`].
    pub fn count(&self) -> Result<u64> {
        unsafe { call!(twheel_loop_count(self.raw())) }
    }

    /// Runs a function that calls back. A callback is not called while it runs, so none
    /// may wait or dispatch. Then calls what other threads have posted.
    fn enter(&self, call: impl FnOnce(*mut ffi::Loop) -> Result<u64>) -> Result<usize> {
        if self.0.dispatching.replace(true) {
            return fail("called by a callback", io::ErrorKind::Other);
        }
        let result = call(self.raw());
        for call in self.0.posted.take() {
            if let Err(panic) = catch_unwind(AssertUnwindSafe(|| call(self))) {
                forget(self.0.panic.replace(Some(panic)));
            }
        }
        self.0.dispatching.set(false);
        self.resume();
        result.map(|called| called as usize)
    }

    /// Resumes the panic of a callback, after the other callbacks.
    fn resume(&self) {
        if let Some(panic) = self.0.panic.take() {
            resume_unwind(panic);
        }
    }
}

/// Readable when there is something to dispatch. -1 at the limit of open descriptors.
impl AsRawFd for Loop {
    fn as_raw_fd(&self) -> RawFd {
        unsafe { ffi::twheel_loop_fd(self.raw()) }
    }
}
