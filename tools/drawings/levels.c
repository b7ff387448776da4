// SPDX-License-Identifier: MIT
/*
 * The levels of a wheel at one moment, with what each bucket holds, and their keys
 */
#include <stdio.h>

#include "draw.h"

#define SIZE	8
#define NOW	75
#define LEFT	110.0
#define BOX	100.0
#define HIGH	64.0
#define PITCH	124.0
#define TOP	64.0

/* Timers near and far: some for each level. */
static void add_timers(struct run *run)
{
	u32 i;

	for (i = 0; i < run->n; i++) {
		static const u64 until[] = { 82, 135, 570 };

		run->timer[i].deadline = run_random(i % 3 ? until[i % 3 - 1] + 1 : NOW + 1,
						    until[i % 3]);
	}
	run_add(run);
}

static double row_of(unsigned int nr)
{
	return TOP + (DRAW_LEVELS - 1 - nr) * PITCH;
}

static const char *class_of(unsigned int nr)
{
	static const char * const class[] = { "l0", "l1", "l2" };

	return class[nr];
}

static void draw_bucket(const struct twheel_level *level, unsigned int nr)
{
	u64 length = level->span.value;
	const struct twheel_bucket *b = &level->bucket[(level->next_edge / length - 1 + nr) % SIZE];
	u64 first = level->next_edge - length + nr * length;
	double x = LEFT + nr * BOX;
	double y = row_of(level->nr);
	u32 i;

	svg_rect(nr ? "box" : "clock", x, y, BOX, HIGH);
	for (i = 0; i < b->count; i++)
		svg_dot(class_of(level->nr), x + 14 + i % 6 * 14.4, y + 14 + i / 6 * 14, 5);
	if (length == 1)
		svg_text("small dim middle", x + BOX / 2, y + HIGH - 8, "%llu",
			 (unsigned long long)first);
	else
		svg_text("small dim middle", x + BOX / 2, y + HIGH - 8, "%llu to %llu",
			 (unsigned long long)first, (unsigned long long)(first + length - 1));
}

/* The span of a level on the level above. */
static void draw_zoom(const struct twheel_level *level, const struct twheel_level *above)
{
	double per_tick = BOX / above->span.value;
	u64 origin = above->next_edge - above->span.value;
	u64 begin = level->next_edge - level->span.value;
	u64 end = begin + SIZE * level->span.value;
	double y = row_of(above->nr) + HIGH;

	svg_line("zoom", LEFT + (begin - origin) * per_tick, y, LEFT, row_of(level->nr));
	svg_line("zoom", LEFT + (end - origin) * per_tick, y, LEFT + SIZE * BOX,
		 row_of(level->nr));
}

/* The level with the next key after that of @last (NULL: the first key); or NULL. */
static const struct twheel_level *next_level(const struct twheel *w,
					     const struct twheel_level *last)
{
	const struct twheel_level *next = NULL;
	unsigned int nr;

	for (nr = 0; nr < w->nr_levels; nr++) {
		const struct twheel_level *level = w->level[nr];

		if (level->nr_busy && (!last || twheel_key(level) > twheel_key(last)) &&
		    (!next || twheel_key(level) < twheel_key(next)))
			next = level;
	}
	return next;
}

static void draw_keys(const struct twheel *w)
{
	const struct twheel_level *level = NULL;
	double y = TOP + DRAW_LEVELS * PITCH;
	double x = LEFT;

	svg_text("strong right", LEFT - 14, y + 27, "keys");
	while ((level = next_level(w, level))) {
		svg_rect("box", x, y, 190, 44);
		svg_dot(class_of(level->nr), x + 20, y + 22, 5);
		svg_text("", x + 36, y + 27, "level %u: tick %llu", level->nr,
			 (unsigned long long)twheel_key(level));
		x += 200;
	}
	svg_text("dim", x + 8, y + 27, "the first: next wake-up");
}

void draw_levels(void)
{
	struct run run;
	unsigned int nr, i;

	run_start(&run, SIZE, NOW, 42);
	add_timers(&run);
	svg_begin(930, 510, "The levels of a wheel at one moment, and their keys");
	svg_text("", 20, 28,
		 "%u buckets a level, %u timers, at tick %u. Dots are timers; the clock is in the yellow ones.",
		 SIZE, run.n, NOW);
	for (nr = 0; nr < DRAW_LEVELS; nr++) {
		const struct twheel_level *level = run.wheel.level[nr];

		svg_text("strong right", LEFT - 14, row_of(nr) + 28, "level %u", nr);
		svg_text("small dim right", LEFT - 14, row_of(nr) + 46, "%llu a bucket",
			 (unsigned long long)level->span.value);
		for (i = 0; i < SIZE; i++)
			draw_bucket(level, i);
		if (nr)
			draw_zoom(run.wheel.level[nr - 1], level);
	}
	draw_keys(&run.wheel);
	svg_end();
	run_end(&run);
}
