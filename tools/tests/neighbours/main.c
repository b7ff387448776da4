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

/* The allowed impact of wheels, in tenths of that of timerfds. */
#define ALLOWED_TENTHS	12
/*
 * The worst of this many rounds counts. Coincidences are luck, so each round begins at
 * another phase of the victims' period.
 */
#define ROUNDS		4
/*
 * Allowed noise in addition: timerfds compared with timerfds differ by that (--self), as it is
 * luck whether a task becomes due in the middle of the longest non-preemptible section, or
 * whether work of RCU falls into the watched time.
 */
#define NOISE_LATE	(50 * USEC)
#define NOISE_PERCENT	2
/* A normal task also waits for kworkers: in 1 of 100 comparisons (--self), for 100 us. */
#define NOISE_GAP	(150 * USEC)
/* In addition, a real-time task may be late by no more than a tenth more. */
#define SLEEPER_LIMIT	(1500 * USEC)
#define BEYOND_TENTHS	11
/* With 256 buckets of 1 us: the length of a bucket there. */
#define FOURTH_LEVEL	(256ULL * 256 * 256 * USEC)
/* Nor may a wheel delay the other descriptors of a loop by more. */
#define LOOP_LIMIT	(100 * USEC)

/*
 * Wheels have a tick of a microsecond. Many wheels are small, to stay within the user's
 * limit.
 */
static const struct attack attacks[] = {
	/* SECURITY: use cpu time that is not accounted */
	{ "instant", "7,000 due at one instant, unread",
	  .wheels = 7000, .timers = 1, .size = 4, .window = 30 * MSEC, .once = true },
	{ "instant-read", "7,000 due at one instant, read", /* SECURITY: expiry */
	  .wheels = 7000, .timers = 1, .size = 4, .window = 40 * MSEC, .dups = 1,
	  .act = act_read },
	{ "apart", "10,000 due 1 us apart, unread",
	  .wheels = 10000, .timers = 1, .size = 4, .step = USEC, .window = 40 * MSEC,
	  .once = true },
	{ "apart-read", "10,000 due 1 us apart, read",
	  .wheels = 10000, .timers = 1, .size = 4, .step = USEC, .window = 50 * MSEC,
	  .dups = 1, .act = act_read },
	{ "one", "one wheel, 100,000 timers 1 us apart, unread", /* SECURITY: expiry */
	  .wheels = 1, .timers = 100000, .size = 256, .step = USEC, .window = 120 * MSEC,
	  .once = true },
	{ "one-read", "one wheel, 50,000 timers 1 us apart, read",
	  .wheels = 1, .timers = 50000, .size = 256, .step = USEC, .window = 70 * MSEC,
	  .dups = 1, .act = act_read },
	{ "crowd", "one wheel, 20,000 timers due at one instant, unread",
	  .wheels = 1, .timers = 20000, .size = 256, .window = 40 * MSEC, .once = true },
	{ "crowd-read", "one wheel, 20,000 timers due at one instant, read",
	  .wheels = 1, .timers = 20000, .size = 256, .window = 50 * MSEC, .dups = 1,
	  .act = act_read },
	{ "poll", "one wheel, 20,000 timers 1 us apart, polled and not read",
	  .wheels = 1, .timers = 20000, .size = 256, .step = USEC, .window = 40 * MSEC,
	  .dups = 1, .act = act_poll },
	{ "staggered", "1,500 wheels, 100 timers each, 1 us apart in turn, unread",
	  .wheels = 1500, .timers = 100, .size = 4, .step = USEC, .window = 170 * MSEC,
	  .once = true },
	/* SECURITY: expiry */
	{ "staggered-read", "1,500 wheels, 40 timers each, 1 us apart in turn, read",
	  .wheels = 1500, .timers = 40, .size = 4, .step = USEC, .window = 80 * MSEC,
	  .dups = 1, .act = act_read },
	{ "periodic", "one wheel, 5,000 timers of a period of 1 us, unread", /* SECURITY: expiry */
	  .wheels = 1, .timers = 5000, .size = 256, .interval = USEC, .window = 20 * MSEC,
	  .once = true },
	{ "periodic-read", "one wheel, 5,000 timers of a period of 1 us, read",
	  .wheels = 1, .timers = 5000, .size = 256, .interval = USEC, .window = 40 * MSEC,
	  .dups = 1, .act = act_read },
	{ "periodics-read", "100 wheels, one timer each of a period of 1 us, read",
	  .wheels = 100, .timers = 1, .size = 256, .interval = USEC, .window = 40 * MSEC,
	  .dups = 1, .act = act_read },
	{ "modify", "8,000 timers of one bucket, moved to another one and on", /* SECURITY: calls */
	  .wheels = 1, .timers = 8000, .size = 256, .ahead = 66 * MSEC, .window = 80 * MSEC,
	  .act = act_rearm },
	{ "due", "5,000 timers set to a time that has passed, and read", /* SECURITY: calls */
	  .wheels = 1, .timers = 5000, .size = 256, .window = 40 * MSEC, .most = 100 * USEC,
	  .act = act_arm_and_read },
	/* SECURITY: calls */
	{ "cancel", "65,536 buckets, 4,000 timers added and cancelled, first ones first",
	  .wheels = 1, .timers = 4000, .size = 65536, .ahead = 60 * MSEC, .step = 13 * USEC,
	  .window = 50 * MSEC, .act = act_rearm_and_disarm },
	{ "cancel-few", "65,536 buckets, 16 timers far apart, added and cancelled",
	  .wheels = 1, .timers = 16, .size = 65536, .ahead = 5 * MSEC, .step = 4 * MSEC,
	  .window = 50 * MSEC, .act = act_rearm_and_disarm },
	{ "levels", "two buckets a level, 20,000 timers 1 us apart, unread",
	  .wheels = 1, .timers = 20000, .size = 2, .step = USEC, .window = 40 * MSEC,
	  .once = true },
	{ "levels-read", "two buckets a level, 20,000 timers 1 us apart, read",
	  .wheels = 1, .timers = 20000, .size = 2, .step = USEC, .window = 60 * MSEC,
	  .dups = 1, .act = act_read },
	{ "levels-modify", "two buckets a level, 8,000 timers to the end of time and back",
	  .wheels = 1, .timers = 8000, .size = 2, .ahead = 80 * MSEC, .step = USEC,
	  .window = 50 * MSEC, .act = act_rearm_far },
	{ "open", "500 opened, armed and closed, again and again", /* SECURITY: calls */
	  .wheels = 500, .timers = 1, .size = 256, .ahead = SEC, .window = 50 * MSEC,
	  .act = act_open_and_close },
	/* vmalloc() maps the 514 pages of a level, and charges them, without preemption points. */
	{ "open-large", "65,536 buckets: 4 opened, armed and closed, again and again",
	  .wheels = 4, .timers = 1, .size = 65536, .ahead = SEC, .window = 50 * MSEC,
	  .kernel = 50 * USEC, .act = act_open_and_close },
	{ "exit", "exit with 7,000 that are armed", /* SECURITY: calls */
	  .wheels = 7000, .timers = 1, .size = 4, .ahead = SEC, .window = 80 * MSEC,
	  .act = act_exit },
	{ "close-crowd", "close one wheel of 50,000 timers", /* SECURITY: calls */
	  .wheels = 1, .timers = 50000, .size = 256, .ahead = SEC, .window = 120 * MSEC,
	  .most = 100 * USEC, .act = act_close },
	/* SECURITY: use cpu time that is not accounted */
	{ "dup", "10 expiries, each 2,000 times in an epoll by dup(), unread",
	  .wheels = 1, .timers = 10, .size = 256, .step = 2 * MSEC, .dups = 2000,
	  .window = 30 * MSEC },
	{ "dup-read", "one periodic timer, 10,000 times in an epoll by dup(), read",
	  .wheels = 1, .timers = 1, .size = 256, .interval = 5 * MSEC, .dups = 10000,
	  .window = 80 * MSEC, .act = act_read_then_poll },
	{ "ring-burst", "500,000 due at one instant, with a ring, read", /* SECURITY: polls */
	  .wheels = 1, .timers = 500000, .size = 256, .slots = 2000, .dups = 1,
	  .window = 400 * MSEC, .preparation = 20 * SEC, .once = true, .act = act_read },
	/* SECURITY: polls */
	{ "ring-full", "one wheel, 20,000 timers 1 us apart, with a ring, polled and not read",
	  .wheels = 1, .timers = 20000, .size = 256, .slots = 2, .step = USEC, .dups = 1,
	  .window = 40 * MSEC, .act = act_poll },
	/* SECURITY: the ring of events */
	{ "ring-garbage", "one wheel, 20,000 timers 1 us apart, with garbage in a ring, polled",
	  .wheels = 1, .timers = 20000, .size = 256, .slots = 2, .step = USEC, .dups = 1,
	  .window = 40 * MSEC, .act = act_spoil },
	/* A kworker polls, which nobody pays for. */
	{ "aio", "300,000 due at one instant, with a poll of aio",
	  .wheels = 1, .timers = 300000, .size = 256, .window = 100 * MSEC,
	  .preparation = 20 * SEC, .once = true, .aio = true },
	/* Ahead of its time, a bucket of the fourth level cascades: 140,000 timers. */
	/* SECURITY: polls */
	{ "epoll-loop", "500,000 in 60 s, in a loop with a timerfd of its own",
	  .wheels = 1, .timers = 500000, .size = 256, .ahead = 1200 * MSEC, .step = 120 * USEC,
	  .dups = 1, .window = 1300 * MSEC, .preparation = 20 * SEC, .align = FOURTH_LEVEL,
	  .once = true, .act = act_loop },
	/* It holds a mutex of epoll, and is scheduled like any normal task. */
	/* SECURITY: polls */
	{ "epoll-nest", "200,000 in 24 s, added to a nested epoll again and again",
	  .wheels = 1, .timers = 200000, .size = 256, .ahead = 1050 * MSEC, .step = 120 * USEC,
	  .window = 100 * MSEC, .preparation = 20 * SEC, .align = FOURTH_LEVEL,
	  .nests = true, .kernel = MSEC, .act = act_nest },
};

/* For comparison. */
static const struct attack loop = { "loop", "a loop in user space", .window = 100 * MSEC,
				    .act = act_spin };

/* The baseline without an attack, and with a task that only uses the CPU. */
static struct suffering from_nobody, from_loop;

static struct suffering suffer(const struct attack *attack, const struct facility *with,
			       unsigned int round)
{
	struct ongoing ongoing = start_attack(attack, with, round * VICTIM_PERIOD / ROUNDS);
	struct suffering suffering = watch_attack(&ongoing, attack->window, attack->nests);

	end_attack(&ongoing);
	return suffering;
}

static struct suffering suffer_from_nobody(void)
{
	const struct ongoing nobody = { .begin = now_ns() + 20 * MSEC };

	return watch_attack(&nobody, loop.window, false);
}

/*
 * The time on no task's account: interrupts, softirqs, and kernel threads. Without it, a
 * task that wants the CPU would get all the time that neither the attacker nor the other
 * victims use.
 */
static double percent_lost(const struct suffering *s)
{
	double usual = 100.0 * from_nobody.taken / from_nobody.watched;
	double lost = 100.0 * ((double)s->taken - (double)s->paid) / s->watched - usual;

	return lost > 0 ? lost : 0;
}

static double us(uint64_t ns)
{
	return ns / 1000.0;
}

/* The figures to compare; the last one only explains the one before. */
enum { SLEEPER, READER, GAP, LOST, COMPARED, PAID = COMPARED, FIGURES };

static void take_worst(double worst[FIGURES], const struct suffering *s)
{
	const double figure[FIGURES] = {
		[SLEEPER] = us(s->sleeper_late),
		[READER] = us(s->reader_late),
		[GAP] = us(s->gap),
		[LOST] = percent_lost(s),
		[PAID] = 100.0 * s->paid / s->watched,
	};
	unsigned int i;

	for (i = 0; i < FIGURES; i++) {
		if (figure[i] > worst[i])
			worst[i] = figure[i];
	}
}

/* The random variation of a figure. */
static double noise_of(unsigned int i)
{
	if (i == LOST)
		return NOISE_PERCENT;
	return us(i == GAP ? NOISE_GAP : NOISE_LATE);
}

static bool is_bearable(const struct attack *attack, unsigned int i, double t, double w)
{
	if (i == SLEEPER && attack->most && w > us(attack->most))
		return false;
	if (i == SLEEPER && w > us(SLEEPER_LIMIT + attack->kernel) && w > t * BEYOND_TENTHS / 10)
		return false;
	/* Any task that uses the CPU makes others wait for their turn. */
	if (i == GAP && attack->act && t < us(from_loop.gap))
		t = us(from_loop.gap);
	return w <= t * ALLOWED_TENTHS / 10 + noise_of(i) + (i == LOST ? 0 : us(attack->kernel));
}

static void print_head(void)
{
	tap_note("Each figure: with timerfds : with wheels (the ratio, unless both are noise).");
	tap_note("**!** marks what is more than %.1f times as much and noise, or too much at all.",
		 ALLOWED_TENTHS / 10.0);
	tap_note("| %s | %s | %s | %s | %s | %s |", "attack", "real-time sleeper late, us",
		 "real-time reader late, us", "longest gap of a normal task, us",
		 "% lost to nobody's account", "% the attacker pays");
	tap_note("|---|---|---|---|---|---|");
}

static void print_alone(const char *about, const struct suffering *s)
{
	double f[FIGURES] = { };

	take_worst(f, s);
	tap_note("| %s | %.1f | %.1f | %.1f | %.1f | %.0f |", about, f[SLEEPER], f[READER],
		 f[GAP], f[LOST], f[PAID]);
}

/* A cell of the table, with a mark if the figure is above its limit. */
static void print_figure(char *text, size_t size, unsigned int i, double t, double w, bool ok)
{
	char ratio[32] = "";

	if (t > 0 && (t > noise_of(i) || w > noise_of(i)))
		snprintf(ratio, sizeof(ratio), " (%.2f)", w / t);
	snprintf(text, size, "%.1f : %.1f%s%s", t, w, ratio, ok ? "" : " **!**");
}

/* How late a loop saw its own timerfd. */
static bool is_loop_bearable(const struct attack *attack, uint64_t t, uint64_t w)
{
	tap_note("%s: own timerfd late, us: %.1f : %.1f", attack->name, us(t), us(w));
	return w <= t * ALLOWED_TENTHS / 10 + NOISE_LATE && w <= LOOP_LIMIT;
}

static void run_attack(const struct attack *attack, const struct facility *with)
{
	uint64_t loop_with_timerfds = 0, loop_with_wheels = 0;
	double t[FIGURES] = { }, w[FIGURES] = { };
	char text[COMPARED][64];
	struct suffering s;
	unsigned int i;
	bool good = true;

	for (i = 0; i < (attack->once ? 1 : ROUNDS); i++) {
		s = suffer(attack, &timerfds, i);
		take_worst(t, &s);
		loop_with_timerfds = loop_late();
		s = suffer(attack, with, i);
		take_worst(w, &s);
		loop_with_wheels = loop_late();
	}
	for (i = 0; i < COMPARED; i++) {
		bool ok = is_bearable(attack, i, t[i], w[i]);

		print_figure(text[i], sizeof(text[i]), i, t[i], w[i], ok);
		good &= ok;
	}
	if (loop_with_wheels)
		good &= is_loop_bearable(attack, loop_with_timerfds, loop_with_wheels);
	tap_note("| %s | %s | %s | %s | %s | %.0f : %.0f |", attack->about, text[SLEEPER],
		 text[READER], text[GAP], text[LOST], t[PAID], w[PAID]);
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
	unsigned int i;

	puts("TAP version 13");
	keep_few_free_pages();
	if (!write_line("/proc/sys/fs/file-max", "1000000"))
		bail_out("cannot allow as many timerfds as that");
	from_nobody = suffer_from_nobody();
	from_loop = suffer(&loop, &timerfds, 0);
	print_head();
	print_alone("nobody", &from_nobody);
	print_alone(loop.about, &from_loop);
	for (i = 0; i < ARRAY_SIZE(attacks); i++) {
		if (is_wanted(attacks[i].name, names))
			run_attack(&attacks[i], self ? &timerfds : &wheels);
	}
	return tap_done();
}
