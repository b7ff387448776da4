# SPDX-License-Identifier: MIT
# shellcheck shell=sh
#
# What scripts say in the virtual machine: TAP, with that of programs they run as
# subtests. For them to source; they print "1..$count" at the end and
# exit with $status.

count=0
status=0
said=

# result STATUS NAME: one test, passed when the status is 0; so is what it returns.
result()
{
	count=$((count + 1))
	if [ "$1" = 0 ]; then
		echo "ok $count - $2"
	else
		echo "not ok $count - $2"
		status=1
		return 1
	fi
}

# run COMMAND: its lines, further to the right, and a test of its exit status.
run()
{
	echo "# Subtest: ${1%% *}"
	{
		sh -c "$1"
		echo $? >/tmp/status
	} 2>&1 | sed 's/^/    /'
	result "$(cat /tmp/status)" "$1"
}

# ok NAME COMMAND...: one test; $said has what went wrong, if anything.
ok()
{
	name=$1
	shift

	"$@"
	result $? "$name" || [ -z "$said" ] || echo "# $said"
	said=
}
