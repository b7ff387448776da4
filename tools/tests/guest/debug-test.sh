#!/bin/sh
# SPDX-License-Identifier: MIT
#
# debug-test.sh [--leaks] ['COMMAND...'...]: runs test programs, if any, unloads the module and, with
# --leaks, has the kernel look for leaks. Prints TAP, with the programs' own as subtests. Runs as
# root in the virtual machine under busybox sh, with the module loaded.

# shellcheck disable=SC2317 # a test is called by name

leaks=/sys/kernel/debug/kmemleak
# shellcheck source=tools/tests/guest/tap.sh
. ./tap.sh

# Reports of memory that was allocated after booting: earlier leaks are the kernel's own.
reports()
{
	awk '/^unreferenced object/ { first = $0; getline; ours = !/comm "swapper/
				      if (ours) print first }
	     ours { print "# " $0 }' "$leaks"
}

# kmemleak ignores memory younger than five seconds, and memory that a first scan sees may
# still be changing, so it takes two scans.
nothing_left()
{
	sleep 6
	dmesg -n 6 # it prints how many it found, those of the kernel included
	said="kmemleak is off"
	echo scan >"$leaks" && echo scan >"$leaks" && reports >/tmp/reports || return
	said=
	cat /tmp/reports
	[ ! -s /tmp/reports ]
}

look=
[ "${1-}" != --leaks ] || { look=yes; shift; }
echo "TAP version 13"
for command; do
	run "$command"
done
ok "the module can be unloaded" rmmod twheel
# SECURITY: unread timers
[ -z "$look" ] || ok "nothing is left when the module is unloaded" nothing_left
finish
