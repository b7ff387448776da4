#!/bin/sh
# SPDX-License-Identifier: MIT
#
# TAP test of the command `twheel`: runs where the module is loaded, as root,
# with nothing but busybox. TWHEEL names the command when it is not in the path.
#
#	tools/vm/vm --module build/stock/twheel.ko --file build/bin/twheel \
#		--file tools/tests/guest/twheel-test.sh -- twheel-test.sh

twheel=${TWHEEL:-twheel}
device=/dev/twheel
work=$(mktemp -d) || exit
trap 'rm -rf "$work"' EXIT
cd "$work" || exit
exec 3>&1
count=0
failed=0

# ok NAME COMMAND...: one test, passed when the command succeeds. When it does
# not, what the program said last is the diagnosis.
ok()
{
	name=$1
	shift
	count=$((count + 1))
	if "$@"; then
		echo "ok $count - $name" >&3
		return
	fi
	failed=$((failed + 1))
	echo "not ok $count - $name" >&3
	{
		echo "failed: $*"
		echo "status: $status"
		head -n 30 out | cut -c 1-200
		head -n 30 err | cut -c 1-200
	} | sed 's/^/# /' >&3
}

limits=/sys/module/twheel/parameters

# run ARG...: the command with a limit in time; sets $status, fills out and err.
run()
{
	timeout 60 "$twheel" "$@" >out 2>err
	status=$?
}

# feed TEXT ARG...: the same for `twheel run`, with printf's idea of TEXT.
feed()
{
	# shellcheck disable=SC2059
	printf "$1" >in
	shift
	timeout 60 "$twheel" "$@" run <in >out 2>err
	status=$?
}

# Numbers that differ from run to run are made the same.
masked()
{
	sed -E -e 's/(late|left)=[0-9.]+(ns|us|ms|s)\b/\1=T/g' \
		-e 's/"(late|left|deadline|now)_ns":[0-9]+/"\1_ns":N/g' out
}

# gives LINE...: the output is exactly these lines, and the status 0.
gives()
{
	[ "$status" = 0 ] && [ "$(masked)" = "$(printf '%s\n' "$@")" ]
}

# refuses STATUS WORDS: the status, no output, and a message with these words.
refuses()
{
	[ "$status" = "$1" ] && [ ! -s out ] && grep -qF -e "$2" err &&
		grep -q '^twheel: ' err
}

# now_ms: time since boot.
now_ms()
{
	awk '{ printf "%d", $1 * 1000 }' /proc/uptime
}

users()
{
	cat /sys/module/twheel/refcnt 2>/dev/null || echo 0
}

test_after()
{
	start=$(now_ms)
	run after 1.2s world 200ms hello 0 "at once"
	took=$(($(now_ms) - start))
	ok "after: each label when it is due" gives \
		"expired 3 at once count=1 late=T" \
		"expired 2 hello count=1 late=T" \
		"expired 1 world count=1 late=T"
	ok "after: ends no earlier than the last" [ "$took" -ge 1200 ]
	ok "after: ends soon after the last" [ "$took" -lt 20000 ]

	run after 10ms ""
	ok "after: a label may be empty" gives \
		"expired 1  count=1 late=T"
	run after 10ms -- -n
	ok "after: -- ends the options" gives \
		"expired 1 -n count=1 late=T"
}

test_every()
{
	start=$(now_ms)
	run every 100ms -n 4 tick
	took=$(($(now_ms) - start))
	ok "every: as many events as asked for" \
		[ "$(grep -cE '^expired 1 tick count=[1-9]' out)" = 4 ]
	ok "every: and no other line" [ "$(wc -l <out)" = 4 ]
	ok "every: ends well" [ "$status" = 0 ]
	ok "every: keeps the period" [ "$took" -ge 400 ]

	run every 50ms -n 2 a 70ms b
	ok "every: counts the events of each label" \
		[ "$(grep -c ' a count' out),$(grep -c ' b count' out)" = 2,2 ]

	rm out
	timeout 60 "$twheel" every 50ms -n 3 x >out 2>err &
	pid=$!
	while [ ! -s out ]; do
		sleep 0.02
	done
	kill -STOP $pid
	sleep 0.5
	kill -CONT $pid
	wait $pid
	status=$?
	ok "every: what was missed is one event with its count" \
		grep -qE '^expired 1 x count=([3-9]|[1-9][0-9])' out
	ok "every: and goes on" [ "$status,$(wc -l <out)" = 0,3 ]

	run every 1us -n 1 x
	ok "every: a period below the tick" refuses 1 "at least one tick, 1ms"
	run every 0 x
	ok "every: no period" refuses 1 "at least one tick"
}

test_info()
{
	run info
	ok "info: the module's parameters" \
		[ "$(awk '/^(tick|wheel_size|clock|pending) / { print $2 }' out |
			tr '\n' ' ')" = "1ms 256 monotonic 0 " ]
	run info --tick 10ms --wheel-size 60 --clock boottime --max-timers 7
	ok "info: with all options" \
		[ "$(awk '/^(tick|wheel_size|clock|max_timers) / { print $2 }' \
			out | tr '\n' ' ')" = "10ms 60 boottime 7 " ]
	run -t 1us -w 2 -c monotonic -d "$device" -j info
	ok "info: JSON, short options" grep -qE \
		'^\{"event":"info","tick_ns":1000,"wheel_size":2,.*"now_ns":[0-9]+\}$' out
}

test_options()
{
	run after 20ms a --tick 1h --wheel-size 65536 --max-timers 1 --tick 5ms
	ok "options: the last one counts" gives \
		"expired 1 a count=1 late=T"
	run --clock boottime after 20ms a
	ok "options: clock boottime" gives "expired 1 a count=1 late=T"
	run --wheel-size 3 --tick 1us after 30ms c 20ms b 10ms a
	ok "options: a small wheel and tick keep the order" gives \
		"expired 3 a count=1 late=T" \
		"expired 2 b count=1 late=T" \
		"expired 1 c count=1 late=T"
	run --max-timers 1 after 10ms a 20ms b
	ok "options: more timers than --max-timers" refuses 1 "too many timers"
	run --max-timers 18446744073709551615 info
	ok "options: more timers than the module allows" \
		refuses 1 "$limits/max_timers"
	run after -1s x
	ok "options: a negative duration is no option" refuses 2 "'-1s' is no duration"
	run --nothing
	ok "options: one that there is not" refuses 2 "there is no option --nothing"
	run info -t
	ok "options: one without its value" refuses 2 "-t needs a value"
	run after --help
	cp out after
	run help after
	ok "options: --help of a command is about that command" cmp out after
	run --help
	ok "options: --help" grep -q '^Usage: twheel' out
	ok "options: --help ends well" [ "$status" = 0 ]
	ok "options: --help lists the commands of run" grep -q ' modify ID' out
	run help
	ok "options: help is --help" [ "$(cat out)" = "$("$twheel" --help)" ]
	run help top
	ok "options: help on one command" grep -q '^Usage: .* top \[PID\]$' out
	ok "options: with its options" grep -q -e ' --once ' out
	ok "options: and no others" [ "$(grep -c -e --tick out)" = 0 ]
	run after 200msec b 0.001min a 0sec c
	ok "options: longer names of units" gives \
		"expired 3 c count=1 late=T" \
		"expired 2 a count=1 late=T" \
		"expired 1 b count=1 late=T"
	run --version
	ok "options: --version" grep -qE '^twheel [0-9]' out
}

# Wrong usage: nothing is begun, and the message names what is wrong.
test_usage()
{
	while IFS='|' read -r words args; do
		eval "run $args"
		ok "usage: twheel $args" refuses 2 "$words"
	done <<-'END'
		a command is needed|
		'frob' is no command|frob
		a duration and a label|after
		a duration and a label|after 1s
		a duration and a label|after 1s a 2s
		a duration and a label|every
		'1x' is no duration|after 1x a
		'-1s' is no duration|after -- -1s a
		'5' is no duration|after 1s a 5 b
		'' is no duration|after '' a
		'300y' is no duration|every 300y a
		'9223372037s' is too long|after 9223372037s a
		--count is for every|after -n 3 1s a
		--count '0'|every -n 0 1s a
		--count '-1'|every -n -1 1s a
		--count '1x'|every -n 1x 1s a
		--count ' 1'|every -n ' 1' 1s a
		--count '18446744073709551616'|every -n 18446744073709551616 1s a
		info takes no arguments|info 1s
		run takes no arguments|run add
		--tick '1'|--tick 1 info
		--tick '999ns'|--tick 999ns info
		--tick '1h1ns'|--tick 1h1ns info
		--tick '0'|--tick 0 info
		--wheel-size '1'|--wheel-size 1 info
		--wheel-size '65537'|--wheel-size 65537 info
		--wheel-size '4294967298'|--wheel-size 4294967298 info
		--wheel-size ''|--wheel-size '' info
		--max-timers '0'|--max-timers 0 info
		--clock 'realtime'|--clock realtime info
		'frob' is no command|help frob
		are for top, not for after|after --once 1s a
		are for top, not for run|--interval 1s run
		opens no wheel|top --tick 1ms
		opens no wheel|help --wheel-size 2
		--count is for every|top -n 3
		the number of one process|top 1 2
		the process 'x'|top x
		the process '0'|top 0
		the process '-1'|top -- -1
		--interval '9ms'|top --interval 9ms
		--interval '0'|top -i 0
		--interval 'x' is no duration|top -i x
		--sort 'frob' is no column|top --sort frob
		needs a terminal|top
	END
	run info --frob
	ok "usage: an option that does not exist" [ "$status" = 2 ]
	run info --tick
	ok "usage: an option without its value" [ "$status" = 2 ]
}

test_device()
{
	run --device "$work/none" info
	ok "device: none" refuses 1 \
		"is the module loaded? sudo modprobe twheel"
	run --device /dev/null info
	ok "device: another one" refuses 1 "/dev/null is not a twheel device"
	run --device "$work" info
	ok "device: a directory" refuses 1 "cannot open $work"

	as_nobody info
	ok "device: for every user" grep -q '^tick ' out
	mode=$(stat -c %a "$device")
	chmod 0600 "$device"
	as_nobody info
	ok "device: not permitted" refuses 1 "no permission to open $device"
	chmod "$mode" "$device"

	bytes=$(cat "$limits/max_user_bytes")
	echo 8000 >"$limits/max_user_bytes"
	as_nobody after 1s x
	ok "device: a user's bytes are not the timers of a wheel" \
		refuses 1 "the user's wheels hold too much memory"
	echo "$bytes" >"$limits/max_user_bytes"
}

# A file of its own, for start-stop-daemon starts none that is running already.
as_nobody()
{
	if [ ! -e nobody ]; then
		cp "$(command -v "$twheel")" nobody
		chmod 755 . nobody
	fi
	timeout 60 start-stop-daemon -S -c 65534:65534 -x "$work/nobody" -- \
		"$@" >out 2>err
	status=$?
}

test_run()
{
	feed '' && ok "run: nothing to do" [ "$status$(cat out)" = 0 ]
	feed 'add 600ms late\nadd 300ms buy milk\n# a comment\n\n  \n add\t0   x y \n'
	ok "run: waits at the end of the input" gives \
		"added 1 late" "added 2 buy milk" "added 3 x y " \
		"expired 3 x y  count=1 late=T" \
		"expired 2 buy milk count=1 late=T" \
		"expired 1 late count=1 late=T"
	feed 'add 10ms a'
	ok "run: the last line needs no line end" gives "added 1 a" \
		"expired 1 a count=1 late=T"
	feed 'every 1h a\nadd 500ms b\n'
	ok "run: at the end of the input periodic timers are cancelled" gives \
		"added 1 a" "added 2 b" "cancelled 1" \
		"expired 2 b count=1 late=T"
	feed 'add 1h a\nquit\nadd 1s b\n'
	ok "run: quit ends at once" gives "added 1 a"
	feed 'add 20ms a\nadd 1h b\ncancel 2\ncancel 2\n'
	ok "run: a cancelled timer does not expire" gives \
		"added 1 a" "added 2 b" "cancelled 2" \
		"error: there is no timer 2: it has expired, was cancelled or never existed" \
		"expired 1 a count=1 late=T"
	feed 'add 1h a\nadd 800ms b\nmodify 1 50ms\n'
	ok "run: a modified timer expires at its new time" gives \
		"added 1 a" "added 2 b" "modified 1" \
		"expired 1 a count=1 late=T" "expired 2 b count=1 late=T"
	feed 'add 0 a\nadd 1h b\nmodify 1 30ms\ncancel 2'
	ok "run: an expired timer can be modified" gives \
		"added 1 a" "added 2 b" "modified 1" "cancelled 2" \
		"expired 1 a count=1 late=T"
	feed 'every 1h a\nadd 1h b\nquery 1\nquery 2\nquit\n'
	ok "run: query" [ "$(masked | grep -cE \
		'^pending (1 a left=T period=3600s|2 b left=T period=0ns)$')" = 2 ]
	feed 'add 1h a\nadd 1h b\ncancel 1\nmodify 2 2h\ninfo\nquit\n'
	ok "run: info counts" grep -qE \
		'^info .* pending=1 expired=0 added=2 modified=1 cancelled=1 ' out
	feed 'help'
	ok "run: help" [ "$(grep -c '^help: ' out)" = 8 ]
}

test_run_errors()
{
	while IFS='|' read -r words line; do
		feed "$line\nadd 0 after"
		ok "run: refuses '$(echo "$line" | cut -c 1-40)'" \
			answers_error "$words"
	done <<-'END'
		frob is no command|frob
		ADD is no command|ADD 1s a
		a duration and a label|add
		a duration and a label|add 1s
		a duration and a label|add 1s \t
		a duration and a label|every 1s
		1x is no duration|add 1x a
		-1s is no duration|add -1s a
		is too long|add 9223372037s a
		at least one tick|every 1us a
		at least one tick|every 0 a
		the number of one timer|cancel
		the number of one timer|cancel 1 2
		x is no timer|cancel x
		-1 is no timer|cancel -1
		+1 is no timer|cancel +1
		1x is no timer|cancel 1x
		18446744073709551616 is no timer|cancel 18446744073709551616
		there is no timer 0|cancel 0
		there is no timer 18446744073709551615|cancel 18446744073709551615
		the number of one timer|modify 1
		the number of one timer|modify 1 1s 2
		there is no timer 1|modify 1 1s
		the number of one timer|query
		there is no timer 5|query 5
		info takes nothing|info 1
		help takes nothing|help me
		quit takes nothing|quit now
		the line holds a null byte|add 1s a\000b
		\x1b[2J is no command|\033[2J
	END

	{
		echo "add 0 a"
		head -c 70000 /dev/zero | tr '\0' x
		echo
		echo "add 0 b"
	} >in
	timeout 60 "$twheel" run <in >out 2>err
	status=$?
	ok "run: refuses a line that is too long, once" \
		[ "$(grep -c '^error: the line is longer' out)" = 1 ]
	ok "run: and goes on behind it" grep -q '^expired 2 b ' out

	head -c 65000 /dev/zero | tr '\0' y >label
	{ printf 'add 0 '; cat label; echo; } >in
	timeout 60 "$twheel" run <in >out 2>err
	status=$?
	ok "run: takes a long label" [ "$(sed -n 's/^expired 1 \(y*\) .*/\1/p' \
		out)" = "$(cat label)" ]

	feed 'add 1h a\nmodify 1 1y\nmodify 1 0\n'
	ok "run: what is refused changes nothing" gives "added 1 a" \
		"error: 1y is no duration: write it like 150us, 1.5s, 30m or 2h30m" \
		"modified 1" "expired 1 a count=1 late=T"
	feed 'add 1h a\nadd 1h b\ncancel 1\nadd 0 c\nquit\n' --max-timers 1
	ok "run: a full wheel has room again after a cancel" gives \
		"added 1 a" \
		"error: too many timers for the wheel: cancel some, or raise --max-timers or $limits/max_timers" \
		"cancelled 1" "added 3 c"
}

# Whatever comes in, there are only answers, in characters that a terminal can bear.
test_run_junk()
{
	for seed in 1 2 3; do
		{ head -c 100000 /dev/urandom; printf '\nadd 0 after\n'; } >in
		timeout 60 "$twheel" run <in >out 2>err
		status=$?
		ok "junk $seed: what follows is done" \
			grep -q '^expired [0-9]* after ' out
		ok "junk $seed: all else are errors" [ "$(grep -vcE \
			'^(error: |added [0-9]+ after$|expired [0-9]+ after )' out)" = 0 ]
		ok "junk $seed: no control character is printed" \
			[ "$(tr -d '\n' <out | tr -cd '\000-\037\177' | wc -c)" = 0 ]
		ok "junk $seed: ends well" [ "$status,$(cat err)" = 0, ]
	done
	timeout 60 "$twheel" run </dev/zero >out 2>err &
	pid=$!
	sleep 2
	ok "junk: a line without an end" kill -0 $pid
	kill $pid
	wait $pid
	ok "junk: is refused once" \
		[ "$(cat out)" = "error: the line is longer than 65535 bytes" ]

	{
		printf 'ad'
		sleep 0.3
		printf 'd 0 ha'
		sleep 0.3
		printf 'lf\nadd 0 oth'
	} | timeout 60 "$twheel" run >out 2>err
	status=$?
	ok "junk: half lines are put together" gives "added 1 half" \
		"expired 1 half count=1 late=T" "added 2 oth" \
		"expired 2 oth count=1 late=T"
}

# One error with these words, and the command behind it was done.
answers_error()
{
	[ "$status" = 0 ] && [ "$(grep -c '^error: ' out)" = 1 ] &&
		grep '^error: ' out | grep -qF -e "$1" &&
		grep -q '^expired .* after count=1' out
}

# A script talks to `twheel run` through two pipes, answer by answer.
test_coprocess()
{
	mkfifo to from
	timeout 60 "$twheel" run <to >from 2>err &
	exec 4>to 5<from

	echo "add 1h first" >&4
	read -r answer <&5
	ok "coprocess: an answer comes at once" [ "$answer" = "added 1 first" ]
	echo "add 30ms second" >&4
	read -r answer <&5
	ok "coprocess: another one" [ "$answer" = "added 2 second" ]
	read -r what id rest <&5
	ok "coprocess: an expiry comes by itself" \
		[ "$what $id ${rest% count=*}" = "expired 2 second" ]
	echo "modify 1 20ms" >&4
	read -r answer <&5
	ok "coprocess: a timer is modified" [ "$answer" = "modified 1" ]
	read -r what id rest <&5
	ok "coprocess: and expires" \
		[ "$what $id ${rest% count=*}" = "expired 1 first" ]
	exec 4>&-
	read -r answer <&5
	ok "coprocess: ends with its input" [ $? -ne 0 ]
	exec 5<&-
	wait $!
	status=$?
	ok "coprocess: ends well" [ "$status" = 0 ]
}

test_json()
{
	run --json after 10ms 'say "hi" \ '
	ok "json: after" gives \
		'{"event":"expired","id":1,"label":"say \"hi\" \\ ","count":1,"deadline_ns":N,"late_ns":N}'
	feed 'add 0 a\tb\033\303\251\377\nevery 1h p\nmodify 2 2h\nquery 2\nfrob\ncancel 2\n' \
		--json
	ok "json: run" gives \
		'{"event":"added","id":1,"label":"a\u0009b\u001bé\ufffd"}' \
		'{"event":"added","id":2,"label":"p"}' \
		'{"event":"modified","id":2}' \
		'{"event":"pending","id":2,"label":"p","deadline_ns":N,"left_ns":N,"period_ns":3600000000000}' \
		'{"event":"error","message":"frob is no command: help lists them"}' \
		'{"event":"cancelled","id":2}' \
		'{"event":"expired","id":1,"label":"a\u0009b\u001bé\ufffd","count":1,"deadline_ns":N,"late_ns":N}'
	feed 'help\n' --json
	ok "json: help" [ "$(grep -cE \
		'^\{"event":"help","message":"[a-z][^"]*"\}$' out)" = 8 ]
	feed 'add 9223372036.854775807s a\nquery 1\nquit' --json
	ok "json: the longest delay ends at the end of time" \
		grep -q '"deadline_ns":9223372036854775807,' out
}

test_output()
{
	timeout 60 "$twheel" after 10ms a >/dev/full 2>err
	status=$?
	: >out
	ok "output: full" refuses 1 "cannot write to standard output: No space"
	timeout 60 "$twheel" --help >/dev/full 2>err
	status=$?
	ok "output: full, --help" refuses 1 "No space"
	timeout 60 "$twheel" after 10ms a >&- 2>err
	status=$?
	ok "output: closed" refuses 1 "Bad file descriptor"
	echo 'add 0 a' | timeout 60 "$twheel" run >&- 2>err
	status=$?
	ok "output: closed, run" refuses 1 "Bad file descriptor"
	timeout 60 "$twheel" top --once -i 10ms >&- 2>err
	status=$?
	ok "output: closed, top" refuses 1 "Bad file descriptor"
	{
		seq 1000 | sed 's/^/every 20ms /' | timeout 60 "$twheel" run 2>err
		echo $? >result
	} | head -n 1 >out
	status=$(cat result)
	ok "output: of run, one line is enough" \
		[ "$status,$(wc -l <out),$(cat err)" = 141,1, ]
	timeout 60 "$twheel" after 10ms a >out 2>&-
	status=$?
	ok "output: messages closed" gives "expired 1 a count=1 late=T"
	timeout 60 "$twheel" run <&- >out 2>err
	status=$?
	ok "output: input closed" [ "$status$(cat out)" = 0 ]

	start=$(now_ms)
	{
		timeout 60 "$twheel" after 0 a 50s b 2>err
		echo $? >result
	} | head -n 1 >out
	took=$(($(now_ms) - start))
	status=$(cat result)
	ok "output: a reader that goes away ends it" [ "$status" = 141 ]
	ok "output: and not only when the next timer expires" \
		[ "$took" -lt 30000 ]
	ok "output: without a word" [ ! -s err ]
	{
		timeout 60 "$twheel" every 10ms x 2>err
		echo $? >result
	} | head -n 1 >out
	status=$(cat result)
	ok "output: of a periodic timer, one line is enough" \
		[ "$status,$(wc -l <out),$(cat err)" = 141,1, ]
	{
		trap '' PIPE
		timeout 60 "$twheel" every 10ms x 2>err
		echo $? >result
	} | head -n 1 >out
	status=$(cat result)
	: >out
	ok "output: where SIGPIPE is ignored, the reason is told" \
		refuses 1 'Broken pipe'
}

test_signals()
{
	for signal in INT TERM; do
		timeout -s $signal 3 "$twheel" after 0 a 1h b >out 2>err
		status=$?
		ok "signals: $signal ends it" \
			[ "$status" = $((128 + $(kill -l $signal))) ]
		ok "signals: $signal, what expired before is there" \
			[ "$(masked)" = "expired 1 a count=1 late=T" ]
	done
}

# row PID: the numbers that top has for a process: PENDING UNREAD ADD/s CANC/s EXP/s
row()
{
	awk -v pid="$1" '$1 == pid { print $4, $5, $6, $7, $8 }' out
}

test_top()
{
	{ echo 'add 1h a'; echo 'add 2h b'; sleep 60; } |
		"$twheel" run >/dev/null 2>&1 &
	two=$!
	"$twheel" every 100ms x >/dev/null 2>&1 &
	every=$!
	# Two processes have this one.
	exec 7<>$device
	sleep 60 &
	sleeper=$!
	sleep 1

	run top --once --interval 2s 7>&-
	ok "top: ends well" [ "$status,$(cat err)" = 0, ]
	ok "top: has a head" grep -qE '^ +PID COMMAND +FD PENDING UNREAD +ADD/s' out
	ok "top: each wheel once" [ "$(wc -l <out)" = 4 ]
	ok "top: most pending first" [ "$(awk 'NR == 2 { print $4 }' out)" = 2 ]
	ok "top: pending timers, and that nothing happens" \
		[ "$(row $two)" = "2 0 0 0 0" ]
	ok "top: what expires in a second, about ten" \
		expires_between 5 15 "$(row $every)"
	ok "top: a wheel of two processes" \
		[ "$(awk -v pid=$$ '$1 == pid { print $2 }' out | grep -o '+1$')" = +1 ]

	run top --once -i 100ms --json $$
	ok "top: JSON of one process" grep -qE \
		'^\{"event":"wheel","id":[0-9]+,"pid":'$$',"command":"[^"]*","fd":7,"descriptors":1,"processes":1,"tick_ns":1000000,.*"user_id":0,.*"add_per_s":0.000,.*"level":\[\]\}$' out
	ok "top: only its own" [ "$(wc -l <out)" = 1 ]
	run top --once -i 100ms --json $every
	ok "top: the levels" grep -qE '"level":\[\{"timers":1,"busy":1\}' out
	run top --once -i 100ms 1
	ok "top: a process without wheels" [ "$status,$(wc -l <out)" = 0,1 ]
	exec 7>&-
	run top --once -i 100ms $sleeper
	ok "top: one of them has closed it" [ "$(row $sleeper)" = "0 0 0 0 0" ]

	run top --once 999999
	ok "top: no such process" refuses 1 "there is no process 999999"
	timeout 60 "$twheel" top --json -i 100ms $sleeper >out 2>err &
	pid=$!
	sleep 1
	kill $sleeper
	wait $pid
	status=$?
	ok "top: a process that ends" \
		grep -q "^twheel: process $sleeper has ended" err
	ok "top: ends it" [ "$status" = 1 ]
	as_nobody top --once 1
	ok "top: a process of somebody else" refuses 1 "no permission to look at process 1"
	as_nobody top --once -i 100ms
	ok "top: the wheels of others are not shown" [ "$status,$(wc -l <out)" = 0,1 ]
	ok "top: and that is told" grep -q '^twheel: left out for lack of permission: ' err
	kill $every $two
}

# The fifth of the numbers is between two others.
expires_between()
{
	echo "$3" | awk -v least="$1" -v most="$2" '{ exit !($5 >= least && $5 <= most) }'
}

# On a console that nobody sees, /dev/vcs has what is on it.
# shellcheck disable=SC2094 # a terminal is read and written
test_terminal()
{
	tty=/dev/tty5
	screen=/dev/vcs5
	if [ ! -e "$screen" ]; then
		mknod "$screen" c 7 5
	fi
	TERM=linux setsid -c "$twheel" run <$tty >$tty 2>err &
	pid=$!
	sleep 2
	ok "terminal: run shows a prompt" grep -q '^twheel> ' $screen
	kill $pid
	wait $pid
	exec 7<>$device
	TERM=linux setsid -c "$twheel" top $$ <$tty >$tty 2>err &
	pid=$!
	sleep 2
	ok "terminal: top shows a screen" grep -q 'twheel top: 1 wheel, 0 pending' $screen
	ok "terminal: with a row" grep -qE " +$$ [^ ]+ +7 +0 +0 " $screen
	exec 7>&-
	kill $pid
	wait $pid
	status=$?
	: >out
	ok "terminal: it goes when it is told to" [ "$status" = 143 ]
}

test_many()
{
	seq 2000 | sed 's/.*/add 300ms &/' >in
	timeout 60 "$twheel" run <in >out 2>err
	status=$?
	ok "many: all are added" [ "$(grep -c ^added out)" = 2000 ]
	ok "many: each expires once" [ "$(sed -n 's/^expired \([0-9]*\) .*/\1/p' \
		out | sort -nu | wc -l),$(grep -c ^expired out)" = 2000,2000 ]
	ok "many: with its own label" [ "$(awk '/^expired/ && $2 == $3' out |
		wc -l)" = 2000 ]
	ok "many: none is early" [ "$(grep -c 'late=-' out)" = 0 ]
	ok "many: ends well" [ "$status" = 0 ]
}

status=-
: >out
: >err
before=$(users)
echo "TAP version 13"
test_after
test_every
test_info
test_options
test_usage
test_device
test_run
test_run_errors
test_run_junk
test_coprocess
test_json
test_output
test_signals
test_top
test_terminal
test_many
ok "no wheel is left open" [ "$(users)" = "$before" ]
echo "1..$count"
[ "$failed" = 0 ]
