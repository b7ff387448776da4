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

filter="sed -f bindings.sed"
tar xf python.tar -C /
export LD_LIBRARY_PATH=/python PYTHONPATH=/python PYTHONDONTWRITEBYTECODE=1 PATH="$PATH:/usr/bin"
# Only the device, without a fallback.
export TWHEEL_BACKEND=device TWHEEL_ABI=/root/abi.list

case $1 in
tests)
	export TWHEEL_LATE=5ms
	run "go-test -test.v -test.short" go
	run "go-clock -test.v -test.run Clock" "go, setting the clock"
	run "TWHEEL_BACKEND=user go-clock -test.v -test.run Clock" \
		"go, setting the clock, without the device"
	run "rust-test --test-threads=1" rust
	run "TWHEEL_TIMERS=20000 python3 /python/tests/test_twheel.py -v" python
	ok "nothing keeps the module" rmmod twheel
	;;
race)
	run "go-test -test.v -test.run Exact" "go, 200,000 timers"
	run "go-race -test.v -test.short -test.run 'Many|Limit'" "go, with its race detector"
	;;
esac

finish
