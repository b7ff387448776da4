#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Runs the examples where the module is loaded, with nothing but busybox. For
# tools/tests/examples-test, which says what else they need.

# shellcheck disable=SC2317 # the tests are called by name

# shellcheck source=tools/tests/guest/tap.sh
. ./tap.sh

# says FILE COMMAND: the command prints what is in the file.
says()
{
	sh -c "$2" >output 2>&1
	said=$(diff "$1" output)
}

# Ten thousand clients, a thousand of which speak. An instruction is a nanosecond here: none
# is closed more than 5 ms early or late.
crowd()
{
	# shellcheck disable=SC3045 # the shell of busybox has it
	ulimit -n 20000
	echo-server 7000 60000 &
	server=$!
	sleep 1
	run "crowd 7000 60000 10000 1000 5"
	kill $server
}

in_the_kernel()
{
	dmesg -c >/dev/null
	insmod /root/twheel_heartbeat.ko || return
	sleep 3
	rmmod twheel_heartbeat || return
	dmesg | sed -n 's/.*twheel_heartbeat: //p' >output
	said=$(diff heartbeats output)
}

# The device, and nothing in its place.
export TWHEEL_BACKEND=device

for name in libevent libuv glib cxx; do
	ok "$name" says heartbeats "with-$name"
done
ok "a wheel per thread" says workers with-threads
ok "twheel run as a coprocess of a shell script" says heartbeats coprocess.sh
ok "a wheel in the kernel" in_the_kernel
crowd
ok "nothing keeps the module" rmmod twheel

echo "1..$count"
exit $status
