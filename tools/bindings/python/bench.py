# SPDX-License-Identifier: MIT
"""The cost of timers in Python, for tools/bindings/bench: lines in nanoseconds for each
timer; the last column is bytes for each."""

import asyncio
import sys
import time

import twheel

COUNT = int(sys.argv[1]) if len(sys.argv) > 1 else 100000
DELAYS = [(i * 7919 % 1800000 + 1000) / 1000 for i in range(COUNT)]
called = 0


def call(*_):
    """The callback of the timers."""
    global called
    called += 1


class Clock:
    """Laps, in nanoseconds for each timer."""

    def __init__(self):
        self.last = time.perf_counter_ns()

    def lap(self):
        """The time since the last lap."""
        before, self.last = self.last, time.perf_counter_ns()
        return (self.last - before) / COUNT


def resident():
    """The memory of this process, in bytes."""
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * 4096


def show(name, *figures):
    """Prints a line of the table."""
    print(f"{name:28}" + "".join(f" {figure:7.0f}" for figure in figures), flush=True)


async def objects(name, loop, again):
    """Timers that are objects: of asyncio, or of a wheel in its place."""
    global called
    await asyncio.sleep(0.01)
    before = resident()
    clock = Clock()
    timers = [loop.call_later(delay, call) for delay in DELAYS]
    await asyncio.sleep(0)
    start = clock.lap()
    memory = (resident() - before) / COUNT
    clock.lap()
    if again:
        for timer in timers:
            timer.again(3600)
    else:
        for i, timer in enumerate(timers):
            timer.cancel()
            timers[i] = loop.call_later(3600, call)
    put_off = clock.lap()
    for timer in timers:
        timer.cancel()
    await asyncio.sleep(0)
    stop = clock.lap()
    timers.clear()
    called = 0
    end = loop.time() + COUNT * 20e-6
    for _ in range(COUNT):
        loop.call_at(end, call)
    await asyncio.sleep(0)
    time.sleep(max(0, end + 0.002 - loop.time()))
    clock.lap()
    while called < COUNT:
        await asyncio.sleep(0)
    show(name, start, put_off, stop, clock.lap(), memory)


def numbered():
    """Timers with numbers."""
    global called
    loop = twheel.Loop()
    before = resident()
    timers = twheel.Timers(loop, COUNT, call)
    clock = Clock()
    for i, delay in enumerate(DELAYS):
        timers.start(i, delay)
    loop.flush()
    start = clock.lap()
    memory = (resident() - before) / COUNT
    clock.lap()
    for i in range(COUNT):
        timers.start(i, 3600)
    put_off = clock.lap()
    for i in range(COUNT):
        timers.stop(i)
    loop.flush()
    stop = clock.lap()
    called = 0
    for i in range(COUNT):
        timers.start(i, 0.001)
    loop.flush()
    time.sleep(0.02)
    clock.lap()
    while called < COUNT:
        loop.dispatch()
    show("Python, timers with numbers", start, put_off, stop, clock.lap(), memory)


async def main():
    """Both kinds of loops, first that of asyncio."""
    loop = asyncio.get_running_loop()
    await objects("Python, asyncio", loop, False)
    twheel.install()
    await objects("Python, the wheel in asyncio", loop, True)


asyncio.run(main())
numbered()
