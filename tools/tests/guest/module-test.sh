#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Tests that the module cannot be unloaded while its device is open, that it leaves nothing
# behind otherwise, and the effect of its parameters. Prints TAP. Runs as root in the virtual
# machine under busybox sh, with the module loaded and twheel in the path.

# shellcheck disable=SC2317 # the tests are called by name

ko=/lib/modules/twheel.ko
# shellcheck source=tools/tests/guest/tap.sh
. ./tap.sh

loaded()
{
	grep -q '^twheel ' /proc/modules
}

unload()
{
	said=$(rmmod twheel 2>&1)
}

# A module in use is refused with EWOULDBLOCK; it stays as it is.
refused()
{
	! unload && loaded && [ -c /dev/twheel ] && case $said in
	*"temporarily unavailable"*) ;;
	*) false ;;
	esac
}

used_by()
{
	[ "$(cat /sys/module/twheel/refcnt)" = "$1" ]
}

# Everything that a module could leave behind under its name.
gone()
{
	! loaded && [ ! -e /dev/twheel ] && [ ! -e /sys/module/twheel ] &&
		[ ! -e /sys/class/misc/twheel ] &&
		! grep -q twheel /proc/misc /proc/kallsyms &&
		! grep -q twheel /proc/slabinfo &&
		! cat /proc/[0-9]*/comm 2>/dev/null | grep -qx twheel
}

# load [PARAMETER...]
load()
{
	said=$(insmod "$ko" "$@" 2>&1) && loaded && [ -c /dev/twheel ]
}

# Starts a process, $holder, that arms timers and waits for them.
hold()
{
	: >/tmp/held
	seq 1000 | sed 's/.*/add &ms a/' >/tmp/in
	twheel run </tmp/in >/tmp/held &
	holder=$!
	timeout 5 sh -c 'until [ -s /tmp/held ]; do sleep 0.1; done'
}

drop()
{
	kill -9 "$holder"
	wait "$holder" 2>/dev/null
	used_by 0
}

works()
{
	twheel after 10ms works | grep -q "^expired 1 works "
}

# Loading with this parameter fails with EINVAL, prints the reason and leaves nothing.
rejects()
{
	! load "$1" && gone && dmesg | grep -q "twheel: $1 is not within" &&
		case $said in
		*"nvalid argument"* | *"nvalid parameter"*) ;;
		*) false ;;
		esac
}

# A wheel without a set-up has this tick and this size.
new_wheel_has()
{
	printf 'twheel-tick-ns:\t%s\ntwheel-wheel-size:\t%s\n' "$1" "$2" >/tmp/wanted
	grep -E '^twheel-(tick-ns|wheel-size):' /proc/self/fdinfo/3 3<>/dev/twheel |
		cmp - /tmp/wanted
}

# defaults TICK SIZE PARAMETER...: checks those of wheels with these parameters.
defaults()
{
	load "$3" "$4" && new_wheel_has "$1" "$2" && unload
}

# limits_user_to BYTES PARAMETER
limits_user_to()
{
	load "$2" && [ "$(cat /sys/module/twheel/parameters/max_user_bytes)" = "$1" ] && unload
}

echo "TAP version 13"
ok "the module is loaded and has a device" loaded
ok "nobody uses it" used_by 0

exec 3<>/dev/twheel
ok "refused while the device is open" refused  # SECURITY: unloading
exec 3<&-
ok "nobody uses it after the last close" used_by 0

ok "a process arms timers and waits" hold
ok "refused while there are timers" refused
ok "killing the process drops its wheel" drop  # SECURITY: unloading
ok "unloaded when nobody uses it" unload
ok "nothing is left behind" gone  # SECURITY: unloading
ok "loaded again" load
ok "works when loaded again" works

ok "loaded without parameters, 1 ms and 256 buckets" new_wheel_has 1000000 256
rmmod twheel
for parameter in tick_ns=0 tick_ns=999 tick_ns=3600000000001 \
	wheel_size=0 wheel_size=1 wheel_size=65537; do
	ok "refused: $parameter" rejects $parameter
done
ok "the shortest tick and the smallest size" defaults 1000 2 tick_ns=1000 wheel_size=2
ok "the longest tick and the largest size" \
	defaults 3600000000000 65536 tick_ns=3600000000000 wheel_size=65536
ok "a limit of a user's bytes" limits_user_to 123456 max_user_bytes=123456
# 4% of memory by default, in whole pages.
pages=$(awk '$1 == "MemTotal:" { print int(int($2 / 4) / 25) }' /proc/meminfo)
ok "the limit depends on memory when none is given" \
	limits_user_to $((pages * 4096)) max_user_bytes=0
ok "loaded without parameters again" load
finish
