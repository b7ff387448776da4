#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Tests of the tracepoints, with only tracefs: each reports its operation, with the right fields,
# and only if enabled. Prints TAP. Runs as root in the VM, with the module loaded, in busybox sh.

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

# traced: checks that there was a line for each of the patterns in /tmp/patterns, in order, and no
# other. W stands for the wheel.
traced()
{
	echo "$said" >/tmp/lines
	[ "$(wc -l </tmp/lines)" = "$(wc -l </tmp/patterns)" ] || return
	paste /tmp/lines /tmp/patterns | while IFS='	' read -r line pattern; do
		echo "$line" | grep -qx "$(echo "$pattern" | sed "s/W/$wheel/")" || return
	done
}

# traces EVENT FIELDS COMMAND...: checks that the command is traced so, once.
traces()
{
	event=$1
	echo "$1: $2" >/tmp/patterns
	shift 2
	trace "$event" "$@"
	traced
}

# These operations are traced as the lines below. A timer that is added when due takes the fast path
# unless traced.
printf 'add 1h a\nevery 2h b\nmodify 1 30ms\nadd 0 c\nadd 0 d\ncancel 2\n' >/tmp/operations
cat >/tmp/events <<END
twheel_add: wheel=W id=$n deadline=$n interval=0 data=1
twheel_add: wheel=W id=$n deadline=$n interval=7200000000000 data=2
twheel_modify: wheel=W id=$n deadline=$n interval=0 data=1
twheel_add: wheel=W id=$n deadline=$n interval=0 data=3
twheel_expire: wheel=W time=$n count=1
twheel_add: wheel=W id=$n deadline=$n interval=0 data=4
twheel_expire: wheel=W time=$n count=1
twheel_cancel: wheel=W id=$n deadline=$n interval=7200000000000 data=2
twheel_deliver: wheel=W id=$n deadline=$n interval=0 data=3
twheel_deliver: wheel=W id=$n deadline=$n interval=0 data=4
twheel_arm: wheel=W time=$n
twheel_expire: wheel=W time=$n count=1
twheel_deliver: wheel=W id=$n deadline=$n interval=0 data=1
END

# told EVENT: checks that the operations are traced as those of the lines that are of this event.
# What is read into a page that is not present is delivered again, with the same line.
told()
{
	grep "^${1%\*}" /tmp/events >/tmp/patterns
	cp /tmp/operations /tmp/in
	trace "$1" twheel run
	said=$(echo "$said" | awk '!/cascade/ && (!/deliver/ || !seen[$0]++)')
	traced
}

# The first timer is modified and delivered: it keeps its id, and has another deadline.
in_order()
{
	told '*' || return
	id=$(echo "$said" | sed -n 's/.*twheel_modify: .* \(id=[0-9]* deadline=[0-9]*\) .*/\1/p')
	echo "$said" | grep -q "^twheel_deliver: .* $id " &&
		[ "$(echo "$said" | grep -c " ${id% *} ")" = 3 ]
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

# A user with a limit of no bytes.
refuses_open()
{
	bytes=/sys/module/twheel/parameters/max_user_bytes
	before=$(cat "$bytes")

	echo 1 >"$bytes"
	traces twheel_refuse "wheel=0 request=0x0 errno=28" su -s /bin/sh -c 'twheel info' nobody
	refused=$?
	echo "$before" >"$bytes"
	return "$refused"
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
ok "set up" traces twheel_set_up "wheel=W tick=2000000 size=60 clock=7 max_timers=9" \
	twheel --tick 2ms --wheel-size 60 --clock boottime --max-timers 9 info
for event in add cancel modify expire arm deliver; do
	ok "$event" told twheel_$event
done
ok "cascade" cascades
ok "refuse: setting up" traces twheel_refuse "wheel=W request=0x4028d300 errno=28" \
	twheel --max-timers 99999999999 info
printf 'add 10ms a\nadd 10ms b\n' >/tmp/in
ok "refuse: a call" traces twheel_refuse "wheel=W request=0xc028d301 errno=28" \
	twheel --max-timers 1 run
ok "refuse: opening" refuses_open
ok "refuse: commands of an io_uring" refuses_commands
ok "all of them, in order" in_order
ok "nothing while nobody traces" silent
finish
