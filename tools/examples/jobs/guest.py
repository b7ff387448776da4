# SPDX-License-Identifier: MIT
"""Runs a program of this directory in a virtual machine that has the module, Python and PostgreSQL.

Where the device exists, the program goes on as it is.
"""

import glob
import os
import re
import shlex
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.realpath(__file__))
ROOT = os.path.realpath(os.path.join(HERE, "../../.."))
WORK = os.path.join(ROOT, "build/jobs")
# Needed by Python, and imported only when the programs run.
MODULES = ["encodings.ascii", "encodings.idna", "encodings.latin_1", "encodings.utf_8",
           "zoneinfo", "psycopg.types.json", "getpass", "glob", "bisect", "stringprep"]


def libraries(path):
    done = subprocess.run(["ldd", path], stdout=subprocess.PIPE, text=True, check=False)
    return re.findall(r"(/\S+) \(", done.stdout)


def pack(archive):
    """Write what the guest needs, at its own paths, to a tar file."""
    from cluster import TEMPLATE, Cluster, programs
    for name in MODULES:
        __import__(name)
    names = {name for module in list(sys.modules.values()) for name in (
        getattr(module, "__file__", None), getattr(module, "__cached__", None))
             if name and os.path.exists(name)}
    binaries = [os.path.join(programs(), name) for name in ("postgres", "pg_basebackup")]
    share = "/usr/share/postgresql/" + programs().split("/")[-2]
    binaries += [os.path.join(programs(), "../lib", name + ".so") for name in (
        "plpgsql", "libpqwalreceiver", "dict_snowball")]
    pq = glob.glob("/usr/lib/*/libpq.so.5")
    for name in [*names, "/usr/bin/python3", *binaries, *pq]:
        if ".so" in name or name in binaries or name == "/usr/bin/python3":
            names.update(libraries(name))
    names.update(os.path.realpath(name) for name in list(names))
    names.update([*binaries, *pq, "/usr/bin/python3", os.path.realpath("/usr/bin/python3"), share])
    names.update(glob.glob(HERE + "/*"))
    with open(archive + ".list", "w", encoding="utf-8") as file:
        file.write("".join(name + "\n" for name in sorted(os.path.normpath(name)[1:] for name in names)))
    cluster = Cluster()
    try:
        cluster.primary.make()
        subprocess.run(["tar", "chf", archive, "-C", "/", "-T", archive + ".list", "-C",
                        cluster.folder, "--owner=nobody", "--group=nogroup",
                        "--transform=s,^server1,%s," % TEMPLATE[1:], "server1"], check=True)
    finally:
        shutil.rmtree(cluster.folder)


def run_here_or_in_guest(limit=1800, memory=3072):
    """Return if /dev/twheel exists; else run this program in a virtual machine, and exit."""
    if os.path.exists("/dev/twheel"):
        return
    if os.path.exists("/etc/ports"):
        sys.exit("the module is not loaded")
    os.makedirs(WORK, exist_ok=True)
    archive = os.path.join(WORK, "guest.tar")
    pack(archive)
    # ctypes asks ldconfig for the file of a library.
    command = "for l in c.so.6 pq.so.5; do echo \"echo ' lib$l (libc6,x86-64) => lib$l'\"; done " \
        ">/bin/l && { echo '#!/bin/sh'; cat /bin/l; } >/sbin/ldconfig && chmod 755 / /sbin/ldconfig " \
        "&& chmod 1777 /tmp && tar xf guest.tar -C / && rm guest.tar && "
    # Without KVM, two emulated CPUs in real time would be too slow for the jobs.
    os.execv(os.path.join(ROOT, "tools/vm/vm"), [
        "vm", "--counting-without-kvm", "--mem", str(memory), "--timeout", str(limit),
        "--module", os.path.join(ROOT, "build/stock/twheel.ko"), "--file", archive, "--",
        command + shlex.join([os.path.realpath(sys.argv[0]), *sys.argv[1:]])])
