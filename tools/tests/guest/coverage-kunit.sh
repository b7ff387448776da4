#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Runs the KUnit suites and prints what they say, which is TAP in the kernel's log.
# Runs as root in the virtual machine under busybox sh, with the module loaded.

usage()
{
	cat <<-END
	Usage: coverage-kunit.sh OPERATIONS

	Loads and unloads twheel_kunit.ko of this directory, with so many operations of
	the model test.
	END
}

case ${1-} in
--help | -h)
	usage
	exit
	;;
'' | *[!0-9]*)
	usage >&2
	exit 2
	;;
esac

dmesg | wc -l >/tmp/before
insmod twheel_kunit.ko ops="$1" || exit
dmesg | sed "1,$(cat /tmp/before)d; s/^\[[^]]*\] //"
rmmod twheel_kunit
