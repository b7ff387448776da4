# SPDX-License-Identifier: MIT
"""Runs commands that print TAP or the kernel's KTAP, and adds up the results.

Each result at the innermost level is a test. A command that dies, gives up, or prints a
document that promises no number of tests, or another number than it has, counts as one
failure more.
"""

import argparse
import collections
import contextlib
import fcntl
import os
import re
import resource
import selectors
import signal
import subprocess
import sys
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(__file__))))

TAP = re.compile(r"^( *)(?:(?P<result>ok|not ok)\b *\d* *(?:- )?(?P<name>.*)"
                 r"|1\.\.(?P<plan>\d+).*)$")
SKIP = re.compile(r"\s*# SKIP\b.*", re.I)
# Lines of harnesses about tests that passed.
CHATTER = re.compile(r"^ *#( +(RUN|OK) |.* pass:| Totals:)|^ *KTAP|^TAP")
# Long first-time work prints such lines.
PROGRESS = re.compile(r"^(kernel [\w.-]+|deps): ")
# Retries, which make a run that passes different from others.
RETRY = re.compile(r"^\s*(?:# |vm: )RETRY: (.*)")
BAIL_OUT = re.compile(r"^\s*Bail out!")
SUBTEST = re.compile(r"^( *)# Subtest: (.*)")

# How many seconds a terminated command has to end.
PATIENCE = 10
# A command that hangs uses no CPU time. It may take so many times its limit.
IDLE = 10
ENDS = {signal.SIGTERM, signal.SIGINT}
# The most that is shown of a line.
WIDTH = 400
TICKS = os.sysconf("SC_CLK_TCK")


class Level:
    """The results at one depth of indentation."""

    def __init__(self, indent):
        self.indent, self.name, self.planned, self.seen = indent, "", None, 0
        # KUnit's parametrised cases have none; whole documents do.
        self.needs_plan = not indent


class Report:
    """Reads a command's output line by line, and shows and counts the results.

    Each line for people is passed to show(); a live report shows all output. may_skip is a pattern
    of the tests that may be skipped.
    """

    def __init__(self, show, live=False, may_skip=""):
        self.show = show
        self.live = live
        self.may_skip = re.compile(may_skip)
        self.count = collections.Counter()
        self.failures = []
        self.skips = []
        self.retries = []
        self.levels = []
        self.recent = collections.deque(maxlen=60)
        self.explaining = False

    def line(self, text):
        match = TAP.match(text)
        if not match:
            self.remark(text)
        elif match["result"]:
            self.result(len(match[1]), match["result"] == "ok", match["name"])
        else:
            level = self.level(len(match[1]))
            if level.planned is not None:
                self.fail("a second plan")
            level.planned = int(match["plan"])

    def remark(self, text):
        """Any other line may explain why the next or the last test failed."""
        if text.lstrip().startswith("TAP version"):
            indent = text.index("T")
            self.end_levels(indent - 1)
            self.level(indent).needs_plan = True
        if BAIL_OUT.match(text):
            self.fail(text.strip())
            return
        subtest = SUBTEST.match(text)
        if subtest:
            self.level(len(subtest[1])).name = subtest[2] + ": "
        if subtest or CHATTER.match(text):
            return
        retry = RETRY.match(text)
        if retry:
            self.count["retried"] += 1
            self.retries.append(retry[1])
            self.show("  retry   " + retry[1])
        elif PROGRESS.match(text):
            self.show(text)
        elif self.live or self.explaining and text.startswith("#"):
            self.show("  " + clipped(text))
        else:
            self.recent.append(text)

    def level(self, indent):
        """The level of this indentation; deeper ones end here."""
        self.end_levels(indent)
        if not self.levels or self.levels[-1].indent < indent:
            self.levels.append(Level(indent))
        return self.levels[-1]

    def end_levels(self, indent=-1):
        while self.levels and self.levels[-1].indent > indent:
            level = self.levels.pop()
            if level.planned is None and level.needs_plan:
                self.fail("%d tests without a plan" % level.seen)
            elif level.planned not in (None, level.seen):
                self.fail("%d tests instead of the %d promised" % (level.seen, level.planned))

    def expect(self, number):
        """Fails if there were fewer results than this, or if all were skipped."""
        ran = self.count["passed"] + self.count["failed"]
        if ran + self.count["skipped"] < number:
            self.fail("%d tests instead of %d: were some lost?" % (
                ran + self.count["skipped"], number))
        elif not ran and self.count["skipped"]:
            self.fail("every test was skipped")

    def result(self, indent, passed, name):
        summary = bool(self.levels) and self.levels[-1].indent > indent
        failed_before = self.count["failed"]
        self.level(indent).seen += 1
        name = "".join(level.name for level in self.levels) + name
        if summary:
            # Its tests were counted; only add what they do not show.
            if not passed and not failed_before:
                self.fail(name)
            self.levels[-1].name = ""
        elif passed and SKIP.search(name) and not self.may_skip.search(name):
            self.fail(name)
        elif passed and SKIP.search(name):
            self.count["skipped"] += 1
            self.skips.append(name)
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
        name = clipped(name)
        self.count["failed"] += 1
        self.failures.append(name)
        self.show("  FAILED  " + name)
        for text in self.recent:
            self.show("          " + clipped(text))
        self.recent.clear()

    def finish(self, status):
        """Handles the end of the output of a command with this exit status.

        Status 1 only says that tests failed. Others, as when the kernel reported a fault, count.
        """
        self.end_levels()
        if status is None:
            self.fail("time limit passed")
        elif status not in (0, 1) or status == 1 and not self.count["failed"]:
            self.fail("ended with exit status %d" % status)
        elif not sum(self.count.values()) - self.count["retried"]:
            self.fail("no tests")


def counts(count):
    return "%d passed, %d failed, %d skipped" % (
        count["passed"], count["failed"], count["skipped"]) + (
            ", %d retried" % count["retried"] if count["retried"] else "")


def clipped(text):
    return text if len(text) <= WIDTH else "%s ... (%d characters)" % (text[:WIDTH], len(text))


def session(number):
    """The processes of a session, {pid: CPU seconds}, with those of their children that ended."""
    found = {}
    for pid in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError):
            with open("/proc/%s/stat" % pid, encoding="utf-8", errors="replace") as file:
                fields = file.read().rpartition(")")[2].split()
            if int(fields[3]) == number and fields[0] != "Z":
                found[int(pid)] = sum(map(int, fields[11:15])) / TICKS
    return found


def end(process):
    """Ends a command, and all processes that it left behind."""
    for how in (signal.SIGTERM, signal.SIGKILL):
        for pid in session(process.pid):
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, how)
        until = time.monotonic() + PATIENCE
        while session(process.pid) and time.monotonic() < until:
            process.poll()
            time.sleep(0.05)
    process.wait()


def lines_of(process, limit):
    """Yields what a command prints, or None when it has used its time."""
    began = looked = time.monotonic()
    rest = b""
    with selectors.DefaultSelector() as selector:
        selector.register(process.stdout, selectors.EVENT_READ)
        while True:
            # A process that it left in the background may keep the pipe open.
            ended = process.poll() is not None
            ready = selector.select(0 if ended else 0.5)
            data = os.read(process.stdout.fileno(), 65536) if ready else b""
            if not data and (ready or ended):
                break
            *lines, rest = (rest + data).split(b"\n")
            yield from lines
            now = time.monotonic()
            if now - looked > 1:
                looked = now
                if now - began > IDLE * limit or sum(session(process.pid).values()) > limit:
                    yield None
                    return
    if rest:
        yield rest


def run_command(command, limit, line):
    """Runs a command; returns its exit status, or None if it took too many seconds.

    They are of its CPU time, so that it does not depend on what else the machine does. Each line of
    its output is passed to line().
    """
    late, process = False, None
    # No signal comes between its start and the block that ends it.
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, ENDS)
    try:
        process = subprocess.Popen(
            command, cwd=ROOT, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, start_new_session=True,
            preexec_fn=lambda: signal.pthread_sigmask(signal.SIG_SETMASK, mask))
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        for text in lines_of(process, limit):
            if text is None:
                late = True
                break
            line(text.decode(errors="replace").rstrip("\r"))
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        if process and (late or process.poll() is None or session(process.pid)):
            end(process)
        if process:
            process.stdout.close()
    return None if late else process.wait()


def command_line(program, about):
    return argparse.ArgumentParser(prog="tools/tests/" + program, description=about,
                                   formatter_class=argparse.RawDescriptionHelpFormatter)


def chosen_rows(parser, kind, known):
    """Return the arguments, and the names that are among them, of {name: the line that lists it};
    without any, all."""
    parser.add_argument("--list", action="store_true", help="name the %ss" % kind)
    parser.add_argument("names", nargs="*", metavar=kind.upper(), help="run only these")
    args = parser.parse_args()
    for name in args.names:
        if name not in known:
            parser.error("no %s %s; there are: %s" % (kind, name, " ".join(known)))
    if args.list:
        print(*known.values(), sep="\n")
        sys.exit()
    return args, args.names or list(known)


def lock_tree(path):
    """Admit one run in this tree: they would remove each other's files. Return the open lock."""
    os.makedirs(os.path.dirname(path), exist_ok=True)
    lock = open(path, "w", encoding="utf-8")
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        print("another run is in this tree; waiting for its end", flush=True)
        fcntl.flock(lock, fcntl.LOCK_EX)
    return lock


def children_seconds():
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def end_on_signals():
    """End cleanly on SIGTERM or SIGINT; further ones do not disturb that."""
    def stop(number, _):
        for name in ENDS:
            signal.signal(name, signal.SIG_IGN)
        sys.exit(128 + number)

    for name in ENDS:
        signal.signal(name, stop)


def start(main):
    """Run a program's main() in the project's directory, and exit with its result."""
    forget_caller()
    end_on_signals()
    os.chdir(ROOT)
    sys.exit(main())


def forget_caller():
    """Forget what a caller passes on: make its own settings, and a shell that runs this in the
    background ignored signals, which the tests send. A service may have no HOME."""
    for number in signal.SIGINT, signal.SIGQUIT, signal.SIGHUP, signal.SIGPIPE:
        if signal.getsignal(number) == signal.SIG_IGN:
            signal.signal(number, signal.SIG_DFL)
    for variable in ("MAKEFLAGS", "MFLAGS", "MAKELEVEL", "MAKEOVERRIDES"):
        os.environ.pop(variable, None)
    os.environ.setdefault("HOME", os.path.expanduser("~"))
