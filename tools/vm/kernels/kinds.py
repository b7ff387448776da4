# SPDX-License-Identifier: MIT
"""The kinds of kernels: packages of this machine's suite or of another one, or source."""

import contextlib
import hashlib
import os
import pathlib
import re
import subprocess

from kernels.apt import Apt, Archive, kernel_packages
from kernels.files import (CACHE, Error, Offline, age, last, locked, paths, read, remove, say,
                           write)
from kernels.source import compile_kernel, configure, find_source
from kernels.unpacked import name_parts, relocate, use_compiler, wrap_programs

DAY = 24 * 3600
FRAGMENTS = pathlib.Path(__file__).resolve().parents[3] / "kunit"


def finished(folder):
    return os.path.exists(folder + "/release")


class Kernel:
    """A kernel with a name; the cache may hold several versions of it.

    Subclasses differ in find(), which returns the folder where the wanted version is, or
    will be, and make(), which makes it and returns its folder.
    """

    def __init__(self, name):
        self.name = name
        self.cache = "%s/kernels/%s" % (CACHE, name)

    def get(self):
        """Return the folder of the kernel, finished."""
        try:
            folder = self.find()
            if not finished(folder):
                with locked(self.cache + ".lock"):
                    folder = folder if finished(folder) else self.make(folder)
        except Offline:
            folder = self.last()
            if not folder:
                raise
            say("cannot download; going on with %s", os.path.basename(folder))
        os.utime(folder + "/release")
        return folder

    def last(self):
        """Return the finished version that was used last, or ""."""
        return os.path.dirname(last(paths(self.cache, "*/release")))

    def finish(self, folder, release):
        """Mark the folder as finished, and remove those not used for a month."""
        write(folder + "/release", release + "\n")
        for path in paths(self.cache, "*/release"):
            if age(path) > 31 * DAY:
                remove(os.path.dirname(path))
        say("ready: %s", release)


class Packaged(Kernel):
    """A kernel of this machine's suite."""

    def __init__(self, name, image, headers):
        super().__init__(name)
        self.image = image
        self.headers = headers
        self.apt = Apt()

    def find(self):
        version = self.apt.version(self.image)
        if not version and self.last():
            return self.last()
        return "%s/%s" % (self.cache, version or self.apt.need(self.image))

    def make(self, folder):
        return self.apt.with_new_lists(self.download)

    def download(self):
        folder = self.find()
        if finished(folder):
            return folder
        packages = kernel_packages(self.apt, self.image, self.headers)
        say("downloading %s", " ".join(packages))
        remove(folder)
        try:
            self.unpack(packages, folder + "/root")
        except (Error, Offline):
            remove(folder)
            raise
        relocate(folder + "/root")
        self.finish(folder, name_parts(folder))
        return folder

    def unpack(self, packages, root):
        self.apt.unpack(packages, root)


class Archived(Packaged):
    """A kernel of another suite, which brings its compiler.

    Or for another architecture; then it brings its busybox.
    """

    def __init__(self, name, image, headers, version):
        super().__init__(name, image, headers)
        self.version = version

    def find(self):
        self.apt = Archive()
        self.apt.update(DAY)
        self.apt.prefer(self.apt.suite_with(self.version, self.image), self.name)
        return "%s/%s" % (self.cache, self.apt.version(self.image))

    def make(self, folder):
        # Packages in older lists may be gone.
        with contextlib.suppress(Offline):
            self.apt.update(600)
        return self.download()

    def unpack(self, packages, root):
        if self.image.endswith(":arm64"):
            self.apt.unpack(packages + ["busybox-static:arm64"], root)
            use_compiler(root, "aarch64-linux-gnu-")
        else:
            self.apt.unpack(packages, root)
            self.apt.unpack_programs(packages, root)
            wrap_programs(root)
            use_compiler(root, root + "/usr/bin/x86_64-linux-gnu-",
                         "override PAHOLE = %s/usr/bin/pahole" % root)


class Built(Kernel):
    """A kernel that is built from the source of this machine's suite."""

    def __init__(self, name, fragments, *options):
        super().__init__(name)
        self.source = None
        self.fragment = "".join((FRAGMENTS / part).read_text() for part in fragments)
        self.options = options

    def find(self):
        self.source, version = find_source()
        compiler = subprocess.check_output(["gcc", "--version"])
        # Comments make no other kernel.
        settings = "".join(re.findall(r"^(?:# )?CONFIG_.*\n", self.fragment, re.M))
        key = hashlib.sha256(settings.encode() + compiler +
                             " ".join(self.options).encode()).hexdigest()[:12]
        return "%s/%s-%s" % (self.cache, version, key)

    def make(self, folder):
        say("building from %s; this takes some minutes, once", self.source)
        configure(self.source, folder + "/build", self.fragment)
        compile_kernel(self.source, folder + "/build", self.options)
        for name, path in ("vmlinuz", "arch/x86/boot/bzImage"), ("config", ".config"):
            remove("%s/%s" % (folder, name))
            os.symlink("build/" + path, "%s/%s" % (folder, name))
        release = read(folder + "/build/include/config/kernel.release")
        self.finish(folder, release.strip())
        return folder
