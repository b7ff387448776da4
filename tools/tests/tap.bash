# SPDX-License-Identifier: MIT
# shellcheck shell=bash disable=SC2034 # who sources it exits with $status
#
# What scripts say on this machine: TAP. For them to source; they print "1..$count" at
# the end and exit with $status.

count=0
status=0

# ok NAME COMMAND...: one test; what the command says is the diagnosis.
ok()
{
	local name=$1 output
	shift

	count=$((count + 1))
	if output=$("$@" 2>&1); then
		echo "ok $count - $name"
	else
		echo "not ok $count - $name"
		[ -z "$output" ] || head -n 100 <<<"$output" | sed 's/^/# /'
		status=1
	fi
}
