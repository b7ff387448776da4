// SPDX-License-Identifier: GPL-2.0-only
/*
 * Showing a wheel in /proc/PID/fdinfo
 *
 * Readers of fdinfo do not wait for the lock, which a user of the wheel can hold without bound:
 * they see the wheel as it was last used. The cost is a pass over the buckets, which are part of
 * the memory that the user is charged for.
 */
#include <linux/compiler.h>
#include <linux/cred.h>
#include <linux/fs.h>
#include <linux/sched.h>
#include <linux/seq_file.h>
#include <linux/uidgid.h>

#include "twheel_file.h"

/* For a number that may change concurrently, either value is right. */
#define peek(number)	data_race(number) /* a counter, or set by TWHEEL_SETUP */

/**
 * twheel_fill_info() - the parameters and counters of a wheel
 * @file: the file; without the lock, the counters may be of different moments
 * @info: filled in
 */
void twheel_fill_info(struct twheel_file *file, struct twheel_info *info)
{
	const struct twheel *w = &file->wheel;

	*info = (struct twheel_info) {
		.tick_ns = peek(file->wheel.tick.divisor),
		.max_timers = peek(file->max_timers),
		.wheel_size = peek(w->size.divisor),
		.clock_id = peek(file->clock_id),
		.now_ns = twheel_file_now(file),
		.pending = peek(w->nr_pending),
		.expired = peek(w->nr_expired),
		.added = peek(file->added),
		.modified = peek(file->modified),
		.cancelled = peek(file->cancelled),
		.delivered = peek(file->delivered),
		.cascaded = peek(w->cascaded),
		.fires = peek(file->fires),
		.memory = peek(file->charged),
		.levels = max_t(u32, peek(w->nr_levels), 1),
	};
}

static u64 level_timers(const struct twheel_level *level)
{
	u64 timers = 0;
	u32 i;

	for (i = 0; i < level->size; i++) {
		timers += peek(level->bucket[i].count);
		if (i % 1024 == 1023)
			cond_resched();
	}
	return timers;
}

static void show_level(struct seq_file *m, const struct twheel_level *level)
{
	u32 busy = peek(level->nr_busy);

	seq_printf(m, "twheel-level-%u-timers:\t%llu\n", level->nr,
		   busy ? level_timers(level) : 0);
	seq_printf(m, "twheel-level-%u-busy:\t%u\n", level->nr, busy);
}

/* Before the first timer, TWHEEL_SETUP can free levels; from then on they stay. */
static void show_levels(struct seq_file *m, const struct twheel_file *file)
{
	const struct twheel *w = &file->wheel;
	unsigned int nr, nr_levels;

	if (!peek(file->added))
		return;
	/* Levels are freed only before the first timer is added; both are under the lock. */
	smp_rmb();
	/* Levels below @nr_levels are complete. */
	nr_levels = smp_load_acquire(&w->nr_levels);
	for (nr = 0; nr < nr_levels; nr++)
		show_level(m, w->level[nr]);
}

/**
 * twheel_show_fdinfo() - write the lines of an open file in /proc/PID/fdinfo
 * @m: the output
 * @filp: the file
 *
 * Takes no lock.
 */
void twheel_show_fdinfo(struct seq_file *m, struct file *filp)
{
	struct twheel_file *file = filp->private_data;
	struct twheel_info info;

	twheel_fill_info(file, &info);
	seq_printf(m, "twheel-id:\t%llu\n", file->id);
	seq_printf(m, "twheel-tick-ns:\t%llu\n", info.tick_ns);
	seq_printf(m, "twheel-wheel-size:\t%u\n", info.wheel_size);
	seq_printf(m, "twheel-clock-id:\t%u\n", info.clock_id);
	seq_printf(m, "twheel-max-timers:\t%llu\n", info.max_timers);
	seq_printf(m, "twheel-levels:\t%u\n", info.levels);
	seq_printf(m, "twheel-now-ns:\t%llu\n", info.now_ns);
	seq_printf(m, "twheel-pending:\t%llu\n", info.pending);
	seq_printf(m, "twheel-expired:\t%llu\n", info.expired);
	seq_printf(m, "twheel-added:\t%llu\n", info.added);
	seq_printf(m, "twheel-modified:\t%llu\n", info.modified);
	seq_printf(m, "twheel-cancelled:\t%llu\n", info.cancelled);
	seq_printf(m, "twheel-delivered:\t%llu\n", info.delivered);
	seq_printf(m, "twheel-cascaded:\t%llu\n", info.cascaded);
	seq_printf(m, "twheel-fires:\t%llu\n", info.fires);
	seq_printf(m, "twheel-memory:\t%llu\n", info.memory);
	seq_printf(m, "twheel-user-id:\t%u\n",
		   from_kuid_munged(seq_user_ns(m), filp->f_cred->uid));
	seq_printf(m, "twheel-user-memory:\t%lu\n", twheel_user_bytes(file->user));
	seq_printf(m, "twheel-user-limit:\t%lu\n", twheel_user_limit());
	show_levels(m, file);
}
