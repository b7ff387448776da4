/* SPDX-License-Identifier: MIT */
/*
 * What `twheel save` and `twheel load` have in common
 *
 * A save file has one JSON object on each line: a header, the timers in no order, and an end that
 * counts them. twheel(1) describes the members.
 */
#ifndef SNAPSHOT_H
#define SNAPSHOT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include <linux/twheel.h>

/* The version of the format that is written, and the only one that is read. */
#define SNAPSHOT_VERSION	1

/* Stands for "not given" in struct snapshot_options, where 0 is a descriptor. */
#define NO_DESCRIPTOR	(-1)

/* Timers listed or added with one call of the kernel. */
#define SNAPSHOT_BATCH	1024

/**
 * struct snapshot_options - which wheel
 * @fd: its descriptor, or NO_DESCRIPTOR.
 * @pid: the process that has this descriptor, or 0 for this one.
 */
struct snapshot_options {
	int fd;
	pid_t pid;
};

/**
 * struct snapshot_clocks - one moment on two clocks
 * @before_ns: the wheel's clock, just before.
 * @wall_ns: CLOCK_REALTIME.
 * @after_ns: the wheel's clock, just after.
 */
struct snapshot_clocks {
	uint64_t before_ns;
	uint64_t wall_ns;
	uint64_t after_ns;
};

/**
 * struct progress - a line on the terminal for work that takes long
 * @what: what has been done to the timers.
 * @next_ns: when it is written next.
 * @shown: it has been written.
 */
struct progress {
	const char *what;
	uint64_t next_ns;
	bool shown;
};

int snapshot_open(const struct snapshot_options *options, struct twheel_info *info);

int snapshot_clocks(uint32_t clock_id, struct snapshot_clocks *clocks);
uint64_t snapshot_to_wall(const struct snapshot_clocks *clocks, uint64_t deadline_ns);
uint64_t snapshot_to_wheel(const struct snapshot_clocks *clocks, uint64_t wall_ns,
			   uint64_t interval_ns);

void progress_begin(struct progress *progress, const char *what);
void progress_show(struct progress *progress, uint64_t count);
void progress_end(struct progress *progress);

int save(const struct snapshot_options *options, const char *path);
int load(const struct snapshot_options *options, const char *path);

#endif /* SNAPSHOT_H */
