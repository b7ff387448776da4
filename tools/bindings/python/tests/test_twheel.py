# SPDX-License-Identifier: MIT
"""Tests of the package's promises, over the backend that TWHEEL_BACKEND names."""

import asyncio
import contextlib
import contextvars
import errno
import gc
import logging
import os
import random
import resource
import signal
import sys
import time
import unittest
import weakref
from concurrent.futures import ThreadPoolExecutor

import twheel

# A busy machine is slow: what asyncio says about that would be in the middle of the results.
logging.getLogger("asyncio").setLevel(logging.ERROR)


def nothing(*unused):
    pass


def fail_on_ignored_exceptions(test):
    """Fails the test after an exception that Python can only print, as in a C callback."""
    ignored = []
    test.addCleanup(setattr, sys, "unraisablehook", sys.unraisablehook)
    test.addCleanup(test.assertEqual, ignored, [])
    sys.unraisablehook = lambda unraisable: ignored.append(repr(unraisable.exc_value))


class Base(unittest.TestCase):
    def setUp(self):
        fail_on_ignored_exceptions(self)
        self.loop = twheel.Loop()
        self.addCleanup(self.loop.close)
        self.called = []

    def wait_for(self, seconds):
        """Waits for the whole time, whatever expires."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self.loop.wait(end - time.monotonic())


class Timers(Base):
    def test_the_backend_is_the_one_that_was_asked_for(self):
        self.assertEqual(self.loop.backend, os.environ.get("TWHEEL_BACKEND", "user"))

    def test_a_timer_expires_once_and_not_early(self):
        for delay in 0, 0.001, 0.0075, 0.05, -1:
            for start in self.loop.call_later, lambda d, *a: self.loop.call_at(began + d, *a):
                began = time.monotonic()
                timer = start(delay, self.called.append, delay)
                self.assertAlmostEqual(timer.when(), began + delay, delta=1.5)
                self.assertEqual(self.loop.wait(), 1)
                self.assertGreaterEqual(time.monotonic() - began, delay)
                self.assertFalse(timer.cancel())
        self.assertEqual(self.loop.wait(0.01), 0)
        self.assertEqual(self.called, [0, 0, 0.001, 0.001, 0.0075, 0.0075, 0.05, 0.05, -1, -1])
        self.assertEqual(len(self.loop), 0)

    def test_a_timer_repeats_and_counts_what_it_missed(self):
        timer = self.loop.call_every(0.01, lambda: self.called.append(timer.count))
        self.loop.flush()
        time.sleep(0.055)
        self.loop.wait()
        self.assertGreaterEqual(sum(self.called), 5)
        self.loop.wait()
        self.assertEqual(len(self.loop), 1)
        self.assertTrue(timer.cancel())
        self.assertEqual(self.loop.wait(0.03), 0)

    def test_wait_goes_on_when_a_timer_was_put_off(self):
        timer = self.loop.call_later(0.01, nothing)
        for delay, timeout, called in (3600, 0.1, 0), (0.2, None, 1):
            timer.again(0.01)
            self.loop.flush()
            began = time.monotonic()
            timer.again(delay)
            self.assertEqual(self.loop.wait(timeout), called)
            self.assertGreaterEqual(time.monotonic() - began, timeout or delay)

    def test_again_brings_forward_and_starts_again(self):
        timer = self.loop.call_later(60, self.called.append, 1)
        self.loop.flush()
        timer.again(0.001)
        self.assertEqual(self.loop.wait(5), 1)
        timer.again(0.001)
        self.assertEqual(self.loop.wait(5), 1)
        timer.cancel()
        timer.again(0.001)
        self.assertFalse(timer.cancelled())
        self.assertEqual(self.loop.wait(5), 1)
        repeating = self.loop.call_every(0.001, self.called.append, 1)
        repeating.cancel()
        repeating.again(0.001) # once, as it was stopped
        self.assertEqual((self.loop.wait(5), len(self.loop)), (1, 0))
        later = self.loop.call_later(3600, nothing)
        later.again(1)
        later.again()
        self.assertAlmostEqual(later.when() - time.monotonic(), 3600, delta=60)
        self.assertRaises(OSError, self.loop.call_at(later.when(), nothing).again)

    def test_what_is_cancelled_is_not_called_even_if_it_expired(self):
        timer = self.loop.call_later(0.001, self.called.append, 1)
        self.loop.flush()
        time.sleep(0.01)
        self.assertEqual((timer.cancel(), timer.cancelled(), len(self.loop)), (True, True, 0))
        self.assertFalse(timer.cancel())
        self.wait_for(0.01)
        self.assertEqual(self.called, [])

    def test_a_delay_counts_from_now_after_long_work(self):
        self.loop.call_later(10, nothing)
        time.sleep(0.05)
        began = time.monotonic()
        self.loop.call_later(0.02, nothing)
        self.loop.wait()
        self.assertGreaterEqual(time.monotonic() - began, 0.02)

    def test_callbacks_may_do_anything(self):
        timers = [self.loop.call_later(0.001, lambda: [t.cancel() for t in timers])
                  for _ in range(100)]
        self.assertEqual(self.loop.wait(), 1)
        self.loop.call_later(0, lambda: self.loop.call_later(0, self.loop.close))
        self.assertEqual(self.loop.wait(), 1)
        self.assertEqual(self.loop.wait(), 1)
        with self.assertRaises(ValueError):
            self.loop.wait()

    def test_a_million(self):
        count = int(os.environ.get("TWHEEL_TIMERS", 1_000_000))
        called = bytearray(count)
        expected = bytearray(b"\1") * count

        def expire(number):
            called[number] += 1

        timers = twheel.Timers(self.loop, count, expire)
        objects = len(gc.get_objects())
        number = 0
        for number in range(count):
            timers.start(number, random.random() / 10)
            if number % 4 == 0:
                other = random.randrange(number + 1)
                if timers.stop(other):
                    expected[other] = 0
            if number % 10007 == 0:
                self.loop.wait(0)
        self.assertLess(len(gc.get_objects()) - objects, 1000)
        while called != expected and self.loop.wait(10):
            pass
        self.assertEqual(called, expected)

    def test_wait_sleeps(self):
        reads = []
        def read():
            reads.append(time.monotonic())
            return reads[-1]
        self.addCleanup(setattr, twheel._twheel, "monotonic", time.monotonic)
        twheel._twheel.monotonic = read
        self.loop.call_later(0.1, nothing)
        for seconds, called in (1, 1), (0.0019, 0):  # the last millisecond, too
            self.assertEqual(self.loop.wait(seconds), called)
        self.assertLess(len(reads), 12)

    def test_clocks(self):
        for clock in time.CLOCK_MONOTONIC, time.CLOCK_BOOTTIME, time.CLOCK_REALTIME:
            loop = twheel.Loop(clock=clock)
            self.assertAlmostEqual(loop.time(), time.clock_gettime(clock), delta=5)
            when = time.clock_gettime(clock) + 0.02
            timers = loop.call_at(when, nothing), loop.call_later(0.02, nothing)
            for timer in timers:
                self.assertAlmostEqual(timer.when(), when, delta=5)
            while len(loop):
                loop.wait()
            self.assertGreaterEqual(time.clock_gettime(clock), max(t.when() for t in timers))
            loop.close()

    def test_a_clock_of_the_programs_own(self):
        loop = twheel.Loop(clock=twheel.MANUAL)
        self.assertEqual((loop.time(), loop.timeout(), loop.backend), (0, None, "user"))
        hour = loop.call_later(3600, lambda: self.called.append(loop.time()))
        every = loop.call_every(600, lambda: self.called.append(loop.time()))
        self.assertEqual((loop.timeout(), loop.advance(599.9)), (600, 0))
        self.assertEqual((loop.advance(0.1), self.called), (1, [600]))
        hour.again(1000)
        self.assertEqual((loop.advance(3600), loop.time()), (7, 4200))
        self.assertEqual(self.called[:4], [600, 1200, 1600, 1800])
        loop.call_at(5000, lambda: 1 / 0)
        every.cancel()
        self.assertRaises(ZeroDivisionError, loop.advance, 1000)
        for act in loop.wait, loop.fileno, lambda: self.loop.advance(1), self.loop.timeout:
            self.assertRaises(OSError, act)


class Numbered(Base):
    def test_timers_with_numbers(self):
        timers = twheel.Timers(self.loop, 3, self.called.append)
        for number, delay in (0, 0.02), (1, 0.01), (2, 0.03):
            timers.start(number, delay)
        timers.start(0, 0.04)
        self.assertTrue(timers.stop(2))
        self.assertFalse(timers.stop(2))
        self.wait_for(0.06)
        self.assertEqual(self.called, [1, 0])
        timers.start(0, 0)
        self.loop.wait()
        timers.start(1, 0)
        self.loop.flush()
        del timers # stops them
        self.wait_for(0.02)
        self.assertEqual(self.called, [1, 0, 0])

    def test_bad_numbers(self):
        timers = twheel.Timers(self.loop, 3, nothing)
        for number in -1, 3, 1 << 40:
            self.assertRaises(IndexError, timers.start, number, 1)
            self.assertRaises(IndexError, timers.stop, number)
        self.assertRaises(ValueError, twheel.Timers, self.loop, -1, nothing)
        self.assertRaises(MemoryError, twheel.Timers, self.loop, sys.maxsize, nothing)
        self.assertRaises(TypeError, twheel.Timers, None, 3, nothing)
        self.loop.close()
        self.assertRaises(ValueError, timers.start, 0, 1)
        self.assertFalse(timers.stop(0))


class Errors(Base):
    def test_bad_input(self):
        for arguments in (), (1,), (1, None), ("1", nothing), (None, nothing):
            self.assertRaises(TypeError, self.loop.call_later, *arguments)
        self.assertRaises(ValueError, self.loop.call_later, float("nan"), nothing)
        with self.assertRaises(OSError) as error:
            self.loop.call_every(0, nothing)
        self.assertEqual(str(error.exception), "[Errno 22] Invalid argument: 'twheel_repeat'")
        self.assertRaises(TypeError, self.loop.call_later, 1, nothing, other=1)
        self.assertRaises(AttributeError, twheel.Timer().again, 1)
        self.assertRaises(AttributeError, twheel.Timer().cancel)
        timer = self.loop.call_later(float("inf"), nothing)
        self.assertRaises(ValueError, timer.again, float("nan"))
        self.assertRaises(TypeError, timer.again, "1")
        self.assertTrue(timer.cancel())
        self.assertEqual(len(self.loop), 0)

    def test_bad_loops_have_errno(self):
        for config in {"tick": 1e-9}, {"wheel_size": 1}:
            with self.assertRaises(OSError) as error:
                twheel.Loop(**config)
            self.assertEqual(error.exception.errno, errno.EINVAL)
        self.assertRaises(OSError, twheel.Loop, clock=time.CLOCK_THREAD_CPUTIME_ID)
        if self.loop.backend == "user":
            self.assertRaises(FileNotFoundError, twheel.Loop, backend="device")
        self.assertRaises(KeyError, twheel.Loop, backend="else")
        self.assertRaises(TypeError, twheel.Loop, 1)
        self.assertRaises(ValueError, twheel.Loop.__new__(twheel.Loop).flush)
        twheel.Loop.__new__(twheel.Loop).close()
        self.assertRaises(RuntimeError, self.loop.__init__)

    def test_without_descriptors(self):
        limits = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (3, limits[1]))
        try:
            with self.assertRaises(OSError) as error:
                twheel.Loop()
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, limits)
        self.assertEqual(error.exception.errno, errno.EMFILE)

    def test_a_closed_loop_and_its_timers(self):
        running = self.loop.call_later(60, nothing)
        expired = self.loop.call_later(0, nothing)
        self.loop.wait()
        self.loop.close()
        self.loop.close()
        for act in (self.loop.flush, self.loop.dispatch, self.loop.wait, self.loop.fileno,
                    lambda: running.again(1), lambda: expired.again(1),
                    lambda: self.loop.call_later(1, nothing)):
            self.assertRaises(ValueError, act)
        self.assertFalse(running.cancel())

    def test_other_threads_get_an_error(self):
        timer = self.loop.call_later(60, nothing)
        with ThreadPoolExecutor(1) as other:
            for act in (self.loop.wait, self.loop.close, lambda: timer.again(1), timer.cancel,
                        lambda: self.loop.call_later(1, nothing)):
                self.assertRaises(RuntimeError, other.submit(act).result)

    def test_other_threads_post(self):
        with ThreadPoolExecutor(3) as others:
            for i in range(3000):
                others.submit(self.loop.post, self.called.append, i)
            while len(self.called) < 3000:
                self.assertGreater(self.loop.wait(5), 0)
        self.assertEqual(sorted(self.called), list(range(3000)))
        self.loop.post(lambda: 1 / 0)
        self.assertRaises(ZeroDivisionError, self.loop.wait, 5)
        self.loop.close()
        self.assertRaises(ValueError, self.loop.post, nothing)

    def test_a_child_has_no_loop(self):
        for _ in range(2): # also while a message is pending
            child = os.fork()
            if not child:
                for act in lambda: self.loop.post(nothing), self.loop.wait:
                    try:
                        act()
                        os._exit(1)
                    except OSError as error:
                        if error.errno != errno.EOWNERDEAD:
                            os._exit(2)
                os._exit(0)
            self.assertEqual(os.waitpid(child, 0)[1], 0)
            self.loop.post(self.called.append, child)
        self.loop.wait()
        self.assertEqual(len(self.called), 2)

    def test_what_callbacks_raise_comes_when_all_were_called(self):
        self.loop.call_later(0.001, lambda: 1 / 0)
        self.loop.call_later(0.002, self.called.append, 1)
        self.loop.flush()
        time.sleep(0.01)
        self.assertRaises(ZeroDivisionError, self.loop.wait)
        self.assertEqual(self.called, [1])
        self.loop.call_later(0, lambda: 1 / 0)
        self.loop.call_later(0, sys.exit)
        self.loop.flush()
        time.sleep(0.01)
        with self.assertRaises(BaseExceptionGroup) as group:
            self.loop.wait()
        self.assertEqual(len(group.exception.exceptions), 2)

    def test_a_callback_cannot_wait(self):
        self.loop.call_later(0, self.loop.wait, 0)
        self.assertRaises(RuntimeError, self.loop.wait)

    def test_a_signal_ends_a_wait(self):
        def alarm(*_):
            raise InterruptedError

        old = signal.signal(signal.SIGALRM, alarm)
        self.addCleanup(signal.signal, signal.SIGALRM, old)
        signal.setitimer(signal.ITIMER_REAL, 0.02)
        self.assertRaises(InterruptedError, self.loop.wait, 10)

    def test_no_timer_is_lost_at_a_limit(self):
        loop = twheel.Loop(max_timers=10)
        for i in range(100):
            loop.call_later(i % 20 / 1000, self.called.append, i)
        with self.assertRaises(OSError) as error:
            loop.flush()
        self.assertEqual(error.exception.errno, errno.ENOSPC)
        end = time.monotonic() + 20
        while len(self.called) < 100 and time.monotonic() < end:
            try:
                loop.wait(1)
            except OSError as full:
                self.assertEqual(full.errno, errno.ENOSPC)
        self.assertEqual(sorted(self.called), list(range(100)))

    def test_nothing_leaks(self):
        class Thing:
            def act(self):
                pass

        things = []
        for close in True, False:
            loop, thing = twheel.Loop(), Thing()
            things.append(weakref.ref(thing))
            thing.timer = loop.call_later(60, thing.act)
            thing.timers = twheel.Timers(loop, 3, thing.act)
            thing.timers.start(1, 60)
            thing.loop = loop
            if close:
                loop.close()
            del loop, thing
        gc.collect()
        self.assertEqual([thing() for thing in things], [None, None])


class Asyncio(unittest.IsolatedAsyncioTestCase):
    def setUp(self):
        fail_on_ignored_exceptions(self)
        self.called = []

    async def test_all_timers_of_asyncio_run_over_an_installed_wheel(self):
        wheel, loop = twheel.install(), asyncio.get_running_loop()
        for delay in 0.03, 0.01, 0.02, 0.02: # only those of a tick come in any order
            loop.call_at(loop.time() + delay, self.called.append, delay)
        began = time.monotonic()
        sleep = asyncio.ensure_future(asyncio.sleep(0.05, "slept"))
        await asyncio.sleep(0)
        self.assertEqual(len(wheel), 5)
        self.assertEqual(await sleep, "slept")
        self.assertGreaterEqual(time.monotonic() - began, 0.05)
        self.assertEqual(self.called, [0.01, 0.02, 0.02, 0.03])
        with self.assertRaises(TimeoutError):
            await asyncio.wait_for(asyncio.sleep(60), 0.02)
        self.assertEqual(len(wheel), 0)
        wheel.close()
        await asyncio.sleep(0.001)

    async def test_timeout_is_as_asyncios_in_every_state(self):
        loop = asyncio.get_running_loop()

        def later(block, delay):
            block.reschedule(None if delay is None else loop.time() + delay)

        def again(delay):
            return lambda block, how: how(block, delay)

        def call(act, *args):
            return lambda block, how: act(*args)

        async def swallow(block, how):
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.sleep(60)

        async def enter(block, how):
            async with block:
                await asyncio.sleep(0.02)

        turn, short, long = (call(asyncio.sleep, delay) for delay in (0, 0.05, 60))
        cancel = lambda *_: asyncio.current_task().cancel()
        cancel_soon = lambda *_: loop.call_later(0.01, asyncio.current_task().cancel) and None
        past = call(time.sleep, 0.05)

        async def nest(block, how):
            kind = twheel if isinstance(block, twheel.timeout) else asyncio
            async with kind.timeout(10):
                await asyncio.sleep(60)

        async def run(timeout, how, seen, delay, inside, after=(), before=()):
            async def act(steps):
                for step in steps:
                    result = step(block, how)
                    if asyncio.iscoroutine(result):
                        await result
                    when = block.when()
                    seen.append((block.expired(), when is None or when > loop.time() + 5))

            block = timeout(delay)
            await act(before)
            try:
                async with block:
                    await act(inside)
            finally:
                await act(after)

        for scenario in (
                (None, [again(0.02), long]), # the deadline is set in the block
                (0.02, [again(None), short, again(0.02), long]),
                (0.02, [swallow, short, again(10)]), (0.02, [swallow, again(None)]),
                (0.02, [again(10), short]), (0.02, [nest]), (10, [lambda *_: 1 / 0]),
                (10, [], [again(0.01), short]), (10, [], [], [again(0.01)]), # outside of it
                (0, [turn, turn]), (-1, [turn, turn]), (float("-inf"), [turn, turn]), (0, []),
                (10, [again(-1), turn, turn]), (10, [again(-1), again(10), short]),
                (10, [enter]), (0.01, [long], [enter]), (10, [], [enter, short]),
                (0.02, [long], [], [past]), # the delay counts from before the block
                (10, [cancel_soon, long]), (0.01, [cancel_soon, past, long]), # from outside
                (0.01, [swallow, cancel, long]), (0.01, [long], [], [cancel_soon, swallow])):
            outcomes = []
            for how in ((asyncio.timeout, later), (twheel.timeout, later),
                        (twheel.timeout, twheel.timeout.again)):
                seen = []
                task = asyncio.create_task(run(*how, seen, *scenario))
                await asyncio.wait([task], timeout=60)
                error = asyncio.CancelledError() if task.cancelled() else task.exception()
                outcomes.append((repr(error), seen, task.cancelling()))
            with self.subTest(scenario):
                self.assertEqual(outcomes[1:], outcomes[:1] * 2)
        self.assertEqual(len(twheel.attach()), 0)

    async def test_the_time_of_an_event_loop_is_that_of_its_wheel(self):
        loop = asyncio.get_running_loop()
        ahead = time.clock_gettime(time.CLOCK_REALTIME) - time.monotonic()
        began = time.monotonic()
        loop.call_later(0.1, lambda: self.called.append(time.monotonic() - began))
        wheel = twheel.install(clock=time.CLOCK_REALTIME)
        self.assertAlmostEqual(loop.time(), time.time(), delta=5)
        async with asyncio.timeout(10):
            await asyncio.sleep(0.02)
        with self.assertRaises(TimeoutError):
            async with asyncio.timeout(0.02):
                await asyncio.sleep(10)
        with self.assertRaises(TimeoutError):
            async with twheel.timeout(10) as timeout:
                timeout.reschedule(loop.time() + 0.02)
                await asyncio.sleep(10)
        handle = loop.call_at(loop.time() + 10, nothing)
        self.assertAlmostEqual(handle.when() - loop.time(), 10, delta=5)
        handle.cancel()
        await asyncio.sleep(0.1)
        self.assertGreaterEqual(time.monotonic() - began, 0.16)
        self.assertEqual([late >= 0.1 for late in self.called], [True]) # one from before
        loop.call_later(60, nothing)
        wheel.close()
        self.assertAlmostEqual(loop.time(), time.monotonic(), delta=5)
        self.assertGreater(ahead, 1e6)
        await asyncio.sleep(0.01)

    async def test_a_full_wheel_does_not_keep_its_event_loop_busy(self):
        errors = []
        asyncio.get_running_loop().set_exception_handler(lambda _, c: errors.append(c))
        wheel = twheel.install(max_timers=3)
        timers = [wheel.call_later(60, nothing) for _ in range(3)]
        for i in range(50):
            wheel.call_later(i % 10 / 1000, self.called.append, i)
        cpu = time.process_time()
        with ThreadPoolExecutor(1) as other:
            for _ in range(5):
                await asyncio.wrap_future(other.submit(time.sleep, 0.1))
        self.assertLess(time.process_time() - cpu, 0.25)
        self.assertTrue(1 < len(errors) < 20, len(errors))
        self.assertEqual({c["exception"].errno for c in errors}, {errno.ENOSPC})
        self.assertEqual((len(wheel), self.called), (53, []))
        for timer in timers:
            timer.cancel()
        while len(self.called) < 50: # none is lost
            await asyncio.sleep(0.01)

    async def test_errors_and_contexts(self):
        variable = contextvars.ContextVar("variable", default=0)
        errors = []
        wheel = twheel.attach()
        asyncio.get_running_loop().set_exception_handler(lambda _, c: errors.append(c))
        broken = wheel.call_later(0, lambda: 1 / 0)
        wheel.post(lambda: 1 / 0)
        variable.set(1)
        wheel.call_later(0, lambda: self.called.append(variable.get()))
        wheel.call_later(0, lambda: self.called.append(variable.get()),
                         context=contextvars.Context())
        variable.set(2)
        await asyncio.sleep(0.05)
        self.assertEqual(self.called, [1, 0])
        self.assertEqual([type(c["exception"]) for c in errors], [ZeroDivisionError] * 2)
        self.assertEqual([c.get("handle") for c in errors], [None, broken])
        self.assertIn("lambda", repr(broken))

    async def test_a_timer_may_close_the_wheel(self):
        wheel = twheel.attach()
        wheel.call_later(0, wheel.close)
        wheel.call_later(0.3, self.called.append, 1)
        await asyncio.sleep(0.35)
        self.assertEqual(self.called, [])
        self.assertIsNot(twheel.attach(), wheel)
        self.assertRaises(ValueError, wheel.call_later, 1, nothing)


class Artificial(asyncio.SelectorEventLoop):
    """An event loop whose time is not a clock's: it passes when there is nothing else to do."""
    now = 1.7e9

    def __init__(self):
        super().__init__()
        self._clock_resolution = 1e-6 # that of floats

    def time(self):
        return self.now

    def _run_once(self):
        if not self._ready:
            handles = (handle.when() for handle in self._scheduled if not handle.cancelled())
            self.now = max(self.now, min(handles)) # fails instead of waiting forever
        super()._run_once()


class ArtificialTime(unittest.TestCase):
    def test_an_event_loop_with_a_time_of_its_own_is_the_wheels_clock(self):
        async def main(use):
            loop, called = asyncio.get_running_loop(), []
            wheel = use(clock=time.CLOCK_BOOTTIME)
            before = loop.time()
            for delay in 3600, 7200, 0.5:
                wheel.call_later(delay, lambda delay=delay: called.append((delay, loop.time())))
            timers = twheel.Timers(wheel, 1, lambda number: called.append((number, loop.time())))
            timers.start(0, 10000)
            idle = wheel.call_later(1, called.append, "postponed")
            for _ in range(10):
                await asyncio.sleep(0.7)
                idle.again(1)
            idle.cancel()
            every = wheel.call_every(1000, lambda: called.append("every"))
            with self.assertRaises(TimeoutError):
                async with twheel.timeout(60) as timeout:
                    timeout.again(2500)
                    await asyncio.sleep(86400)
            self.assertAlmostEqual(loop.time(), before + 2507, delta=0.1)
            every.cancel()
            with self.assertRaises(TimeoutError):
                await asyncio.wait_for(asyncio.sleep(86400), 60)
            loop.now += 10 # others are due in the same turn
            late = wheel.call_later(5, lambda: called.append(("late", loop.time())))
            self.assertAlmostEqual(late.when() - wheel.time(), 5)
            await asyncio.sleep(80000)
            self.assertEqual(called.count("every"), 2)
            for delay, when in (c for c in called if c != "every"):
                delay = {0: 10000, "late": late.when() - before}.get(delay, delay)
                self.assertAlmostEqual(when, before + delay, delta=0.01)
                self.assertGreater(when, before + delay - 1e-6)
            self.assertEqual(len(wheel), 0)

        began = time.monotonic()
        for use in twheel.install, twheel.attach:
            with asyncio.Runner(loop_factory=Artificial) as runner:
                runner.run(main(use))
        self.assertLess(time.monotonic() - began, 10)


class Ended(unittest.TestCase):
    def test_an_event_loop_that_is_closed_closes_its_wheel(self):
        def descriptors():
            return len(os.listdir("/proc/self/fd"))

        async def main(use):
            wheel = use()
            async with twheel.timeout(5):
                await asyncio.sleep(0)
            self.assertRaises(RuntimeError, asyncio.get_running_loop().close) # it is running
            wheel.call_later(0, nothing)
            return wheel

        before = descriptors()
        gc.disable()
        self.addCleanup(gc.enable)
        for use in twheel.install, twheel.attach:
            wheel = asyncio.run(main(use))
            self.assertRaises(ValueError, wheel.call_later, 1, nothing)
            loop = asyncio.new_event_loop() # closed by another thread than the one that ran it
            with ThreadPoolExecutor(1) as other:
                other.submit(loop.run_until_complete, main(use)).result()
            loop.close()
            loop.close()
            self.assertRaises(RuntimeError, use, loop)
            wheel = weakref.ref(wheel)
        self.assertEqual(descriptors(), before)
        del loop
        gc.collect()
        self.assertIsNone(wheel())


if __name__ == "__main__":
    unittest.main()
