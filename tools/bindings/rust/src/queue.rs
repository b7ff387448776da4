// SPDX-License-Identifier: MIT

use crate::{Loop, Result, Timer};
use std::collections::{HashMap, VecDeque};
use std::{cell::RefCell, pin::Pin, rc::Rc, time::Duration};

/// A value's key in a queue. When the value has left the queue, the key finds nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Key(u64);

/// Values that come back when their time has come: an iterator that waits for the next one, and
/// ends when the queue is empty.
///
/// ```no_run
/// # use std::time::Duration;
/// let mut queue = twheel::Queue::new(&twheel::Loop::new()?);
/// queue.push("tea", Duration::from_secs(240))?;
/// for done in &mut queue {
///     println!("{}", done?);
/// }
/// # std::io::Result::Ok(())
/// ```
pub struct Queue<T> {
    owner: Loop,
    entries: HashMap<Key, (T, Pin<Box<Timer>>)>,
    expired: Rc<RefCell<VecDeque<Key>>>,
    pushed: u64,
}

impl<T> Queue<T> {
    /// Makes a queue.
    pub fn new(owner: &Loop) -> Queue<T> {
        let (entries, expired) = Default::default();
        Queue { owner: owner.clone(), entries, expired, pushed: 0 }
    }

    /// Adds a value that comes back after a delay.
    pub fn push(&mut self, value: T, delay: Duration) -> Result<Key> {
        let (key, expired) = (Key(self.pushed), self.expired.clone());
        let timer = self.owner.timer(move |_| expired.borrow_mut().push_back(key));
        timer.as_ref().start(delay)?;
        self.entries.insert(key, (value, timer));
        self.pushed += 1;
        Ok(key)
    }

    /// Takes a value early; `None` if it has left the queue.
    pub fn remove(&mut self, key: Key) -> Result<Option<T>> {
        self.entries.get(&key).map_or(Ok(false), |(_, timer)| timer.stop())?;
        Ok(self.entries.remove(&key).map(|(value, _)| value))
    }

    /// Gives a value a new delay; returns whether it was still waiting.
    pub fn reset(&mut self, key: Key, delay: Duration) -> Result<bool> {
        match self.entries.get(&key) {
            Some((_, timer)) if timer.remaining().is_some() => {
                timer.as_ref().again(delay).map(|_| true)
            }
            _ => Ok(false),
        }
    }

    /// The number of values.
    pub fn len(&self) -> usize {
        self.entries.len()
    }
}

impl<T> Iterator for Queue<T> {
    type Item = Result<T>;

    fn next(&mut self) -> Option<Result<T>> {
        while !self.entries.is_empty() {
            let key = self.expired.borrow_mut().pop_front();
            if let Some(key) = key {
                // One that expired may have been removed since then.
                if let Some((value, _)) = self.entries.remove(&key) {
                    return Some(Ok(value));
                }
            } else if let Err(error) = self.owner.wait_on() {
                return Some(Err(error));
            }
        }
        None
    }
}
