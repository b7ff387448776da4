// SPDX-License-Identifier: MIT

use super::*;
use std::mem::size_of;

/// The sizes and offsets from a C compiler, if tools/tests/bindings-test passes them.
#[test]
fn layout() {
    let header = match std::env::var("TWHEEL_LAYOUT") {
        Ok(header) => header,
        Err(_) => return,
    };
    let handle = Handle::new(unused);
    let place = |field: usize| field - &handle as *const Handle as usize;
    let here = [
        size_of::<Handle>(),
        place(&handle.callback as *const Callback as usize),
        place(&handle.data as *const *const c_void as usize),
        place(&handle.count as *const u32 as usize),
        size_of::<Config>(),
    ];
    let here: Vec<String> = here.iter().map(usize::to_string).collect();
    assert_eq!(here.join(" "), header);
}

unsafe extern "C" fn unused(_: *mut Loop, _: *mut Handle) {}
