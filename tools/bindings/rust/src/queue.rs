// SPDX-License-Identifier: MIT

use crate::{Loop, Result, Timer};
use std::{cell::RefCell, collections::VecDeque, pin::Pin, rc::Rc, time::Duration};

/// A value's key in a queue. When the value has left the queue, the key finds nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Key {
    index: usize,
    generation: u64,
}

struct Entry<T> {
    generation: u64,
    value: Option<T>,
    timer: Pin<Box<Timer>>,
}

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
    entries: Vec<Entry<T>>,
    free: Vec<usize>,
    expired: Rc<RefCell<VecDeque<usize>>>,
    len: usize,
}

impl<T> Queue<T> {
    /// Makes a queue.
    pub fn new(owner: &Loop) -> Queue<T> {
        let (owner, expired) = (owner.clone(), Rc::default());
        Queue { owner, expired, entries: Vec::new(), free: Vec::new(), len: 0 }
    }

    /// Adds a value that comes back after a delay.
    pub fn push(&mut self, value: T, delay: Duration) -> Result<Key> {
        let index = match self.free.last() {
            Some(&index) => index,
            None => self.grow(),
        };
        let entry = &mut self.entries[index];
        entry.timer.as_ref().start(delay)?;
        entry.value = Some(value);
        entry.generation += 1;
        self.free.pop();
        self.len += 1;
        Ok(Key { index, generation: entry.generation })
    }

    fn grow(&mut self) -> usize {
        let (index, expired) = (self.entries.len(), self.expired.clone());
        let timer = self.owner.timer(move |_| expired.borrow_mut().push_back(index));
        self.entries.push(Entry { generation: 0, value: None, timer });
        self.free.push(index);
        index
    }

    fn find(&mut self, key: Key) -> Option<&mut Entry<T>> {
        let entry = self.entries.get_mut(key.index)?;
        Some(entry).filter(|entry| entry.generation == key.generation && entry.value.is_some())
    }

    /// Takes a value early; `None` if it has left the queue.
    pub fn remove(&mut self, key: Key) -> Result<Option<T>> {
        let entry = match self.find(key) {
            Some(entry) => entry,
            None => return Ok(None),
        };
        let (running, value) = (entry.timer.stop()?, entry.value.take());
        self.len -= 1;
        if running {
            self.free.push(key.index); // else next() will
        }
        Ok(value)
    }

    /// Gives a value a new delay; returns whether it was still waiting.
    pub fn reset(&mut self, key: Key, delay: Duration) -> Result<bool> {
        match self.find(key) {
            Some(entry) if entry.timer.remaining().is_some() => {
                entry.timer.as_ref().again(delay).map(|_| true)
            }
            _ => Ok(false),
        }
    }

    /// The number of values.
    pub fn len(&self) -> usize {
        self.len
    }
}

impl<T> Iterator for Queue<T> {
    type Item = Result<T>;

    fn next(&mut self) -> Option<Result<T>> {
        while self.len > 0 {
            let index = self.expired.borrow_mut().pop_front();
            if let Some(index) = index {
                self.free.push(index);
                if let Some(value) = self.entries[index].value.take() {
                    self.len -= 1;
                    return Some(Ok(value));
                }
            } else if let Err(error) = self.owner.wait_on() {
                return Some(Err(error));
            }
        }
        None
    }
}
