#!/bin/sh
# SPDX-License-Identifier: MIT
#
# coverage-kunit.sh OPERATIONS: runs the KUnit suites of twheel_kunit.ko in this directory,
# with this many operations of the model test, and prints their output, which is TAP in the
# kernel's log. Runs as root in the virtual machine under busybox sh, with the module loaded.

dmesg | wc -l >/tmp/before
insmod twheel_kunit.ko ops="$1" || exit
dmesg | sed "1,$(cat /tmp/before)d; s/^\[[^]]*\] //"
rmmod twheel_kunit
