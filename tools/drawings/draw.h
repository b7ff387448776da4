/* SPDX-License-Identifier: MIT */
/*
 * Helpers of all drawings: a wheel that runs, and SVG on standard output
 */
#ifndef DRAW_H
#define DRAW_H

#include "twheel.h"

/* The maximum of levels of a wheel that is drawn. */
#define DRAW_LEVELS	3

void draw_levels(void);
void draw_journeys(void);
void draw_wakeups(void);

/**
 * struct run - a wheel of the core with its timers; a tick is the unit of time
 * @wheel: the wheel.
 * @timer: all timers, in the order in which they are due.
 * @n: how many there are.
 * @fires: how often the wheel had to be advanced.
 */
struct run {
	struct twheel wheel;
	struct twheel_timer *timer;
	u32 n;
	u32 fires;
};

void run_start(struct run *run, u32 size, u64 now, u32 n);
void run_add(struct run *run);
bool run_advance(struct run *run);
u32 run_due_ticks(const struct run *run);
void run_end(struct run *run);
u64 run_random(u64 from, u64 to);

void svg_begin(unsigned int width, unsigned int height, const char *title);
void svg_rect(const char *class, double x, double y, double width, double height);
void svg_line(const char *class, double x1, double y1, double x2, double y2);
void svg_dot(const char *class, double x, double y, double r);
void svg_text(const char *class, double x, double y, const char *format, ...)
	__attribute__((format(printf, 4, 5)));
void svg_end(void);

#endif /* DRAW_H */
