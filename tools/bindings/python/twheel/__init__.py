# SPDX-License-Identifier: MIT
"""Millions of timers, over libtwheel. A program without asyncio uses a Loop; in a coroutine

    twheel.install()                # all timers of asyncio use the wheel

or attach() and timeout(), to leave asyncio's own timers alone."""

import asyncio
import weakref

from twheel._twheel import MANUAL, Loop, Timer, Timers

__all__ = ["AsyncioLoop", "Loop", "MANUAL", "Timer", "Timers", "attach", "install", "timeout"]

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
    """async with timeout(seconds): asyncio.timeout() whose timer is in the wheel. So again() puts
    it off at no cost."""

    def __init__(self, delay):
        self._when = None if delay is None else asyncio.get_running_loop().time() + delay
        self._timeout, self._timer = asyncio.Timeout(None), None
        self.expired = self._timeout.expired

    async def __aenter__(self):
        await self._timeout.__aenter__()
        self.reschedule(self._when)
        return self

    def when(self):
        return self._when

    def again(self, delay):
        """Sets a new deadline, from now; or none."""
        self.reschedule(None if delay is None else asyncio.get_running_loop().time() + delay)

    def reschedule(self, when):
        """Sets a new deadline, as the time of the event loop; or none."""
        self._timeout.reschedule(None) # fails unless the block is running
        self._when = when
        left = 0 if when is None else when - asyncio.get_running_loop().time()
        if left > 0 and not self._timer:
            self._timer = attach().call_later(left, self._expire)
        elif left > 0:
            self._timer.again(left)
        else:
            if self._timer:
                self._timer.cancel()
            if when is not None:
                self._expire()

    def _expire(self):
        self._timeout.reschedule(float("-inf"))

    async def __aexit__(self, *error):
        if self._timer:
            self._timer.cancel()
        return await self._timeout.__aexit__(*error)
