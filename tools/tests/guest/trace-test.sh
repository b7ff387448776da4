#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Tests of the tracepoints, with only tracefs: each reports its operation, with the right
# fields, and only if enabled. Prints TAP. Runs as root in the virtual machine under
# busybox sh, with the module loaded and twheel in the path.

# shellcheck disable=SC2317 # the tests are called by name

# shellcheck source=tools/tests/guest/tap.sh
. ./tap.sh
tracing=/sys/kernel/tracing
mount -t tracefs tracefs "$tracing"
n='[1-9][0-9]*'

# The number of the next wheel: one more than that of a wheel that is opened now.
next_wheel()
{
	exec 3<>/dev/twheel
	wheel=$(awk '$1 == "twheel-id:" { print $2 + 1 }' /proc/self/fdinfo/3)
	exec 3<&-
}

# trace EVENT COMMAND...: prints the lines of that event, or of all (twheel), while the
# command runs with /tmp/in as its input.
trace()
{
	event=$1
	shift

	next_wheel
	echo >"$tracing/trace"
	[ -z "$event" ] || echo "twheel:$event" >"$tracing/set_event"
	timeout 60 "$@" </tmp/in >/tmp/out 2>&1
	echo >"$tracing/set_event"
	said=$(sed -n 's/^.*: twheel_/twheel_/p' "$tracing/trace")
}

# traced PATTERN...: checks that there was a line for each of these patterns, in order,
# and no other.
traced()
{
	[ -n "$said" ] && [ "$(echo "$said" | wc -l)" = $# ] || return
	echo "$said" >/tmp/lines
	while read -r line; do
		echo "$line" | grep -qx "$1" || return
		shift
	done </tmp/lines
}

# told EVENT FIELDS COMMANDS [OPTION...]: checks that twheel run with these commands traces
# that once; or once with each of several fields, between which is a semicolon.
told()
{
	event=$1
	fields=$2
	printf '%b' "$3" >/tmp/in
	shift 3

	trace "$event" twheel "$@" run
	set --
	IFS=";"
	for line in $fields; do
		set -- "$@" "$event: wheel=$wheel $line"
	done
	unset IFS
	traced "$@"
}

# The added timer is modified and delivered: check all events, in their order.
in_order()
{
	printf 'add 1h a\nmodify 1 30ms\n' >/tmp/in
	trace '*' twheel run
	id=$(echo "$said" | sed -n 's/.*twheel_add: .* \(id=[0-9]*\) .*/\1/p')
	due=$(echo "$said" | sed -n 's/.*twheel_modify: .* \(deadline=[0-9]*\) .*/\1/p')
	said=$(echo "$said" | grep -v cascade)
	traced "twheel_add: wheel=$wheel $id deadline=$n interval=0 data=1" \
		"twheel_modify: wheel=$wheel $id $due interval=0 data=1" \
		"twheel_arm: wheel=$wheel time=$n" \
		"twheel_expire: wheel=$wheel time=$n count=1" \
		"twheel_deliver: wheel=$wheel $id $due interval=0 data=1" &&
		[ "${#id}" -gt 3 ] && [ "${#due}" -gt 9 ]
}

# These timers fill one bucket to a crowd. It is opened early when one of those before it expires.
cascades()
{
	seq 950 999 | sed 's/.*/add &ms a/' >/tmp/in
	seq 600 | sed 's/.*/add 1s&us a/' >>/tmp/in
	trace twheel_cascade twheel --tick 10us --wheel-size 60 run
	[ -n "$said" ] && ! echo "$said" |
		grep -qvx "twheel_cascade: wheel=$wheel time=$n count=$n"
}

set_up()
{
	trace twheel_set_up twheel --tick 2ms --wheel-size 60 --clock boottime \
		--max-timers 9 info
	traced "twheel_set_up: wheel=$wheel tick=2000000 size=60 clock=7 max_timers=9"
}

refuses_set_up()
{
	trace twheel_refuse twheel --max-timers 99999999999 info
	traced "twheel_refuse: wheel=$wheel request=0x4028d300 errno=28"
}

# A user with a limit of no bytes.
refuses_open()
{
	bytes=/sys/module/twheel/parameters/max_user_bytes
	before=$(cat "$bytes")

	echo 1 >"$bytes"
	trace twheel_refuse su -s /bin/sh -c 'twheel info' nobody
	echo "$before" >"$bytes"
	traced "twheel_refuse: wheel=0 request=0x0 errno=28"
}

# This self-test is refused commands of an io_uring, and no calls.
refuses_commands()
{
	trace twheel_refuse twheel-selftest uring.plain.unused_fields
	[ -n "$said" ] && ! echo "$said" | grep -qvx "twheel_refuse: wheel=$n request=0x.* errno=22"
}

silent()
{
	printf 'add 0 a\nadd 10ms b\nevery 30ms c\nadd 1h d\nmodify 2 20ms\ncancel 3\n' >/tmp/in
	trace "" twheel --max-timers 3 run
	[ -z "$said" ] && grep -q 'expired 1 a' /tmp/out
}

echo "TAP version 13"
: >/tmp/in
ok "set up" set_up
ok "add" told twheel_add "id=$n deadline=$n interval=0 data=1" 'add 0 a\n'
ok "add: periodic" told twheel_add "id=$n deadline=$n interval=5000000 data=1" \
	'every 5ms a\nquit\n'
ok "add: each of several" told twheel_add \
	"id=$n deadline=$n interval=0 data=1;id=$n deadline=$n interval=0 data=2" \
	'add 0 a\nadd 0 b\n'
ok "cancel" told twheel_cancel "id=$n deadline=$n interval=0 data=2" \
	'add 0 a\nadd 1h b\ncancel 2\n'
ok "modify" told twheel_modify "id=$n deadline=$n interval=0 data=1" \
	'add 1h a\nmodify 1 10ms\n'
ok "expire: in the wheel" told twheel_expire "time=$n count=1" 'add 20ms a\n'
# The second one needs no memory, and takes the fast path unless traced.
ok "expire: added when due" told twheel_expire "time=$n count=1;time=$n count=1" \
	'add 0 a\nadd 0 b\n'
ok "cascade" cascades
ok "arm" told twheel_arm "time=$n" 'add 100ms a\n'
ok "deliver" told twheel_deliver "id=$n deadline=$n interval=0 data=1" 'add 0 a\n'
ok "refuse: a call" told twheel_refuse "request=0xc028d301 errno=28" \
	'add 10ms a\nadd 10ms b\n' --max-timers 1
ok "refuse: setting up" refuses_set_up
ok "refuse: opening" refuses_open
ok "refuse: commands of an io_uring" refuses_commands
ok "all of them, in order" in_order
ok "nothing while nobody traces" silent
echo "1..$count"
exit $status
