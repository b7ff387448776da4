// SPDX-License-Identifier: MIT

//! A loop without descriptors; in a process of its own, as other tests need some.

use std::time::Duration;
use twheel::Loop;

#[test]
fn without_descriptors() {
    let mut files = Vec::new();
    let error = loop {
        match std::fs::File::open("/dev/null") {
            Ok(file) => files.push(file),
            Err(error) => break error,
        }
    };
    assert_eq!(error.raw_os_error(), Some(24)); // EMFILE
    let wait = |wheel: Loop| wheel.wait(Some(Duration::ZERO));
    assert_eq!(Loop::new().and_then(wait).unwrap_err().cause.raw_os_error(), Some(24));
    drop(files);
    Loop::new().and_then(wait).unwrap();
}
