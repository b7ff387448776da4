# SPDX-License-Identifier: MIT
"""Packages of this machine's suite, of other suites, and for another architecture."""

import os
import platform
import re
import shutil
import subprocess
import sys
import time

from kernels.files import (CACHE, Error, Offline, age, ask, locked, only, paths, read, remove,
                           run, say, write)

# The suites of the archive that have newer kernels.
SUITES = ["trixie", "trixie-backports", "sid", "experimental"]


class Apt:
    """The packages known to this machine's apt."""

    def __init__(self):
        self.options = ["-qq"]
        os.makedirs(CACHE, exist_ok=True)
        # If the system's apt keeps no cache, as in containers, it would read all lists at
        # every call.
        self.set("APT::Sandbox::User=root", "Dir::Cache::pkgcache=%s/pkgcache.bin" % CACHE)

    def set(self, *settings):
        for setting in settings:
            self.options += ["-o", setting]

    def get(self, *words, **options):
        return run(["apt-get"] + self.options + list(words), **options)

    def cache(self, *words, **options):
        """Return its output, line by line; none without apt."""
        if not shutil.which("apt-cache"):
            return []
        return ask(["apt-cache"] + self.options + list(words), **options).splitlines()

    def version(self, package):
        """Return the version that would be installed; "" for an unknown package."""
        for line in self.cache("show", "--no-all-versions", package,
                               stderr=subprocess.DEVNULL):
            if line.startswith("Version: "):
                return line[len("Version: "):]
        return ""

    def depends(self, *packages):
        """Return the dependencies of packages; of alternatives the first."""
        found = []
        alternative = False
        for line in self.cache("depends", "--important", *packages):
            match = re.match(r" *(\|?)Depends: <?([^>]+)", line)
            if match:
                if not alternative:
                    found.append(match[2])
                alternative = match[1] == "|"
        return found

    def update(self):
        with locked(CACHE + "/update.lock"):
            say("reading the package lists")
            if not self.read_lists():
                raise Offline("apt-get update failed")

    def read_lists(self):
        """Run apt-get update. While another apt holds the lock, retry for up to five
        minutes."""
        for waited in range(0, 305, 5):
            done = subprocess.run(["apt-get"] + self.options + ["update"], stdout=sys.stderr,
                                  stderr=subprocess.PIPE, text=True, close_fds=False)
            if "Could not get lock" not in done.stderr or waited == 300:
                break
            if not waited:
                say("another apt is running; waiting for it, up to five minutes")
            time.sleep(5)
        sys.stderr.write(done.stderr)
        return done.returncode == 0

    def need(self, package):
        """Return the version of a package; update the lists if there is none."""
        version = self.version(package)
        if not version:
            self.find_lists(package)
            version = self.version(package)
        if not version:
            raise Error("apt knows no package " + package)
        return version

    def find_lists(self, package):
        """Get lists that have this package, if there are any."""
        if not shutil.which("apt-get"):
            raise Error("needs apt, of Debian or a relative")
        if os.getuid() != 0:
            self.keep_lists()
        if not self.version(package):
            self.update()

    def keep_lists(self):
        """Keep lists in the cache, as the system's are missing and may not be writable."""
        os.makedirs(CACHE + "/apt/lists", exist_ok=True)
        self.set("Dir::State::Lists=%s/apt/lists" % CACHE, "Dir::Cache=%s/apt" % CACHE)

    def unpack(self, packages, folder):
        """Download them into the cache; apt checks files that are there already."""
        downloads = CACHE + "/dl"
        os.makedirs(downloads, exist_ok=True)
        if not self.get("download", *packages, cwd=downloads):
            raise Offline("cannot download")
        for package in packages:
            version = self.version(package).replace(":", "%3a")
            deb = only(downloads, "%s_%s_*.deb" % (package.partition(":")[0], version))
            unpack_deb(deb, folder)
            os.remove(deb)

    def with_new_lists(self, action):
        """Retry with new lists: older ones can name packages that are gone."""
        try:
            return action()
        except Offline:
            self.update()
            return action()


def unpack_deb(deb, folder):
    os.makedirs(folder, exist_ok=True)
    if not run(["dpkg-deb", "-x", deb, folder]):
        raise Error("cannot unpack " + deb)


def kernel_packages(apt, *packages):
    """Return the kernel packages that these depend on, and these.

    No modules: none is needed. Programs, and headers for all architectures, are this
    machine's even if the kernel is not.
    """
    found = list(packages)
    for package in found:
        for name in apt.depends(package):
            name = re.sub("^(linux-kbuild-.*|linux-headers-.*-common):.*", r"\1", name)
            if (re.match("linux-(image|headers|kbuild|binary|base)-", name)
                    and name not in found):
                found.append(name)
    return found


class Archive(Apt):
    """Packages of other suites and for another architecture.

    They come from the mirror that this machine's apt uses, with separate lists.
    """

    FOLDER = CACHE + "/archive"

    def __init__(self):
        super().__init__()
        sources = archive_sources()
        if read(self.FOLDER + "/sources.list") != sources:
            write(self.FOLDER + "/sources.list", sources)
        self.set("Dir::Etc::sourcelist=%s/sources.list" % self.FOLDER,
                 "Dir::Etc::sourceparts=/dev/null",
                 "Dir::State=" + self.FOLDER,
                 "Dir::State::Lists=%s/lists" % self.FOLDER,
                 "Dir::State::status=/dev/null",
                 "Dir::Cache=" + self.FOLDER,
                 "Dir::Cache::pkgcache=pkgcache.bin",
                 "APT::Architectures::=amd64", "APT::Architectures::=arm64",
                 "Acquire::Languages=none")

    def update(self, oldest=0):
        """Update the package lists unless they are younger than this many seconds."""
        updated = self.FOLDER + "/updated"
        with locked(self.FOLDER + "/update.lock"):
            if age(updated) < oldest:
                return
            say("reading the archive's package lists")
            if not self.get("update"):
                raise Offline("cannot download")
            write(updated, "")

    def suite_with(self, start, package):
        """Return the suite with the highest version.

        With a version given, of the suites whose version starts so, the one with the
        lowest, which changes least.
        """
        if start == "running":
            return running_suite()
        suites = []
        for line in self.cache("madison", package):
            _, version, source = line.split("|")
            if start == "newest" or re.match(re.escape(start) + "[.~-]", version.strip()):
                suites.append(source.split()[1].partition("/")[0])
        if not suites:
            raise Error("the archive has no %s %s any more" % (package, start))
        return suites[0] if start == "newest" else suites[-1]

    def prefer(self, suite, name):
        """Set the suite; packages that it does not have come from the one it is based on."""
        base = "sid" if suite == "experimental" else suite.replace("-backports", "")
        preferences = "%s/%s.preferences" % (self.FOLDER, name)
        write(preferences, "Package: *\nPin: release n=%s\nPin-Priority: 900\n" % base)
        self.set("Dir::Etc::preferences=" + preferences,
                 "Dir::Etc::preferencesparts=/dev/null", "APT::Default-Release=" + suite)

    def unpack_programs(self, packages, folder):
        """Unpack the headers' compiler and programs, and all that these need to run."""
        programs = {name for name in self.depends(*packages)
                    if re.match("(gcc|linux-kbuild)-", name)}
        debs = folder + ".apt"
        os.makedirs(debs)
        if not self.get("-o", "Debug::NoLocking=1", "-o", "Dir::Cache::archives=" + debs,
                        "install", "--download-only", "-y", "--no-install-recommends",
                        *sorted(programs)):
            raise Offline("cannot download")
        for deb in paths(debs, "*.deb"):
            unpack_deb(deb, folder)
        remove(debs)


def running_suite():
    return platform.freedesktop_os_release()["VERSION_CODENAME"]


def mirror():
    apt = Apt()
    apt.need("base-files")
    found = ask(["apt-get"] + apt.options +
                ["indextargets", "--format", "$(REPO_URI)", "Created-By: Packages",
                 "Origin: Debian", "Label: Debian"]).split()
    if not found:
        raise Error("apt is configured without a mirror of Debian")
    return found[0]


def archive_sources():
    line = ("deb [arch=%s signed-by=/usr/share/keyrings/debian-archive-keyring.gpg]"
            " %s %s main\n")
    uri = mirror()
    running = running_suite()
    return line % ("amd64,arm64", uri, running) + "".join(
        line % ("amd64", uri, suite) for suite in SUITES if suite != running)
