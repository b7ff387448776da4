# SPDX-License-Identifier: MIT
# shellcheck shell=bash disable=SC2034,SC2154 # scripts that source it use $status and set $folder
#
# TAP for scripts on this machine. Scripts source this, print "1..$count" at the end and
# exit with $status.

count=0
status=0

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
