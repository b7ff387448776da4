#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tests tools/examples/python/twheel.py, and prints TAP.

The only argument is the size of struct twheel_handle, as a C compiler has it.
"""

import asyncio
import ctypes
import errno
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)),
                                "../../examples/python"))
import twheel


async def expires_in_order(timers):
    """Timers expire in the order of their deadlines, with their arguments."""
    heard = []
    for delay in 0.03, 0.01, 0.02:
        timers.call_later(delay, heard.append, delay)
    await asyncio.sleep(0.2)
    assert heard == [0.01, 0.02, 0.03], heard
    assert not timers.running, "timers that have expired are kept"


async def is_never_early(timers):
    """A timer waits for its delay, and for the new one when it is put off."""
    done = asyncio.Event()
    began = asyncio.get_running_loop().time()
    timer = timers.call_later(0.05, done.set)
    await asyncio.sleep(0.02)
    timer.again(0.1)
    await done.wait()
    took = asyncio.get_running_loop().time() - began
    assert took >= 0.119, took


async def is_cancelled(timers):
    """What is cancelled is not called, and says so once."""
    timer = timers.call_later(0.01, heard_too_much)
    assert timer.cancel() and not timer.cancel()
    await asyncio.sleep(0.05)


def heard_too_much():
    raise AssertionError("called")


async def starts_again(timers):
    """A timer that has expired starts again, and one that repeated expires once."""
    heard = []
    timer = timers.call_later(0.01, heard.append, "once")
    repeating = timers.call_every(0.01, heard.append, "often")
    await asyncio.sleep(0.1)
    repeating.cancel()
    assert heard.count("once") == 1 and heard.count("often") > 1, heard
    heard.clear()
    timer.again(0.01)
    repeating.again(0.01)
    await asyncio.sleep(0.1)
    assert sorted(heard) == ["often", "once"], heard
    assert not timers.running, "timers that have expired are kept"


async def goes_on_after_an_exception(timers):
    """An exception in a callback goes to asyncio's handler, and the others are called."""
    heard, problems = [], []
    asyncio.get_running_loop().set_exception_handler(
        lambda _, context: problems.append(str(context["exception"])))
    timers.call_later(0.01, heard_too_much)
    timers.call_later(0.01, heard.append, 1)
    await asyncio.sleep(0.1)
    assert problems == ["called"] and heard == [1], (problems, heard)


async def refuses_what_is_too_long(timers):
    """What the library refuses is an OSError, and no timer."""
    try:
        timers.call_later(1e10, heard_too_much)
        raise AssertionError("no error")
    except OSError as error:
        assert error.errno == errno.EINVAL, error
    assert not timers.running, "a timer is kept"


async def has_the_size_of_a_handle(_):
    """There is room for a handle."""
    assert ctypes.sizeof(twheel.Handle) == int(sys.argv[1])


async def run(test):
    """Runs a test with timers of its own; nothing may go wrong inside of callbacks."""
    ignored = []
    sys.unraisablehook = ignored.append
    timers = twheel.Timers()
    try:
        await asyncio.wait_for(test(timers), 60)
    finally:
        timers.close()
    assert not ignored, ignored[0].exc_value


def main():
    """Runs all tests."""
    tests = [has_the_size_of_a_handle, expires_in_order, is_never_early, is_cancelled,
             starts_again, goes_on_after_an_exception, refuses_what_is_too_long]
    failed = False
    for number, test in enumerate(tests, 1):
        try:
            asyncio.run(run(test))
            print(f"ok {number} - asyncio: {test.__name__}")
        except Exception as error:
            failed = True
            print(f"not ok {number} - asyncio: {test.__name__}\n# {error!r}")
    print(f"1..{len(tests)}")
    return failed


sys.exit(main())
