/* SPDX-License-Identifier: MIT */
/*
 * The interface between a loop and its two backends; libtwheel.h is the public one
 *
 * new.c chooses the backend; loop.c decides when a timer is armed and when its callback is
 * called. A backend holds timers until they expire: device.c in the kernel, user.c in a wheel in
 * the program's memory.
 */
#pragma once

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>

#include <linux/kernel.h>
#include <linux/list.h>

/* The public functions alone are exported. */
#pragma GCC visibility push(default)
#include "libtwheel-device.h"
#pragma GCC visibility pop
#pragma GCC visibility push(hidden)

/* How many timers are armed, cancelled or read in one call of the kernel. */
#define BATCH			512

/* How long to wait for timers to expire while others cannot be armed. */
#define RETRY_NS		(100 * TWHEEL_MSEC)

/* The number of the clock that twheel_loop_advance() moves */
#define CLOCK_MANUAL		(TWHEEL_CLOCK_MANUAL - TWHEEL_CLOCK_REALTIME)

/* A time that does not come, later than any deadline; @armed of an idle handle */
#define NEVER			UINT64_MAX

/*
 * The bits of @state. A linked handle is in one of the lists of its loop, an armed one in the
 * backend, where it expires at @armed; any other is idle. The last bits are for those that repeat,
 * and that do not keep a run waiting.
 */
#define LINKED			0x01
#define ARMED			0x02
#define RUNNING			(LINKED | ARMED) /* programs have it: twheel_is_running() */
#define REPEATS			0x10
#define UNREF			0x20

typedef void list_function(struct twheel_loop *loop, struct list_head *list);

/* The backend of a loop. Functions return 0, or -1 with errno set if they fail. */
struct backend {
	int number;	/* TWHEEL_BACKEND_DEVICE or TWHEEL_BACKEND_USER */
	/* Drop all timers, the descriptor, and all memory except the loop's own. */
	void (*free)(struct twheel_loop *loop);
	/* Arm an idle handle, or link it to @changes for @flush. Returns 0. */
	int (*arm)(struct twheel_loop *loop, struct twheel_handle *handle);
	/* Make an armed handle idle. Returns 1; or fails, as in a child of fork(). */
	int (*disarm)(struct twheel_loop *loop, struct twheel_handle *handle);
	/* Arm the handles of @flushing. */
	int (*flush)(struct twheel_loop *loop);
	/*
	 * Read the clock, and move all expired timers to @expired. Returns 1 if it has to be called
	 * @again when these have been called, for the rest that was due the first time.
	 */
	int (*collect)(struct twheel_loop *loop, bool again);
	/* Make the descriptor readable, in any thread or signal handler. */
	int (*wake)(struct twheel_loop *loop);
	/* The same until the next flush, for the loop's thread. */
	int (*alarm)(struct twheel_loop *loop);
	/* Return when to dispatch next, or NEVER. NULL if the descriptor shows it. */
	uint64_t (*next)(struct twheel_loop *loop);
	/* Call a function for each list of armed handles, at least of those due by a time. */
	void (*each_list)(struct twheel_loop *loop, uint64_t until, list_function *act);
};

struct twheel_loop {
	/*
	 * Its time in this turn of the program, which ends with a flush before the program waits
	 * again; and the limit from which on a delay ends after the end of time. Between two turns
	 * the limit is 0, and the time unset, or CLOCK_MANUAL's. twheel_again() reads both.
	 */
	uint64_t now;
	uint64_t delay_limit;
	struct backend backend;		/* its own copy, which checks, collects or refuses */
	uint32_t process;		/* the number of its process; a child may not use it */
	bool is_watched;		/* the program waits for the descriptor: it shows timers */
	bool has_fd;			/* the program has asked for the descriptor. Atomic */
	bool stopped;			/* twheel_loop_stop() was called */
	bool is_quiet;			/* a flush does not report refused timers */
	u64 nr_running;			/* number of running handles, without those with UNREF */
	struct list_head changes;	/* handles that wait to be armed by the next flush */
	struct list_head flushing;	/* those that the last flush has not armed */
	struct list_head expired;	/* handles whose callbacks are due */
	/* With @resolve, the kernel has the data of handles instead of their addresses. */
	struct twheel_loop_config config;
	struct twheel_message *posted;	/* by any thread, the newest first */
	struct twheel_message *arrived;	/* taken and not called, the oldest first */
	clockid_t clock_id;
	int fd;				/* its descriptor; -1 until it is needed */
	const struct backend *real;	/* the backend that it runs over */
	twheel_callback *visit;		/* what twheel_loop_walk() calls */
	pid_t thread;			/* the thread that dispatches, or 0; for check.c */
	struct list_head all;		/* all loops */
};

/* Each returns a loop with @fd, @clock_id and @real set; or NULL with errno set. */
struct twheel_loop *twheel_user_new(const struct twheel_setup *setup);
/* Without @setup, it is over the wheel of the descriptor. */
struct twheel_loop *twheel_device_new(const struct twheel_setup *setup, int fd);

/* Set the descriptor for the next wait; make it first if there is none. Returns 0, or -1. */
int twheel_user_open(struct twheel_loop *loop);

/* Take over the events and the timers that the wheel has. */
int twheel_device_adopt(struct twheel_loop *loop);

static inline struct list_head *handle_link(struct twheel_handle *handle)
{
	return (struct list_head *)handle->link;
}

static inline struct twheel_handle *linked_handle(struct list_head *link)
{
	return container_of(link, struct twheel_handle, link);
}

static inline int link_change(struct twheel_loop *loop, struct twheel_handle *handle)
{
	handle->state |= LINKED;
	list_add_tail(handle_link(handle), &loop->changes);
	return 0;
}

/* Count a handle that begins to run, if it keeps a run waiting. */
static inline void note_running(struct twheel_loop *loop, const struct twheel_handle *handle)
{
	if (likely(!(handle->state & UNREF)))
		loop->nr_running++;
}

/* Mark a handle idle: it is in no list, and no backend has it. */
static inline void set_idle(struct twheel_loop *loop, struct twheel_handle *handle)
{
	if (likely(!(handle->state & UNREF)))
		loop->nr_running--;
	handle->state &= ~RUNNING;
	handle->armed = NEVER;
}

static inline void unlink_handle(struct twheel_loop *loop, struct twheel_handle *handle)
{
	list_del(handle_link(handle));
	set_idle(loop, handle);
}

/* Return true if a start between two turns has to make the descriptor readable. */
static inline bool needs_alarm(const struct twheel_loop *loop)
{
	return loop->is_watched && loop->fd >= 0;
}

static inline int fail(int error)
{
	errno = error;
	return -1;
}

static inline bool is_timed(const struct twheel_loop_config *config)
{
	return config->flags & TWHEEL_LOOP_TIMEOUT || config->clock == TWHEEL_CLOCK_MANUAL;
}

/* Return true if the kernel, or the limit of the loop, has no room for more timers. */
static inline bool is_no_room(int error)
{
	return error == ENOSPC || error == ENOMEM;
}

/* Fail with an error of a system call, which shows if the descriptor is another file's. */
static inline int fail_call(void)
{
	return fail(errno == EINVAL || errno == ENOTTY ? EIO : errno);
}

/* Return the time of a clock that exists. */
static inline uint64_t read_clock(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return now.tv_sec * TWHEEL_SEC + now.tv_nsec;
}

static inline uint64_t loop_clock(const struct twheel_loop *loop)
{
	return likely(loop->clock_id != CLOCK_MANUAL) ? read_clock(loop->clock_id) : loop->now;
}

/* Let this turn, or the rest of it, have the current time. */
static inline void set_time(struct twheel_loop *loop)
{
	loop->now = loop_clock(loop);
	loop->delay_limit = TWHEEL_TIME_MAX_NS + 1 - loop->now;
}

static inline void end_turn(struct twheel_loop *loop)
{
	loop->delay_limit = 0;
}

/* Initialise what loops of both backends share. Returns the loop; NULL stays NULL. */
struct twheel_loop *twheel_loop_init(struct twheel_loop *loop,
				     const struct twheel_loop_config *config);

/* The number of a process with loops; 0 in a child until it makes one. */
extern uint32_t *twheel_process_page;
/* Map that page, before the first loop. Returns 0; or -1 with errno set. */
int twheel_loop_watch_forks(void);
/* Let loops refuse in children that the process forks. */
void twheel_loop_register(struct twheel_loop *loop);
void twheel_loop_unregister(struct twheel_loop *loop);

/* With TWHEEL_DEBUG, let the loop check the memory of its timers, and which thread uses it. */
void twheel_loop_add_checks(struct twheel_loop *loop);
void twheel_loop_check_handle(struct twheel_loop *loop, struct twheel_handle *handle);
void twheel_loop_check_event(struct twheel_loop *loop, struct twheel_handle *handle, uint64_t id);

/* Return 0 if this process may use the loop; or -1 with errno set. */
static inline int twheel_loop_check(struct twheel_loop *loop)
{
	if (likely(loop && loop->process == __atomic_load_n(twheel_process_page, __ATOMIC_RELAXED)))
		return 0;
	return fail(loop ? EOWNERDEAD : EINVAL);
}

/* Return true if something is left for dispatch(): the descriptor must be readable. */
bool twheel_loop_has_left(struct twheel_loop *loop);

/* Flip bits of @state of handles of @expired behind @after; put postponed ones to their places. */
void twheel_loop_order(struct twheel_loop *loop, struct list_head *after, uint32_t flips);

/* Report that a linked handle cannot be armed, by errno. 0 after the callback; or -1. */
int twheel_loop_report(struct twheel_loop *loop, struct twheel_handle *handle);

#pragma GCC visibility pop
