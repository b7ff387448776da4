# SPDX-License-Identifier: MIT
# shellcheck shell=sh
#
# TAP for scripts in the virtual machine, with that of the programs they run as subtests.
# Scripts source this, and finish at the end.

count=0
failed=0
said=

# result STATUS NAME: one test, passed if the status is 0, which it also returns.
result()
{
	count=$((count + 1))
	if [ "$1" = 0 ]; then
		echo "ok $count - $2"
	else
		echo "not ok $count - $2"
		failed=1
		return 1
	fi
}

# run COMMAND [NAME]: prints its output, indented and as $filter makes TAP of it, and a test of its
# exit status.
run()
{
	echo "# Subtest: ${2:-${1%% *}}"
	{
		sh -c "$1"
		echo $? >/tmp/status
	} 2>&1 | ${filter:-cat} | sed 's/^/    /'
	result "$(cat /tmp/status)" "${2:-$1}"
}

# ok NAME COMMAND...: one test; $said has the reason of a failure.
ok()
{
	name=$1
	shift

	"$@"
	result $? "$name" || diagnose
	said=
}

diagnose()
{
	[ -z "$said" ] || echo "$said" | sed 's/^/# /'
}

# finish: prints how many tests there are, and exits.
finish()
{
	echo "1..$count"
	exit $failed
}
