# SPDX-License-Identifier: MIT
"""twheel in the form of a kernel's source: the files, and the lines in the lists of others."""

import argparse
import glob
import os
import re
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(__file__))))

# Nothing else uses the core, so it stays with the driver, among those that belong to no
# subsystem. lib/ is for what several parts of the kernel share.
FOLDER = "drivers/misc/twheel"

TESTS = "tools/testing/selftests/twheel"

# Patterns of files here, and the folders they go to.
PLACES = {
    "twheel*.[ch]": FOLDER,
    "Kconfig": FOLDER,
    "kunit/*.[ch]": FOLDER + "/kunit",
    "kunit/.kunitconfig": FOLDER + "/kunit",
    "include/uapi/linux/twheel.h": "include/uapi/linux",
    "tools/in-tree/twheel.rst": "Documentation/misc-devices",
    "tools/tests/selftest/*.[ch]": TESTS,
    "tools/common/*.[ch]": TESTS,
    "tools/lib/libtwheel-uring.h": TESTS,
}
# The kernel has its own harness, and needs nothing for other versions of it.
HERE_ONLY = {"twheel_compat.h", "planted.c", "harness.h", "main.c", "options.c",
             "options.h"}

MAKEFILE = """# SPDX-License-Identifier: GPL-2.0-only

ccflags-$(CONFIG_TWHEEL_DEBUG) += -DTWHEEL_DEBUG

obj-$(CONFIG_TWHEEL) += twheel.o
{driver}
twheel-$(CONFIG_IO_URING) += twheel_uring.o

# This file creates the tracepoints; their header is found by the include path.
CFLAGS_twheel_main.o := -I$(src)

obj-$(CONFIG_TWHEEL_KUNIT_TEST) += twheel_kunit.o
{kunit}
"""

# Files of the self-tests that are not needed here.
SELFTEST = {
    "Makefile": """# SPDX-License-Identifier: GPL-2.0-only
CFLAGS += -std=gnu11 -O2 -g -Wall -D_GNU_SOURCE= $(KHDR_INCLUDES) -pthread
TEST_GEN_PROGS := twheel_test

include ../lib.mk

$(OUTPUT)/twheel_test: chance.c clock.c machine.c pass.c tap.c
""",
    ".gitignore": "# SPDX-License-Identifier: GPL-2.0-only\ntwheel_test\n",
    "config": "CONFIG_AIO=y\nCONFIG_IO_URING=y\nCONFIG_TWHEEL=m\n",
    "settings": "timeout=600\n",
}

MAINTAINERS = """TWHEEL TIMING WHEELS
M:	The twheel developers <twheel@twheel.example>
S:	Maintained
F:	Documentation/misc-devices/twheel.rst
F:	drivers/misc/twheel/
F:	include/uapi/linux/twheel.h
F:	tools/testing/selftests/twheel/

"""

IOCTLS = ("0xD3", "00-1F", "uapi/linux/twheel.h", "Timing wheels, /dev/twheel")


class Error(Exception):
    """There is no place for it."""


def read(path):
    try:
        with open(path, encoding="utf-8") as file:
            return file.read()
    except FileNotFoundError:
        return None


def write(path, text):
    """Write the text, unless the file has it already. No file is changed in place."""
    if read(path) == text:
        return
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path + ".new", "w", encoding="utf-8") as file:
        file.write(text)
    os.rename(path + ".new", path)


def edit(text, pattern, new, count=1):
    """Replace what matches, which must be there that often."""
    text, found = re.subn(pattern, new, text, flags=re.DOTALL)
    if found != count:
        raise Error("%d times instead of %d: %s" % (found, count, pattern))
    return text


def without_compat(linux, text):
    """Replace the functions of twheel_compat.h by what this kernel has."""
    def has(header, pattern):
        return re.search(pattern, read(os.path.join(linux, "include/linux", header)) or "")

    cmd = "io_uring/cmd.h" if has("io_uring/cmd.h", "io_uring_cmd_done") else "io_uring.h"
    text = text.replace("\n#include \"twheel_compat.h\"", "")
    if "uring_cmd_done(" in text:
        text = edit(text, "(<linux/errno.h>\n)", r"\1#include <linux/%s>\n" % cmd)
        text = edit(text, r"uring_cmd_data\((\w+)\)",
                    r"(const void *)\1->sqe->cmd" if has(cmd, r"io_uring_sqe \*sqe;") else
                    r"(const void *)\1->cmd")
        zero = "0, " if has(cmd, r"\sio_uring_cmd_done\([^;)]*res2") else ""
        text = edit(text, r"uring_cmd_done\((\w+), (\w+), ",
                    r"io_uring_cmd_done(\1, \2, " + zero)
    if not has("hrtimer.h", r"hrtimer_setup\("):
        text = re.sub(r"(\t+)hrtimer_setup\(&([\w>-]+), (\w+), ([\w>-]+), (\w+)\);",
                      r"\1hrtimer_init(&\2, \4, \5);\n\1\2.function = \3;", text)
    if not has("mm.h", r"vm_flags_set\("):
        text = re.sub(r"vm_flags_set\(vma, (.*)\);", r"vma->vm_flags |= \1;", text)
    if not has("compiler_attributes.h", "define __uninitialized"):
        text = text.replace(" __uninitialized;", ";")
    return text


def makefile():
    """Return the Makefile of the driver: an object in a line."""
    kbuild = read(os.path.join(ROOT, "Kbuild")).replace("\\\n", "")

    def objects(pattern, prefix):
        return "\n".join(prefix + name for name in re.search(pattern, kbuild)[1].split())

    return MAKEFILE.format(
        driver=objects(r"\ntwheel-y := (.*)", "twheel-y += "),
        kunit=objects(r"\ntwheel_kunit-y := \$\(addprefix kunit/,(.*)\)",
                      "twheel_kunit-y += kunit/"))


def files(linux):
    """Return the texts of twheel's own files in that source, by their paths."""
    texts = {FOLDER + "/Makefile": makefile()}
    for name, text in SELFTEST.items():
        texts[os.path.join(TESTS, name)] = text
    texts[TESTS + "/twheel_test.c"] = edit(
        read(os.path.join(ROOT, "tools/tests/selftest/main.c")),
        '#include "options.h"\n.*', "\nTEST_HARNESS_MAIN\n")
    for pattern, folder in PLACES.items():
        for path in glob.glob(os.path.join(glob.escape(ROOT), pattern)):
            name = os.path.basename(path)
            if name not in HERE_ONLY:
                texts[os.path.join(folder, name)] = without_compat(linux, read(path))
    for path, pattern, new in (
            (FOLDER + "/Kconfig", "#\n# The options.*?\n\n", "\n"),
            (FOLDER + "/twheel_main.c", r"MODULE_VERSION\(\w+\);\n", ""),
            # Emulated machines need the time that the tests have here.
            (TESTS + "/selftest.h", '"harness.h"\n', """"../kselftest_harness.h"
#undef TEST_TIMEOUT_DEFAULT
#define TEST_TIMEOUT_DEFAULT 90
""")):
        texts[path] = edit(texts[path], pattern, new)
    return texts


def with_kconfig(text):
    """Return the text of drivers/misc/Kconfig, with twheel last in its menu."""
    before, end, after = text.rpartition("endmenu")
    if not end:
        raise Error("has no endmenu")
    return before + 'source "%s/Kconfig"\n' % FOLDER + end + after


def with_makefile(text):
    """Return the text of drivers/misc/Makefile, with twheel."""
    return text.rstrip("\n") + "\nobj-$(CONFIG_TWHEEL)\t\t+= twheel/\n"


def in_order(text, pattern, line):
    """Return the text of a list with a line more, in the order of what the pattern finds."""
    lines = text.splitlines(True)
    entries = [n for n, other in enumerate(lines) if re.match(pattern, other)]
    if not entries:
        raise Error("has no list that is known")
    earlier = [n for n in entries if re.match(pattern, lines[n])[1] < "twheel"]
    lines.insert(earlier[-1] + 1 if earlier else entries[0], line)
    return "".join(lines)


def with_maintainers(text):
    """Return the text of MAINTAINERS, with twheel before the first entry that is later."""
    begin = text.find("\nMaintainers List\n")
    for title in re.finditer(r"\n\n(?=([^\n]+)\n[A-Z]:\t)", text):
        if title.start() > begin >= 0 and title[1].upper() > MAINTAINERS:
            return text[:title.end()] + MAINTAINERS + text[title.end():]
    raise Error("has no list that is known")


def with_ioctls(text):
    """Return the text with the table of all ioctls, with ours in the order of magic numbers."""
    lines = text.splitlines(True)
    edges = [n for n, line in enumerate(lines) if re.match("====  =====  ===", line)]
    if len(edges) != 3:
        raise Error("has no table that is known")
    starts = [match.start() for match in re.finditer("=+", lines[edges[0]])]
    row = ""
    for start, cell in zip(starts, IOCTLS):
        row = row.ljust(start) + cell
    later = [n for n in range(edges[1] + 1, edges[2])
             if re.match("0x", lines[n]) and lines[n][:4].upper() > IOCTLS[0].upper()]
    lines.insert(later[0] if later else edges[2], row + "\n")
    return "".join(lines)


# Files that list drivers: the function that adds twheel, and the text that shows it is there.
LISTS = {
    "drivers/misc/Kconfig": (with_kconfig, FOLDER + "/Kconfig"),
    "drivers/misc/Makefile": (with_makefile, "CONFIG_TWHEEL"),
    "MAINTAINERS": (with_maintainers, FOLDER),
    "Documentation/misc-devices/index.rst": (
        lambda text: in_order(text, r"   ([\w-]+)$", "   twheel\n"), "\n   twheel\n"),
    "Documentation/userspace-api/ioctl/ioctl-number.rst": (with_ioctls, IOCTLS[2]),
    "tools/testing/selftests/Makefile": (
        lambda text: in_order(text, r"TARGETS \+= (\S+)$", "TARGETS += twheel\n"), " twheel\n"),
}


def lists(linux):
    """Return the texts of all lists with twheel, by their paths; fails if one is unknown."""
    texts = {}
    for name, (add, proof) in LISTS.items():
        text = read(os.path.join(linux, name))
        if text is None:
            raise Error("no source of a kernel: %s has no %s" % (linux, name))
        try:
            texts[name] = text if proof in text else add(text)
        except Error as error:
            raise Error("%s/%s %s" % (linux, name, error)) from error
    return texts


def run(program, about, act):
    """Do it in the source that the command line names."""
    parser = argparse.ArgumentParser(
        prog="tools/in-tree/" + program, description=about,
        formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("linux", metavar="DIR", help="source of a kernel")
    try:
        act(parser.parse_args().linux)
    except Error as error:
        sys.exit("%s: %s" % (program, error))
    except subprocess.CalledProcessError as error:
        sys.exit("%s: git failed: %s" % (program, " ".join(error.cmd[3:5])))
    except OSError as error:
        sys.exit("%s: %s: %s" % (program, error.filename, error.strerror))
