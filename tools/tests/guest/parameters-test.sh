#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Tests the effect of the module's parameters at loading. Prints TAP. Runs as root in the
# virtual machine under busybox sh, with the module loaded; at the end it is loaded
# without parameters. Its file is $TWHEEL_KO, or /lib/modules/twheel.ko.

# shellcheck disable=SC2317 # the tests are called by name

ko=${TWHEEL_KO:-/lib/modules/twheel.ko}
parameters=/sys/module/twheel/parameters
# shellcheck source=tools/tests/guest/tap.sh
. ./tap.sh

# Loading with this parameter fails with EINVAL, prints the reason and leaves nothing.
refused()
{
	said=$(insmod "$ko" "$1" 2>&1) && { rmmod twheel; return 1; }
	case $said in
	*"nvalid argument"* | *"nvalid parameter"*) ;;
	*) return 1 ;;
	esac
	[ ! -e /dev/twheel ] && [ ! -e /sys/module/twheel ] &&
		dmesg | tail -n 5 | grep -q "twheel: $1 is not within"
}

# A wheel without a set-up has this tick and this size.
new_wheel_has()
{
	exec 3<>/dev/twheel || return
	tick=$(sed -n 's/^twheel-tick-ns:\t//p' /proc/self/fdinfo/3)
	size=$(sed -n 's/^twheel-wheel-size:\t//p' /proc/self/fdinfo/3)
	exec 3<&-
	[ "$tick" = "$1" ] && [ "$size" = "$2" ]
}

# loaded TICK SIZE PARAMETER PARAMETER: checks the defaults of wheels with these parameters.
loaded()
{
	insmod "$ko" "$3" "$4" && new_wheel_has "$1" "$2" && rmmod twheel
}

# limits_user_to BYTES PARAMETER
limits_user_to()
{
	insmod "$ko" "$2" || return
	limit=$(cat "$parameters/max_user_bytes")
	rmmod twheel
	[ "$limit" -eq "$1" ]
}

echo "TAP version 13"
ok "loaded without parameters, 1 ms and 256 buckets" new_wheel_has 1000000 256
rmmod twheel
for parameter in tick_ns=0 tick_ns=999 tick_ns=3600000000001 \
	wheel_size=0 wheel_size=1 wheel_size=65537; do
	ok "refused: $parameter" refused $parameter
done
ok "the shortest tick and the smallest size" \
	loaded 1000 2 tick_ns=1000 wheel_size=2
ok "the longest tick and the largest size" \
	loaded 3600000000000 65536 tick_ns=3600000000000 wheel_size=65536
ok "a limit of a user's bytes" limits_user_to 123456 max_user_bytes=123456
# 4% of memory by default, in whole pages.
pages=$(awk '$1 == "MemTotal:" { print int(int($2 / 4) / 25) }' /proc/meminfo)
ok "the limit depends on memory when none is given" \
	limits_user_to $((pages * 4096)) max_user_bytes=0
ok "loaded without parameters again" insmod "$ko"
echo "1..$count"
exit $status
