// SPDX-License-Identifier: MIT

//! The part of libtwheel.h that is used here.

use std::os::raw::{c_int, c_void};

/// struct twheel_loop, which is opaque here.
pub enum Loop {}

pub type Callback = unsafe extern "C" fn(*mut Loop, *mut Handle);

/// struct twheel_handle: its public members, and room for the rest.
#[repr(C)]
pub struct Handle {
    pub callback: Callback,
    pub data: *const c_void,
    pub count: u64,
    private: [u32; 2],
    rest: [u64; 7],
}

impl Handle {
    pub fn new(callback: Callback) -> Handle {
        Handle { callback, data: std::ptr::null(), count: 1, private: [0; 2], rest: [0; 7] }
    }
}

/// struct twheel_message.
#[repr(C)]
pub struct Message {
    pub call: unsafe extern "C" fn(*mut Loop, *mut Message),
    pub next: *mut Message,
}

#[repr(C)]
#[derive(Default)]
pub struct Config {
    pub tick_ns: u64,
    pub max_timers: u64,
    pub wheel_size: u32,
    pub clock: u32,
    pub backend: u32,
    pub flags: u32, // 1: in the kernel, 2: waited for by time
    pub unarmed: usize,
    pub data: usize,
    pub resolve: Option<unsafe extern "C" fn(*mut Loop, u64) -> *mut Handle>,
    pub reserved: [u64; 3],
}

pub const EALREADY: c_int = 114;
pub const SAME_DELAY: u64 = TIME_MAX + 1;
pub const TIME_MAX: u64 = i64::MAX as u64;

#[link(name = "twheel")]
extern "C" {
    pub fn twheel_loop_new(config: *const Config) -> *mut Loop;
    pub fn twheel_loop_adopt(fd: c_int, config: *const Config) -> *mut Loop;
    pub fn twheel_loop_data(lp: *const Loop) -> *const c_void;
    pub fn twheel_loop_free(lp: *mut Loop);
    pub fn twheel_loop_count(lp: *mut Loop) -> i64;
    pub fn twheel_loop_fd(lp: *mut Loop) -> c_int;
    pub fn twheel_loop_timeout(lp: *mut Loop) -> i64;
    pub fn twheel_loop_backend(lp: *const Loop) -> c_int;
    pub fn twheel_loop_now(lp: *mut Loop) -> u64;
    pub fn twheel_loop_update(lp: *mut Loop) -> c_int;
    pub fn twheel_loop_flush(lp: *mut Loop) -> c_int;
    pub fn twheel_loop_dispatch(lp: *mut Loop) -> c_int;
    pub fn twheel_loop_advance(lp: *mut Loop, time_ns: u64) -> c_int;
    pub fn twheel_loop_wait(lp: *mut Loop, timeout_ns: i64) -> c_int;
    pub fn twheel_loop_post(lp: *mut Loop, message: *mut Message) -> c_int;
    pub fn twheel_start_at(lp: *mut Loop, handle: *mut Handle, deadline_ns: u64) -> c_int;
    pub fn twheel_set_interval(handle: *mut Handle, interval_ns: u64) -> c_int;
    pub fn twheel_start(lp: *mut Loop, handle: *mut Handle, delay_ns: u64) -> c_int;
    pub fn twheel_repeat(lp: *mut Loop, handle: *mut Handle, delay_ns: u64, interval_ns: u64)
        -> c_int;
    pub fn twheel_again(handle: *mut Handle, delay_ns: u64) -> c_int;
    pub fn twheel_unref(handle: *mut Handle) -> c_int;
    pub fn twheel_ref(handle: *mut Handle) -> c_int;
    pub fn twheel_stop(handle: *mut Handle) -> c_int;
    pub fn twheel_remaining(handle: *const Handle) -> i64;
}
