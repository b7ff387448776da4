# SPDX-License-Identifier: MIT
"""Makes unpacked packages work where they are: their paths, programs and names."""

import os
import re

from kernels.files import files_below, only, paths, read, write


def relocate(root):
    """Change the paths in unpacked headers, which name each other by their paths when installed."""
    for path in paths(root, "usr/src/linux-headers-*/Makefile"):
        write(path, re.sub("/usr/(src|lib)/linux-", root + r"\g<0>", read(path)))
    for path in files_below(root + "/usr"):
        if os.path.islink(path) and os.readlink(path).startswith("/usr/"):
            target = root + os.readlink(path)
            os.remove(path)
            os.symlink(target, path)


def is_program(path):
    if ".so" in os.path.basename(path) or os.path.islink(path):
        return False
    if not os.path.isfile(path) or not os.stat(path).st_mode & 0o111:
        return False
    with open(path, "rb") as file:
        return file.read(4) == b"\x7fELF"


WRAPPER = """\
#!/bin/sh
PATH={root}/usr/bin:$PATH exec {lib}/ld-linux-x86-64.so.2 \\
	--argv0 "$0" --library-path {lib} {path}.elf "$@"
"""


def wrap_programs(root):
    """Wrap programs, which need their own C library and must find each other."""
    lib = root + "/usr/lib/x86_64-linux-gnu"
    for folder in ("bin", "lib", "libexec"):
        for path in filter(is_program, files_below("%s/usr/%s" % (root, folder))):
            os.rename(path, path + ".elf")
            write(path, WRAPPER.format(root=root, lib=lib, path=path))
            os.chmod(path, 0o755)


def use_compiler(root, prefix, *more):
    """Have the headers take the compiler with this prefix."""
    lines = ["override CROSS_COMPILE = " + prefix, *more]
    path = only(root, "usr/src/linux-headers-*/.kernelvariables")
    write(path, read(path) + "\n".join(lines) + "\n")


def name_parts(folder):
    """Name the unpacked files as the cache does; return the kernel's release."""
    root = folder + "/root"
    headers = os.path.dirname(only(root, "usr/src/linux-headers-*/.config"))
    release = os.path.basename(headers)[len("linux-headers-"):]
    parts = {"build": headers}
    for name in ("vmlinuz", "config"):
        parts[name] = "%s/boot/%s-%s" % (root, name, release)
        if not os.path.exists(parts[name]):
            parts[name] = "%s/usr/lib/modules/%s/%s" % (root, release, name)
    for path in files_below(root):
        if path.endswith("/bin/busybox"):
            parts["busybox"] = path
    for name, path in parts.items():
        os.symlink(os.path.relpath(path, folder), os.path.join(folder, name))
    return release
