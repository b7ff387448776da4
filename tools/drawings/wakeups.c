// SPDX-License-Identifier: MIT
/*
 * When a wheel with few timers wakes up: for ticks with a timer due, and for no other ones
 */
#include <stdio.h>

#include "draw.h"

#define SIZE	8
#define SPAN	430
#define TIMERS	14
#define LEFT	150.0
#define WIDTH	740.0
#define ROW	52.0
#define TOP	66.0

static double x_of(u64 tick)
{
	return LEFT + tick * WIDTH / SPAN;
}

static void label(unsigned int row, const char *name, const char *more)
{
	svg_text("strong right", LEFT - 18, TOP + row * ROW + 4, "%s", name);
	svg_text("small dim right", LEFT - 18, TOP + row * ROW + 20, "%s", more);
}

static void draw_mark(const char *class, unsigned int row, u64 tick)
{
	svg_line(class, x_of(tick), TOP + row * ROW - 11, x_of(tick), TOP + row * ROW + 11);
}

static void draw_due(const struct run *run)
{
	char count[32];
	u32 i, same = 0;

	snprintf(count, sizeof(count), "%u at %u ticks", run->n, run_due_ticks(run));
	label(0, "timers due", count);
	svg_line("rule", LEFT, TOP + 10, LEFT + WIDTH, TOP + 10);
	for (i = 0; i < run->n; i++) {
		same = i && run->timer[i].deadline == run->timer[i - 1].deadline ? same + 1 : 0;
		svg_dot("l1", x_of(run->timer[i].deadline), TOP + 3 - same * 12, 5);
	}
}

static void draw_fires(struct run *run)
{
	char count[32];

	while (run_advance(run))
		draw_mark("mark wide", 1, run->wheel.now);
	snprintf(count, sizeof(count), "%u wake-ups", run->fires);
	label(1, "this wheel", count);
}

static void draw_ticks(u64 end)
{
	char count[32];
	u64 tick;

	for (tick = 1; tick <= end; tick++)
		draw_mark("rule", 2, tick);
	snprintf(count, sizeof(count), "%llu wake-ups", (unsigned long long)end);
	label(2, "one that ticks", count);
}

void draw_wakeups(void)
{
	struct run run;
	u32 i;

	run_start(&run, SIZE, 0, TIMERS);
	for (i = 0; i < run.n; i++)
		run.timer[i].deadline = run_random(1, SPAN);
	/* Two in one tick. */
	run.timer[1].deadline = run.timer[0].deadline;
	run_add(&run);

	svg_begin(920, 230, "A wheel wakes up for ticks with a timer due and for no other ones");
	svg_text("", LEFT, 28, "A wheel of %u buckets a level, with %u timers.", SIZE, run.n);
	draw_due(&run);
	draw_fires(&run);
	draw_ticks(run.timer[run.n - 1].deadline);
	svg_text("small dim right", LEFT + WIDTH, TOP + 2 * ROW + 36, "time, from tick 0 to %u",
		 SPAN);
	svg_end();
	run_end(&run);
}
