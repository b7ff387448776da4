/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A hierarchical timing wheel as a pure data structure
 *
 * The comment at the top of twheel_core.c says how it works. The wheel knows
 * no clock and takes no lock: the caller passes the time in, as a count of
 * ticks, serialises all calls on one wheel, and owns the memory of the timers.
 */
#ifndef _TWHEEL_H
#define _TWHEEL_H

#include <linux/list.h>
#include <linux/timerqueue.h>
#include <linux/types.h>

/* A wheel of two buckets needs this many levels to reach U64_MAX ticks. */
#define TWHEEL_MAX_LEVELS	64

/* timer->level of a timer that was due before it reached a bucket. */
#define TWHEEL_LEVEL_DUE	0xff

/**
 * struct twheel_timer - a timer in a wheel
 * @node: links the timer into its bucket or the list of expired timers.
 * @deadline: when it is due, in the caller's unit of time (see twheel_init()).
 *	The caller sets it while the timer is in no wheel.
 * @level: the level of the timer's bucket, or TWHEEL_LEVEL_DUE.
 * @bucket: the place of the bucket in its level.
 * @tag: the caller's: the core leaves alone what alignment would waste.
 */
struct twheel_timer {
	struct list_head node;
	u64 deadline;
	u8 level;
	u16 bucket;
	u32 tag;
};

/**
 * struct twheel_bucket - the timers of one span of ticks
 * @timers: the timers; initialised when @count leaves zero.
 * @queue: the bucket's place in the wheel's bucket queue, while it has one.
 * @count: number of timers whose bucket this is, those on its level's cascade
 *	list included.
 * @level: the number of the bucket's level.
 * @early: the bucket is queued to be opened ahead of its expiry.
 */
struct twheel_bucket {
	struct list_head timers;
	struct timerqueue_node queue;
	u32 count;
	u8 level;
	bool early;
};

/**
 * struct twheel_divisor - division by a number that is known beforehand
 * @magic: multiplier, or 0 when @divisor is a power of two.
 * @divisor: the number to divide by.
 * @shift: what to shift by, after the multiplication if there is one.
 */
struct twheel_divisor {
	u64 magic;
	u64 divisor;
	u8 shift;
};

/**
 * struct twheel_level - one wheel of the hierarchy
 * @length: the length of a bucket in ticks.
 * @lead: how many ticks ahead of its expiry a crowded bucket is opened.
 * @opened: the bucket that is being cascaded.
 * @cascade: the timers of @opened that have yet to be placed again.
 * @nr: the number of this level; 0 is the lowest.
 * @bucket: the buckets, as many as the wheel's size.
 */
struct twheel_level {
	struct twheel_divisor length;
	u64 lead;
	struct twheel_bucket *opened;
	struct list_head cascade;
	u8 nr;
	struct twheel_bucket bucket[];
};

/**
 * struct twheel - a hierarchical timing wheel
 * @now: the wheel's clock, in ticks. Timers with an earlier tick have expired;
 *	those with this very tick have too, or are about to be cascaded.
 * @tick: what a deadline is divided by, rounding up, to find its tick.
 * @size: number of buckets in a level.
 * @queue: the buckets that hold timers, ordered by when they must be opened.
 * @expired: timers that expired, oldest first, until twheel_pop() takes them.
 * @nr_pending: number of timers that wait for their tick.
 * @nr_expired: number of timers on @expired.
 * @cascaded: how often a timer moved to a lower level.
 * @early: levels (a bit each) that cascade an opened bucket ahead of time.
 * @late: levels whose opened bucket has expired: the clock waits for them.
 * @lowest: for a distance of 2^n ticks or more, the lowest level that may cover
 *	it.
 * @nr_levels: number of levels there are.
 * @level: the levels, lowest first.
 */
struct twheel {
	u64 now;
	struct twheel_divisor tick;
	struct twheel_divisor size;
	struct timerqueue_head queue;
	struct list_head expired;
	u64 nr_pending;
	u64 nr_expired;
	u64 cascaded;
	u64 early;
	u64 late;
	u8 lowest[64];
	u8 nr_levels;
	struct twheel_level *level[TWHEEL_MAX_LEVELS];
};

void twheel_init(struct twheel *w, u64 tick, u32 size, u64 now);
void twheel_destroy(struct twheel *w);
struct twheel_level *twheel_level_alloc(const struct twheel *w, u8 nr, gfp_t gfp);
void twheel_level_free(struct twheel_level *level);
void twheel_level_install(struct twheel *w, struct twheel_level *level);
size_t twheel_level_bytes(const struct twheel *w);
u8 twheel_levels_for(const struct twheel *w, u64 from, u64 deadline);
u8 twheel_levels_within(const struct twheel *w, u64 ticks);
u64 twheel_tick(const struct twheel *w, u64 deadline);
u64 twheel_floor(const struct twheel *w, u64 time);

bool twheel_covers(const struct twheel *w, u64 deadline);
bool twheel_add(struct twheel *w, struct twheel_timer *timer);
void twheel_expire(struct twheel *w, struct twheel_timer *timer);
void twheel_cancel(struct twheel *w, struct twheel_timer *timer);
bool twheel_expired(const struct twheel *w, const struct twheel_timer *timer);
struct twheel_timer *twheel_pop(struct twheel *w);

void twheel_forward(struct twheel *w, u64 now);
bool twheel_advance(struct twheel *w, u64 now, unsigned int budget);
bool twheel_early(const struct twheel *w, u64 *timers, u64 *ticks);
bool twheel_next(const struct twheel *w, u64 *tick);

#endif /* _TWHEEL_H */
