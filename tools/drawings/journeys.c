// SPDX-License-Identifier: MIT
/*
 * The path of timers through the levels: a line for each, from its add to its expiry, in
 * the colour of its level
 */
#include <stdio.h>

#include "draw.h"

#define SIZE	32
#define SPAN	3072
#define TIMERS	6400
/* One in this many timers is drawn. */
#define SAMPLE	80
#define LINES	(TIMERS / SAMPLE)
#define LEFT	30.0
#define TOP	64.0
#define PITCH	5.0
#define WIDTH	860.0

/* The level of a timer, and since when it is there. */
struct stay {
	u64 since;
	u8 level;
};

static double x_of(u64 tick)
{
	return LEFT + tick * WIDTH / SPAN;
}

static void draw_stay(const struct stay *stay, unsigned int line, u64 until)
{
	static const char * const class[] = { "l0 wide", "l1 wide", "l2 wide" };
	double y = TOP + line * PITCH;

	if (until > stay->since)
		svg_line(class[stay->level], x_of(stay->since), y, x_of(until), y);
}

/* Draw the lines that have ended: of timers that have moved or expired. */
static void look(const struct run *run, struct stay *stays)
{
	u64 now = run->wheel.now;
	unsigned int i;

	for (i = 0; i < LINES; i++) {
		const struct twheel_timer *timer = &run->timer[i * SAMPLE];
		struct stay *stay = &stays[i];

		if (stay->since >= timer->deadline)
			continue;
		if (timer->deadline <= now) {
			draw_stay(stay, i, timer->deadline);
			stay->since = timer->deadline;
		} else if (timer->level != stay->level) {
			draw_stay(stay, i, now);
			*stay = (struct stay){ now, timer->level };
		}
	}
}

static void draw_axis(void)
{
	double y = TOP + LINES * PITCH + 10;
	u64 tick;

	svg_line("rule", LEFT, y, LEFT + WIDTH, y);
	for (tick = 0; tick <= SPAN; tick += 512) {
		svg_line("rule", x_of(tick), y, x_of(tick), y + 6);
		svg_text("small dim middle", x_of(tick), y + 22, "%llu", (unsigned long long)tick);
	}
	svg_text("small dim right", LEFT + WIDTH, y + 42, "time in ticks");
}

static void draw_legend(void)
{
	static const char * const level[] = {
		"level 0: 1 tick a bucket", "level 1: 32 ticks", "level 2: 1,024 ticks",
	};
	static const char * const class[] = { "l0 wide", "l1 wide", "l2 wide" };
	unsigned int nr;

	for (nr = 0; nr < DRAW_LEVELS; nr++) {
		double y = TOP + 30 + (DRAW_LEVELS - 1 - nr) * 24;

		svg_line(class[nr], 640, y, 676, y);
		svg_text("", 688, y + 5, "%s", level[nr]);
	}
}

void draw_journeys(void)
{
	struct stay stays[LINES] = { };
	struct run run;
	u32 i;

	run_start(&run, SIZE, 0, TIMERS);
	for (i = 0; i < run.n; i++)
		run.timer[i].deadline = run_random(1, SPAN);
	run_add(&run);
	for (i = 0; i < LINES; i++)
		stays[i].level = run.timer[i * SAMPLE].level;

	svg_begin(920, 528, "Timers move from level to level until they expire");
	svg_text("", LEFT, 28,
		 "%u,%03u timers, added at tick 0 to a wheel of %u buckets a level. A line is one timer of %u; it ends when the timer expires.",
		 run.n / 1000, run.n % 1000, SIZE, SAMPLE);
	while (run_advance(&run))
		look(&run, stays);
	draw_axis();
	draw_legend();
	svg_end();
	run_end(&run);
}
