// SPDX-License-Identifier: MIT

//! A heartbeat comes every 200 ms, and postpones an idle timeout of 500 ms. The fifth one is
//! the last, and the idle timeout ends the program.
//!
//! ```sh
//! cargo run --example heartbeat
//! ```

use std::cell::{Cell, RefCell};
use std::io;
use std::rc::Rc;
use std::time::Duration;

fn main() -> io::Result<()> {
    let wheel = twheel::Loop::new()?;
    let done = Rc::new(Cell::new(false));
    let ended = done.clone();
    let idle = Rc::new(wheel.timer(move |_| {
        println!("idle");
        ended.set(true);
    }));
    (*idle).as_ref().start(Duration::from_millis(500))?;

    let heartbeat = Rc::new(RefCell::new(None));
    let (own, timeout) = (heartbeat.clone(), idle.clone());
    let mut beats = 0;
    let timer = wheel.timer(move |_| {
        beats += 1;
        println!("heartbeat {}", beats);
        (*timeout).as_ref().again(Duration::from_millis(500)).unwrap();
        if beats == 5 {
            own.borrow_mut().take(); // dropping a timer stops it
        }
    });
    timer.as_ref().repeat(Duration::from_millis(200), Duration::from_millis(200))?;
    *heartbeat.borrow_mut() = Some(timer);

    while !done.get() {
        wheel.wait(None)?;
    }
    Ok(())
}
