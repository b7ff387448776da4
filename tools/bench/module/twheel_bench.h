/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The requests of twheel-bench to the bench module, through /dev/twheel-bench
 *
 * Private to these two, which come from one source tree.
 */
#ifndef _TWHEEL_BENCH_H
#define _TWHEEL_BENCH_H

#include <linux/ioctl.h>
#include <linux/types.h>

#define TWHEEL_BENCH_DEVICE	"twheel-bench"

/* The facilities inside the kernel. */
#define TWHEEL_BENCH_CORE	1
#define TWHEEL_BENCH_HRTIMER	2
#define TWHEEL_BENCH_TIMER_LIST	3

/* Operations on all timers, in a random order; these expire all at once. */
#define TWHEEL_BENCH_CANCEL	1
#define TWHEEL_BENCH_MODIFY	2
#define TWHEEL_BENCH_EXPIRE	3

/**
 * struct twheel_bench_run - one facility inside the kernel, one number of timers
 * @facility: one of those above.
 * @op: an operation.
 * @pending: number of timers.
 * @span_ns: deadlines are uniform over this time from now; or all are then, once modified.
 * @add_ns: set on return: the time for adding all timers.
 * @op_ns: set on return: the time for the operation.
 */
struct twheel_bench_run {
	__u32 facility;
	__u32 op;
	__u64 pending;
	__u64 span_ns;
	__u64 add_ns;
	__u64 op_ns;
};

/**
 * struct twheel_bench_span - the timed runs of a piece of code
 * @longest_ns: the longest, less what watching added.
 * @count: how many there were.
 */
struct twheel_bench_span {
	__u64 longest_ns;
	__u64 count;
};

/**
 * struct twheel_bench_watch - how long twheel kept others waiting
 * @lock: between taking a mutex and dropping it.
 * @wait: between taking a spin lock, with interrupts off, and dropping it.
 * @fire: in an hrtimer's function, with interrupts off.
 */
struct twheel_bench_watch {
	struct twheel_bench_span lock;
	struct twheel_bench_span wait;
	struct twheel_bench_span fire;
};

#define TWHEEL_BENCH_MAGIC	0xD4

/* Move CLOCK_BOOTTIME forward by this many ns, as after a suspend. */
#define TWHEEL_BENCH_JUMP	_IOW(TWHEEL_BENCH_MAGIC, 0x00, __u64)
/* The time that the CPU has been busy, which is one, in ns. */
#define TWHEEL_BENCH_BUSY	_IOR(TWHEEL_BENCH_MAGIC, 0x01, __u64)
#define TWHEEL_BENCH_RUN	_IOWR(TWHEEL_BENCH_MAGIC, 0x02, struct twheel_bench_run)
/* Start watching; and stop, and return the result. */
#define TWHEEL_BENCH_WATCH	_IO(TWHEEL_BENCH_MAGIC, 0x03)
#define TWHEEL_BENCH_WATCHED	_IOR(TWHEEL_BENCH_MAGIC, 0x04, struct twheel_bench_watch)

#endif /* _TWHEEL_BENCH_H */
