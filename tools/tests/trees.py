# SPDX-License-Identifier: MIT
"""Copies of the source, in which suites are made and run after a change."""

import contextlib
import os
import pathlib
import queue
import shlex
import shutil
import subprocess

from machines import BIN, COMMAND, PROMPT, SELFTEST, STOCK, TRACE, VM
from report import ROOT, Report, lock_tree, run_command

WORK = os.path.join(ROOT, "build/trees")
# The CPU time to compile.
MAKE_SECONDS = 900
# The time has passed, or the command could not do its work; of tools/vm/vm, too.
NO_RESULT = (None, 2, 124, 126)
NATIVE = "build/native/"
# No debugging information: that takes longer to write than the code.
QUICK = ["DEPS=", "KBUILD_ARGS=",
         "SANITIZED=-O1 -fno-omit-frame-pointer -fno-sanitize-recover=all"]

# The targets and the command of each.
SUITES = {
    "interleave": ([["interleave"]], [NATIVE + "interleave/interleave"]),
    "core": ([[NATIVE + "kunit-native"]], [NATIVE + "kunit-native"]),
    "fuzz-core": ([[NATIVE + "fuzz-seeded"]], [NATIVE + "fuzz-seeded", "--inputs", "2000"]),
    "fuzz-small": ([[NATIVE + "fuzz-small"]], [NATIVE + "fuzz-small", "--inputs", "2000"]),
    "selftest": ([STOCK, [BIN + "twheel-selftest"]],
                 [*SELFTEST, "--counting", "--", "twheel-selftest " + PROMPT]),
    "selftest-two-cpus": ([STOCK, [BIN + "twheel-selftest"]],
                          [*SELFTEST, "--", "twheel-selftest"]),
    "fuzz": ([STOCK, [BIN + "twheel-fuzz"]],
             [*VM, "--file", BIN + "twheel-fuzz", "--", "twheel-fuzz --ops 60000 --nobody"]),
    "threads": ([[NATIVE + "driver-asan"]], [NATIVE + "driver-asan", "--seconds", "3"]),
    "threads-tsan": ([[NATIVE + "driver-tsan"]], [NATIVE + "driver-tsan", "--seconds", "5"]),
    "library": ([[NATIVE + "library-asan"]], [NATIVE + "library-asan", "--user", "--"]),
    "library-tsan": ([[NATIVE + "library-tsan"]], [NATIVE + "library-tsan", "--user", "--"]),
    "library-device": ([STOCK, [BIN + "twheel-library"]],
                       [*VM, "--file", BIN + "twheel-library", "--counting", "--",
                        "twheel-library --"]),
    "command": ([STOCK, [BIN + "twheel"]], [*VM, *COMMAND, "--counting", "--", "twheel-test.sh"]),
    "unit": ([[BIN + "command-test"]], [BIN + "command-test"]),
    "bench": ([[*STOCK, "KBUILD_ARGS=CONFIG_TWHEEL_BENCH=m"], [BIN + "twheel-bench"]],
              ["tools/bench/run", "--gate", "--facility", "twheel", "--pending", "100000", "--op"]),
    "trace": ([STOCK, [BIN + "twheel", BIN + "twheel-selftest"]],
              [*VM, *TRACE, "--counting", "--", "trace-test.sh"]),
    "bindings": ([], ["tools/tests/bindings-test"]),
}


class Failure(Exception):
    """Why a change cannot be made or tested, or is not found."""


def make_tree():
    """Return a queue of one tree; admit one run, which would remove another's."""
    lock = lock_tree(WORK + ".lock")
    shutil.rmtree(WORK, ignore_errors=True)
    tree = os.path.join(WORK, "0")
    os.makedirs(tree)
    subprocess.run("tools/tests/files | xargs cp --parents -t " + tree, shell=True, cwd=ROOT,
                   check=True)
    trees = queue.Queue()
    # Until the process ends.
    trees.lock = lock
    trees.put(tree)
    return trees


def copy_tree(trees, number):
    """Have so many trees, each with what was made in the first."""
    for n in range(1, number):
        tree = os.path.join(WORK, str(n))
        subprocess.run(["cp", "-a", trees.queue[0], tree], check=True)
        trees.put(tree)


def read(tree, name):
    return pathlib.Path(tree, name).read_text(encoding="utf-8")


def write(tree, texts):
    for name, text in texts.items():
        pathlib.Path(tree, name).write_text(text, encoding="utf-8")


@contextlib.contextmanager
def changed(tree, texts):
    """Within this, files of the tree, {name: text}, have other texts."""
    originals = {name: read(tree, name) for name in texts}
    write(tree, texts)
    try:
        yield
    finally:
        write(tree, originals)


def make(tree, *words):
    output = []
    if run_command(["make", "-C", tree, "-s", *QUICK, *words], MAKE_SECONDS, output.append):
        raise Failure("\n".join(["it does not compile:", *output[-20:]]))


def test(tree, suite, arguments, seconds):
    """Make and run a suite in the tree; return its status, its report, and the output."""
    targets, command = SUITES[suite]
    for target in targets:
        make(tree, *target)
    if command[0] == VM[0]:
        arguments = map(shlex.quote, arguments)
    output = []
    report = Report(output.append)
    status = run_command(["env", "-C", tree, *command, *arguments], seconds, report.line)
    return status, report, output
