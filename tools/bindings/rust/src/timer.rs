// SPDX-License-Identifier: MIT

use crate::{call, ffi, nanoseconds, Loop, Result};
use std::cell::{RefCell, UnsafeCell};
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::{marker::PhantomPinned, pin::Pin, rc::Rc, time::Duration};

/// A timer of a loop. Dropping it stops it.
///
/// Its callback is passed how many periods have passed: 1, unless it repeats and is late. It
/// may do anything that the program may except wait, and may drop its own timer.
///
/// The library keeps a running timer's address, so functions that start one take it pinned.
#[repr(C)]
pub struct Timer {
    handle: UnsafeCell<ffi::Handle>, // the first member: see expired()
    callback: Rc<RefCell<dyn FnMut(u64)>>, // lives while it runs, also if the timer is dropped
    pub(crate) owner: Loop,
    _pin: PhantomPinned,
}

impl Timer {
    /// Makes a timer, which does not run yet.
    pub fn new(owner: &Loop, callback: impl FnMut(u64) + 'static) -> Timer {
        Timer {
            handle: UnsafeCell::new(ffi::Handle::new(expired)),
            callback: Rc::new(RefCell::new(callback)),
            owner: owner.clone(),
            _pin: PhantomPinned,
        }
    }

    /// The handle, from which the library's callbacks get the timer.
    pub(crate) fn handle(&self) -> *mut ffi::Handle {
        if self.owner.raw().is_null() {
            // SAFETY: the library could not adopt the wheel, and does not have the handle any more.
            unsafe { *self.handle.get() = ffi::Handle::new(expired) };
        }
        self as *const Self as *mut ffi::Handle
    }

    /// The handle, for the library to keep: it is pinned.
    fn pinned(self: Pin<&Self>) -> *mut ffi::Handle {
        // SAFETY: it is alive, and the library does not act on it at the moment.
        unsafe { (*self.handle()).count = 1 };
        self.handle()
    }

    /// The number of a timer that another process may adopt; set it before the start.
    pub fn set_data(&self, data: u64) {
        // SAFETY: as above.
        unsafe { (*self.handle()).data = data as *const _ };
    }

    /// Starts the timer, also if it is running: it expires once, after a delay.
    pub fn start(self: Pin<&Self>, delay: Duration) -> Result<()> {
        let raw = self.owner.raw();
        // SAFETY: here and below, the handle does not move until drop() has stopped it, and
        // the loop is not freed before that.
        unsafe { call!(twheel_start(raw, self.pinned(), nanoseconds(delay))) }.map(drop)
    }

    /// The same with a deadline, as a time of [`Loop::now`]'s clock.
    pub fn start_at(self: Pin<&Self>, deadline: Duration) -> Result<()> {
        let (raw, deadline) = (self.owner.raw(), nanoseconds(deadline));
        unsafe { call!(twheel_start_at(raw, self.pinned(), deadline)) }.map(drop)
    }

    /// Starts the timer, also if it is running: it expires after a delay, and then repeats.
    pub fn repeat(self: Pin<&Self>, delay: Duration, interval: Duration) -> Result<()> {
        let (raw, delay, interval) = (self.owner.raw(), nanoseconds(delay), nanoseconds(interval));
        unsafe { call!(twheel_repeat(raw, self.pinned(), delay, interval)) }.map(drop)
    }

    /// Postpones the deadline, or restarts a timer that has expired or been stopped. It must
    /// have been started before. `None` is the delay of that start, or the interval.
    pub fn again(self: Pin<&Self>, delay: impl Into<Option<Duration>>) -> Result<()> {
        let delay = delay.into().map_or(ffi::SAME_DELAY, nanoseconds);
        unsafe { call!(twheel_again(self.pinned(), delay)) }.map(drop)
    }

    /// Lets the timer not keep [`Loop::run`] waiting, as for one that repeats without end.
    pub fn set_unref(&self, unref: bool) -> Result<()> {
        let raw = self.handle();
        unsafe { if unref { call!(twheel_unref(raw)) } else { call!(twheel_ref(raw)) } }.map(drop)
    }

    /// Changes the interval of a running timer, from its next expiry on; zero ends repeating.
    pub fn set_interval(&self, interval: Duration) -> Result<()> {
        let interval = nanoseconds(interval);
        unsafe { call!(twheel_set_interval(self.handle(), interval)) }.map(drop)
    }

    /// Stops the timer. Returns whether it was running: if so, its callback is not called
    /// any more.
    pub fn stop(&self) -> Result<bool> {
        unsafe { call!(twheel_stop(self.handle())) }.map(|stopped| stopped > 0)
    }

    /// The time until the timer expires, from the loop's time; `None` if it does not run.
    pub fn remaining(&self) -> Option<Duration> {
        let left = unsafe { ffi::twheel_remaining(self.handle()) };
        u64::try_from(left).ok().map(Duration::from_nanos)
    }
}

impl Drop for Timer {
    fn drop(&mut self) {
        // Only in the child of fork(), where its count fails too, is nothing called for the loop.
        // Else the descriptor is not the loop's, and the library would write to freed memory.
        if self.stop().is_err() && unsafe { ffi::twheel_loop_count(self.owner.raw()) } >= 0 {
            std::process::abort();
        }
    }
}

/// The library's callback. No panic passes through it.
unsafe extern "C" fn expired(_: *mut ffi::Loop, handle: *mut ffi::Handle) {
    // SAFETY: the timer that runs is alive until the closure is called.
    let (timer, count) = unsafe { (&*(handle as *const Timer), (*handle).count) };
    let (owner, callback) = (timer.owner.clone(), timer.callback.clone());
    let outcome = catch_unwind(AssertUnwindSafe(move || (callback.borrow_mut())(count)));
    if let Err(panic) = outcome {
        // Of several panics only the last is kept; dropping one here might panic.
        std::mem::forget(owner.0.panic.replace(Some(panic)));
    }
}
