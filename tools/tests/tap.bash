# SPDX-License-Identifier: MIT
# shellcheck shell=bash
#
# TAP for scripts on this machine. Scripts source this, and finish at the end. They have a folder.

count=0
status=0
folder=$(mktemp -d) || exit
trap 'rm -rf "$folder"' EXIT

# ok NAME COMMAND...: one test; the command's output is the diagnosis. In a script with set -e, the
# first command that fails ends the test, which would not be so within an if.
ok()
{
	local name=$1 flags=$- output failed
	shift

	count=$((count + 1))
	set +e
	output=$([[ $flags != *e* ]] || set -e; "$@" 2>&1)
	failed=$?
	[[ $flags != *e* ]] || set -e
	if [ $failed = 0 ]; then
		echo "ok $count - $name"
	else
		echo "not ok $count - $name"
		[ -z "$output" ] || head -n 100 <<<"$output" | sed 's/^/# /'
		status=1
	fi
}

# each_test [NAME...]: a test for each of these functions test_NAME, or all in alphabetical order.
each_test()
{
	local name

	# shellcheck disable=SC2046 # they are words
	[ $# != 0 ] || set -- $(declare -F | sed -n 's/^declare -f test_//p')
	for name; do
		ok "${name//_/ }" "test_$name"
	done
}

# finish: prints how many tests there are, and exits.
finish()
{
	echo "1..$count"
	exit "$status"
}

# says TEXT: fails unless that is all of the output, which is in $folder/out.
says()
{
	diff <(printf '%s\n' "$1") "$folder/out"
}

# explains TEXT: fails unless the messages, which are in $folder/err, match it.
explains()
{
	grep -q -- "$1" "$folder/err" && return
	echo "no word of \"$1\" among these:"
	cat "$folder/err"
	return 1
}

# files: all files of the project
files()
{
	tools/tests/files
}
