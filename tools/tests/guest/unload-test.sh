#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Tests that the module cannot be unloaded while its device is open, and that it
# leaves nothing behind otherwise. Prints TAP. Runs as root in the virtual machine
# under busybox sh, with the module loaded and twheel in the path. The module's file is
# $TWHEEL_KO, or /lib/modules/twheel.ko.

# shellcheck disable=SC2317 # the tests are called by name

ko=${TWHEEL_KO:-/lib/modules/twheel.ko}
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

load()
{
	said=$(insmod "$ko" 2>&1) && loaded && [ -c /dev/twheel ]
}

# Starts a process, $holder, that arms timers and waits for them.
hold()
{
	: >/tmp/held
	twheel every 1ms a >/tmp/held &
	holder=$!
	for _ in 1 2 3 4 5 6 7 8 9 10; do
		[ ! -s /tmp/held ] || return 0
		sleep 0.5
	done
	return 1
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

# Unloads between two users, with timers about to expire.
again_and_again()
{
	for _ in 1 2 3 4 5 6 7 8; do
		hold && drop && unload && gone && load || return
	done
}

echo "TAP version 13"
ok "the module is loaded and has a device" loaded
ok "nobody uses it" used_by 0

exec 3<>/dev/twheel
ok "refused while the device is open" refused  # SECURITY: unloading
exec 4<&3 3<&-
ok "refused while a duplicate is open" refused
sleep 60 <&4 &
sleeper=$!
exec 4<&-
ok "refused while another process has it open" refused  # SECURITY: unloading
kill -9 $sleeper
wait $sleeper 2>/dev/null
ok "nobody uses it after the last close" used_by 0

ok "a process arms timers and waits" hold
ok "refused while there are timers" refused
ok "killing the process drops its wheel" drop  # SECURITY: unloading
ok "unloaded when nobody uses it" unload
ok "nothing is left behind" gone  # SECURITY: unloading
ok "loaded again" load
ok "works when loaded again" works
ok "unloaded and loaded again and again" again_and_again
ok "works after that" works
echo "1..$count"
exit $status
