// SPDX-License-Identifier: GPL-2.0-only
/*
 * What a wheel says of itself, to whoever may look into /proc/PID/fdinfo
 *
 * Whoever looks there never waits for the lock, which the wheel's user can hold for as long
 * as he likes: it shows the wheel as it was last used.
 */
#include <linux/compiler.h>
#include <linux/fs.h>
#include <linux/seq_file.h>

#include "twheel_file.h"

/**
 * twheel_fill_info() - the parameters and counters of a wheel
 * @file: the file; without the lock, the counters may be of different moments
 * @info: filled in
 */
void twheel_fill_info(struct twheel_file *file, struct twheel_info *info)
{
	const struct twheel *w = &file->wheel;

	*info = (struct twheel_info) {
		.tick_ns = data_race(file->tick_ns),
		.max_timers = data_race(file->max_timers),
		.wheel_size = data_race(w->size.divisor),
		.clock_id = data_race(file->clock_id),
		.now_ns = twheel_file_now(file),
		.pending = data_race(w->nr_pending),
		.expired = data_race(w->nr_expired),
		.added = data_race(file->added),
		.modified = data_race(file->modified),
		.cancelled = data_race(file->cancelled),
		.delivered = data_race(file->delivered),
		.cascaded = data_race(w->cascaded),
		.fires = data_race(file->fires),
		.memory = data_race(file->charged),
		.levels = max_t(u32, data_race(w->nr_levels), 1),
	};
}

/**
 * twheel_show_fdinfo() - write the lines of an open file in /proc/PID/fdinfo
 * @m: where to
 * @filp: the file
 */
void twheel_show_fdinfo(struct seq_file *m, struct file *filp)
{
	struct twheel_file *file = filp->private_data;
	struct twheel_info info;

	twheel_fill_info(file, &info);
	seq_printf(m, "twheel-tick-ns:\t%llu\n", info.tick_ns);
	seq_printf(m, "twheel-wheel-size:\t%u\n", info.wheel_size);
	seq_printf(m, "twheel-clock-id:\t%u\n", info.clock_id);
	seq_printf(m, "twheel-levels:\t%u\n", info.levels);
	seq_printf(m, "twheel-pending:\t%llu\n", info.pending);
	seq_printf(m, "twheel-expired:\t%llu\n", info.expired);
	seq_printf(m, "twheel-memory:\t%llu\n", info.memory);
	seq_printf(m, "twheel-user-memory:\t%lu\n", twheel_user_bytes(file->user));
	seq_printf(m, "twheel-user-limit:\t%lu\n", twheel_user_limit());
}
