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
    """A wheel that an event loop of asyncio waits for, and closes; attach() makes it."""

    def __init__(self, loop, **config):
        # An event loop that has a time of its own, as in tests, is the wheel's clock.
        self._follows = (isinstance(loop, asyncio.BaseEventLoop) and
                         getattr(loop.time, "__func__", None) is not asyncio.BaseEventLoop.time)
        if self._follows:
            config["clock"] = MANUAL
        super().__init__(on_error=self._report, **config)
        self._asyncio, self._expired, self._changed = weakref.ref(loop), False, False
        self._retry = self._next = None # handles of the event loop
        try:
            if self._follows:
                self.advance(loop.time())
            else:
                loop.add_reader(self.fileno(), self._ready)
        except BaseException: # such as a closed event loop
            super().close()
            raise
        loop.close, _attached[loop] = self._close_both, self

    def time(self):
        return self._asyncio().time() if self._follows else super().time()

    def _ready(self):
        if not self._expired:
            self._expired = True # dispatch after this turn's I/O: a message may postpone timers
            self._asyncio().call_soon(self._try, self.dispatch)

    def _try(self, act):
        self._expired = self._expired and act != self.dispatch
        self._retry = self._retry if act != self.flush else None
        try:
            act()
        except OSError as error: # timers that cannot be armed wait for the next flush
            self._report(error)
            if not self._retry:
                self._retry = self._at(self.time() + 0.1, self.flush)
        except ValueError:
            pass  # closed

    def _at(self, when, act):
        """Uses the event loop's own timers: the wheel may be full."""
        loop = self._asyncio()
        if isinstance(loop, asyncio.BaseEventLoop):
            return type(loop).call_at(loop, when, self._try, act)
        return type(loop).call_later(loop, when - self.time(), self._try, act)

    def dispatch(self):
        if not self._follows:
            return super().dispatch()
        try: # a microsecond more, which floats may lack
            return self.advance(self.time() - super().time() + 1e-6)
        finally:
            self._plan()

    def _change(self):
        if not self._changed:
            self._changed = True
            self._asyncio().call_soon(self._try, self._plan)
        return self.time()

    def _plan(self):
        """Lets the event loop dispatch when the next timer expires."""
        self._changed = False
        if self._next:
            self._next.cancel()
        left = self.timeout()
        self._next = left is not None and self._at(super().time() + left, self.dispatch)

    def _report(self, error, timer=None):
        context = {"message": "a timer's callback", "exception": error}
        self._asyncio().call_exception_handler(context | ({"handle": timer} if timer else {}))

    def _replace(self, functions):
        """Replaces functions of the event loop. Its own timers stay as far away as they were,
        by the new time."""
        loop = self._asyncio()
        before = loop.time()
        for name in "call_later", "call_at", "time":
            if name != "time" or not self._follows:
                vars(loop).pop(name, None)
                vars(loop).update({name: functions[name]} if functions else {})
        for handle in getattr(loop, "_scheduled", ()):
            handle._when += loop.time() - before

    def _close_both(self):
        loop = self._asyncio()
        type(loop).close(loop)
        self._take()
        self.close()

    def close(self):
        loop = self._asyncio()
        if loop and _attached.get(loop) is self:
            if not loop.is_closed() and not self._follows:
                loop.remove_reader(self.fileno())
            self._replace({})
            del _attached[loop], loop.close
        super().close()


def attach(loop=None, **config):
    """The wheel of an event loop, the running one by default. It is made once."""
    loop = loop or asyncio.get_running_loop()
    if loop not in _attached:
        AsyncioLoop(loop, **config)
    return _attached[loop]


def install(loop=None, **config):
    """Makes an event loop's call_later() and call_at() use the wheel, and with them
    sleep(), wait_for() and everything else that has timers there; time() is that of the wheel.
    Timers that expire in the same tick may be called in any order; asyncio's own are called in
    that of their deadlines."""
    wheel = attach(loop, **config)
    wheel._replace({name: getattr(wheel, name) for name in ("call_later", "call_at", "time")})
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
