// SPDX-License-Identifier: MIT
/*
 * twheel-neighbours - the impact of a user's wheels on others, compared with timerfds
 *
 * An unprivileged user makes the same attack with timerfds and with wheels; tasks that
 * need little CPU time measure the impact. Wheels may hurt others no more than as many
 * timerfds. Prints TAP; needs root, and the icount VM: the figures of any other
 * one mean little.
 */
#include <stdio.h>

#include "clock.h"
#include "helpers.h"
#include "machine.h"
#include "neighbours.h"
#include "options.h"
#include "tap.h"

/* The allowed impact of wheels, as a multiple of that of timerfds. */
#define ALLOWED		1.2
/* In addition, a real-time task that is later than that may be so by a tenth at most. */
#define SLEEPER_LIMIT	(1500 * USEC)
#define BEYOND		1.1
/*
 * The worst of this many rounds counts. Coincidences are luck, so each round begins at
 * another phase of the victims' period.
 */
#define ROUNDS		4
/* With 256 buckets of 1 us: the length of a bucket there. */
#define FOURTH_LEVEL	(256ULL * 256 * 256 * USEC)

/*
 * Wheels have a tick of a microsecond. Many wheels are small, to stay within the user's
 * limit.
 */
static const struct attack attacks[] = {
	{ "instant", "7,000 due at one instant, read", /* SECURITY: expiry */
	  .wheels = 7000, .timers = 1, .size = 4, .window = 40 * MSEC, .dups = 1,
	  .act = ACT_READ },
	/* SECURITY: expiry */
	{ "staggered-read", "1,500 wheels, 40 timers each, 1 us apart in turn, read",
	  .wheels = 1500, .timers = 40, .size = 4, .step = USEC, .window = 80 * MSEC,
	  .dups = 1, .act = ACT_READ },
	{ "periodic", "one wheel, 5,000 timers of a period of 1 us, unread", /* SECURITY: expiry */
	  .wheels = 1, .timers = 5000, .size = 256, .interval = USEC, .window = 20 * MSEC,
	  .dups = 1 },
	{ "periodic-read", "one wheel, 5,000 timers of a period of 1 us, read",
	  .wheels = 1, .timers = 5000, .size = 256, .interval = USEC, .window = 40 * MSEC,
	  .dups = 1, .most = 100 * USEC, .act = ACT_READ },
	{ "modify", "8,000 timers of one bucket, moved to another one and on", /* SECURITY: calls */
	  .wheels = 1, .timers = 8000, .size = 256, .ahead = 66 * MSEC, .window = 80 * MSEC,
	  .most = 100 * USEC, .act = ACT_ARM },
	{ "due", "5,000 timers set to a time that has passed, and read", /* SECURITY: calls */
	  .wheels = 1, .timers = 5000, .size = 256, .window = 40 * MSEC, .most = 100 * USEC,
	  .act = ACT_ARM | ACT_READ_ALL },
	/* SECURITY: calls */
	{ "cancel", "65,536 buckets, 4,000 timers added and cancelled, first ones first",
	  .wheels = 1, .timers = 4000, .size = 65536, .ahead = 60 * MSEC, .step = 13 * USEC,
	  .window = 50 * MSEC, .most = 100 * USEC, .act = ACT_ARM | ACT_DISARM },
	{ "levels-read", "two buckets a level, 20,000 timers 1 us apart, read",
	  .wheels = 1, .timers = 20000, .size = 2, .step = USEC, .window = 60 * MSEC,
	  .dups = 1, .most = 100 * USEC, .act = ACT_READ },
	{ "open", "500 opened, armed and closed, again and again", /* SECURITY: calls */
	  .wheels = 500, .timers = 1, .size = 256, .ahead = SEC, .window = 50 * MSEC,
	  .act = ACT_CLOSE | ACT_OPEN | ACT_ARM },
	/* vmalloc() maps the 514 pages of a level, and charges them, without preemption points. */
	{ "open-large", "65,536 buckets: 4 opened, armed and closed, again and again",
	  .wheels = 4, .timers = 1, .size = 65536, .ahead = SEC, .window = 50 * MSEC,
	  .kernel = 50 * USEC, .act = ACT_CLOSE | ACT_OPEN | ACT_ARM },
	{ "close-crowd", "close one wheel of 50,000 timers", /* SECURITY: calls */
	  .wheels = 1, .timers = 50000, .size = 256, .ahead = SEC, .window = 120 * MSEC,
	  .most = 100 * USEC, .act = ACT_CLOSE },
	/* SECURITY: use cpu time that is not accounted */
	{ "dup", "10 expiries, each 2,000 times in an epoll by dup(), unread",
	  .wheels = 1, .timers = 10, .size = 256, .step = 2 * MSEC, .dups = 2000,
	  .window = 30 * MSEC },
	{ "dup-read", "one periodic timer, 10,000 times in an epoll by dup(), read",
	  .wheels = 1, .timers = 1, .size = 256, .interval = 5 * MSEC, .dups = 10000,
	  .window = 80 * MSEC, .act = ACT_READ },
	{ "ring-burst", "200,000 due at one instant, with a ring, read", /* SECURITY: polls */
	  .wheels = 1, .timers = 200000, .size = 256, .slots = 2000, .dups = 1,
	  .window = 160 * MSEC, .once = true, .act = ACT_READ },
	/* SECURITY: polls; the ring of events */
	{ "ring-garbage", "one wheel, 20,000 timers 1 us apart, with garbage in a ring, polled",
	  .wheels = 1, .timers = 20000, .size = 256, .slots = 2, .step = USEC, .dups = 1,
	  .window = 40 * MSEC, .act = ACT_SPOIL | ACT_POLL },
	/* A kworker polls, which nobody pays for. */
	{ "aio", "300,000 due at one instant, with a poll of aio",
	  .wheels = 1, .timers = 300000, .size = 256, .window = 100 * MSEC, .aio = true },
	/* A bucket of the fourth level cascades: 140,000 timers. */
	/* SECURITY: polls */
	{ "epoll-loop", "500,000 in 60 s, in a loop with a timerfd of its own",
	  .wheels = 1, .timers = 500000, .size = 256, .step = 120 * USEC, .dups = 1,
	  .window = 120 * MSEC, .most = 100 * USEC, .align = FOURTH_LEVEL, .once = true,
	  .act = ACT_READ | ACT_TICK },
};

/* For comparison. */
static const struct attack loop = { "loop", "a loop in user space", .window = 100 * MSEC,
				    .act = ACT_SPIN };

/* The impact without an attack, and of a task that only uses the CPU. */
static struct suffering from_nobody, from_loop;

/*
 * The figures, and their noise: timerfds compared with timerfds differ by that (--self), as it
 * is luck whether a task becomes due in the middle of the longest non-preemptible section, or
 * whether work of RCU falls into the watched time. The last one only explains the one before.
 */
static const struct {
	const char *name;
	double noise;
} figures[FIGURES] = {
	[SLEEPER] = { "real-time sleeper late, us", 50 },
	[READER] = { "real-time reader late, us", 50 },
	[LOOP] = { "own timerfd late, us", 50 },
	/* A normal task also waits for kworkers: in 1 of 100 comparisons, for 100 us. */
	[GAP] = { "longest gap of a normal task, us", 150 },
	[LOST] = { "% lost to nobody's account", 2 },
	[PAID] = { "% the attacker pays" },
};

static double us(uint64_t ns)
{
	return ns / 1000.0;
}

/* Make an attack once, and keep the worst of each figure. */
static void suffer(struct suffering *worst, const struct attack *attack, bool wheels,
		   unsigned int round)
{
	struct ongoing ongoing = start_attack(attack, wheels, round * VICTIM_PERIOD / ROUNDS);
	struct suffering s = watch_attack(&ongoing, attack->window);
	unsigned int i;

	s.figure[LOOP] = us(end_attack(&ongoing));
	/* Interrupts and kernel threads also work without an attack. */
	s.figure[LOST] -= from_nobody.figure[LOST];
	for (i = 0; i < FIGURES; i++) {
		if (s.figure[i] > worst->figure[i])
			worst->figure[i] = s.figure[i];
	}
}

static bool is_bearable(const struct attack *attack, unsigned int i, double t, double w)
{
	if (i == PAID)
		return true;
	if ((i == SLEEPER || i == LOOP) && attack->most && w > us(attack->most))
		return false;
	if (i == SLEEPER && w > us(SLEEPER_LIMIT + attack->kernel) && w > t * BEYOND)
		return false;
	/* Any task that uses the CPU makes others wait for their turn. */
	if (i == GAP && attack->act && t < from_loop.figure[GAP])
		t = from_loop.figure[GAP];
	return w <= t * ALLOWED + figures[i].noise + (i == LOST ? 0 : us(attack->kernel));
}

static void print_alone(const char *about, const struct suffering *s)
{
	unsigned int i;

	printf("# | %s |", about);
	for (i = 0; i < FIGURES; i++)
		printf(" %.1f |", s->figure[i]);
	puts("");
}

static void print_head(void)
{
	unsigned int i;

	tap_note("Each figure: with timerfds : with wheels. **!** marks what is too much.");
	printf("# | attack |");
	for (i = 0; i < FIGURES; i++)
		printf(" %s |", figures[i].name);
	puts("\n# |---|---|---|---|---|---|---|");
	print_alone("nobody", &from_nobody);
	print_alone(loop.about, &from_loop);
}

static void run_attack(const struct attack *attack, bool wheels)
{
	unsigned int round, rounds = attack->once || !attack->act ? 1 : ROUNDS, i;
	struct suffering timerfd = { }, wheel = { };
	bool good = true;

	for (round = 0; round < rounds; round++) {
		suffer(&timerfd, attack, false, round);
		suffer(&wheel, attack, wheels, round);
	}
	printf("# | %s |", attack->about);
	for (i = 0; i < FIGURES; i++) {
		double t = timerfd.figure[i], w = wheel.figure[i];
		bool ok = is_bearable(attack, i, t, w);

		printf(" %.1f : %.1f%s |", t, w, ok ? "" : " **!**");
		good &= ok;
	}
	puts("");
	tap_result(good, "%s: %s", attack->name, attack->about);
}

int main(int argc, char **argv)
{
	bool self = false;
	const struct program_option list[] = {
		{ "self", NULL, "compare timerfds with timerfds: how far can figures be trusted?",
		  .flag = &self },
		{ }
	};
	char **names = words_or_exit(argc, argv, &(const struct command_line) {
		"Usage: twheel-neighbours [OPTIONS] [ATTACK...]\n"
		"Attack others with timerfds and with wheels, and compare the impact; print\n"
		"the results as TAP. Needs root and the icount VM. Without an ATTACK, all:\n",
		.options = list, .words = attacks, .nr_words = ARRAY_SIZE(attacks),
		.word_size = sizeof(attacks[0]),
	});
	const struct ongoing nobody = { .begin = now_ns() + 20 * MSEC };
	unsigned int i;

	puts("TAP version 13");
	keep_few_free_pages();
	if (!write_line("/proc/sys/fs/file-max", "1000000"))
		bail_out("cannot allow as many timerfds as that");
	from_nobody = watch_attack(&nobody, loop.window);
	suffer(&from_loop, &loop, false, 0);
	print_head();
	for (i = 0; i < ARRAY_SIZE(attacks); i++) {
		if (is_wanted(attacks[i].name, names))
			run_attack(&attacks[i], !self);
	}
	return tap_done();
}
