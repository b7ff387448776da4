# SPDX-License-Identifier: MIT
# cython: language_level=3, nonecheck=True
"""Loops and timers of libtwheel; _twheel.pyi documents them.

A timer has its handle inside. A loop refers to its running timers, a timer to its loop: a timer
is stopped before its memory is freed, and the loop is freed after its last timer. In a closed
loop, the library's loop is NULL, and nothing acts on its former handles."""

cimport cython
from cpython.exc cimport PyErr_SetFromErrnoWithFilename
from cpython.pythread cimport PyThread_get_thread_ident
from libc.errno cimport EALREADY, ENOMEM, ENOSPC, errno
from libc.math cimport ceil
from libc.stdint cimport int64_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free
from libc.string cimport memset
from select import POLLIN, poll
from time import CLOCK_MONOTONIC, clock_gettime, monotonic

cdef extern from "Python.h":
    object PyContext_CopyCurrent()

cdef extern from "libtwheel.h":
    enum: TWHEEL_BACKEND_DEVICE, TWHEEL_CLOCK_REALTIME, TWHEEL_CLOCK_MANUAL
    uint64_t TWHEEL_TIME_MAX_NS, TWHEEL_SAME_DELAY
    struct twheel_loop:
        pass
    struct twheel_handle:
        void *data
        uint64_t count
    struct twheel_loop_config:
        uint64_t tick_ns, max_timers
        uint32_t wheel_size, clock, backend
        void *data
    struct twheel_message:
        void (*call)(twheel_loop *loop, twheel_message *message) noexcept
    ctypedef void (*twheel_callback)(twheel_loop *loop, twheel_handle *handle) noexcept
    twheel_loop *twheel_loop_new(const twheel_loop_config *config)
    void twheel_loop_free(twheel_loop *loop)
    int twheel_loop_fd(twheel_loop *loop)
    int twheel_loop_backend(twheel_loop *loop)
    void *twheel_loop_data(twheel_loop *loop)
    int twheel_loop_post(twheel_loop *loop, twheel_message *message)
    uint64_t twheel_loop_now(twheel_loop *loop)
    int twheel_loop_update(twheel_loop *loop)
    int twheel_loop_flush(twheel_loop *loop)
    int twheel_loop_dispatch(twheel_loop *loop)
    int twheel_loop_advance(twheel_loop *loop, uint64_t time)
    int64_t twheel_loop_timeout(twheel_loop *loop)
    void twheel_handle_init(twheel_handle *handle, twheel_callback callback, void *data)
    int twheel_start(twheel_loop *loop, twheel_handle *handle, uint64_t delay)
    int twheel_start_at(twheel_loop *loop, twheel_handle *handle, uint64_t deadline)
    int twheel_repeat(twheel_loop *loop, twheel_handle *handle, uint64_t delay, uint64_t period)
    int twheel_again(twheel_handle *handle, uint64_t delay)
    int twheel_stop(twheel_handle *handle)
    bint twheel_is_running(const twheel_handle *handle)
    int64_t twheel_remaining(const twheel_handle *handle)

cdef enum:
    LATER, AT, EVERY
# The library's clocks are the system's with a bit, as 0 is the default.
MANUAL = TWHEEL_CLOCK_MANUAL ^ TWHEEL_CLOCK_REALTIME
BACKENDS = {"any": 0, "device": TWHEEL_BACKEND_DEVICE, "user": 2}


cdef int check(int result, const char *function) except -1:
    if result < 0:
        PyErr_SetFromErrnoWithFilename(OSError, function)
    return result


cdef uint64_t nanoseconds(double seconds) except? 0xffffffffffffffff:
    """Rounded up, and clamped to the range."""
    cdef double ns = ceil(seconds * 1e9)
    if ns != ns:
        raise ValueError("a time that is not a number")
    return 0 if ns <= 0 else TWHEEL_TIME_MAX_NS if ns >= 9.2e18 else <uint64_t>ns


cdef class Loop:
    cdef twheel_loop *loop
    cdef readonly object on_error
    cdef object poll
    cdef set running
    cdef list errors, posted
    cdef twheel_message message
    cdef unsigned long thread
    cdef int called, clock
    cdef bint dispatching, closing, manual
    cdef object __weakref__

    def __init__(self, *, double tick=0, uint64_t max_timers=0, uint32_t wheel_size=0,
                 int clock=CLOCK_MONOTONIC, str backend="any", on_error=None):
        cdef twheel_loop_config config
        memset(&config, 0, sizeof(config))
        config.tick_ns, config.max_timers = nanoseconds(tick), max_timers
        config.wheel_size, config.backend = wheel_size, BACKENDS[backend]
        self.clock, self.manual = clock, clock == MANUAL
        config.clock, config.data = TWHEEL_CLOCK_REALTIME | self.clock, <void *>self
        if self.loop != NULL:
            raise RuntimeError("a loop is made once")
        self.loop = twheel_loop_new(&config)
        check(0 if self.loop else -1, "twheel_loop_new")
        self.thread = PyThread_get_thread_ident()
        if not self.manual:
            self.poll = poll()
            self.poll.register(self.fileno(), POLLIN)
        self.on_error = on_error
        self.running, self.errors, self.posted = set(), [], []
        self.message.call = on_posted

    def __dealloc__(self):
        twheel_loop_free(self.loop)

    cdef int check(self, bint outside=False) except -1:
        if self.loop == NULL:
            raise ValueError("the loop is closed")
        if self.thread != PyThread_get_thread_ident():
            raise RuntimeError("the loop belongs to another thread")
        if outside and self.dispatching:
            raise RuntimeError("called by a callback")

    def _take(self):
        """The loop is this thread's from now on: the other one has ended."""
        self.thread = PyThread_get_thread_ident()

    def time(self):
        return twheel_loop_now(self.loop) / 1e9 if self.manual else clock_gettime(self.clock)

    cdef uint64_t later(self, uint64_t delay) except? 0:
        """Updates the loop's time. Returns a delay from there that ends as one from now."""
        cdef int64_t ahead
        if not self.manual:
            twheel_loop_update(self.loop)
            return delay
        ahead = nanoseconds(self._change()) - twheel_loop_now(self.loop)
        return min(delay + max(ahead, 0), TWHEEL_TIME_MAX_NS)

    def _change(self):
        """Called before a timer starts, with a manual clock. Returns the time."""
        return self.time()

    cdef Timer begin(self, int how, double time, callback, tuple args, context):
        cdef Timer timer = Timer.__new__(Timer)
        cdef uint64_t ns = nanoseconds(time)
        self.check()
        if not callable(callback):
            raise TypeError("a callback that cannot be called")
        if context is None and self.on_error is not None:
            context = PyContext_CopyCurrent()
        twheel_handle_init(&timer.handle, on_timer, <void *>timer)
        timer.owner, timer.callback, timer.args, timer.context = self, callback, args, context
        ns = ns if how == AT else self.later(ns)
        if how == LATER:
            check(twheel_start(self.loop, &timer.handle, ns), "twheel_start")
        elif how == AT:
            check(twheel_start_at(self.loop, &timer.handle, ns), "twheel_start_at")
        else:
            check(twheel_repeat(self.loop, &timer.handle, ns, nanoseconds(time)), "twheel_repeat")
        timer.deadline = ns if how == AT else twheel_loop_now(self.loop) + ns
        self.running.add(timer)
        return timer

    def call_later(self, double delay, callback, *args, context=None):
        return self.begin(LATER, delay, callback, args, context)

    def call_at(self, double when, callback, *args, context=None):
        return self.begin(AT, when, callback, args, context)

    def call_every(self, double interval, callback, *args, context=None):
        return self.begin(EVERY, interval, callback, args, context)

    def post(self, callback, *args):
        if self.loop == NULL:
            raise ValueError("the loop is closed")
        self.posted.append((callback, args))
        if twheel_loop_post(self.loop, &self.message) < 0 and errno != EALREADY:
            self.posted.pop()
            check(-1, "twheel_loop_post")

    def flush(self):
        self.check()
        check(twheel_loop_flush(self.loop), "twheel_loop_flush")

    def dispatch(self):
        return self.call_back(-1)

    def advance(self, double seconds):
        return self.call_back(nanoseconds(seconds))

    def timeout(self):
        cdef int64_t left
        self.check()
        left = twheel_loop_timeout(self.loop)
        check(-1 if errno else 0, "twheel_loop_timeout")
        return None if left < 0 else left / 1e9

    cdef call_back(self, int64_t ns):
        cdef int result
        self.check(True)
        self.dispatching, self.called = True, 0
        result = twheel_loop_dispatch(self.loop) if ns < 0 else twheel_loop_advance(self.loop, ns)
        self.dispatching = False
        if self.closing:
            self.close()
        if self.errors:
            errors, self.errors = self.errors, []
            raise errors[0] if len(errors) == 1 else BaseExceptionGroup("callbacks", errors)
        if not self.called:
            check(result, "twheel_loop_dispatch")
        return self.called

    def wait(self, timeout=None):
        self.check(True)
        self.fileno() # a manual clock has none
        end = None if timeout is None else monotonic() + timeout
        while True:
            error, called = None, 0
            try:
                self.flush()
            except OSError as full: # timers that expire make room
                if full.errno != ENOSPC and full.errno != ENOMEM:
                    raise
                error = full
            left = 1e6 if end is None else max(0, end - monotonic())
            if self.poll.poll(ceil(min(left, 0.01 if error else 1e6) * 1000)):
                called = self.dispatch()
            if called or self.loop == NULL or (left <= 0 and not error):
                return called
            if error:
                raise error

    def fileno(self):
        self.check()
        return check(twheel_loop_fd(self.loop), "twheel_loop_fd")

    @property
    def backend(self):
        self.check()
        return "device" if twheel_loop_backend(self.loop) == TWHEEL_BACKEND_DEVICE else "user"

    def close(self):
        cdef twheel_loop *loop = self.loop
        if loop == NULL:
            return
        self.check()
        self.closing = self.dispatching
        if not self.closing:
            self.loop = NULL
            twheel_loop_free(loop)
            self.running.clear()

    def __len__(self):
        return len(self.running)


cdef bint stop(Loop owner, twheel_handle *handle) except -1:
    if owner.loop == NULL:
        return False
    owner.check()
    return check(twheel_stop(handle), "twheel_stop") > 0


cdef void call(Loop owner, object callback, tuple args, object context, Timer timer) noexcept:
    """The library's callback. No exception passes through the library."""
    owner.called += 1
    try:
        if context is None:
            callback(*args)
        else:
            context.run(callback, *args)
    except BaseException as error:
        if owner.on_error is None or not isinstance(error, Exception):
            owner.errors.append(error)
        else:
            owner.on_error(error, timer)


cdef void on_timer(twheel_loop *loop, twheel_handle *handle) noexcept:
    cdef Timer timer = <Timer>handle.data
    if not twheel_is_running(handle):
        timer.owner.running.discard(timer)
    call(timer.owner, timer.callback, timer.args, timer.context, timer)


cdef void on_numbered(twheel_loop *loop, twheel_handle *handle) noexcept:
    cdef Timers timers = <Timers>handle.data
    call(timers.owner, timers.callback, (handle - timers.handles,), None, None)


cdef void on_posted(twheel_loop *loop, twheel_message *message) noexcept:
    """One message is for all that threads have posted since the last one was called."""
    cdef Loop owner = <Loop>twheel_loop_data(loop)
    posted, owner.posted = owner.posted, []
    for callback, args in posted:
        call(owner, callback, args, None, None)


@cython.no_gc_clear
cdef class Timer:
    cdef twheel_handle handle
    cdef Loop owner
    cdef object callback, context
    cdef tuple args
    cdef uint64_t deadline
    cdef bint is_cancelled

    def __dealloc__(self):
        if self.owner is not None and self.owner.loop != NULL:
            twheel_stop(&self.handle)

    def again(self, delay=None):
        cdef uint64_t ns = 0 if delay is None else nanoseconds(delay)
        self.owner.check()
        ns = self.owner.later(ns)
        check(twheel_again(&self.handle, TWHEEL_SAME_DELAY if delay is None else ns), "twheel_again")
        self.deadline = twheel_loop_now(self.owner.loop) + twheel_remaining(&self.handle)
        self.is_cancelled = False
        self.owner.running.add(self)

    def cancel(self):
        cdef bint running = stop(self.owner, &self.handle)
        self.is_cancelled = self.is_cancelled or running
        self.owner.running.discard(self)
        return running

    def cancelled(self):
        return self.is_cancelled

    def when(self):
        return self.deadline / 1e9

    def __repr__(self):
        return f"<Timer {self.callback!r} at {self.when()}>"

    @property
    def count(self):
        return self.handle.count or 1


@cython.no_gc_clear
cdef class Timers:
    cdef Loop owner
    cdef object callback
    cdef twheel_handle *handles
    cdef Py_ssize_t size

    def __cinit__(self, Loop loop not None, Py_ssize_t size, callback):
        cdef Py_ssize_t i
        if size < 0:
            raise ValueError("a negative number of timers")
        self.owner, self.callback = loop, callback
        self.handles = <twheel_handle *>calloc(max(size, 1), sizeof(twheel_handle))
        if self.handles == NULL:
            raise MemoryError
        self.size = size
        for i in range(size):
            twheel_handle_init(&self.handles[i], on_numbered, <void *>self)

    def __dealloc__(self):
        cdef Py_ssize_t i
        if self.owner is not None and self.owner.loop != NULL:
            for i in range(self.size):
                twheel_stop(&self.handles[i])
        free(self.handles)

    cdef twheel_handle *find(self, Py_ssize_t number) except NULL:
        if number < 0 or number >= self.size:
            raise IndexError(f"timer {number} of {self.size}")
        return &self.handles[number]

    def start(self, Py_ssize_t number, double delay):
        cdef twheel_handle *handle = self.find(number)
        cdef uint64_t ns = nanoseconds(delay)
        self.owner.check()
        ns = self.owner.later(ns)
        check(twheel_start(self.owner.loop, handle, ns), "twheel_start")

    def stop(self, Py_ssize_t number):
        return stop(self.owner, self.find(number))
