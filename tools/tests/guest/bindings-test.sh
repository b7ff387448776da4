#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Runs the tests of the bindings where the module is loaded. For tools/tests/bindings-test,
# which describes the files they need.
#
#	bindings-test.sh tests|race

# shellcheck disable=SC2317 # the tests are called by name

# shellcheck source=tools/tests/guest/tap.sh
. ./tap.sh

# tests NAME COMMAND: turns the output of a test program into TAP.
tests()
{
	echo "# Subtest: $1"
	{
		sh -c "$2"
		echo $? >/tmp/status
	} 2>&1 | sed -f bindings.sed | sed 's/^/    /'
	result "$(cat /tmp/status)" "$1 over the device"
}

tar xf python.tar -C /
export LD_LIBRARY_PATH=/python PYTHONPATH=/python PYTHONDONTWRITEBYTECODE=1 PATH="$PATH:/usr/bin"
# Only the device, without a fallback.
export TWHEEL_BACKEND=device TWHEEL_ABI=/root/abi.list

case $1 in
tests)
	export TWHEEL_LATE=5ms
	tests go "go-test -test.v -test.short"
	tests "go, setting the clock" "go-clock -test.v -test.run Clock"
	tests "go, setting the clock, without the device" \
		"TWHEEL_BACKEND=user go-clock -test.v -test.run Clock"
	tests rust "rust-test --test-threads=1"
	tests python "TWHEEL_TIMERS=20000 python3 /python/tests/test_twheel.py -v"
	ok "nothing keeps the module" rmmod twheel
	;;
race)
	tests "go, 200,000 timers" "go-test -test.v -test.run Exact"
	tests "go, with its race detector" "go-race -test.v -test.short -test.run 'Many|Limit'"
	;;
esac

echo "1..$count"
exit $status
