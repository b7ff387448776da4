#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Runs test programs in a kernel with gcov, takes the module out and prints what
# the kernel has counted. Prints TAP, with the programs' own as subtests. Runs as
# root in the virtual machine under busybox sh, with the module loaded.

usage()
{
	cat <<-END
	Usage: coverage-guest.sh 'COMMAND...'...

	Runs each COMMAND, which prints TAP, unloads the module twheel, and prints every
	file of counters that the kernel has, compressed and as text, for tools/coverage.
	END
}

case ${1-} in
--help | -h)
	usage
	exit
	;;
'')
	usage >&2
	exit 2
	;;
esac

counters=/sys/kernel/debug/gcov
count=0
status=0

result()
{
	count=$((count + 1))
	if [ "$1" = 0 ]; then
		echo "ok $count - $2"
	else
		echo "not ok $count - $2"
		status=1
	fi
}

# The command's lines, further to the right; its exit status remains.
run()
{
	echo "# Subtest: ${1%% *}"
	{
		sh -c "$1"
		echo $? >/tmp/status
	} 2>&1 | sed 's/^/    /'
	result "$(cat /tmp/status)" "$1"
}

# The kernel names each file by the folder that the module was built in.
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
