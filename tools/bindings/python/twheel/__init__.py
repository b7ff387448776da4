# SPDX-License-Identifier: MIT
"""Millions of timers, over libtwheel. A program without asyncio uses a Loop; in a coroutine

    twheel.install()                # all timers of asyncio use the wheel

or attach() and timeout(), to leave asyncio's own timers alone."""

import asyncio
import weakref

from twheel._twheel import Loop, Timer, Timers

__all__ = ["AsyncioLoop", "Loop", "Timer", "Timers", "attach", "install", "timeout"]

_attached = weakref.WeakKeyDictionary()


class AsyncioLoop(Loop):
    """A wheel that an event loop of asyncio waits for; attach() makes it."""

    def __init__(self, loop, **config):
        super().__init__(on_error=self._report, **config)
        self._asyncio, self._expired = weakref.ref(loop), False
        loop.add_reader(self.fileno(), self._ready)

    def _ready(self):
        if not self._expired:
            self._expired = True # dispatch after this turn's I/O: a message may postpone timers
            self._asyncio().call_soon(self._try, self.dispatch)

    def _try(self, act):
        self._expired = self._expired and act != self.dispatch
        try:
            act()
        except OSError as error: # timers that cannot be armed wait for the next flush
            self._report(error)
            loop = self._asyncio()
            type(loop).call_later(loop, 0.01, self._try, self.flush)
        except ValueError:
            pass  # closed

    def _report(self, error, timer=None):
        context = {"message": "a timer's callback", "exception": error}
        self._asyncio().call_exception_handler(context | ({"handle": timer} if timer else {}))

    def close(self):
        loop = self._asyncio()
        if loop and loop in _attached and not loop.is_closed():
            loop.remove_reader(self.fileno())
            del _attached[loop]
            for name in "call_later", "call_at":
                vars(loop).pop(name, None)
        super().close()


def attach(loop=None, **config):
    """The wheel of an event loop, the running one by default. It is made once."""
    loop = loop or asyncio.get_running_loop()
    if loop not in _attached:
        _attached[loop] = AsyncioLoop(loop, **config)
    return _attached[loop]


def install(loop=None, **config):
    """Makes an event loop's call_later() and call_at() use the wheel, and with them
    sleep(), wait_for() and everything else that has timers there. Timers that expire in the
    same tick may be called in any order; asyncio's own are called in that of their deadlines."""
    loop = loop or asyncio.get_running_loop()
    wheel = attach(loop, **config)
    loop.call_later, loop.call_at = wheel.call_later, wheel.call_at
    return wheel


class timeout:
    """async with timeout(seconds): a block that takes longer is cancelled, and raises
    TimeoutError."""

    def __init__(self, delay):
        self._delay = delay
        self._timer = self._task = None
        self._expired = False

    async def __aenter__(self):
        self._task = asyncio.current_task()
        self._cancelling = self._task.cancelling()
        if self._delay is not None:
            self._timer = attach().call_later(self._delay, self._expire)
        return self

    def _expire(self):
        self._expired = True
        self._task.cancel()

    def again(self, delay):
        """Sets a new deadline, from now."""
        self._timer.again(delay)

    def expired(self):
        return self._expired

    async def __aexit__(self, kind, error, traceback):
        if self._timer:
            self._timer.cancel()
        if (self._expired and self._task.uncancel() <= self._cancelling
                and kind is asyncio.CancelledError):
            raise TimeoutError from error
