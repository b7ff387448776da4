// SPDX-License-Identifier: MIT
/*
 * TAP test of fdinfo.c: the text of a wheel in /proc, and variants of it
 */
#include <stdio.h>
#include <string.h>

#include "tap.h"
#include "wheels.h"

static void ok(bool passed, const char *name)
{
	tap_result(passed, "%s", name);
}

/* As twheel_fdinfo.c writes it, after the kernel's lines for every file. */
static const char whole[] =
	"pos:\t0\nflags:\t02100002\nmnt_id:\t23\nino:\t144\n"
	"twheel-id:\t18446744073709551615\ntwheel-tick-ns:\t1000000\ntwheel-wheel-size:\t256\n"
	"twheel-clock-id:\t7\ntwheel-max-timers:\t16777216\ntwheel-levels:\t2\n"
	"twheel-now-ns:\t98230641517\ntwheel-pending:\t10\ntwheel-expired:\t11\n"
	"twheel-added:\t12\ntwheel-modified:\t13\ntwheel-cancelled:\t14\n"
	"twheel-delivered:\t15\ntwheel-cascaded:\t16\ntwheel-fires:\t17\n"
	"twheel-memory:\t8192\ntwheel-user-id:\t1000\ntwheel-user-memory:\t18\n"
	"twheel-user-limit:\t19\ntwheel-level-0-timers:\t7\ntwheel-level-0-busy:\t3\n"
	"twheel-level-1-timers:\t4294967296\ntwheel-level-1-busy:\t1\n";

static void test_whole(void)
{
	struct wheel wheel = { 0 };
	const struct twheel_info *info = &wheel.info;

	ok(fdinfo_parse(whole, &wheel), "a wheel is known as one");
	ok(wheel.id == UINT64_MAX, "its number");
	ok(info->tick_ns == 1000000 && info->wheel_size == 256 && info->clock_id == 7 &&
	   info->max_timers == 16777216 && info->levels == 2, "its parameters");
	ok(info->pending == 10 && info->expired == 11 && info->added == 12 &&
	   info->modified == 13 && info->cancelled == 14 && info->delivered == 15 &&
	   info->cascaded == 16 && info->fires == 17, "its counters");
	ok(info->now_ns == 98230641517 && info->memory == 8192, "its time and memory");
	ok(wheel.user_id == 1000 && wheel.user_memory == 18 && wheel.user_limit == 19,
	   "its user");
	ok(wheel.nr_levels == 2 && wheel.level[0].timers == 7 && wheel.level[0].busy == 3 &&
	   wheel.level[1].timers == 1ULL << 32 && wheel.level[1].busy == 1, "its levels");
}

/* Whether it is a wheel without a number, as from a module before 0.2. */
static int is_old(const char *text)
{
	struct wheel wheel = { 0 };

	return fdinfo_parse(text, &wheel) && !wheel.id;
}

#define LEAST	"twheel-tick-ns:\t1\ntwheel-wheel-size:\t2\n"

/* The wheel of the minimal text plus @text. */
static struct wheel with(const char *more)
{
	struct wheel wheel = { 0 };
	char text[4096];

	snprintf(text, sizeof(text), "%s%s", LEAST, more);
	if (!fdinfo_parse(text, &wheel))
		wheel.nr_levels = 99;
	return wheel;
}

static void test_others(void)
{
	struct wheel wheel = { 0 };

	ok(!fdinfo_parse("", &wheel), "nothing is no wheel");
	ok(!fdinfo_parse("pos:\t0\nflags:\t02\n", &wheel), "another file is no wheel");
	ok(!fdinfo_parse("pos:\t0\ntfd: 5 events: 19\n", &wheel), "nor is an epoll");
	ok(!fdinfo_parse("x-twheel-tick-ns:\t1\nx-twheel-wheel-size:\t2\n", &wheel),
	   "names begin at the beginning of a line");
	ok(!fdinfo_parse("twheel-tick-ns:\t1\n", &wheel), "half a wheel is none");
	ok(is_old(LEAST), "an old module does not tell the number");
}

static void test_bad(void)
{
	struct wheel wheel;
	int levels;

	ok(with("twheel-pending:\t-1\n").info.pending == 0, "a number below zero is none");
	ok(with("twheel-pending:\t5x\n").info.pending == 0, "a number ends with its line");
	ok(with("twheel-pending:\t\n").info.pending == 0, "nothing is no number");
	ok(with("twheel-pending:\t5").info.pending == 0, "a line that is cut off is none");
	ok(with("twheel-pending: 5\n").info.pending == 0, "there is a tab before a number");
	ok(with("twheel-pending:\t18446744073709551616\n").info.pending == 0,
	   "a number that is too large is none");
	ok(with("twheel-user-id:\t4294967296\n").user_id == 0, "nor one for 32 bits");
	ok(with("twheel-pendin:\t5\ntwheel-pendings:\t6\n").info.pending == 0,
	   "a part of a name is another name");
	ok(with("twheel-frobs:\t5\n\n\ntwheel-pending:\t7\n").info.pending == 7,
	   "what is not known is left out");
	levels = (int)with("twheel-level-63-timers:\t1\ntwheel-level-x-busy:\t1\n"
			   "twheel-level--1-busy:\t1\ntwheel-level-0-frobs:\t1\n"
			   "twheel-level-0:\t1\n").nr_levels;
	ok(levels == 0, "levels that cannot be are left out");
	wheel = with("twheel-level-62-timers:\t5\n");
	ok(wheel.nr_levels == 63 && wheel.level[62].timers == 5, "the highest level");
	ok(with("\001\377\n:::\n\t\ntwheel-\ntwheel-:\ntwheel-:\t\n").nr_levels == 0,
	   "junk is left out");
}

int main(void)
{
	puts("TAP version 13");
	test_whole();
	test_others();
	test_bad();
	return tap_done();
}
