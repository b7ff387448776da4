/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/*
 * The user-space interface of /dev/twheel: a hierarchical timing wheel behind
 * one file descriptor.
 *
 * Every open("/dev/twheel") makes a wheel of its own. ioctls add, modify and
 * cancel timers; read() returns the timers that have expired, as an array of
 * struct twheel_event; poll(), select() and epoll report when there is
 * something to read.
 *
 * Structures have the same layout for 32- and 64-bit programs. Reserved fields
 * and unknown flags must be zero, or the call fails with EINVAL. A call that
 * fails has changed nothing.
 */
#ifndef _UAPI_LINUX_TWHEEL_H
#define _UAPI_LINUX_TWHEEL_H

#include <linux/ioctl.h>
#include <linux/types.h>

/* Bounds and defaults of struct twheel_setup. */
#define TWHEEL_TICK_MIN_NS	1000ULL			/* 1 microsecond */
#define TWHEEL_TICK_MAX_NS	3600000000000ULL	/* 1 hour */
#define TWHEEL_TICK_DEFAULT_NS	1000000ULL		/* 1 millisecond */
#define TWHEEL_SIZE_MIN		2
#define TWHEEL_SIZE_MAX		65536
#define TWHEEL_SIZE_DEFAULT	256

/* The longest delay, the latest deadline and the longest interval: KTIME_MAX. */
#define TWHEEL_TIME_MAX_NS	0x7fffffffffffffffULL

/* Flag of an add or a modify: time_ns is a deadline on the wheel's clock. */
#define TWHEEL_ABSTIME		(1U << 0)

/**
 * struct twheel_setup - the parameters of a wheel, for TWHEEL_SETUP
 * @tick_ns: length of a tick in nanoseconds: TWHEEL_TICK_MIN_NS to
 *	TWHEEL_TICK_MAX_NS. Timers expire on multiples of the tick on the
 *	wheel's clock.
 * @max_timers: number of timers the wheel may hold at once; 0 stands for the
 *	module's limit. ENOSPC when above the module's limit.
 * @wheel_size: buckets per level: TWHEEL_SIZE_MIN to TWHEEL_SIZE_MAX, any
 *	number.
 * @clock_id: CLOCK_MONOTONIC, CLOCK_BOOTTIME, CLOCK_REALTIME or CLOCK_TAI.
 * @flags: must be zero.
 * @reserved: must be zero.
 *
 * Possible once for each wheel, and only before its first timer.
 *
 * CLOCK_REALTIME and CLOCK_TAI can be set. A delay becomes a deadline when its timer is added.
 * Timers follow the clock: when it is set forward, those due by the new time expire; when it is
 * set back, those that are no longer due become pending again, even if expired unread. A timer
 * that was due when it was added can be up to a tick early if the clock is set back.
 */
struct twheel_setup {
	__u64 tick_ns;
	__u64 max_timers;
	__u32 wheel_size;
	__u32 clock_id;
	__u32 flags;
	__u32 reserved[3];
};

/**
 * struct twheel_add - a timer to arm, for TWHEEL_ADD and TWHEEL_ADD_BATCH
 * @id: set on return: the timer's id, never zero. Ignored on input.
 * @time_ns: delay from now in nanoseconds, or with TWHEEL_ABSTIME the deadline
 *	on the wheel's clock: 0 to TWHEEL_TIME_MAX_NS. A deadline that has
 *	passed expires at once; a sum beyond the range saturates.
 * @interval_ns: 0 for a timer that expires once; else the period in
 *	nanoseconds, from one tick to TWHEEL_TIME_MAX_NS: the timer expires at
 *	time_ns and then every interval_ns, until it is cancelled.
 * @data: the caller's; comes back in struct twheel_event.
 * @flags: 0 or TWHEEL_ABSTIME.
 * @reserved: must be zero.
 *
 * @id is written when the call returns, and nothing else is: another thread may read the timer's
 * event before that. A timer whose id cannot be written (EFAULT) has been cancelled when the call
 * returns, unless its event has been read.
 */
struct twheel_add {
	__u64 id;
	__u64 time_ns;
	__u64 interval_ns;
	__u64 data;
	__u32 flags;
	__u32 reserved;
};

/**
 * struct twheel_modify - a new deadline, for TWHEEL_MODIFY and TWHEEL_MODIFY_BATCH
 * @id: the timer, pending or expired and unread.
 * @time_ns: the new delay or deadline, as in struct twheel_add.
 * @flags: 0 or TWHEEL_ABSTIME.
 * @reserved: must be zero.
 *
 * The id, the data and the interval of the timer stay as they are.
 */
struct twheel_modify {
	__u64 id;
	__u64 time_ns;
	__u32 flags;
	__u32 reserved;
};

/* The values of @state in struct twheel_query. */
#define TWHEEL_PENDING		0U	/* waits for its deadline */
#define TWHEEL_EXPIRED		1U	/* waits to be read */

/**
 * struct twheel_query - a look at one timer, for TWHEEL_QUERY
 * @id: the timer; with @reserved, the only field that is read.
 * @remaining_ns: set on return: nanoseconds to the deadline, 0 when it has passed.
 * @deadline_ns: set on return: the deadline on the wheel's clock.
 * @interval_ns: set on return: the period, 0 for a timer that expires once.
 * @data: set on return: the caller's data.
 * @state: set on return: TWHEEL_PENDING or TWHEEL_EXPIRED.
 * @reserved: must be zero.
 */
struct twheel_query {
	__u64 id;
	__u64 remaining_ns;
	__u64 deadline_ns;
	__u64 interval_ns;
	__u64 data;
	__u32 state;
	__u32 reserved;
};

/**
 * struct twheel_info - parameters and counters of a wheel, for TWHEEL_INFO
 * @tick_ns: length of a tick.
 * @max_timers: number of timers the wheel may hold at once.
 * @wheel_size: buckets per level.
 * @clock_id: the wheel's clock.
 * @now_ns: the time on the wheel's clock.
 * @pending: timers that wait for their deadline.
 * @expired: timers that have expired and wait to be read.
 * @added: timers added since open.
 * @modified: deadlines changed since open.
 * @cancelled: timers cancelled since open.
 * @delivered: events read since open (a periodic timer's event counts once,
 *	however many periods it stands for).
 * @cascaded: moves of a timer from one level to a lower one since open.
 * @fires: expiries of the wheel's hrtimer since open.
 * @memory: bytes that the wheel, its buckets and its timers occupy now.
 * @levels: levels in use: 1, and one for each overflow wheel.
 * @reserved: set to zero on return.
 */
struct twheel_info {
	__u64 tick_ns;
	__u64 max_timers;
	__u32 wheel_size;
	__u32 clock_id;
	__u64 now_ns;
	__u64 pending;
	__u64 expired;
	__u64 added;
	__u64 modified;
	__u64 cancelled;
	__u64 delivered;
	__u64 cascaded;
	__u64 fires;
	__u64 memory;
	__u32 levels;
	__u32 reserved[5];
};

/**
 * struct twheel_batch - an array to work through, for TWHEEL_*_BATCH
 * @entries: address of the array: of struct twheel_add for TWHEEL_ADD_BATCH,
 *	of __u64 ids for TWHEEL_CANCEL_BATCH, of struct twheel_modify for
 *	TWHEEL_MODIFY_BATCH.
 * @count: number of entries.
 * @flags: must be zero.
 *
 * The entries are worked through in order, up to the first one that fails. The
 * ioctl returns how many were done; it fails only when the first one failed,
 * with that one's errno. Remaining entries are untouched.
 */
struct twheel_batch {
	__aligned_u64 entries;
	__u32 count;
	__u32 flags;
};

/**
 * struct twheel_event - one expired timer, as read() returns it
 * @id: the timer's id.
 * @data: the data given when it was added.
 * @deadline_ns: the deadline that passed, on the wheel's clock; with a @count
 *	above 1, the first one of them.
 * @count: 1; for a periodic timer the number of periods that have passed since
 *	it was last read. While more is due than one call expires, it can be fewer;
 *	the next event has the others.
 */
struct twheel_event {
	__u64 id;
	__u64 data;
	__u64 deadline_ns;
	__u64 count;
};

/* The most slots that TWHEEL_RING can be asked for: with them, a ring has 64 KiB. */
#define TWHEEL_RING_SLOTS_MAX	2044U

/* Flag of a ring: more is due than the last poll moved. */
#define TWHEEL_RING_MORE	(1U << 0)

/**
 * struct twheel_ring - events in memory that the program maps
 * @head: the slot of the next event to take. Written by the program with a store-release, after
 *	it has read the events before it.
 * @tail: the slot behind the last event. Written by the kernel, after the events before it:
 *	read it with a load-acquire.
 * @flags: 0 or TWHEEL_RING_MORE, as of @tail. Written by the kernel.
 * @reserved_head: not used; keeps @head and @tail in cache lines of their own.
 * @reserved_tail: not used.
 *
 * The slots follow this structure: an array of struct twheel_event. The first slot follows the
 * last one. At least one is empty: the ring holds no events when @head equals @tail.
 *
 * poll(), select(), epoll and io_uring's poll move events of timers that have expired to the
 * ring, where the program takes them without a system call. An event in the ring counts as
 * read, and stays when a clock is set back. The descriptor is readable while the ring holds events.
 * One poll moves a bounded number of events, and none that finds no empty slot; the others stay in
 * the wheel: a program that finds TWHEEL_RING_MORE after it has taken all events polls again.
 */
struct twheel_ring {
	__u32 head;
	__u32 reserved_head[15];
	__u32 tail;
	__u32 flags;
	__u32 reserved_tail[14];
};

/**
 * struct twheel_ring_setup - make the wheel's ring, or query it, for TWHEEL_RING
 * @slots: how many slots the ring should have: 2 to TWHEEL_RING_SLOTS_MAX; or 0 to make none.
 *	Set on return to how many slots fill its pages.
 * @size: set on return: bytes to map, with mmap(), MAP_SHARED, from offset 0.
 * @flags: must be zero.
 * @reserved: must be zero.
 *
 * A wheel has one ring, which stays until its last close; from then on read() fails with
 * EBUSY. When there is one, @slots may be any number, and what is returned describes it.
 * ENOENT without a ring when @slots is 0.
 */
struct twheel_ring_setup {
	__u32 slots;
	__u32 size;
	__u32 flags;
	__u32 reserved;
};

/**
 * struct twheel_listed - one timer, as TWHEEL_LIST returns it
 * @id: the timer's id.
 * @data: the data given when it was added.
 * @deadline_ns: its deadline on the wheel's clock.
 * @interval_ns: the period, 0 for a timer that expires once.
 * @state: TWHEEL_PENDING or TWHEEL_EXPIRED.
 * @reserved: set to zero on return.
 */
struct twheel_listed {
	__u64 id;
	__u64 data;
	__u64 deadline_ns;
	__u64 interval_ns;
	__u32 state;
	__u32 reserved;
};

/**
 * struct twheel_list - the timers of a wheel, a part at a time, for TWHEEL_LIST
 * @cursor: 0 to begin. Set on return to where the next call continues.
 * @entries: address of an array of struct twheel_listed, where timers are written.
 * @count: number of entries in the array.
 * @flags: must be zero.
 *
 * The ioctl returns how many timers it has written, in no order; 0 at the end, and then, as
 * when it fails, @cursor is left alone. A timer that exists from the first call of a walk to
 * its last one is returned exactly once, no id is returned twice, and none that was cancelled
 * before the call. A timer that is added during the walk may be returned. The timers are copied in
 * chunks, each a snapshot: they may have changed when the call returns. A cursor is valid for the
 * lifetime of the wheel.
 */
struct twheel_list {
	__u64 cursor;
	__aligned_u64 entries;
	__u32 count;
	__u32 flags;
};

#define TWHEEL_IOC_MAGIC	0xD3

#define TWHEEL_SETUP		_IOW(TWHEEL_IOC_MAGIC, 0x00, struct twheel_setup)
#define TWHEEL_ADD		_IOWR(TWHEEL_IOC_MAGIC, 0x01, struct twheel_add)
#define TWHEEL_CANCEL		_IOW(TWHEEL_IOC_MAGIC, 0x02, __u64)
#define TWHEEL_MODIFY		_IOW(TWHEEL_IOC_MAGIC, 0x03, struct twheel_modify)
#define TWHEEL_QUERY		_IOWR(TWHEEL_IOC_MAGIC, 0x04, struct twheel_query)
#define TWHEEL_INFO		_IOR(TWHEEL_IOC_MAGIC, 0x05, struct twheel_info)
#define TWHEEL_RING		_IOWR(TWHEEL_IOC_MAGIC, 0x06, struct twheel_ring_setup)
#define TWHEEL_ADD_BATCH	_IOW(TWHEEL_IOC_MAGIC, 0x11, struct twheel_batch)
#define TWHEEL_CANCEL_BATCH	_IOW(TWHEEL_IOC_MAGIC, 0x12, struct twheel_batch)
#define TWHEEL_MODIFY_BATCH	_IOW(TWHEEL_IOC_MAGIC, 0x13, struct twheel_batch)
#define TWHEEL_LIST		_IOWR(TWHEEL_IOC_MAGIC, 0x14, struct twheel_list)

/*
 * The cmd_op of io_uring commands (IORING_OP_URING_CMD) that have their arguments in the 16 bytes
 * of the SQE's cmd. An ioctl that adds, modifies or cancels is a command, too: cmd_op is its
 * number, the first 8 bytes of cmd are the address of its argument. All other bytes must be zero.
 */
#define TWHEEL_URING_CANCEL	_IO(TWHEEL_IOC_MAGIC, 0x20)	/* id */
#define TWHEEL_URING_MODIFY	_IO(TWHEEL_IOC_MAGIC, 0x21)	/* id, delay in ns */

#endif /* _UAPI_LINUX_TWHEEL_H */
