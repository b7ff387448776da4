// SPDX-License-Identifier: MIT

use crate::{Loop, Result, Timer};
use std::collections::{HashMap, VecDeque};
use std::{cell::Cell, cell::RefCell, pin::Pin, rc::Rc, time::Duration};

/// A value's key in a queue. When the value has left the queue, the key finds nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Key(u64);

/// Values that come back when their time has come: an iterator that waits for the next one, and
/// ends when the queue is empty. Clones are the same queue, and callbacks may change it.
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
pub struct Queue<T>(Rc<Inner<T>>);

struct Inner<T> {
    owner: Loop,
    entries: RefCell<HashMap<Key, (T, Pin<Box<Timer>>)>>,
    expired: Rc<RefCell<VecDeque<Key>>>,
    pushed: Cell<u64>,
}

impl<T> Clone for Queue<T> {
    fn clone(&self) -> Queue<T> {
        Queue(self.0.clone())
    }
}

impl<T> Queue<T> {
    /// Makes a queue.
    pub fn new(owner: &Loop) -> Queue<T> {
        let (entries, expired, pushed) = Default::default();
        Queue(Rc::new(Inner { owner: owner.clone(), entries, expired, pushed }))
    }

    /// Adds a value that comes back after a delay.
    pub fn push(&self, value: T, delay: Duration) -> Result<Key> {
        let (key, expired) = (Key(self.0.pushed.get()), self.0.expired.clone());
        let timer = self.0.owner.timer(move |_| expired.borrow_mut().push_back(key));
        timer.as_ref().start(delay)?;
        self.0.entries.borrow_mut().insert(key, (value, timer));
        self.0.pushed.set(key.0 + 1);
        Ok(key)
    }

    /// Takes a value early; `None` if it has left the queue.
    pub fn remove(&self, key: Key) -> Result<Option<T>> {
        let mut entries = self.0.entries.borrow_mut();
        entries.get(&key).map_or(Ok(false), |(_, timer)| timer.stop())?;
        Ok(entries.remove(&key).map(|(value, _)| value))
    }

    /// Gives a value a new delay; returns whether it was still waiting.
    pub fn reset(&self, key: Key, delay: Duration) -> Result<bool> {
        match self.0.entries.borrow().get(&key) {
            Some((_, timer)) if timer.remaining().is_some() => {
                timer.as_ref().again(delay).map(|_| true)
            }
            _ => Ok(false),
        }
    }

    /// The number of values.
    pub fn len(&self) -> usize {
        self.0.entries.borrow().len()
    }

    /// Returns a value whose time has come, if there is one. Dispatches, except in a callback.
    pub fn try_next(&self) -> Result<Option<T>> {
        let mut value = self.take_expired();
        if value.is_none() && !self.0.owner.0.dispatching.get() {
            self.0.owner.dispatch()?;
            value = self.take_expired();
        }
        Ok(value)
    }

    fn take_expired(&self) -> Option<T> {
        let mut expired = self.0.expired.borrow_mut();
        // One that expired may have been removed since then.
        std::iter::from_fn(|| expired.pop_front())
            .find_map(|key| self.0.entries.borrow_mut().remove(&key))
            .map(|(value, _)| value)
    }
}

impl<T> Iterator for Queue<T> {
    type Item = Result<T>;

    fn next(&mut self) -> Option<Result<T>> {
        loop {
            if let Some(value) = self.take_expired() {
                return Some(Ok(value));
            }
            if self.len() == 0 {
                return None;
            }
            if let Err(error) = self.0.owner.wait_on() {
                return Some(Err(error));
            }
        }
    }
}
