# SPDX-License-Identifier: MIT
"""Runs what prints TAP or the kernel's KTAP, and adds up what it says.

Each result at the innermost level is a test. A command that dies, promises no number
of tests or runs fewer than it promised counts as one failure more.
"""

import collections
import contextlib
import os
import re
import signal
import subprocess
import threading

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(__file__))))

TAP = re.compile(r"^( *)(?:(?P<result>ok|not ok)\b *\d* *(?:- )?(?P<name>.*)"
                 r"|1\.\.(?P<plan>\d+).*)$")
SKIP = re.compile(r"\s*# SKIP\b.*", re.I)
# What harnesses say about tests that passed.
CHATTER = re.compile(r"^ *#( +(RUN|OK) |.* pass:| Totals:)|^ *KTAP|^TAP")
# What takes minutes the first time says so.
PROGRESS = re.compile(r"^(kernel [\w.-]+|deps): ")
SUBTEST = re.compile(r"^( *)# Subtest: (.*)")

# What was told to end has so many seconds for it.
PATIENCE = 10


class Level:
    """The results at one depth of indentation."""

    def __init__(self, indent):
        self.indent = indent
        self.name = ""
        self.planned = None
        self.seen = 0


class Report:
    """Reads a command's output line by line, and shows and counts the results.

    Each line for people is passed to show(); a live report shows all that is said.
    """

    def __init__(self, show, live=False):
        self.show = show
        self.live = live
        self.count = collections.Counter()
        self.failures = []
        self.levels = []
        self.planned = False
        self.recent = collections.deque(maxlen=60)
        self.explaining = False

    def line(self, text):
        match = TAP.match(text)
        if not match:
            self.remark(text)
        elif match["plan"] is not None:
            self.plan(self.level(len(match[1])), int(match["plan"]))
        else:
            self.result(len(match[1]), match["result"] == "ok", match["name"])

    def remark(self, text):
        """Anything else may tell why the next or the last test failed."""
        if text.startswith("TAP version"):
            self.end_document()
        subtest = SUBTEST.match(text)
        if subtest:
            self.level(len(subtest[1])).name = subtest[2] + ": "
        if subtest or CHATTER.match(text):
            return
        if PROGRESS.match(text):
            self.show(text)
        elif self.live or self.explaining and text.startswith("#"):
            self.show("  " + text)
        else:
            self.recent.append(text)

    def plan(self, level, number):
        level.planned = number
        self.planned = True

    def level(self, indent):
        """The level of this indentation; deeper ones end here."""
        while self.levels and self.levels[-1].indent > indent:
            self.close(self.levels.pop())
        if not self.levels or self.levels[-1].indent < indent:
            self.levels.append(Level(indent))
        return self.levels[-1]

    def end_document(self):
        while self.levels:
            self.close(self.levels.pop())

    def close(self, level):
        if level.planned is not None and level.seen != level.planned:
            self.fail("%d tests instead of the %d promised" %
                      (level.seen, level.planned))

    def result(self, indent, passed, name):
        summary = bool(self.levels) and self.levels[-1].indent > indent
        failed_before = self.count["failed"]
        self.level(indent).seen += 1
        name = "".join(level.name for level in self.levels) + name
        if summary:
            # Its tests were counted; it adds what they do not say.
            if not passed and not failed_before:
                self.fail(name)
            self.levels[-1].name = ""
        elif SKIP.search(name):
            self.count["skipped"] += 1
            self.show("  skip    " + name)
        elif passed:
            self.count["passed"] += 1
            self.show("  ok      " + name)
        else:
            self.fail(name)
            self.explaining = True
            return
        self.explaining = False
        self.recent.clear()

    def fail(self, name):
        self.count["failed"] += 1
        self.failures.append(name)
        self.show("  FAILED  " + name)
        for text in self.recent:
            self.show("          " + text)
        self.recent.clear()

    def finish(self, status):
        """At the end of the output, of a command with this exit status."""
        self.end_document()
        if status is None:
            self.fail("time limit passed")
        elif status != 0 and not self.count["failed"]:
            self.fail("ended with exit status %d" % status)
        elif not self.planned or not sum(self.count.values()):
            self.fail("no tests")


def counts(count):
    return "%d passed, %d failed, %d skipped" % (
        count["passed"], count["failed"], count["skipped"])


def end(process):
    """Ends a command, and whatever it started that is still there then."""
    for how in (signal.SIGTERM, signal.SIGKILL):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, how)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(PATIENCE)


def run_command(command, limit, line):
    """Runs a command; its exit status, or None when it took too many seconds.

    Each line of its output is passed to line().
    """
    process = subprocess.Popen(command, cwd=ROOT, stdin=subprocess.DEVNULL,
                               stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                               text=True, errors="replace",
                               start_new_session=True)
    late = threading.Event()

    def stop():
        late.set()
        end(process)

    timer = threading.Timer(limit, stop)
    timer.start()
    try:
        for text in process.stdout:
            line(text.rstrip("\r\n"))
        status = process.wait()
    finally:
        timer.cancel()
        if process.poll() is None:
            end(process)
    return None if late.is_set() else status


def forget_make():
    """A make that called this passes on settings that are its own."""
    for variable in ("MAKEFLAGS", "MFLAGS", "MAKELEVEL", "MAKEOVERRIDES"):
        os.environ.pop(variable, None)
