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
//! A [`Queue`] is an iterator that returns
//! values when their time has come. All changes are collected in memory, and take effect with
//! the next [`Loop::flush`], which [`Loop::wait`] includes.

#![deny(missing_docs, unsafe_op_in_unsafe_fn)]

mod ffi;
mod post;
mod queue;
mod timer;

use std::os::raw::c_int;
use std::os::unix::io::{AsRawFd, RawFd};
use std::panic::{catch_unwind, resume_unwind, AssertUnwindSafe};
use std::{any::Any, cell::Cell, io, pin::Pin, rc::Rc, sync::Arc, time::Duration};

pub use post::Poster;
pub use queue::{Key, Queue};
pub use timer::Timer;

/// The backend of a loop: any, `/dev/twheel`, or the program's memory.
#[allow(missing_docs)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Backend {
    #[default]
    Any = 0,
    Device = 1,
    User = 2,
}

/// The parameters of a loop; `Default` has the library's.
#[derive(Clone, Debug, Default)]
pub struct Config {
    /// The length of a tick, 1 us to 1 h; zero stands for 1 ms.
    pub tick: Duration,
    /// How many timers may be armed at once; 0 stands for the module's limit.
    pub max_timers: u64,
    /// Buckets per level, 2 to 65536; 0 stands for 256.
    pub wheel_size: u32,
    /// Whether the clock advances while the machine is suspended.
    pub boottime: bool,
    /// Whether the clock is that of the calendar, which can be set.
    pub realtime: bool,
    /// The backend of the loop.
    pub backend: Backend,
}

/// A set of timers. Clones are the same loop; it is dropped with the last of its clones,
/// timers and queues.
#[derive(Clone)]
pub struct Loop(Rc<Inner>);

struct Inner {
    raw: *mut ffi::Loop,
    dispatching: Cell<bool>,
    panic: Cell<Option<Box<dyn Any + Send>>>, // of a callback
    posted: Arc<post::Shared>,
}

impl Drop for Inner {
    fn drop(&mut self) {
        self.posted.close();
        // SAFETY: no timer and no other thread refers to it any more.
        unsafe { ffi::twheel_loop_free(self.raw) }
    }
}

/// The result of a function that returns -1 with errno set.
fn check(result: c_int) -> io::Result<usize> {
    usize::try_from(result).map_err(|_| io::Error::last_os_error())
}

/// Nanoseconds, or the library's maximum.
fn nanoseconds(time: Duration) -> u64 {
    time.as_nanos().min(ffi::TIME_MAX.into()) as u64
}

impl Loop {
    /// Makes a loop with the usual parameters.
    pub fn new() -> io::Result<Loop> {
        Loop::with(&Config::default())
    }

    /// Makes a loop. The environment variable `TWHEEL_BACKEND` chooses between device and
    /// memory if the config does not.
    pub fn with(config: &Config) -> io::Result<Loop> {
        let config = ffi::Config {
            tick_ns: nanoseconds(config.tick),
            max_timers: config.max_timers,
            wheel_size: config.wheel_size,
            clock: match (config.boottime, config.realtime) {
                (false, false) => 0,
                (true, false) => ffi::CLOCK_BOOTTIME,
                (false, true) => ffi::CLOCK_REALTIME,
                (true, true) => return Err(io::ErrorKind::InvalidInput.into()),
            },
            backend: config.backend as u32,
            ..Default::default()
        };
        // SAFETY: the config lives while it is read.
        let raw = unsafe { ffi::twheel_loop_new(&config) };
        if raw.is_null() {
            return Err(io::Error::last_os_error());
        }
        let (dispatching, panic) = Default::default();
        Ok(Loop(Rc::new(Inner { raw, dispatching, panic, posted: post::Shared::new(raw) })))
    }

    /// The backend of the loop.
    pub fn backend(&self) -> Backend {
        // SAFETY: here and below, the loop lives as long as `self`.
        match unsafe { ffi::twheel_loop_backend(self.0.raw) } {
            1 => Backend::Device,
            _ => Backend::User,
        }
    }

    /// The loop's time: the one that delays count from.
    pub fn now(&self) -> Duration {
        Duration::from_nanos(unsafe { ffi::twheel_loop_now(self.0.raw) })
    }

    /// Updates the loop's time, after work that took long, so that no delay ends early.
    pub fn update(&self) {
        unsafe { ffi::twheel_loop_update(self.0.raw) };
    }

    /// For other threads, to call functions in this one.
    pub fn poster(&self) -> Poster {
        Poster(self.0.posted.clone())
    }

    /// Makes a timer on the heap. [`Timer::new`] makes one to be pinned elsewhere.
    pub fn timer(&self, callback: impl FnMut(u32) + 'static) -> Pin<Box<Timer>> {
        Box::pin(Timer::new(self, Box::new(callback)))
    }

    /// Applies all changes, and returns how long the program may wait before it dispatches;
    /// `None` if no timer runs, or if the descriptor of the device shows it. For programs that
    /// call this before each wait: from then on, a change does not make the descriptor readable.
    pub fn timeout(&self) -> Option<Duration> {
        let left = unsafe { ffi::twheel_loop_timeout(self.0.raw) };
        u64::try_from(left).ok().map(Duration::from_nanos)
    }

    /// Applies all changes, as the next dispatch would. If there is no room for a timer, the
    /// flush fails, and the timer waits for the next one.
    pub fn flush(&self) -> io::Result<()> {
        check(unsafe { ffi::twheel_loop_flush(self.0.raw) }).map(drop)
    }

    /// Calls back for all expired timers, and returns how many. Does not wait.
    pub fn dispatch(&self) -> io::Result<usize> {
        self.enter(|raw| unsafe { ffi::twheel_loop_dispatch(raw) })
    }

    /// Flushes, waits for at most this long, or with `None` without a limit, and dispatches.
    pub fn wait(&self, timeout: Option<Duration>) -> io::Result<usize> {
        let ns = timeout.map_or(-1, |t| nanoseconds(t) as i64);
        self.enter(|raw| unsafe { ffi::twheel_loop_wait(raw, ns) })
    }

    /// Runs a function that calls back. A callback is not called while it runs, so none
    /// may wait or dispatch. Then calls what other threads have posted. A panic resumes here,
    /// after the others.
    fn enter(&self, call: impl FnOnce(*mut ffi::Loop) -> c_int) -> io::Result<usize> {
        if self.0.dispatching.replace(true) {
            return Err(io::Error::new(io::ErrorKind::Other, "called by a callback"));
        }
        let result = check(call(self.0.raw));
        for call in self.0.posted.take() {
            if let Err(panic) = catch_unwind(AssertUnwindSafe(call)) {
                std::mem::forget(self.0.panic.replace(Some(panic)));
            }
        }
        self.0.dispatching.set(false);
        match self.0.panic.take() {
            Some(panic) => resume_unwind(panic),
            None => result,
        }
    }
}

/// Readable when there is something to dispatch. -1 at the limit of open descriptors.
impl AsRawFd for Loop {
    fn as_raw_fd(&self) -> RawFd {
        unsafe { ffi::twheel_loop_fd(self.0.raw) }
    }
}
