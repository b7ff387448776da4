#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Runs the examples where the module is loaded, with only busybox. For
# tools/tests/examples-test, which describes the other files they need.

# shellcheck disable=SC2317 # the tests are called by name

# shellcheck source=tools/tests/guest/tap.sh
. ./tap.sh

# says FILE COMMAND: checks that the command prints the contents of the file.
says()
{
	sh -c "$2" >output 2>&1
	said=$(diff "$1" output)
}

prints_something()
{
	"$1" >output && [ -s output ]
}

# crowd_of CLIENTS SPEAKERS COMMAND...: so many clients of this server, some of which speak. An
# instruction is a nanosecond here: none is closed more than 5 ms early or late. Before them, one
# leaves by itself; after them, the server has closed all of its descriptors.
crowd_of()
{
	crowd="crowd $port 60000 $1 $2 5"
	shift 2

	# shellcheck disable=SC3045 # the shell of busybox has it
	ulimit -n 20000
	"$@" "$port" 60000 &
	server=$!
	sleep 1
	descriptors=$(ls /proc/$server/fd)
	ok "$*: a client leaves" echoes
	run "$crowd"
	ok "$*: nothing is left" test "$(ls /proc/$server/fd)" = "$descriptors"
	kill $server
	port=$((port + 1))
}

echoes()
{
	[ "$(echo hello | timeout 10 nc 127.0.0.1 "$port")" = hello ]
}

# Set the clock past one of two times, and back.
calendar_time()
{
	now=$(date +%s)
	calendar $((now + 1000)) $((now + 2000)) >output &
	program=$!
	sleep 1
	date -s "@$((now + 1500))" && sleep 1 && date -s "@$now" && sleep 1
	date -s "@$((now + 2500))" && wait "$program"
	said=$(printf 'the clock was set\nit is %d\nthe clock was set\nthe clock was set\nit is %d\n' \
		$((now + 1000)) $((now + 2000)) | diff - output)
}

# reaps STATUS SECONDS: the next reaper ends with this status, after so long.
reaps()
{
	began=$(date +%s)
	reaper 1000 false
	[ "$? $(($(date +%s) - began))" = "$1 $2" ]
}

# Kill reapers of commands that have time left, that have none, and that end by themselves, after
# which another process gets the same id.
reapers()
(
	exec 3<>/dev/twheel
	reaper 10 sh -c 'exit 7' || [ $? = 7 ] || return
	reaper 4 sh -c 'sleep 1000 & wait' &
	sleep 1 && kill -9 $! && pidof sleep && reaps 124 3 && sleep 1 && ! pidof sleep || return
	reaper 1 sleep 1000 &
	sleep 0.5 && kill -9 $! && sleep 1 && pidof sleep && reaps 124 0 || return
	reaper 10 sleep 1 &
	sleep 0.5 && kill -9 $! && pid=$(pidof sleep) && sleep 1 || return
	echo $((pid - 1)) >/proc/sys/kernel/ns_last_pid
	sleep 1000 &
	[ "$!" = "$pid" ] && reaps 0 0 && kill "$pid" && reaps 1 0
) >output 2>&1

in_the_kernel()
{
	dmesg -c >/dev/null
	insmod /root/twheel_heartbeat.ko || return
	sleep 3
	rmmod twheel_heartbeat || return
	dmesg | sed -n 's/.*twheel_heartbeat: //p' >output
	said=$(diff heartbeats output)
}

# Only the device, without a fallback. The programs find libtwheel here.
export TWHEEL_BACKEND=device LD_LIBRARY_PATH=/bin:/root

for page in /bin/page?; do
	ok "program ${page#/bin/page} of the pages" prints_something "$page"
done
ok "the README's program prints what the page shows" says readme page1
for name in libevent libuv glib cxx; do
	ok "$name" says heartbeats "with-$name"
done
ok "a wheel per thread" says workers with-threads
ok "twheel run as a coprocess of a shell script" says heartbeats coprocess.sh
ok "calendar time, and a clock that is set" calendar_time
ok "a deadline that holds although its reaper is killed" reapers
ok "a wheel in the kernel" in_the_kernel
port=7000
crowd_of 2000 200 echo-server
# More reads time out at once than the ring has completions for.
for how in twheel link timeout; do
	crowd_of 3000 10 uring-echo $how
done
ok "nothing keeps the module" rmmod twheel

finish
