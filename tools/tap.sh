# SPDX-License-Identifier: MIT
# shellcheck shell=sh
#
# What scripts that run programs in the virtual machine say of them: TAP, with the
# programs' own as subtests. For them to source; they print "1..$count" at the end and
# exit with $status.

count=0
status=0

# result STATUS NAME: one test, passed when the status is 0.
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
