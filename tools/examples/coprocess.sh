#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Timers in a shell script: `twheel run` as a coprocess, which takes commands and prints
# expired timers. Any shell can do this with two pipes; bash also has the keyword coproc.
#
# A heartbeat comes every 200 ms, and postpones an idle timeout of 500 ms. The fifth one is
# the last, and the idle timeout ends the script. The module must be loaded:
#
#	./coprocess.sh

pipes=$(mktemp -d) || exit
trap 'rm -rf "$pipes"' EXIT
mkfifo "$pipes/commands" "$pipes/events" || exit
twheel run <"$pipes/commands" >"$pipes/events" &
exec 3>"$pipes/commands" 4<"$pipes/events"

echo "every 200ms heartbeat" >&3
echo "add 500ms idle" >&3
beats=0
while read -r what id rest <&4; do
	case "$what ${rest%% count=*}" in
	"added heartbeat")
		heartbeat=$id
		;;
	"added idle")
		idle=$id
		;;
	"expired heartbeat")
		beats=$((beats + 1))
		echo "heartbeat $beats"
		echo "modify $idle 500ms" >&3
		[ $beats -lt 5 ] || echo "cancel $heartbeat" >&3
		;;
	"expired idle")
		echo "idle"
		echo "quit" >&3
		;;
	esac
done
