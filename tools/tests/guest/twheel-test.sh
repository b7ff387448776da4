#!/bin/sh
# SPDX-License-Identifier: MIT
#
# TAP test of the command `twheel`: runs where the module is loaded, as root, with only
# busybox. TWHEEL names the command if it is not in the path.
#
#	tools/vm/vm --module build/stock/twheel.ko --file build/bin/twheel \
#		--file tools/tests/guest/tap.sh --file tools/tests/guest/twheel-test.sh -- twheel-test.sh
#
# Its arguments are the names of functions to run, which begin with test_.

# shellcheck disable=SC2059 # tables have line ends and bytes as printf takes them
# shellcheck disable=SC2317 # the tests are called by name

twheel=${TWHEEL:-twheel}
device=/dev/twheel
limits=/sys/module/twheel/parameters
work=$(mktemp -d) || exit
trap 'rm -rf "$work"' EXIT
# shellcheck source=tools/tests/guest/tap.sh
. ./tap.sh
cd "$work" || exit
within=

# After a failed test, the program's last output is the diagnosis.
diagnose()
{
	{
		echo "status: $status"
		head -n 30 out | cut -c 1-200
		head -n 30 err | cut -c 1-200
	} | sed 's/^/# /'
}

# run ARG...: runs the command with a time limit, by another command if $within has one; sets
# $status, fills out and err.
run()
{
	# shellcheck disable=SC2086 # they are words
	timeout 60 $within "$twheel" "$@" >out 2>err
	status=$?
}

# run_line TEXT: the same with the words of a shell, which may redirect the output elsewhere.
run_line()
{
	: >out
	eval ">out 2>err timeout 60 \"\$twheel\" $1"
	status=$?
}

# feed TEXT ARG...: the same for `twheel run`, with TEXT as printf prints it.
feed()
{
	printf "$1" >in
	shift
	run "$@" run <in
}

# gives LINE...: checks that the output is exactly these lines, and the status 0. Numbers that
# differ from run to run are masked, and count=1, the usual one, is left out.
gives()
{
	[ "$status" = 0 ] && [ "$(printf '%s\n' "$@")" = "$(sed -E \
		-e 's/ count=1 late=[0-9.]+[num]?s$//' -e 's/left=[0-9.]+[num]?s\b/left=T/' \
		-e 's/"(late|left|deadline|now)_ns":[0-9]+/"\1_ns":N/g' out)" ]
}

# refuses STATUS WORDS: checks the status, that there is no output, and a message with these words.
refuses()
{
	[ "$status" = "$1" ] && [ ! -s out ] && grep -qF -e "$2" err &&
		grep -q '^[^ ]*twheel: ' err
}

# until_so COMMAND...: waits until the command succeeds, for a minute.
until_so()
{
	for _ in $(seq 600); do
		! "$@" || return 0
		sleep 0.1
	done
	return 1
}

# has_wheel PID LINE: checks that a process has a wheel with this line in its fdinfo.
has_wheel()
{
	cat "/proc/$1/fdinfo"/* 2>/dev/null | tr '\t' ' ' | grep -q "^twheel-$2$"
}

# as_nobody ARG...: runs the command as another user. Its file is a copy, as start-stop-daemon does
# not start a program that is running already.
as_nobody()
{
	mkdir -p nobody
	[ -e nobody/twheel ] || cp "$(command -v "$twheel")" nobody/twheel
	chmod 755 . nobody nobody/twheel
	timeout 60 start-stop-daemon -S -c 65534:65534 -x "$work/nobody/twheel" -- "$@" >out 2>err
	status=$?
}

# now_ms: time since boot.
now_ms()
{
	awk '{ printf "%.0f", $1 * 1000 }' /proc/uptime
}

# Each line: what is tested, the words of the command line, its input, and all of its output.
test_output()
{
	# Lines that end with a backslash continue.
	sed ':a; /\\$/ { N; s/\\\n//; ba; }' >table <<-'END'
		each label when it is due|after 1.2s world 200ms hello 0 "at once"||\
			expired 3 at once\nexpired 2 hello\nexpired 1 world
		a label may be empty|after 10ms ""||expired 1 \n
		-- ends the options|after 10ms -- -n||expired 1 -n
		the last option counts|\
			after 20ms a --tick 1h --wheel-size 65536 --max-timers 1 --tick 5ms||\
			expired 1 a
		the clock boottime|--clock boottime after 20ms a||expired 1 a
		the clock realtime|--clock realtime after 20ms a||expired 1 a
		the clock tai|--clock tai after 20ms a||expired 1 a
		a small wheel and tick keep the order|\
			--wheel-size 3 --tick 1us after 30ms c 20ms b 10ms a||expired 3 a\n\
			expired 2 b\nexpired 1 c
		messages closed|after 10ms a 2>&-||expired 1 a
		input closed|run <&-||
		nothing to do|run||
		run waits at the end of the input|run|add 2s late\nadd 300ms buy milk\n\
			# a comment\n\n  \n add\t0   x y \n|added 1 late\nadded 2 buy milk\n\
			added 3 x y \nexpired 3 x y \nexpired 2 buy milk\nexpired 1 late
		the last line needs no line end|run|add 10ms a|added 1 a\nexpired 1 a
		at the end of the input periodic timers are cancelled|run|every 1h a\nadd 500ms b\n\
			|added 1 a\nadded 2 b\ncancelled 1\nexpired 2 b
		quit ends at once|run|add 1h a\nquit\nadd 1s b\n|added 1 a
		a cancelled timer does not expire|run|add 20ms a\nadd 1h b\ncancel 2\ncancel 2\n|\
			added 1 a\nadded 2 b\ncancelled 2\n\
			error: there is no timer 2: \
			it has expired, was cancelled or never existed\nexpired 1 a
		a modified timer expires at its new time|run|add 1h a\nadd 800ms b\nmodify 1 50ms\n\
			|added 1 a\nadded 2 b\nmodified 1\nexpired 1 a\nexpired 2 b
		an expired timer can be modified|run|add 0 a\nadd 1h b\nmodify 1 30ms\ncancel 2|\
			added 1 a\nadded 2 b\nmodified 1\ncancelled 2\nexpired 1 a
		query|run|every 1h a\nadd 1h b\nquery 1\nquery 2\nquit\n|added 1 a\nadded 2 b\n\
			pending 1 a left=T period=3600s\npending 2 b left=T period=0ns
		list|run|add 1h a\nevery 1h b\nadd 1h c\ncancel 3\nlist\nquit\n|added 1 a\n\
			added 2 b\nadded 3 c\ncancelled 3\npending 1 a left=T period=0ns\n\
			pending 2 b left=T period=3600s\nlisted count=2
		list of none|run|list\nquit\n|listed count=0
		what is refused changes nothing|run|add 1h a\nmodify 1 1y\nmodify 1 0\n|added 1 a\n\
			error: 1y is not a duration: write it like 150us, 1.5s, 30m or 2h30m\n\
			modified 1\nexpired 1 a
		a full wheel has room again after a cancel|--max-timers 1 run|add 1h a\nadd 1h b\n\
			cancel 1\nadd 0 c\nquit\n|added 1 a\n\
			error: too many timers for the wheel: cancel some, or raise \
			--max-timers or /sys/module/twheel/parameters/max_timers\n\
			cancelled 1\nadded 3 c
		JSON of run|--json run|add 0 a\tb\033\303\251\377\nevery 1h p\nmodify 2 2h\n\
			query 2\nfrob\ncancel 2\n|\
			{"event":"added","id":1,"label":"a\\u0009b\\u001bé\\ufffd"}\n\
			{"event":"added","id":2,"label":"p"}\n{"event":"modified","id":2}\n\
			{"event":"pending","id":2,"label":"p","deadline_ns":N,"left_ns":N,\
			"period_ns":3600000000000}\n\
			{"event":"error","message":"frob is not a command: help lists them"}\n\
			{"event":"cancelled","id":2}\n\
			{"event":"expired","id":1,"label":"a\\u0009b\\u001bé\\ufffd","count":1,\
			"deadline_ns":N,"late_ns":N}
	END
	while IFS='|' read -r what words input output; do
		printf "$input" >in
		run_line "<in $words"
		ok "output: $what" gives "$(printf "$output")"
	done <table
	start=$(now_ms)
	run after 300ms a
	ok "output: no timer is early" [ $(($(now_ms) - start)) -ge 300 ]
	feed 'add 9223372036.854775807s a\nquery 1\nquit' --json
	ok "output: the longest delay ends at the end of time" \
		grep -q '"deadline_ns":9223372036854775807,' out
	feed 'add 1h a\nadd 1h b\ncancel 1\nmodify 2 2h\ninfo\nquit\n'
	ok "output: info counts" grep -qE \
		'^info .* pending=1 expired=0 added=2 modified=1 cancelled=1 ' out
	feed help
	ok "output: help of run" [ "$(grep -c '^help: ' out)" = 9 ]
	run info
	ok "output: the module's parameters" [ "$(awk '/^(tick|wheel_size|clock|pending) / {
		print $2 }' out | tr '\n' ' ')" = "1ms 256 monotonic 0 " ]
	run -t 10ms -w 60 -c boottime -d "$device" --max-timers 7 -j info
	ok "output: the parameters of the options" grep -q \
		'"tick_ns":10000000,"wheel_size":60,"clock":"boottime","max_timers":7,.*"now' out
	run after --help
	ok "output: --help of a command" [ "$(cat out)" = "$("$twheel" help after)" ]
	run --help
	ok "output: --help" [ "$status,$(cat out)" = "0,$("$twheel" help)" ]
	ok "output: --help has the commands of run" grep -q ' modify ID' out
	run --version
	ok "output: --version" grep -qE '^twheel [0-9]' out
}

# Each line: the status, words of the message, and the command line. Nothing else happens.
test_errors()
{
	exec 7<>"$device" 8</dev/null
	echo 'add 0 a' >in
	while IFS='|' read -r wanted words line; do
		run_line "$line"
		ok "error: twheel $line" refuses "$wanted" "$words"
	done <<-'END'
		2|a command is needed|
		2|'frob' is not a command|frob
		2|a duration and a label|after
		2|a duration and a label|after 1s
		2|a duration and a label|after 1s a 2s
		2|'1x' is not a duration|after 1x a
		2|'-1s' is not a duration|after -- -1s a
		2|'-1s' is not a duration|after -1s x
		2|'5' is not a duration|after 1s a 5 b
		2|'9223372037s' is too long|after 9223372037s a
		2|unrecognized option '--nothing'|--nothing
		2|unrecognized option '--frob'|info --frob
		2|option requires an argument -- 't'|info -t
		2|--count is for every|after -n 3 1s a
		2|--count '0'|every -n 0 1s a
		2|--count '1x'|every -n 1x 1s a
		2|--count ' 1'|every -n ' 1' 1s a
		2|--count '18446744073709551616'|every -n 18446744073709551616 1s a
		2|too many arguments: the command is twheel info|info 1s
		2|too many arguments: the command is twheel run|run add
		2|--tick '999ns'|--tick 999ns info
		2|--tick '1h1ns'|--tick 1h1ns info
		2|--wheel-size '1'|--wheel-size 1 info
		2|--wheel-size '65537'|--wheel-size 65537 info
		2|--max-timers '0'|--max-timers 0 info
		2|--clock 'process'|--clock process info
		2|'frob' is not a command|help frob
		2|are for top, not for after|after --once 1s a
		2|are for top, not for run|--interval 1s run
		2|are for after, every, run and info, not for top|top --tick 1ms
		2|are for after, every, run and info, not for help|help --wheel-size 2
		2|--count is for every|top -n 3
		2|too many arguments: the command is twheel top [PID]|top 1 2
		2|the process '0'|top 0
		2|--interval '9ms'|top --interval 9ms
		2|--sort 'frob' is not a column|top --sort frob
		2|use --once or --json|top
		2|save needs --fd N|save
		2|load needs --fd N|load file
		2|--fd '-1'|save --fd -1
		2|--fd '2147483648'|save --fd 2147483648
		2|--pid '0'|save --fd 7 --pid 0
		2|--fd and --pid are for save and load, not for run|run --fd 7
		2|too many arguments: the command is twheel save [FILE]|save --fd 7 a b
		2|too many arguments: the command is twheel load [FILE]|load --fd 7 a b
		2|are for after, every, run and info, not for save|save --fd 7 --tick 1ms
		2|both the wheel and the timers on standard input|load --fd 0
		1|at least one tick, 1ms|every 1us -n 1 x
		1|at least one tick|every 0 x
		1|too many timers|--max-timers 1 after 10ms a 20ms b
		1|/sys/module/twheel/parameters/max_timers|--max-timers 18446744073709551615 info
		1|is the module loaded? sudo modprobe twheel|--device "$work/none" info
		1|/dev/null is not a twheel device|--device /dev/null info
		1|cannot open /tmp: Is a directory|--device /tmp info
		1|a shell opens a wheel with exec 9<>|save --fd 9
		1|descriptor 8 is not a wheel|save --fd 8
		1|descriptor 3 of process 999999: No such process|save --pid 999999 --fd 3
		1|: Bad file descriptor: twheel top shows those of wheels|save --pid $$ --fd 99
		1|cannot write /dev/full: No space|save --fd 7 /dev/full
		1|cannot write none/file: No such file|save --fd 7 none/file
		1|cannot read none: No such file|load --fd 7 none
		1|.:1: Is a directory; 0 timers were loaded|load --fd 7 .
		1|cannot write to standard output: No space|after 10ms a >/dev/full
		1|No space|--help >/dev/full
		1|No space|save --fd 7 >/dev/full
		1|Bad file descriptor|after 10ms a >&-
		1|Bad file descriptor|run <in >&-
		1|Bad file descriptor|top --once -i 10ms >&-
	END
	exec 7>&- 8<&-
	ok "error: a device is not replaced" [ -c /dev/full ]

	as_nobody info
	ok "error: none for any user" grep -q '^tick ' out
	mode=$(stat -c %a "$device")
	chmod 0600 "$device"
	as_nobody info
	ok "error: not permitted" refuses 1 "cannot open $device: Permission denied: allow it"
	chmod "$mode" "$device"
	as_nobody save --pid $$ --fd 3
	ok "error: a process of another user" refuses 1 "Operation not permitted: use sudo"
	bytes=$(cat "$limits/max_user_bytes")
	echo 8000 >"$limits/max_user_bytes"
	as_nobody after 1s x
	ok "error: a user's bytes are not the timers of a wheel" \
		refuses 1 "the user's wheels hold too much memory"
	echo "$bytes" >"$limits/max_user_bytes"
}

test_every()
{
	run every 50ms -n 2 a 70ms b
	ok "every: counts the events of each label" \
		[ "$status,$(cut -d ' ' -f 1-3 out | sort | tr '\n' ,)" = \
		"0,expired 1 a,expired 1 a,expired 2 b,expired 2 b," ]

	rm out
	# On a busy host, a second can pass between the first event and the signal.
	timeout 60 "$twheel" every 700ms -n 3 x >out 2>err &
	pid=$!
	until_so [ -s out ]
	kill -STOP "$pid"
	sleep 3
	kill -CONT "$pid"
	wait "$pid"
	status=$?
	ok "every: what was missed is one event with its count" \
		grep -qE '^expired 1 x count=([3-9]|[1-9][0-9])' out
	ok "every: and goes on" [ "$status,$(wc -l <out)" = 0,3 ]
}

# Each line: words of the only error, and a command of run, which goes on.
test_run_errors()
{
	while IFS='|' read -r words line; do
		feed "$line\nadd 0 after"
		ok "run: refuses '$(echo "$line" | cut -c 1-40)'" answers_error "$words"
	done <<-'END'
		frob is not a command|frob
		ADD is not a command|ADD 1s a
		write it like this: add DURATION LABEL|add
		write it like this: add DURATION LABEL|add 1s
		write it like this: add DURATION LABEL|add 1s \t
		1x is not a duration|add 1x a
		is too long|add 9223372037s a
		at least one tick|every 1us a
		at least one tick|every 0 a
		write it like this: cancel ID|cancel
		write it like this: cancel ID|cancel 1 2
		x is not a timer|cancel x
		-1 is not a timer|cancel -1
		1x is not a timer|cancel 1x
		there is no timer 0|cancel 0
		write it like this: modify ID DURATION|modify 1
		there is no timer 1|modify 1 1s
		list takes no arguments|list 1
		the line holds a null byte|add 1s a\000b
		\x1b[2J is not a command|\033[2J
	END

	label=$(head -c 65000 /dev/zero | tr '\0' y)
	feed "add 1h $label\n$label$label\nadd 1h b\nquit\n"
	ok "run: takes a long label, refuses a line that is too long, once, and goes on" gives \
		"added 1 $label" "error: the line is longer than 65535 bytes" "added 2 b"
	{ head -c 100000 /dev/urandom; printf '\nadd 0 after\n'; } >in
	run run <in
	ok "run: junk gets only errors, of printable characters, and is survived" \
		[ "$status,$(cat err),$(grep -c '^expired [0-9]* after ' out),$(grep -vcE \
		'^(error: |added [0-9]+ after$|expired [0-9]+ after )' out),$(
		tr -d '\n' <out | tr -cd '\000-\037\177' | wc -c)" = 0,,1,0,0 ]
	{
		printf 'ad'
		sleep 0.3
		printf 'd 0 ha'
		sleep 0.3
		printf 'lf\nadd 0 oth'
	} | timeout 60 "$twheel" run >out 2>err
	status=$?
	ok "run: half lines are put together" gives "added 1 half" "expired 1 half" \
		"added 2 oth" "expired 2 oth"

	run_line "after $(seq 2000 | sed 's/^/300ms /' | tr '\n' ' ')"
	ok "run: each of many timers expires once, with its own label, and not early" \
		[ "$status,$(grep -c ^expired out),$(sed -nE \
		's/^expired ([0-9]+) \1 count=1 late=[0-9].*/\1/p' out | sort -u | wc -l)" = \
		0,2000,2000 ]
}

# Check that there is one error with these words, and that the next command was done.
answers_error()
{
	[ "$status" = 0 ] && [ "$(grep -c '^error: ' out)" = 1 ] &&
		grep '^error: ' out | grep -qF -e "$1" &&
		grep -q '^expired .* after count=1' out
}

test_ends()
{
	seq 1000 | sed 's/^/every 20ms /' >in
	ok "ends: of run, one line is enough" takes_a_line 141 run <in
	ok "ends: when a reader goes away, before the next timer expires" \
		takes_a_line 141 after 0 a 1h b
	ok "ends: of a periodic timer, one line is enough" takes_a_line 141 every 10ms x
	trap '' PIPE
	takes_a_line 1 every 10ms x
	trap - PIPE
	: >out
	ok "ends: where SIGPIPE is ignored, with a message" refuses 1 'Broken pipe'
}

# takes_a_line STATUS ARG...: checks that a reader of one line ends the command without a message.
takes_a_line()
{
	want=$1
	shift
	{
		timeout 60 "$twheel" "$@" 2>err
		echo $? >result
	} | head -n 1 >out
	status=$(cat result)
	[ "$status,$(wc -l <out),$(cat err)" = "$want,1," ]
}

# On an unused console, whose contents are in /dev/vcs.
# shellcheck disable=SC2094 # a terminal is read and written
test_terminal()
{
	tty=/dev/tty5
	screen=/dev/vcs5
	[ -e "$screen" ] || mknod "$screen" c 7 5
	setsid -c "$twheel" run <"$tty" >"$tty" 2>err &
	ok "terminal: run shows a prompt" until_so grep -q '^twheel> ' "$screen"
	kill $!
	wait $!
}

# With the machine's own /proc; the rest is tested in tools/tests/unit/top-test.
test_top()
{
	{ echo 'add 1h a'; echo 'every 2h b'; sleep 60; } | "$twheel" run >/dev/null 2>&1 &
	two=$!
	# Two processes have this one.
	exec 7<>"$device"
	sleep 60 &
	sleeper=$!
	until_so has_wheel "$two" "pending: 2"

	run top --once -i 100ms 7>&-
	ok "top: each wheel once, most pending first" \
		[ "$status,$(cat err),$(awk '{ print $4 }' out | tr '\n' ,)" = 0,,PENDING,2,0, ]
	ok "top: a wheel of two processes" \
		[ "$(awk -v pid=$$ '$1 == pid { print $2 }' out | grep -o '+1$')" = +1 ]
	exec 7>&-
	run top --once -i 100ms --json "$two"
	ok "top: JSON of one process, with levels" grep -q '"descriptors":1,.*"tick_ns":1000000,.*'\
'"pending":2,.*"user_id":0,.*"add_per_s":0.000,.*"level":\[.*"timers":[12],"busy":[12]' out
	as_nobody top --once -i 100ms
	ok "top: the wheels of others are not shown" [ "$status,$(wc -l <out)" = 0,1 ]

	run save --pid "$two" --fd "$(wheel_of "$two")"
	ok "save: the wheel of another process" [ "$(grep -cE \
		'^data=[12] wall_ns=[0-9]+ interval_ns=(0|7200000000000)$' out)" = 2 ]
	kill "$two" "$sleeper"
}

# The descriptor of a process's wheel.
wheel_of()
{
	for fd in "/proc/$1/fd"/*; do
		[ "$(readlink "$fd")" != "$device" ] || basename "$fd"
	done
}

# field NAME: this number in the last line of the output that has it.
field()
{
	sed -n "s/.*\"$1\":\([0-9]*\).*/\1/p" out | tail -n 1
}

# between LOW NUMBER HIGH: checks that a number is there, and not less or more than these.
between()
{
	[ -n "$2" ] && [ "$2" -ge "$1" ] && [ "$2" -le "$3" ]
}

# numbers NAME AHEAD: those that gives() masks, of a program whose clocks are so many milliseconds
# ahead. /proc/uptime has 10 ms, as CLOCK_BOOTTIME.
numbers()
{
	began=$(now_ms)
	run --json --clock boottime after 300ms a
	ok "$1: not early, and not late" between 290 $(($(now_ms) - began)) 500
	ok "$1: a deadline" between $(($2 + began + 290)) $(($(field deadline_ns) / 1000000)) \
		$(($2 + began + 400))
	ok "$1: how late" between 1 "$(field late_ns)" 20000000
	began=$(now_ms)
	feed 'add 1h a\nadd 2s b\nquery 2\nlist\ncancel 1\n' --json --clock boottime
	ok "$1: what is left, as a query and a list say" \
		[ "$(sed -n 's/.*"left_ns":\([0-9]\{2\}\).*/\1/p' out | tr '\n' ' ')" = "19 35 19 " ]
	ok "$1: a deadline in a list" between $(($2 + began + 1980)) $(($(sed -n \
		's/.*"id":2,.*"deadline_ns":\([0-9]*\),"left.*/\1/p' out | tail -n 1) / 1000000)) \
		$(($2 + began + 2400))
	run --json info --clock boottime
	ok "$1: the wheel's time" between $(($2 + began)) $(($(field now_ns) / 1000000)) \
		$(($2 + $(now_ms) + 20))
}

test_times()
{
	numbers times 0
	run after 300ms a
	ok "times: how late, as text" grep -qE 'late=([0-9.]+us|1?[0-9](\.[0-9]+)?ms)$' out
	feed 'add 90s a\nlist\ncancel 1\n'
	ok "times: what is left, as text" grep -qE 'left=(89\.9[0-9]*s|1m29\.9[0-9]*s|90s)' out
}

# seconds: when the timers of a saved wheel are due, in seconds since 1970.
seconds()
{
	sed -n 's/.*wall_ns=\([0-9]*\)[0-9]\{9\} .*/\1/p' | sort
}

test_time_namespace()
{
	if [ ! -x /usr/bin/unshare ]; then
		count=$((count + 1))
		echo "ok $count - time namespace # SKIP unshare is not for this kind of machine"
		return
	fi
	within="/usr/bin/unshare -T --monotonic 3600 --boottime 3600 --fork"
	numbers "time namespace" 3600000
	exec 7<>"$device" 8<>"$device"
	made 2 1000 >file
	run load --fd 7 file
	ok "time namespace: loads" gives "loaded count=2 past=0"
	ok "time namespace: as it was loaded" \
		[ "$("$twheel" save --fd 7 | seconds)" = "$(seconds <file)" ]
	"$twheel" load --fd 8 file >out
	run save --fd 8
	ok "time namespace: saves" [ "$(seconds <out)" = "$(seconds <file)" ]
	exec 7>&- 8>&-
	within=
}

head_line()
{
	echo "twheel 1 tick_ns=1000000 wheel_size=256 clock=monotonic"
}

# made COUNT SECONDS: prints a save file: timers 1 to COUNT, one a second, the first due in SECONDS.
made()
{
	head_line
	seq "$1" | awk -v first=$(($(date +%s) + $2)) '{ printf \
		"data=%d wall_ns=%d000000000 interval_ns=0\n", $1, first + $1 - 1 }'
	echo "timers=$1"
}

# wheel_has FD NAME: a number in the fdinfo of this shell's wheel, which the command inherits.
wheel_has()
{
	sed -n "s/^twheel-$2:.//p" "/proc/$$/fdinfo/$1"
}

test_save()
{
	exec 7<>"$device"
	run save --fd 7
	ok "save: an empty wheel" gives "$(head_line)" "timers=0"
	{
		head_line
		echo "data=18446744073709551615 wall_ns=4000000000000000000 interval_ns=5000000"
		echo "data=7 wall_ns=4000000000000000000 interval_ns=0"
		echo "data=9007199254740993 wall_ns=9223372036854775807 interval_ns=0"
		printf 'data=0 wall_ns=0 interval_ns=0\ntimers=4\n'
	} >file
	run load --fd 7 file
	ok "load: a file" gives "loaded count=4 past=1"
	echo old >saved
	chmod 600 saved
	run --json save --fd 7 saved
	ok "save: to a file" gives '{"event":"saved","count":4}'
	ok "save: it was replaced, and keeps its mode" \
		[ "$(stat -c %a saved),$(ls saved*)" = 600,saved ]
	sed 's/=400000000000[0-9]* /=4000000000000000000 /' saved >out
	ok "save: data, times, 0, and the end of time" gives "$(cat file)"
	ok "save: the wheel keeps its timers" [ "$(wheel_has 7 pending)" = 3 ]

	exec 8<>"$device"
	sed 's/^twheel .*/twheel 1 tick_ns=2000000 wheel_size=60 clock=boottime/' file >other
	run load --fd 8 other
	ok "load: a new wheel becomes like the one that was saved" \
		[ "$(wheel_has 8 tick-ns),$(wheel_has 8 wheel-size)" = 2000000,60 ]
	run load --fd 7 other
	ok "load: one with timers stays as it is, and gets more" \
		[ "$(wheel_has 7 tick-ns),$(wheel_has 7 pending)" = 1000000,6 ]
	exec 7>&- 8>&-

	exec 7<>"$device"
	second=$(($(date +%s) + 2))
	{
		head_line
		printf 'data=%d wall_ns=%d000000000 interval_ns=0\n' 1 1 2 2 7 "$second" \
			8 4000000000
		echo "timers=4"
	} >file
	run load --fd 7 <file
	ok "load: timers that are past, from standard input" gives "loaded count=4 past=2"
	# An event has 32 bytes.
	dd bs=32 count=2 <&7 >events 2>err
	ok "load: expire at once" [ "$(wc -c <events)" = 64 ]
	dd bs=32 count=1 <&7 >events 2>err
	# date reads the clock as of the last timer interrupt.
	sleep 0.01
	ok "load: the next one at its time" [ "$(date +%s)" -ge "$second" ]
	ok "load: and that is the next" [ "$(hexdump -s 8 -n 1 -e '1/1 "%d"' events)" = 7 ]
	exec 7>&-
}

# Each file: words of the message, and its lines; H is a header, T is a timer.
test_load_errors()
{
	t="data=1 wall_ns=1 interval_ns=0\\\\n"
	while IFS='|' read -r words lines; do
		exec 7<>"$device"
		printf "$(echo "$lines" | sed "s/H/$(head_line)\\\\n/; s/T/$t/g")" >file
		run load --fd 7 file
		ok "load: refuses $(echo "$lines" | cut -c 1-90)" refuses 1 "file:$words"
		exec 7>&-
	done <<-'END'
		1: the file ends without its header: it was cut off; 0 timers|
		1: no header: twheel save did not write this file; 0 timers|{}\n
		1: the format has version 2: only 1 is supported; 0|twheel 2\n
		1: no header|twheel 1\n
		1: no header|twheel 1 tick_ns=1000000 wheel_size=256 clock=moon\n
		1: no header|twheel 1 tick_ns=1000000 wheel_size=256 clock=tai more\n
		1: cannot set up the wheel|twheel 1 tick_ns=1 wheel_size=2 clock=monotonic\n
		2: the file ends without its last line: it was cut off; 0 timers|H
		3: the file ends without its last line: it was cut off; 1 timer was|HT
		2: not a line like data=1 wall_ns=2 interval_ns=0|Hdata=1 wall_ns=1
		3: not a line like data=1 wall_ns=2 interval_ns=0, times up to 2^63-1; 1|HTjunk\n
		2: not a line like|Hdata=18446744073709551616 wall_ns=1 interval_ns=0\n
		2: not a line like|Hdata=1 wall_ns=9223372036854775808 interval_ns=0\n
		2: not a line like|Hdata=1 wall_ns=1 interval_ns=9223372036854775808\n
		2: not a line like|Hdata=1\000 wall_ns=1 interval_ns=0\n
		2: not a line like|H%4096s\n
		3: a period must be at least one tick, 1ms: |HTdata=1 wall_ns=1 interval_ns=999999\n
		3: the file had 2 timers: lines were removed or added; 1 timer was|HTtimers=2\n
		5: a line after the end; 2 timers|HTTtimers=2\n\n
	END

	most=$(cat "$limits/max_timers")
	echo 1500 >"$limits/max_timers"
	exec 7<>"$device"
	made 3000 3600 | timeout 60 "$twheel" load --fd 7 >out 2>err
	status=$?
	echo "$most" >"$limits/max_timers"
	ok "load: more than the wheel may hold" refuses 1 \
		"standard input:1502: too many timers for the wheel"
	ok "load: says how many were loaded" grep -q '; 1500 timers were loaded$' err
	ok "load: the wheel has that many" [ "$(wheel_has 7 pending)" = 1500 ]
	exec 7>&-
}

# A save and a load are several calls of the kernel, with 1,024 timers each.
test_round_trip()
{
	exec 7<>"$device" 8<>"$device"
	made 5000 3600 | timeout 200 "$twheel" load --fd 7 >out 2>err
	"$twheel" save --fd 7 | timeout 200 "$twheel" load --fd 8 >out 2>err
	status=$?
	ok "round trip: 5,000 timers" gives "loaded count=5000 past=0"
	"$twheel" save --fd 7 | sed '1d;$d' | tr -c '0-9\n' ' ' | sort -n >before
	"$twheel" save --fd 8 | sed '1d;$d' | tr -c '0-9\n' ' ' | sort -n >after
	# The 1 is there because busybox takes a number that begins with 0 as octal.
	paste before after | awk '{ late = (1 substr($5, 8)) - (1 substr($2, 8)) }
		$1 != $4 || late < 0 || late > 1000000000 { bad++ }
		END { print NR, bad + 0 }' >compared
	ok "round trip: the same data and deadlines, none earlier" \
		[ "$(cat compared)" = "5000 0" ]
	exec 7>&- 8>&-
}

status=-
: >out
: >err
echo "TAP version 13"
[ $# != 0 ] || set -- test_output test_errors test_every test_run_errors test_ends test_terminal \
	test_top test_save test_load_errors test_round_trip test_times test_time_namespace
for group; do
	type "$group" >/dev/null || {
		echo "Bail out! no group $group"
		exit 2
	}
	$group
done
finish
