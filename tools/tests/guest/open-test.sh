#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Makes every allocation fail once while a user opens a first wheel, for which the module
# makes an account. Prints TAP. Runs as root in the virtual machine under busybox sh, with
# the module loaded and a kernel that fails on request: with fault injection for slab and
# its directory in debugfs.

# shellcheck source=tools/tests/guest/tap.sh
. ./tap.sh

debugfs=/sys/kernel/debug
# A shell that opens a file does fewer allocations than this. The kernel's reserves, which
# need no allocation, vary, hence the rounds.
faults=12
rounds=20

# Faults hit allocations that may wait, too, and are not logged.
prepare()
{
	for kind in failslab fail_page_alloc fail_usercopy; do
		echo 0 >$debugfs/$kind/verbose || return
	done
	echo N >$debugfs/failslab/ignore-gfp-wait
}

# The fault is for a separate shell: the next one starts without it.
opens()
{
	(
		echo "$1" >/proc/self/fail-nth && true <>/dev/twheel
	) 2>/dev/null
}

unused()
{
	[ "$(cat /sys/module/twheel/refcnt)" = 0 ]
}

echo "TAP version 13"
if ! prepare || ! unused; then
	echo "Bail out! cannot prepare faults, or there is a wheel already"
	exit 1
fi
failures=0
opened=0
broken=
for _ in $(seq $rounds); do
	for nth in $(seq $faults); do
		if opens "$nth"; then
			opened=$((opened + 1))
			continue
		fi
		failures=$((failures + 1))
		opens 0 && unused || broken="$broken $nth"
	done
done
[ $failures -ge $rounds ] && [ $opened -ge $rounds ] && [ -z "$broken" ]
result $? "opening a user's first wheel ($rounds times $faults faults)" ||
	echo "# $failures failures, opened $opened times; broken by fault:$broken"
echo "1..$count"
exit "$status"
