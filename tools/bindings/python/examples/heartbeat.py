#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""A heartbeat comes every 200 ms, and postpones an idle timeout of 500 ms. The fifth one is
the last, and the idle timeout ends the program."""

import asyncio

import twheel


async def main():
    """Runs the timers."""
    done = asyncio.Event()
    beats = []

    def on_heartbeat():
        beats.append(None)
        print("heartbeat", len(beats))
        idle.again(0.5)
        if len(beats) == 5:
            heartbeat.cancel()

    def on_idle():
        print("idle")
        done.set()

    wheel = twheel.attach()
    heartbeat = wheel.call_every(0.2, on_heartbeat)
    idle = wheel.call_later(0.5, on_idle)
    await done.wait()


asyncio.run(main())
