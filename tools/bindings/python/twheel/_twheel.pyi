# SPDX-License-Identifier: MIT
import time
from contextvars import Context
from typing import Any, Callable, Literal

MANUAL: int  # a clock that begins at 0, and goes on by Loop.advance(): for tests

class Timer:
    count: int  # in a callback of call_every(): how many periods have passed
    def again(self, delay: float | None = None) -> None:
        """Puts the timer off, or starts it again: in seconds from now; or None, for the delay of
        call_later(), or the interval."""
    def cancel(self) -> bool: ...  # whether it was running
    def cancelled(self) -> bool: ...
    def when(self) -> float: ...  # as Loop.time()

class Loop:
    backend: Literal["device", "user"]
    def __init__(self, *, tick: float = 0, max_timers: int = 0, wheel_size: int = 0,
                 clock: int = time.CLOCK_MONOTONIC,
                 backend: Literal["any", "device", "user"] = "any",
                 on_error: Callable[[Exception, Timer | None], object] | None = None) -> None:
        """Zero stands for the library's default.
        on_error is called for what a callback raises, with the timer; or with None, of Timers
        and post()."""
    def time(self) -> float: ...  # of its clock: call_at() takes that
    def call_later(self, delay: float, callback: Callable[..., object], *args: Any,
                   context: Context | None = None) -> Timer: ...
    def call_at(self, when: float, callback: Callable[..., object], *args: Any,
                context: Context | None = None) -> Timer: ...
    def call_every(self, interval: float, callback: Callable[..., object], *args: Any,
                   context: Context | None = None) -> Timer: ...
    def post(self, callback: Callable[..., object], *args: Any) -> None:
        """Calls a function in the loop's thread. The only method for other threads."""
    def flush(self) -> None: ...  # as dispatch() does: what was started takes effect
    def dispatch(self) -> int: ...  # calls back: how many; raises what they raised
    def advance(self, seconds: float) -> int: ...  # with clock=MANUAL: lets time pass, dispatches
    def timeout(self) -> float | None: ...  # with clock=MANUAL: until the next timer expires
    def wait(self, timeout: float | None = None) -> int: ...  # flushes and dispatches
    def fileno(self) -> int: ...
    def close(self) -> None: ...
    def __len__(self) -> int: ...

class Timers:
    """Timers with numbers, and nothing else: no object for each."""
    def __init__(self, loop: Loop, size: int, callback: Callable[[int], object]) -> None: ...
    def start(self, number: int, delay: float) -> None: ...  # or put off
    def stop(self, number: int) -> bool: ...
