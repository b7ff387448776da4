# SPDX-License-Identifier: MIT
"""The machines that tests run in: commands to which the program is appended."""

BIN = "build/bin/"

STOCK = ["module", "KERNEL=stock"]
VM = ["tools/vm/vm", "--module", "build/stock/twheel.ko"]
# Without zeros in memory that nobody has asked for.
SELFTEST = VM + ["--append", "init_on_alloc=0", "--file", BIN + "twheel-selftest"]

# How late an event may be in an otherwise idle machine: a tick, and 5 ms.
PROMPT = "--late-max 6"

# The self-tests compare clocks with deadlines, so they run where time does not depend on
# the host's load. That machine has one CPU. The tests with several threads and processes,
# none of which is about lateness, run on two as well.
TWO_CPUS = ("sharing. batch. uring. a_signal close_leaves"
            " waiters. waiting.ends waiting.on").split()


def guest(*names):
    """Options for the program that the machine's shell runs."""
    return [word for name in names
            for word in ("--file", "tools/tests/guest/" + name)]


# The command with its test.
COMMAND = ["--program", "unshare", "--file", BIN + "twheel", *guest("twheel-test.sh", "tap.sh")]

# The tests of the tracepoints, with programs that cause them.
TRACE = ["--file", BIN + "twheel", "--file", BIN + "twheel-selftest",
         *guest("trace-test.sh", "tap.sh")]


def make(target):
    """The command that makes a target.

    Two suites may make the same programs at the same time; modules have their own lock.
    """
    alone = [] if target[0] == "module" else ["flock", "build/lock"]
    return alone + ["make", "-s"] + target
