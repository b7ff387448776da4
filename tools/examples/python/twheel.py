# SPDX-License-Identifier: MIT
"""Timers of libtwheel for asyncio.

    timers = twheel.Timers()                    # in a coroutine
    timeout = timers.call_later(60, connection.close)
    timeout.again(60)                           # puts it off
    timeout.cancel()

It calls the shared library with ctypes, and takes the libtwheel.so.0 that the dynamic linker
finds.
"""

import asyncio
import ctypes
import os

SECOND = 1_000_000_000


class Handle(ctypes.Structure):
    """struct twheel_handle: what of it is the caller's, and room for the rest."""

    _fields_ = [("callback", ctypes.c_void_p), ("data", ctypes.c_void_p),
                ("count", ctypes.c_uint32), ("state", ctypes.c_uint32),
                ("loop", ctypes.c_void_p), ("deadline", ctypes.c_uint64),
                ("repeat", ctypes.c_uint64), ("link", ctypes.c_void_p * 2),
                ("armed", ctypes.c_uint64), ("where", ctypes.c_uint64)]


CALLBACK = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.POINTER(Handle))

LOOP, HANDLE, NS = ctypes.c_void_p, ctypes.POINTER(Handle), ctypes.c_uint64
FUNCTIONS = {
    "loop_new": (ctypes.c_void_p, [ctypes.c_void_p]),
    "loop_free": (None, [LOOP]),
    "loop_fd": (ctypes.c_int, [LOOP]),
    "loop_flush": (ctypes.c_int, [LOOP]),
    "loop_dispatch": (ctypes.c_int, [LOOP]),
    "start": (ctypes.c_int, [LOOP, HANDLE, NS]),
    "repeat": (ctypes.c_int, [LOOP, HANDLE, NS, NS]),
    "again": (ctypes.c_int, [HANDLE, NS]),
    "stop": (ctypes.c_int, [HANDLE]),
}


def open_library():
    """The library, with the types of what is called here."""
    library = ctypes.CDLL("libtwheel.so.0", use_errno=True)
    for name, (result, arguments) in FUNCTIONS.items():
        function = getattr(library, "twheel_" + name)
        function.restype, function.argtypes = result, arguments
    return library


LIBRARY = open_library()


def call(name, *arguments):
    """Calls a function of the library; raises OSError when it fails."""
    result = getattr(LIBRARY, "twheel_" + name)(*arguments)
    if result is None or result == -1:
        error = ctypes.get_errno()
        raise OSError(error, f"twheel_{name}: {os.strerror(error)}")
    return result


class Timer:
    """A timer: made by Timers.call_later() and Timers.call_every()."""

    def __init__(self, timers, callback, args, repeats=False):
        self.timers = timers
        self.callback = callback
        self.args = args
        self.repeats = repeats
        self.handle = Handle(ctypes.cast(timers.expired, ctypes.c_void_p))
        self.key = ctypes.addressof(self.handle)

    def again(self, delay):
        """Puts the timer off, or starts it again after it has expired: in so many seconds."""
        call("again", self.handle, int(delay * SECOND))
        self.repeats = self.repeats and self.key in self.timers.running
        self.timers.changed(self)

    def cancel(self):
        """Makes sure that the callback is not called. Says whether it was still to be."""
        running = self.timers.running.pop(self.key, None)
        if running:
            call("stop", self.handle)
        return running is not None


class Timers:
    """A wheel that belongs to the running event loop."""

    def __init__(self):
        self.asyncio = asyncio.get_running_loop()
        self.expired = CALLBACK(self.expire)
        self.running = {}
        self.soon = set()
        self.loop = call("loop_new", None)
        self.asyncio.add_reader(call("loop_fd", self.loop), self.do_soon, "loop_dispatch")

    def call_later(self, delay, callback, *args):
        """Calls a function in so many seconds."""
        timer = Timer(self, callback, args)
        call("start", self.loop, timer.handle, int(delay * SECOND))
        return self.changed(timer)

    def call_every(self, interval, callback, *args):
        """Calls a function again and again, once in so many seconds."""
        timer = Timer(self, callback, args, repeats=True)
        period = int(interval * SECOND)
        call("repeat", self.loop, timer.handle, period, period)
        return self.changed(timer)

    def close(self):
        """Drops all timers."""
        self.asyncio.remove_reader(call("loop_fd", self.loop))
        # A timer's own callback may ask for it: the library is still at work then.
        if self.asyncio.is_running():
            self.asyncio.call_soon(LIBRARY.twheel_loop_free, self.loop)
        else:
            LIBRARY.twheel_loop_free(self.loop)
        self.loop = None
        self.running.clear()

    def changed(self, timer):
        """Keeps the timer's memory while it runs, and has the changes flushed."""
        self.running[timer.key] = timer
        self.do_soon("loop_flush")
        return timer

    def do_soon(self, what):
        """Calls the library before asyncio waits, and after all I/O of this turn of its loop."""
        if what not in self.soon:
            self.soon.add(what)
            self.asyncio.call_soon(self.do_now, what)

    def do_now(self, what):
        self.soon.discard(what)
        if self.loop:
            call(what, self.loop)

    def expire(self, _, handle):
        """What the library calls for a timer. No exception can pass through it."""
        timer = self.running[ctypes.addressof(handle.contents)]
        if not timer.repeats:
            del self.running[timer.key]
        try:
            timer.callback(*timer.args)
        except Exception as error:
            self.asyncio.call_exception_handler({"message": "a timer's callback",
                                                 "exception": error})
