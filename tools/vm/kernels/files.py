# SPDX-License-Identifier: MIT
"""Files, commands and locks: the part that all others use."""

import contextlib
import fcntl
import glob
import logging
import os
import shutil
import subprocess
import sys
import time

CACHE = os.path.join(os.environ.get("XDG_CACHE_HOME")
                     or os.path.expanduser("~/.cache"), "twheel")

say = logging.info


class Error(Exception):
    """The kernel cannot be made."""


class Offline(Exception):
    """Packages are not available."""


def run(words, **options):
    """Run a command, with its output among the messages; return whether it succeeded.

    It inherits the locks, which are thus held until it ends, even if this program ends first.
    """
    done = subprocess.run(words, stdout=sys.stderr, close_fds=False, **options)
    return done.returncode == 0


def ask(words, **options):
    """Return the output of a command."""
    return subprocess.run(words, stdout=subprocess.PIPE, text=True, **options).stdout


def read(path):
    """Return the text in a file; empty if there is no file."""
    try:
        with open(path) as file:
            return file.read()
    except FileNotFoundError:
        return ""


def write(path, text):
    """Replace a file as a whole: readers see the old text or the new."""
    os.makedirs(os.path.dirname(path), exist_ok=True)
    new = "%s.%d" % (path, os.getpid())
    with open(new, "w") as file:
        file.write(text)
    os.rename(new, path)


def remove(path):
    """Remove a file, a link or a folder, if it exists."""
    if os.path.isdir(path) and not os.path.islink(path):
        shutil.rmtree(path)
    elif os.path.lexists(path):
        os.remove(path)


def age(path):
    """Return the age in seconds; infinite for a path that does not exist."""
    try:
        return time.time() - os.stat(path).st_mtime
    except FileNotFoundError:
        return float("inf")


def files_below(folder):
    """Return all paths below it, links to folders included, listed before any of them changes."""
    return [os.path.join(path, name) for path, folders, names in os.walk(folder)
            for name in folders + names]


def paths(folder, pattern):
    return glob.glob(os.path.join(glob.escape(folder), pattern))


def only(folder, pattern):
    """Return the only path that matches."""
    found = paths(folder, pattern)
    if len(found) != 1:
        raise Error("%d of %s in %s" % (len(found), pattern, folder))
    return found[0]


def last(found):
    """Return the file that was written last, or ""."""
    return max(found, key=os.path.getmtime, default="")


@contextlib.contextmanager
def locked(path):
    """Admit one run at a time, and report a long wait."""
    os.makedirs(os.path.dirname(path), exist_ok=True)
    began, patience = time.monotonic(), 2
    with open(path, "w") as file:
        os.set_inheritable(file.fileno(), True)
        while True:
            with contextlib.suppress(BlockingIOError):
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            waited = time.monotonic() - began
            if waited >= patience:
                say("waiting for another run, %ds", waited)
                patience += 30
            time.sleep(0.1)
        yield
