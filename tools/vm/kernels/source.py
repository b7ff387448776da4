# SPDX-License-Identifier: MIT
"""The kernel's source: finds, configures and compiles it."""

import os
import subprocess
import sys

from kernels.apt import Apt
from kernels.files import CACHE, Error, ask, last, locked, paths, read, remove, run, say, write


def find_source():
    """Return the folder of the kernel's source, and its version."""
    apt = Apt()
    if not apt.version("linux-source"):
        unpacked = last(paths(CACHE + "/src", "*.version"))
        if unpacked:
            return unpacked[:-len(".version")], read(unpacked).strip()
        apt.need("linux-source")
    package, = apt.depends("linux-source")
    folder = "%s/src/%s" % (CACHE, package)
    with locked(folder + ".lock"):
        apt.with_new_lists(lambda: unpack_source(apt, package, folder))
    return folder, read(folder + ".version").strip()


def unpack_source(apt, package, folder):
    """Unpack the source, unless it is there in apt's version."""
    version = apt.version(package)
    if read(folder + ".version").strip() == version:
        return
    say("unpacking %s %s", package, version)
    for path in (folder + ".version", folder, folder + ".tmp"):
        remove(path)
    tar = "/usr/src/%s.tar.xz" % package
    if version != ask(["dpkg-query", "-Wf", "${Version}", package],
                      stderr=subprocess.DEVNULL):
        apt.unpack([package], folder + ".tmp")
        tar = folder + ".tmp" + tar
    if not run(["tar", "-xf", tar, "-C", os.path.dirname(folder)]):
        raise Error("cannot unpack " + tar)
    remove(folder + ".tmp")
    write(folder + ".version", version + "\n")


def configure(source, build, fragment):
    """Turn everything off except the lines of the fragment, all of which must take effect."""
    write(build + "/fragment", fragment)
    done = subprocess.run(["make", "-s", "-C", source, "O=" + build,
                           "KCONFIG_ALLCONFIG=%s/fragment" % build, "allnoconfig"],
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, close_fds=False)
    if done.returncode:
        sys.stderr.buffer.write(done.stdout)
        raise Error("cannot configure")
    taken = read(build + "/.config").splitlines()
    for line in fragment.splitlines():
        if line.startswith("CONFIG_") and line not in taken:
            raise Error("the source does not take " + line)


def compile_kernel(source, build, options):
    """Compile it; all messages go to a file."""
    with open(build + "/log", "w") as log:
        done = subprocess.run(["make", "-C", source, "O=" + build,
                               "-j%d" % len(os.sched_getaffinity(0)), *options, "bzImage",
                               "modules"],
                              stdout=log, stderr=subprocess.STDOUT, close_fds=False)
    if done.returncode:
        sys.stderr.write("".join(read(build + "/log").splitlines(True)[-30:]))
        raise Error("does not build; all messages: %s/log" % build)
