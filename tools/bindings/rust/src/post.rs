// SPDX-License-Identifier: MIT

use crate::{call, fail, ffi, Loop, Result};
use std::cell::UnsafeCell;
use std::sync::{Arc, Mutex, MutexGuard};
use std::{io::ErrorKind, ptr::null_mut};

pub(crate) type Call = Box<dyn FnOnce(&Loop) + Send>;

struct Mailbox {
    raw: *mut ffi::Loop, // null when the loop is gone
    calls: Vec<Call>,
}

pub(crate) struct Shared {
    message: UnsafeCell<ffi::Message>, // wakes the loop for all calls
    mailbox: Mutex<Mailbox>,
}

/// For other threads: calls functions in the thread of a loop. Clones are of the same loop.
#[derive(Clone)]
pub struct Poster(pub(crate) Arc<Shared>);

// SAFETY: the loop is only posted to, with the lock held, and only while it exists. The message is
// the library's.
unsafe impl Send for Shared {}
unsafe impl Sync for Shared {}

/// The library's callback. [`crate::Loop`] makes the calls when the library has returned.
unsafe extern "C" fn arrived(_: *mut ffi::Loop, _: *mut ffi::Message) {}

impl Shared {
    pub(crate) fn new() -> Arc<Shared> {
        let message = UnsafeCell::new(ffi::Message { call: arrived, next: null_mut() });
        let mailbox = Mutex::new(Mailbox { raw: null_mut(), calls: Vec::new() });
        Arc::new(Shared { message, mailbox })
    }

    fn lock(&self) -> MutexGuard<'_, Mailbox> {
        self.mailbox.lock().unwrap_or_else(|broken| broken.into_inner())
    }

    /// Takes all that was posted.
    pub(crate) fn take(&self) -> Vec<Call> {
        std::mem::take(&mut self.lock().calls)
    }

    /// Accepts calls if there is a loop.
    pub(crate) fn set_loop(&self, raw: *mut ffi::Loop) {
        self.lock().raw = raw;
    }
}

impl Poster {
    /// Has the loop's next `wait` or `dispatch` call a function, after its timers. It fails when
    /// the loop is gone.
    pub fn post(&self, call: impl FnOnce(&Loop) + Send + 'static) -> Result<()> {
        let mut mailbox = self.0.lock();
        if mailbox.raw.is_null() {
            return fail("post", ErrorKind::NotConnected);
        }
        // SAFETY: the loop exists, and the message lives as long as it.
        match unsafe { call!(twheel_loop_post(mailbox.raw, self.0.message.get())) } {
            Err(error) if error.cause.raw_os_error() != Some(ffi::EALREADY) => Err(error),
            _ => Ok(mailbox.calls.push(Box::new(call))),
        }
    }
}
