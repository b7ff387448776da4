#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Runs in a Debian system that was booted for it, and prints TAP: packages are installed,
# interrupted, upgraded while a wheel is open, survive a kernel upgrade and a reboot, and leave
# nothing.
# tools/tests/packages/run boots the system twice: on the first kernel, then on the one
# that was installed.

cd /root/packages || exit
export DEBIAN_FRONTEND=noninteractive LC_ALL=C.UTF-8 PATH=/usr/sbin:/usr/bin:/sbin:/bin
# shellcheck source=tools/tests/tap.bash
. ./tap.bash

installed()
{
	apt-get -qq -y --no-install-recommends -o Dpkg::Use-Pty=0 install "$@"
}

# built KERNEL VERSION: checks that DKMS has built this version of the module, and that
# there is no other.
built()
{
	local status

	status=$(dkms status)
	echo "$status"
	grep -q "^twheel/$2, $1, .*: installed" <<<"$status" &&
		! grep -v "^twheel/$2," <<<"$status"
}

loads()
{
	modprobe -r twheel && modprobe twheel && grep -xF "$1" /sys/module/twheel/version &&
		[ -c /dev/twheel ]
}

# As an ordinary user.
somebody()
{
	su nobody -s /bin/sh -c "$*"
}

# appears LINE FILE: waits a minute for a line that matches.
appears()
{
	local n

	for ((n = 0; n < 600; n++)); do
		grep -m 1 -x "$1" "$2" && return
		sleep 0.1
	done
	cat "$2"
	return 1
}

# works VERSION: an ordinary user has timers by the command and the library of this version.
works()
{
	somebody twheel --version | grep -wF "$1" && somebody twheel after 1s hi | grep " hi " &&
		somebody python3 -c '"import twheel; loop = twheel.Loop(backend=\"device\"); \
			loop.call_later(0.1, print, \"hi\"); loop.wait()"' | grep hi
}

# A program of the version before has a wheel open until the upgrade is over. Once a second it
# prints the seconds and the periods that have passed.
opens_a_wheel()
{
	cat >/run/program <<-END
	import os, time, twheel
	loop = twheel.Loop(backend="device")
	began, periods = time.monotonic(), 0
	def passed():
	    global periods
	    periods += each.count
	    loop.call_later(0.1, lambda: print(int(time.monotonic() - began), periods, flush=True))
	each = loop.call_every(1, passed)
	far = loop.call_later(1e6, print, "early")
	while not os.path.exists("/run/upgraded"):
	    loop.wait()
	assert far.cancel()
	END
	setsid su nobody -s /bin/sh -c "python3 /run/program && echo ended" >/run/said 2>&1 &
	appears '[0-9].*' /run/said
}

# The module cannot be unloaded, and the new command and library work with it.
old_module_serves()
{
	! rmmod twheel && grep -xF "$BEFORE" /sys/module/twheel/version && works "$NOW"
}

# No period was early, and none is missing in the end.
lost_nothing()
{
	touch /run/upgraded
	appears ended /run/said || return
	tail -n 3 /run/said
	awk '/^[0-9]/ { ahead = $1 - $2; if (ahead < 0) exit } END { exit ahead < 0 || ahead > 2 }' \
		/run/said
}

# An upgrade that is killed while DKMS compiles, and the command that repairs it.
interrupted()
{
	local pid n

	setsid apt-get -qq -y -o Dpkg::Use-Pty=0 install ./now/*.deb >/root/upgrade.log 2>&1 &
	pid=$!
	for ((n = 0; n < 6000; n++)); do
		pgrep -f "dkms/twheel/$NOW/build" >/dev/null && break
		sleep 0.1
	done
	[ "$n" -lt 6000 ] || { cat /root/upgrade.log; echo "never seen to compile"; return 1; }
	kill -KILL -- "-$pid"
	sleep 1
	pkill -KILL -f /var/lib/dkms/twheel
	dpkg -s twheel-dkms | grep Status
	! dpkg -s twheel-dkms | grep -qx "Status: install ok installed"
}

repaired()
{
	dpkg --configure -a
	installed ./now/*.deb &&
		dpkg -s twheel-dkms | grep -x "Status: install ok installed"
}

# The files of "make install" and those of a package do not collide.
beside_make_install()
{
	mkdir -p "/lib/modules/$(uname -r)/extra" &&
		cp /root/packages/twheel.ko "/lib/modules/$(uname -r)/extra" && depmod || return
	modinfo -n twheel
	modinfo -n twheel | grep -q /updates/dkms/ || return
	rm "/lib/modules/$(uname -r)/extra/twheel.ko" && depmod
}

without_headers()
{
	# Debian 13's DKMS does not miss headers of a kernel while another one has them.
	find /lib/modules -mindepth 1 -maxdepth 1 -printf 'linux-headers-%f\n' |
		xargs dpkg -r --force-depends >/dev/null &&
		apt-get -qq -y -o Dpkg::Use-Pty=0 --reinstall install ./now/twheel-dkms*.deb \
			>/root/headers.log 2>&1
	cat /root/headers.log
	grep -qi "headers" /root/headers.log &&
		dpkg -s twheel-dkms | grep -qx "Status: install ok installed"
}

# systemd's descriptor of a wheel is not among those that its epoll watches.
not_polled()
{
	local fd

	fd=$(find /proc/1/fd -lname /dev/twheel -printf '%f\n')
	[ -n "$fd" ] && ! grep -E "^tfd: +$fd " /proc/1/fdinfo/*
}

# A service is killed twice in its 20 seconds. Its wheel is in systemd's store, and expiries do
# not wake systemd. In the end, each of its jobs has been done, and few twice.
survives()
{
	local log=/run/survivor.log

	cat >/run/systemd/system/survivor.service <<-END
	[Service]
	ExecStart=/root/packages/survivor
	FileDescriptorStoreMax=1
	NotifyAccess=main
	Restart=always
	RestartSec=0
	StandardOutput=append:$log
	END
	systemctl daemon-reload && systemctl start survivor || return
	appears started "$log" || return
	sleep 1
	not_polled || return
	systemctl kill -s KILL survivor
	appears "adopted .*" "$log" || return
	sleep 0.5
	systemctl kill -s KILL survivor
	appears "job 99" "$log" || return
	systemctl stop survivor
	cat "$log"
	[ "$(grep -c adopted "$log")" = 2 ] && [ "$(grep -c started "$log")" = 1 ] &&
		[ "$(grep job "$log" | sort -u | wc -l)" = 100 ] &&
		[ "$(grep -c job "$log")" -le 102 ]
}

# A command in a group of its own has 20 s, and its reaper is killed twice: systemd starts reapers
# that wait for the same command, and the last one kills its group in time.
reaps()
{
	local began=$SECONDS property main last=0

	systemd-run --quiet --unit=reaper --property={FileDescriptorStoreMax=1,NotifyAccess=main} \
		--property={Restart=on-abnormal,RestartSec=0,KillMode=process} \
		/root/packages/reaper 20 sh -c 'sleep 1000 & wait' || return
	for _ in 1 2; do
		until main=$(systemctl show -P MainPID reaper) && [ "$main" != 0 ] &&
			[ "$main" != "$last" ] && pidof sleep; do
			[ $((SECONDS - began)) -lt 60 ] && sleep 0.1 || return
		done
		sleep 1
		kill -KILL "$main" && pidof sleep || return
		last=$main
	done
	until property=$(systemctl show -P ExecMainStatus reaper) && [ "$property" = 124 ]; do
		[ $((SECONDS - began)) -lt 90 ] && sleep 0.1 || return
	done
	systemctl status reaper
	systemctl reset-failed reaper
	echo "ended after $((SECONDS - began)) s"
	[ $((SECONDS - began)) -ge 20 ] && ! pidof sleep
}

nothing_left()
{
	local left

	left=$(find / -xdev \( -path /proc -o -path /sys -o -path /root -o -path /run \
		-o -path /var/log -o -path /var/cache/apt \) -prune -o -iname '*twheel*' -print)
	echo "$left"
	[ -z "$left" ] && ! grep -q ^twheel /proc/modules
}

# The module's own mode is the same: only udev can bring it back.
rule_applies()
{
	chmod 600 /dev/twheel &&
		udevadm trigger --action=change --settle --sysname-match=twheel || return
	stat -c %a /dev/twheel
	[ "$(stat -c %a /dev/twheel)" = 666 ]
}

first_boot()
{
	local kernel

	kernel=$(uname -r)
	ok "the version before is installed" installed ./before/*.deb
	ok "DKMS builds the module for the kernel that runs" built "$kernel" "$BEFORE"
	ok "it is loaded, of that version" loads "$BEFORE"
	ok "an ordinary user has timers of it" works "$BEFORE"
	ok "a program opens a wheel" opens_a_wheel
	ok "an upgrade that is killed in the middle is noticed" interrupted
	ok "the next command repairs it" repaired
	ok "the new version's module is built, and the old one's gone" built "$kernel" "$NOW"
	ok "the new command and library work with the old module, which stays" old_module_serves
	ok "the program has lost nothing, and ends" lost_nothing
	ok "the new one is loaded" loads "$NOW"
	ok "an ordinary user has timers of the new one" works "$NOW"
	ok "the library is where programs look for it" eval 'ldconfig -p | grep -F libtwheel.so.0'
	ok "a module of make install is not in the way" beside_make_install
	ok "a new kernel is installed" installed ./kernel/*.deb
	ok "and the module is built for it" built "$NEXT" "$NOW"
}

second_boot()
{
	ok "the new kernel runs" [ "$(uname -r)" = "$NEXT" ]
	ok "the module was loaded at boot" grep ^twheel /proc/modules
	ok "the device is everybody's" test "$(stat -c %a /dev/twheel)" = 666
	ok "and udev's rule makes it so" rule_applies
	ok "an ordinary user has timers" works "$NOW"
	ok "a service's timers survive its restarts in systemd's store" survives
	ok "a command is killed in time although systemd restarts its reaper" reaps
	ok "without headers, installing says so and goes on" without_headers
	ok "the packages are removed" apt-get -qq -y -o Dpkg::Use-Pty=0 purge \
		twheel-dkms twheel libtwheel0 libtwheel-dev golang-twheel-dev \
		librust-twheel-dev python3-twheel
	ok "and nothing is left" nothing_left
}

# shellcheck source=/dev/null
. ./settings
"$1"
echo "1..$count"
