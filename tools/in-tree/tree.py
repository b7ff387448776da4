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


def ioctls(text):
    """Return our row of the table of all ioctls, in its columns."""
    row = ""
    for column, cell in zip(re.finditer("=+", re.search("(?m)^====  ====.*", text)[0]),
                            ("0xD3", "00-1F", "uapi/linux/twheel.h", "Timing wheels, /dev/twheel")):
        row = row.ljust(column.start()) + cell
    return row + "\n"


# Files that list drivers: a pattern of their entries, with the key of the order; ours, its key first.
LISTS = {
    "drivers/misc/Kconfig": (r"(endmenu)\n*\Z", "", 'source "%s/Kconfig"\n' % FOLDER),
    "drivers/misc/Makefile": (r"()\Z", "", "obj-$(CONFIG_TWHEEL)\t\t+= twheel/\n"),
    "MAINTAINERS": (r"(?![A-Z]:\t)(.+)\n[A-Z]:\t", MAINTAINERS, MAINTAINERS),
    "Documentation/misc-devices/index.rst": (r"   ([\w-]+)$", "twheel", "   twheel\n"),
    "Documentation/userspace-api/ioctl/ioctl-number.rst": (r"(0x..)", "0xd3", ioctls),
    "tools/testing/selftests/Makefile": (r"TARGETS \+= (\S+)$", "twheel", "TARGETS += twheel\n"),
}


def lists(linux):
    """Return the texts of all lists with twheel, before what is later; fails if one is unknown."""
    texts = {}
    for name, (pattern, key, entry) in LISTS.items():
        text = read(os.path.join(linux, name))
        later = text and [match.start() for match in re.finditer("(?m)^" + pattern, text)
                          if match[1].lower() >= key.lower()]
        if not later:
            raise Error("no source of a kernel that is known: see %s/%s" % (linux, name))
        new = entry(text) if callable(entry) else entry
        texts[name] = text if new in text else text[:later[0]] + new + text[later[0]:]
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
