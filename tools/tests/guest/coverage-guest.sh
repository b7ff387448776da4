#!/bin/sh
# SPDX-License-Identifier: MIT
#
# coverage-guest.sh 'COMMAND...'...: runs test programs in a kernel with gcov, unloads the
# module and prints the kernel's counts: every file of counters, compressed and as text,
# for tools/tests/coverage/run. Prints TAP, with the programs' own as subtests. Runs as
# root in the virtual machine under busybox sh, with the module loaded.

counters=/sys/kernel/debug/gcov
# shellcheck source=tools/tests/guest/tap.sh
. ./tap.sh

# The kernel names each file by the folder where the module was built.
print_counters()
{
	find $counters -name '*.gcda' >/tmp/names
	while read -r name; do
		echo "# counters $name"
		gzip -c "$name" | base64 | sed 's/^/# /' || return
		echo "# end"
	done </tmp/names
	[ -s /tmp/names ]
}

echo "TAP version 13"
for command; do
	run "$command"
done
rmmod twheel
result $? "the module is unloaded"
print_counters
result $? "the kernel has counted"
echo "1..$count"
exit $status
