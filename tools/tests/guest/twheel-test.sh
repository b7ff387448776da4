#!/bin/sh
# SPDX-License-Identifier: MIT
#
# TAP test of the command `twheel`: runs where the module is loaded, as root, with only
# busybox. TWHEEL names the command if it is not in the path.
#
#	tools/vm/vm --module build/stock/twheel.ko --file build/bin/twheel \
#		--file tools/tests/guest/twheel-test.sh -- twheel-test.sh
#
# Its arguments are the names of functions to run, which begin with test_.

twheel=${TWHEEL:-twheel}
device=/dev/twheel
work=$(mktemp -d) || exit
trap 'rm -rf "$work"' EXIT
cd "$work" || exit
exec 3>&1
count=0
failed=0

# ok NAME COMMAND...: one test, passed if the command succeeds. If not, the program's last
# output is the diagnosis.
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

# run ARG...: runs the command with a time limit; sets $status, fills out and err.
run()
{
	timeout 60 "$twheel" "$@" >out 2>err
	status=$?
}

# feed TEXT ARG...: the same for `twheel run`, with TEXT as printf prints it.
feed()
{
	# shellcheck disable=SC2059
	printf "$1" >in
	shift
	run "$@" run <in
}

# replies NAME TEXT LINE...: a test of `twheel run`: all of its output for this input
replies()
{
	name=$1
	feed "$2"
	shift 2
	ok "$name" gives "$@"
}

# fails NAME STATUS WORDS ARG...: a test of an error
fails()
{
	name=$1
	want=$2
	words=$3
	shift 3
	run "$@"
	ok "$name" refuses "$want" "$words"
}

# fills FILE ARG...: run with its output there
fills()
{
	file=$1
	shift
	eval 'timeout 60 "$twheel" "$@" >'"$file 2>err"
	status=$?
	: >out
}

# Replaces numbers that differ from run to run, and removes count=1, the usual one.
masked()
{
	sed -E -e 's/ count=1 late=[0-9.]+(ns|us|ms|s)$//' -e 's/left=[0-9.]+(ns|us|ms|s)\b/left=T/' \
		-e 's/"(late|left|deadline|now)_ns":[0-9]+/"\1_ns":N/g' out
}

# gives LINE...: checks that the output is exactly these lines, and the status 0.
gives()
{
	[ "$status" = 0 ] && [ "$(masked)" = "$(printf '%s\n' "$@")" ]
}

# refuses STATUS WORDS: checks the status, that there is no output, and a message with these words.
refuses()
{
	[ "$status" = "$1" ] && [ ! -s out ] && grep -qF -e "$2" err &&
		grep -q '^twheel: ' err
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
	ok "after: each label when it is due" gives "expired 3 at once" "expired 2 hello" \
		"expired 1 world"
	ok "after: ends no earlier than the last" [ "$took" -ge 1200 ]

	run after 10ms ""
	ok "after: a label may be empty" gives "expired 1 "
	run after 10ms -- -n
	ok "after: -- ends the options" gives "expired 1 -n"
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
	# On a busy host, a second can pass between the first event and the signal.
	timeout 60 "$twheel" every 700ms -n 3 x >out 2>err &
	pid=$!
	until_so [ -s out ]
	kill -STOP $pid
	sleep 3
	kill -CONT $pid
	wait $pid
	status=$?
	ok "every: what was missed is one event with its count" \
		grep -qE '^expired 1 x count=([3-9]|[1-9][0-9])' out
	ok "every: and goes on" [ "$status,$(wc -l <out)" = 0,3 ]

	fails "every: a period below the tick" 1 "at least one tick, 1ms" every 1us -n 1 x
	fails "every: no period" 1 "at least one tick" every 0 x
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
	ok "options: the last one counts" gives "expired 1 a"
	for clock in boottime realtime tai; do
		run --clock $clock after 20ms a
		ok "options: clock $clock" gives "expired 1 a"
	done
	run --wheel-size 3 --tick 1us after 30ms c 20ms b 10ms a
	ok "options: a small wheel and tick keep the order" gives "expired 3 a" "expired 2 b" \
		"expired 1 c"
	fails "options: more timers than --max-timers" 1 "too many timers" \
		--max-timers 1 after 10ms a 20ms b
	fails "options: more timers than the module allows" 1 "$limits/max_timers" \
		--max-timers 18446744073709551615 info
	fails "options: a negative duration is not an option" 2 "'-1s' is not a duration" after -1s x
	fails "options: an unknown one" 2 "unrecognized option '--nothing'" --nothing
	fails "options: one without its value" 2 "option requires an argument -- 't'" info -t
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
	ok "options: longer names of units" gives "expired 3 c" "expired 2 a" "expired 1 b"
	run --version
	ok "options: --version" grep -qE '^twheel [0-9]' out
}

# Wrong usage: nothing happens, and the message names the error.
test_usage()
{
	while IFS='|' read -r words args; do
		eval "run $args"
		ok "usage: twheel $args" refuses 2 "$words"
	done <<-'END'
		a command is needed|
		'frob' is not a command|frob
		a duration and a label|after
		a duration and a label|after 1s
		a duration and a label|after 1s a 2s
		a duration and a label|every
		'1x' is not a duration|after 1x a
		'-1s' is not a duration|after -- -1s a
		'5' is not a duration|after 1s a 5 b
		'' is not a duration|after '' a
		'300y' is not a duration|every 300y a
		'9223372037s' is too long|after 9223372037s a
		--count is for every|after -n 3 1s a
		--count '0'|every -n 0 1s a
		--count '-1'|every -n -1 1s a
		--count '1x'|every -n 1x 1s a
		--count ' 1'|every -n ' 1' 1s a
		--count '18446744073709551616'|every -n 18446744073709551616 1s a
		too many arguments: the command is twheel info|info 1s
		too many arguments: the command is twheel run|run add
		--tick '1'|--tick 1 info
		--tick '999ns'|--tick 999ns info
		--tick '1h1ns'|--tick 1h1ns info
		--tick '0'|--tick 0 info
		--wheel-size '1'|--wheel-size 1 info
		--wheel-size '65537'|--wheel-size 65537 info
		--wheel-size '4294967298'|--wheel-size 4294967298 info
		--wheel-size ''|--wheel-size '' info
		--max-timers '0'|--max-timers 0 info
		--clock 'process'|--clock process info
		'frob' is not a command|help frob
		are for top, not for after|after --once 1s a
		are for top, not for run|--interval 1s run
		are for after, every, run and info, not for top|top --tick 1ms
		are for after, every, run and info, not for help|help --wheel-size 2
		--count is for every|top -n 3
		too many arguments: the command is twheel top [PID]|top 1 2
		the process 'x'|top x
		the process '0'|top 0
		the process '-1'|top -- -1
		--interval '9ms'|top --interval 9ms
		--interval '0'|top -i 0
		--interval 'x' is not a duration|top -i x
		--sort 'frob' is not a column|top --sort frob
		use --once or --json|top
		save needs --fd N|save
		load needs --fd N|load file
		--fd '-1'|save --fd -1
		--fd 'x'|load --fd x
		--fd '2147483648'|save --fd 2147483648
		--pid '0'|save --fd 7 --pid 0
		--fd and --pid are for save and load, not for run|run --fd 7
		too many arguments: the command is twheel save [FILE]|save --fd 7 a b
		too many arguments: the command is twheel load [FILE]|load --fd 7 a b
		are for after, every, run and info, not for save|save --fd 7 --tick 1ms
		both the wheel and the timers on standard input|load --fd 0
	END
	run info --frob
	ok "usage: an option that does not exist" [ "$status" = 2 ]
	run info --tick
	ok "usage: an option without its value" [ "$status" = 2 ]
}

test_device()
{
	fails "device: none" 1 "is the module loaded? sudo modprobe twheel" \
		--device "$work/none" info
	fails "device: another one" 1 "/dev/null is not a twheel device" --device /dev/null info
	fails "device: a directory" 1 "cannot open $work" --device "$work" info

	as_nobody info
	ok "device: for every user" grep -q '^tick ' out
	mode=$(stat -c %a "$device")
	chmod 0600 "$device"
	as_nobody info
	ok "device: not permitted" refuses 1 "cannot open $device: Permission denied: allow it"
	chmod "$mode" "$device"

	bytes=$(cat "$limits/max_user_bytes")
	echo 8000 >"$limits/max_user_bytes"
	as_nobody after 1s x
	ok "device: a user's bytes are not the timers of a wheel" \
		refuses 1 "the user's wheels hold too much memory"
	echo "$bytes" >"$limits/max_user_bytes"
}

# A separate file, as start-stop-daemon does not start a program that is running already.
as_nobody()
{
	if [ ! -e nobody ]; then
		mkdir nobody
		cp "$(command -v "$twheel")" nobody/twheel
		chmod 755 . nobody nobody/twheel
	fi
	timeout 60 start-stop-daemon -S -c 65534:65534 -x "$work/nobody/twheel" -- \
		"$@" >out 2>err
	status=$?
}

test_run()
{
	feed '' && ok "run: nothing to do" [ "$status$(cat out)" = 0 ]
	replies "run: waits at the end of the input" \
		'add 2s late\nadd 300ms buy milk\n# a comment\n\n  \n add\t0   x y \n' \
		"added 1 late" "added 2 buy milk" "added 3 x y " "expired 3 x y " \
		"expired 2 buy milk" "expired 1 late"
	replies "run: the last line needs no line end" 'add 10ms a' "added 1 a" "expired 1 a"
	replies "run: at the end of the input periodic timers are cancelled" \
		'every 1h a\nadd 500ms b\n' "added 1 a" "added 2 b" "cancelled 1" "expired 2 b"
	replies "run: quit ends at once" 'add 1h a\nquit\nadd 1s b\n' "added 1 a"
	replies "run: a cancelled timer does not expire" \
		'add 20ms a\nadd 1h b\ncancel 2\ncancel 2\n' "added 1 a" "added 2 b" \
		"cancelled 2" \
		"error: there is no timer 2: it has expired, was cancelled or never existed" \
		"expired 1 a"
	replies "run: a modified timer expires at its new time" \
		'add 1h a\nadd 800ms b\nmodify 1 50ms\n' "added 1 a" "added 2 b" "modified 1" \
		"expired 1 a" "expired 2 b"
	replies "run: an expired timer can be modified" \
		'add 0 a\nadd 1h b\nmodify 1 30ms\ncancel 2' "added 1 a" "added 2 b" \
		"modified 1" "cancelled 2" "expired 1 a"
	feed 'every 1h a\nadd 1h b\nquery 1\nquery 2\nquit\n'
	ok "run: query" [ "$(masked | grep -cE \
		'^pending (1 a left=T period=3600s|2 b left=T period=0ns)$')" = 2 ]
	feed 'add 1h a\nevery 1h b\nadd 1h c\ncancel 3\nlist\nquit\n'
	ok "run: list" [ "$(masked | grep -cE \
		'^(pending (1 a left=T period=0ns|2 b left=T period=3600s)|listed count=2)$')" = 3 ]
	replies "run: list of none" 'list\nquit\n' "listed count=0"
	feed 'add 1h a\nadd 1h b\ncancel 1\nmodify 2 2h\ninfo\nquit\n'
	ok "run: info counts" grep -qE \
		'^info .* pending=1 expired=0 added=2 modified=1 cancelled=1 ' out
	feed help
	ok "run: help" [ "$(grep -c '^help: ' out)" = 9 ]
}

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
		write it like this: every DURATION LABEL|every 1s
		1x is not a duration|add 1x a
		-1s is not a duration|add -1s a
		is too long|add 9223372037s a
		at least one tick|every 1us a
		at least one tick|every 0 a
		write it like this: cancel ID|cancel
		write it like this: cancel ID|cancel 1 2
		x is not a timer|cancel x
		-1 is not a timer|cancel -1
		+1 is not a timer|cancel +1
		1x is not a timer|cancel 1x
		there is no timer 0|cancel 0
		there is no timer 18446744073709551615|cancel 18446744073709551615
		write it like this: modify ID DURATION|modify 1
		write it like this: modify ID DURATION|modify 1 1s 2
		there is no timer 1|modify 1 1s
		write it like this: query ID|query
		there is no timer 5|query 5
		list takes no arguments|list 1
		info takes no arguments|info 1
		help takes no arguments|help me
		quit takes no arguments|quit now
		the line holds a null byte|add 1s a\000b
		\x1b[2J is not a command|\033[2J
	END

	{
		echo "add 0 a"
		head -c 70000 /dev/zero | tr '\0' x
		echo
		echo "add 0 b"
	} >in
	run run <in
	ok "run: refuses a line that is too long, once" \
		[ "$(grep -c '^error: the line is longer' out)" = 1 ]
	ok "run: and goes on behind it" grep -q '^expired 2 b ' out

	head -c 65000 /dev/zero | tr '\0' y >label
	{ printf 'add 0 '; cat label; echo; } >in
	run run <in
	ok "run: takes a long label" [ "$(sed -n 's/^expired 1 \(y*\) .*/\1/p' \
		out)" = "$(cat label)" ]

	replies "run: what is refused changes nothing" 'add 1h a\nmodify 1 1y\nmodify 1 0\n' \
		"added 1 a" \
		"error: 1y is not a duration: write it like 150us, 1.5s, 30m or 2h30m" \
		"modified 1" "expired 1 a"
	feed 'add 1h a\nadd 1h b\ncancel 1\nadd 0 c\nquit\n' --max-timers 1
	ok "run: a full wheel has room again after a cancel" gives "added 1 a" \
		"error: too many timers for the wheel: cancel some, or raise --max-timers or $limits/max_timers" \
		"cancelled 1" "added 3 c"
}

# Any input gets only replies, in printable characters.
test_run_junk()
{
	for seed in 1 2 3; do
		{ head -c 100000 /dev/urandom; printf '\nadd 0 after\n'; } >in
		run run <in
		ok "junk $seed: what follows is done" grep -q '^expired [0-9]* after ' out
		ok "junk $seed: all else are errors, of printable characters" \
			[ "$(grep -vcE '^(error: |added [0-9]+ after$|expired [0-9]+ after )' out),$(
			tr -d '\n' <out | tr -cd '\000-\037\177' | wc -c)" = 0,0 ]
		ok "junk $seed: ends well" [ "$status,$(cat err)" = 0, ]
	done
	rm out
	timeout 60 "$twheel" run </dev/zero >out 2>err &
	pid=$!
	until_so [ -s out ]
	ok "junk: a line without an end" kill -0 $pid
	kill $pid
	wait $pid
	ok "junk: is refused once" [ "$(cat out)" = "error: the line is longer than 65535 bytes" ]

	{
		printf 'ad'
		sleep 0.3
		printf 'd 0 ha'
		sleep 0.3
		printf 'lf\nadd 0 oth'
	} | timeout 60 "$twheel" run >out 2>err
	status=$?
	ok "junk: half lines are put together" gives "added 1 half" "expired 1 half" \
		"added 2 oth" "expired 2 oth"
}

# Check that there is one error with these words, and that the next command was done.
answers_error()
{
	[ "$status" = 0 ] && [ "$(grep -c '^error: ' out)" = 1 ] &&
		grep '^error: ' out | grep -qF -e "$1" &&
		grep -q '^expired .* after count=1' out
}

# A script talks to `twheel run` through two pipes, reply by reply.
test_coprocess()
{
	mkfifo to from
	timeout 60 "$twheel" run <to >from 2>err &
	exec 4>to 5<from
	while IFS='|' read -r what command expected; do
		[ -z "$command" ] || echo "$command" >&4
		read -r answer <&5
		ok "coprocess: $what" [ "${answer% count=*}" = "$expected" ]
	done <<-'END'
		an answer comes at once|add 1h first|added 1 first
		another one|add 30ms second|added 2 second
		an expiry comes by itself||expired 2 second
		a timer is modified|modify 1 20ms|modified 1
		and expires||expired 1 first
	END
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
	ok "json: run" gives '{"event":"added","id":1,"label":"a\u0009b\u001bé\ufffd"}' \
		'{"event":"added","id":2,"label":"p"}' '{"event":"modified","id":2}' \
		'{"event":"pending","id":2,"label":"p","deadline_ns":N,"left_ns":N,"period_ns":3600000000000}' \
		'{"event":"error","message":"frob is not a command: help lists them"}' \
		'{"event":"cancelled","id":2}' \
		'{"event":"expired","id":1,"label":"a\u0009b\u001bé\ufffd","count":1,"deadline_ns":N,"late_ns":N}'
	feed 'help\n' --json
	ok "json: help" [ "$(grep -cE \
		'^\{"event":"help","message":"[a-z][^"]*"\}$' out)" = 9 ]
	feed 'add 9223372036.854775807s a\nquery 1\nquit' --json
	ok "json: the longest delay ends at the end of time" \
		grep -q '"deadline_ns":9223372036854775807,' out
}

test_output()
{
	fills /dev/full after 10ms a
	ok "output: full" refuses 1 "cannot write to standard output: No space"
	fills /dev/full --help
	ok "output: full, --help" refuses 1 "No space"
	fills '&-' after 10ms a
	ok "output: closed" refuses 1 "Bad file descriptor"
	echo 'add 0 a' | timeout 60 "$twheel" run >&- 2>err
	status=$?
	ok "output: closed, run" refuses 1 "Bad file descriptor"
	fills '&-' top --once -i 10ms
	ok "output: closed, top" refuses 1 "Bad file descriptor"
	timeout 60 "$twheel" after 10ms a >out 2>&-
	status=$?
	ok "output: messages closed" gives "expired 1 a"
	timeout 60 "$twheel" run <&- >out 2>err
	status=$?
	ok "output: input closed" [ "$status$(cat out)" = 0 ]

	seq 1000 | sed 's/^/every 20ms /' >in
	ok "output: of run, one line is enough" takes_a_line 141 run <in
	ok "output: a reader that goes away ends it, before the next timer expires" \
		takes_a_line 141 after 0 a 1h b
	ok "output: of a periodic timer, one line is enough" takes_a_line 141 every 10ms x
	trap '' PIPE
	takes_a_line 1 every 10ms x
	trap - PIPE
	: >out
	ok "output: where SIGPIPE is ignored, there is a message" refuses 1 'Broken pipe'
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

test_signals()
{
	for signal in INT TERM; do
		{
			# shellcheck disable=SC2016 # for another shell
			timeout 60 sh -c 'echo $$ >pid; exec "$@"' - "$twheel" after 0 a 1h b 2>err
			echo $? >result
		} | {
			read -r line
			echo "$line" >out
			kill -s $signal "$(cat pid)"
			cat >>out
		}
		status=$(cat result)
		ok "signals: $signal ends it" [ "$status" = $((128 + $(kill -l $signal))) ]
		ok "signals: $signal, what expired before is there" \
			[ "$(masked)" = "expired 1 a" ]
	done
}

# row PID: prints top's numbers for a process: PENDING UNREAD ADD/s CANC/s EXP/s
row()
{
	awk -v pid="$1" '$1 == pid { print $4, $5, $6, $7, $8 }' out
}

# With the machine's own /proc; the rest is tested in tools/tests/unit/top-test.
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
	until_so has_wheel $two "pending: 2"
	until_so has_wheel $every "fires: [1-9].*"

	run top --once --interval 2s 7>&-
	ok "top: each wheel once" [ "$status,$(cat err),$(wc -l <out)" = 0,,4 ]
	ok "top: most pending first" [ "$(awk 'NR == 2 { print $4 }' out)" = 2 ]
	ok "top: pending timers, and that nothing happens" [ "$(row $two)" = "2 0 0 0 0" ]
	ok "top: what expires in a second, about ten" until_so expires_between 5 15
	ok "top: a wheel of two processes" \
		[ "$(awk -v pid=$$ '$1 == pid { print $2 }' out | grep -o '+1$')" = +1 ]
	run top --once -i 100ms --json $$
	ok "top: JSON of one process" grep -qE \
		'^\{"event":"wheel","id":[0-9]+,"pid":'$$',"command":"[^"]*","fd":7,"descriptors":1,"processes":1,"tick_ns":1000000,.*"user_id":0,.*"add_per_s":0.000,.*"level":\[\]\}$' out
	run top --once -i 100ms --json $every
	ok "top: the levels" grep -qE '"level":\[\{"timers":1,"busy":1\}' out
	exec 7>&-
	run top --once -i 100ms $sleeper
	ok "top: one of them has closed it" [ "$(row $sleeper)" = "0 0 0 0 0" ]
	as_nobody top --once -i 100ms
	ok "top: the wheels of others are not shown" [ "$status,$(wc -l <out)" = 0,1 ]
	kill $every $two $sleeper
}

# Check that as many timers of $every expire in a second, when nothing else delays it.
expires_between()
{
	run top --once --interval 1s 7>&-
	row "$every" | awk -v least="$1" -v most="$2" '{ exit !($5 >= least && $5 <= most) }'
}

# On an unused console, whose contents are in /dev/vcs.
# shellcheck disable=SC2094 # a terminal is read and written
test_terminal()
{
	tty=/dev/tty5
	screen=/dev/vcs5
	[ -e "$screen" ] || mknod "$screen" c 7 5
	setsid -c "$twheel" run <$tty >$tty 2>err &
	ok "terminal: run shows a prompt" until_so grep -q '^twheel> ' $screen
	kill $!
	wait $!
}

test_many()
{
	seq 2000 | sed 's/.*/add 300ms &/' >in
	run run <in
	ok "many: all are added" [ "$(grep -c ^added out)" = 2000 ]
	ok "many: each expires once" [ "$(sed -n 's/^expired \([0-9]*\) .*/\1/p' \
		out | sort -nu | wc -l),$(grep -c ^expired out)" = 2000,2000 ]
	ok "many: with its own label" [ "$(awk '/^expired/ && $2 == $3' out |
		wc -l)" = 2000 ]
	ok "many: none is early" [ "$(grep -c 'late=-' out)" = 0 ]
	ok "many: ends well" [ "$status" = 0 ]
}

# made COUNT SECONDS: prints a save file: timers 1 to COUNT, one a second, the first due in SECONDS.
made()
{
	head_line
	seq "$1" | awk -v first=$(($(date +%s) + $2)) '{ printf \
		"data=%d wall_ns=%d000000000 interval_ns=0\n", $1, first + $1 - 1 }'
	echo "timers=$1"
}

head_line()
{
	echo "twheel 1 tick_ns=1000000 wheel_size=256 clock=monotonic"
}

# Wheels of this shell, which the command inherits. The number is in fdinfo.
wheel_has()
{
	sed -n "s/^twheel-$2:.//p" "/proc/$$/fdinfo/$1"
}

test_save()
{
	exec 7<>$device
	run save --fd 7
	ok "save: an empty wheel" gives "$(head_line)" "timers=0"
	{
		head_line
		echo "data=18446744073709551615 wall_ns=4000000000000000000 interval_ns=5000000"
		echo "data=7 wall_ns=4000000000000000000 interval_ns=0"
		echo "data=9007199254740993 wall_ns=9223372036854775807 interval_ns=0"
		echo "timers=3"
	} >file
	run load --fd 7 file
	ok "load: a file" gives "loaded count=3 past=0"
	run --json save --fd 7 saved
	ok "save: to a file" gives '{"event":"saved","count":3}'
	sed 's/=400000000000[0-9]* /=4000000000000000000 /' saved >out
	status=0
	ok "save: data, times, and the end of time" gives "$(cat file)"
	ok "save: the wall clock, not early, and less than a second late" \
		[ "$(sed -n 's/.* wall_ns=400000000\([0-9]*\) .*/\1/p' saved |
			awk '$1 < 1000000000' | wc -l)" = 2 ]
	ok "save: the wheel keeps its timers" [ "$(wheel_has 7 pending)" = 3 ]

	exec 8<>$device
	sed 's/^twheel .*/twheel 1 tick_ns=2000000 wheel_size=60 clock=boottime/' file >other
	run load --fd 8 other
	ok "load: a new wheel becomes like the one that was saved" \
		[ "$(wheel_has 8 tick-ns),$(wheel_has 8 wheel-size)" = 2000000,60 ]
	run load --fd 7 other
	ok "load: one with timers stays as it is, and gets more" \
		[ "$(wheel_has 7 tick-ns),$(wheel_has 7 pending)" = 1000000,6 ]
	exec 7>&- 8>&-
}

test_load_times()
{
	exec 7<>$device
	{
		head_line
		for n in 1 2 3 4 5 6; do
			echo "data=$n wall_ns=${n}000000000 interval_ns=0"
		done
		printf 'data=8 wall_ns=4000000000000000000 interval_ns=0\ntimers=7\n'
	} >file
	run load --fd 7 <file
	ok "load: timers that are past, from standard input" gives "loaded count=7 past=6"
	# An event has 32 bytes.
	dd bs=32 count=6 <&7 >events 2>err
	ok "load: expire at once" [ "$(wc -c <events)" = 192 ]
	second=$(($(date +%s) + 2))
	{
		head_line
		printf 'data=7 wall_ns=%d000000000 interval_ns=0\ntimers=1\n' "$second"
	} >file
	run load --fd 7 file
	dd bs=32 count=1 <&7 >events 2>err
	# date reads the clock as of the last timer interrupt.
	sleep 0.01
	ok "load: the next one at its time" [ "$(date +%s)" -ge "$second" ]
	ok "load: and that is the next" [ "$(hexdump -s 8 -n 1 -e '1/1 "%d"' events)" = 7 ]
	exec 7>&-

	{ echo 'every 1h a'; echo 'add 2h b'; sleep 60; } | "$twheel" run >/dev/null 2>&1 &
	other=$!
	until_so has_wheel $other "pending: 2"
	run save --pid $other --fd "$(wheel_of $other)"
	ok "save: the wheel of another process" [ "$(grep -cE \
		'^data=[12] wall_ns=[0-9]+ interval_ns=(0|3600000000000)$' out)" = 2 ]
	fails "save: no such descriptor of it" 1 "99 of process $other: Bad file descriptor: twheel top" \
		save --pid $other --fd 99
	as_nobody save --pid $other --fd 3
	ok "save: a process of another user" refuses 1 "Operation not permitted: use sudo"
	kill $other
	fails "save: no such process" 1 "of process 999999: No such process" save --pid 999999 --fd 3
}

# The descriptor of a process's wheel.
wheel_of()
{
	for fd in "/proc/$1/fd"/*; do
		[ "$(readlink "$fd")" != "$device" ] || basename "$fd"
	done
}

test_save_errors()
{
	exec 7<>$device 8</dev/null
	made 3 3600 | timeout 60 "$twheel" load --fd 7 >out 2>err
	fails "save: a descriptor that is not open" 1 "a shell opens a wheel with exec 9<>" \
		save --fd 9
	fails "save: a descriptor of something else" 1 "descriptor 8 is not a wheel" save --fd 8
	fills /dev/full save --fd 7
	ok "save: standard output is full" refuses 1 "No space"
	fails "save: a file is full" 1 "cannot write /dev/full: No space" save --fd 7 /dev/full
	ok "save: and stays what it is" [ -c /dev/full ]
	fails "save: a directory that does not exist" 1 "cannot write none/file: No such file" \
		save --fd 7 none/file
	fails "load: no such file" 1 "cannot read none: No such file" load --fd 7 none
	fails "load: a directory" 1 ".:1: Is a directory; 0 timers were loaded" load --fd 7 .
	echo old >kept
	chmod 600 kept
	run save --fd 7 kept
	ok "save: a file is replaced, and keeps its mode" \
		[ "$(stat -c %a kept),$(wc -l <kept),$(ls kept*)" = 600,5,kept ]
	timeout 60 "$twheel" save --fd 7 2>err | head -n 1 >out
	ok "save: a reader that goes away" [ "$(wc -l <out),$(cat err)" = 1, ]
	exec 7>&- 8<&-
}

# Each file: words of the message, and its lines; H is a header, T is a timer.
test_load_errors()
{
	t="data=1 wall_ns=1 interval_ns=0\n"
	while IFS='|' read -r words lines; do
		exec 7<>$device
		lines=$(echo "$lines" | sed "s/H/$(head_line)\\\\n/; s/T/$(echo "$t" | sed 's/\\/&&/g')/g")
		# shellcheck disable=SC2059 # line ends are written \n
		printf "$lines" >file
		run load --fd 7 file
		ok "load: refuses $(echo "$lines" | cut -c 1-90)" refuses 1 "file:$words"
		exec 7>&-
	done <<-'END'
		1: the file ends without its header: it was cut off; 0 timers|
		1: no header: twheel save did not write this file; 0 timers|{}\n
		1: no header|T
		1: the format has version 2: only 1 is supported; 0|twheel 2\n
		1: no header|twheel 1\n
		1: no header|twheel 1 tick_ns=1000000 wheel_size=256 clock=moon\n
		1: no header|twheel 1 tick_ns=1000000 wheel_size=256 clock=tai more\n
		1: cannot set up the wheel|twheel 1 tick_ns=1 wheel_size=2 clock=monotonic\n
		2: the file ends without its last line: it was cut off; 0 timers|H
		3: the file ends without its last line: it was cut off; 1 timer was|HT
		2: not a line like data=1 wall_ns=2 interval_ns=0|Hdata=1 wall_ns=1
		2: not a line like|H\nTtimers=2\n
		3: not a line like data=1 wall_ns=2 interval_ns=0, times up to 2^63-1; 1 timer was|HTjunk\n
		2: not a line like|Hdata=1 wall_ns=1\ntimers=1\n
		2: not a line like|Hwall_ns=1 data=1 interval_ns=0\n
		2: not a line like|Hdata=-1 wall_ns=1 interval_ns=0\n
		2: not a line like|Hdata= 1 wall_ns=1 interval_ns=0\n
		2: not a line like|Hdata=18446744073709551616 wall_ns=1 interval_ns=0\n
		2: not a line like|Hdata=1 wall_ns=9223372036854775808 interval_ns=0\n
		2: not a line like|Hdata=1 wall_ns=1 interval_ns=9223372036854775808\n
		2: not a line like|Hdata=1 wall_ns=1.5 interval_ns=0\n
		2: not a line like|Hdata=1\000 wall_ns=1 interval_ns=0\n
		3: a period must be at least one tick, 1ms: lengthen it or shorten the tick; 1 timer|HTdata=1 wall_ns=1 interval_ns=999999\ntimers=2\n
		3: the file had 2 timers: lines were removed or added; 1 timer was|HTtimers=2\n
		5: a line after the end; 2 timers|HTTtimers=2\n\n
	END

	exec 7<>$device
	{ head_line; head -c 4096 /dev/zero | tr '\0' ' '; echo; } >file
	fails "load: a line that is too long" 1 "file:2: not a line like" load --fd 7 file
	exec 7>&-
	most=$(cat "$limits/max_timers")
	echo 1500 >"$limits/max_timers"
	exec 7<>$device
	made 3000 3600 | timeout 60 "$twheel" load --fd 7 >out 2>err
	status=$?
	echo "$most" >"$limits/max_timers"
	ok "load: more than the wheel may hold" refuses 1 \
		"standard input:1502: too many timers for the wheel"
	ok "load: says how many were loaded" grep -q '; 1500 timers were loaded$' err
	ok "load: the wheel has that many" [ "$(wheel_has 7 pending)" = 1500 ]
	exec 7>&-
	for seed in 1 2 3; do
		exec 7<>$device
		{ head_line; head -c 100000 /dev/urandom; } >file
		fails "load: junk $seed" 1 "0 timers were loaded" load --fd 7 file
		exec 7>&-
	done
}

test_round_trip()
{
	exec 7<>$device 8<>$device
	made 20000 3600 | timeout 200 "$twheel" load --fd 7 >out 2>err
	"$twheel" save --fd 7 | timeout 200 "$twheel" load --fd 8 >out 2>err
	status=$?
	ok "round trip: 20,000 timers" gives "loaded count=20000 past=0"
	"$twheel" save --fd 7 | sed '1d;$d' | tr -c '0-9\n' ' ' | sort -n >before
	"$twheel" save --fd 8 | sed '1d;$d' | tr -c '0-9\n' ' ' | sort -n >after
	# The 1 is there because busybox takes a number that begins with 0 as octal.
	paste before after | awk '{ late = (1 substr($5, 8)) - (1 substr($2, 8)) }
		$1 != $4 || late < 0 || late > 1000000000 { bad++ }
		END { print NR, bad + 0 }' >compared
	ok "round trip: the same data and deadlines, none earlier" \
		[ "$(cat compared)" = "20000 0" ]
	exec 7>&- 8>&-
}

status=-
: >out
: >err
before=$(users)
echo "TAP version 13"
[ $# != 0 ] || set -- test_after test_every test_info test_options test_usage test_device test_run \
	test_run_errors test_run_junk test_coprocess test_json test_output test_signals test_top \
	test_terminal test_many test_save test_load_times test_save_errors test_load_errors \
	test_round_trip
for group; do
	$group
done
# Memory is given back after close() has returned.
for _ in $(seq 100); do
	[ "$(users)" != "$before" ] || break
	sleep 0.1
done
ok "no wheel is left open" [ "$(users)" = "$before" ]
echo "1..$count"
[ "$failed" = 0 ]
