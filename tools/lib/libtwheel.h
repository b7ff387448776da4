/* SPDX-License-Identifier: MIT */
/*
 * libtwheel - timers by the million, for programs
 *
 * There are two layers, and most programs want the upper one.
 *
 * The loop: timers with a callback, for any event loop. It runs over a wheel in the
 * program's own memory and a timerfd, or over /dev/twheel. The program's loop goes like
 * this:
 *
 *	static void idle(struct twheel_loop *loop, struct twheel_handle *handle)
 *	{
 *		close_connection(handle->data);
 *	}
 *
 *	struct twheel_loop *loop = twheel_loop_new(NULL);
 *	struct twheel_handle timeout = { .callback = idle, .data = connection };
 *
 *	twheel_start(loop, &timeout, 60 * TWHEEL_SEC);
 *	add twheel_loop_fd(loop) to epoll, for EPOLLIN
 *	for (;;) {
 *		epoll_wait(...);
 *		for each socket with a message:
 *			twheel_again(&timeout, 60 * TWHEEL_SEC);
 *		if twheel_loop_fd(loop) is ready:
 *			twheel_loop_dispatch(loop);
 *	}
 *
 * A program without an event loop calls twheel_loop_run() instead.
 *
 * The calls: the ioctls of /dev/twheel as functions. One call of the kernel for each, the
 * structures of <linux/twheel.h> as they are, no state. For programs that share a wheel,
 * or have no loop.
 *
 * Unless said otherwise a function returns 0, or -1 with errno set. What failed has
 * changed nothing.
 *
 * Threads: the calls may be used by several threads on one descriptor. A loop and its
 * handles belong to one thread, and so does every function that is passed one of them, but
 * for twheel_loop_post().
 */
#ifndef LIBTWHEEL_H
#define LIBTWHEEL_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

#include <linux/twheel.h>

#ifdef __cplusplus
extern "C" {
#endif

#pragma GCC visibility push(default)

/* Units of time: 5 * TWHEEL_SEC. */
#define TWHEEL_USEC	1000ULL
#define TWHEEL_MSEC	1000000ULL
#define TWHEEL_SEC	1000000000ULL

/**
 * twheel_version() - which version of the library this is
 *
 * Return: "MAJOR.MINOR.PATCH". It says nothing of the module that is loaded.
 */
const char *twheel_version(void);

/*
 * The loop
 *
 * Time. Delays count from the loop's time. In callbacks, after a start, and by hand
 * (TWHEEL_LOOP_BY_HAND) always, that is the time when it was first needed since the last
 * flush or dispatch: all calls see one time, as in other event loops. A delay may thus end
 * early by as long as the program has been working since; twheel_loop_update() has the clock
 * read again. In other places the clock is read for each call. No callback comes before its
 * deadline, and it comes at the first tick at or after it, plus the time it takes the
 * program to wake up and call twheel_loop_dispatch().
 *
 * Changes are collected in memory, and take effect at the next flush, in batches. The
 * first start after a flush makes the descriptor readable, with one system call, and
 * twheel_loop_dispatch() flushes. A program that calls twheel_loop_flush() before each wait
 * does without that call: TWHEEL_LOOP_BY_HAND. There, a timer that is started and stopped
 * between two flushes never reaches the kernel. twheel_again() is no change as long as it
 * puts a deadline off: the timer is armed once more when the old deadline has passed.
 *
 * Callbacks may start, stop and free any handle, their own included. They may leave by
 * longjmp() or, in C++, an exception: the others that expired are not lost, and are called
 * by the next dispatch. After a longjmp(), flush: nothing wakes the program for them before.
 * Callbacks may call twheel_loop_dispatch(). They must not free the loop. The same goes for
 * the functions of messages.
 *
 * fork(): the loop stays the parent's. In the child, every function that acts on it or on
 * one of its timers fails with EOWNERDEAD, except twheel_loop_free(): that gives back the
 * memory, and does nothing to the parent's timers. Then initialise the handles, and start
 * them in a new loop. (twheel_stop() of a timer whose start was not flushed returns 0: no
 * wheel has it. A child made by a raw clone() is noticed by flush, dispatch, wait and post.)
 *
 * A loop that was freed: functions that are passed one of its handles, or the loop itself,
 * fail with ESTALE and touch nothing, until another loop takes its place in memory. For a
 * handle that had expired or was stopped before, that holds for ever.
 *
 * Debugging: with TWHEEL_DEBUG=1 in the environment, each flush and dispatch checks the
 * memory of all running handles, and that one thread alone uses the loop. What is wrong is
 * printed, and the program aborts.
 */
struct twheel_loop;
struct twheel_handle;
struct twheel_message;

/**
 * typedef twheel_callback - what is called when a timer expires
 * @loop: the loop.
 * @handle: the timer. It is no longer running, unless it repeats.
 */
typedef void twheel_callback(struct twheel_loop *loop, struct twheel_handle *handle);

/**
 * typedef twheel_next_deadline - says when a timer is to expire next
 * @handle: the timer.
 * @now_ns: the loop's time.
 *
 * Called when twheel_schedule() starts the timer, and each time it expires, just before
 * its callback. It must not start or stop anything.
 *
 * Return: the next deadline on the loop's clock; above TWHEEL_TIME_MAX_NS, there is none.
 */
typedef uint64_t twheel_next_deadline(struct twheel_handle *handle, uint64_t now_ns);

/**
 * typedef twheel_unarmed - what is called for a timer that cannot be had
 * @loop: the loop.
 * @handle: the timer. It is no longer running.
 * @error: why: ENOSPC at a limit, ENOMEM without memory.
 *
 * A start does not fail for want of room: that shows when the loop is flushed, or when a
 * timer that was put off or repeats is to be armed again. The callback may do what the
 * others may. What it starts waits for the next flush, so that a timer which is started
 * again and again does not keep this one from returning.
 */
typedef void twheel_unarmed(struct twheel_loop *loop, struct twheel_handle *handle, int error);

/**
 * typedef twheel_visit - called by twheel_loop_walk() for each running timer
 * @loop: the loop.
 * @handle: the timer. The function may stop and free it, and no other one.
 * @arg: the argument of twheel_loop_walk().
 *
 * Return: 0 to go on; anything else ends the walk.
 */
typedef int twheel_visit(struct twheel_loop *loop, struct twheel_handle *handle, void *arg);

/* The values of @backend in struct twheel_loop_config. */
#define TWHEEL_BACKEND_ANY	0	/* what is best for @flags */
#define TWHEEL_BACKEND_DEVICE	1	/* /dev/twheel */
#define TWHEEL_BACKEND_USER	2	/* the program's memory and a timerfd */

/* The bits of @flags in struct twheel_loop_config. */

/*
 * Changes do not wake the program: it calls twheel_loop_flush() before each wait. The fastest
 * way: calls between two flushes share one time and one system call.
 */
#define TWHEEL_LOOP_BY_HAND	0x1U

/* twheel_loop_walk() works; a start and a stop cost more, and a start may fail with ENOMEM. */
#define TWHEEL_LOOP_WALKABLE	0x2U

/*
 * The timers are kept in the kernel where there is the device: its tools and tracepoints show
 * them, limits and accounting are those of the module, and cascades are its work.
 */
#define TWHEEL_LOOP_KERNEL	0x4U

/**
 * struct twheel_loop_config - loop parameters; 0 means default
 * @tick_ns: length of a tick in nanoseconds, TWHEEL_TICK_MIN_NS to TWHEEL_TICK_MAX_NS;
 *	usually TWHEEL_TICK_DEFAULT_NS.
 * @max_timers: how many timers may be armed at once; usually as many as the module allows,
 *	and without the module any number.
 * @wheel_size: buckets per level, TWHEEL_SIZE_MIN to TWHEEL_SIZE_MAX; usually
 *	TWHEEL_SIZE_DEFAULT.
 * @clock_id: CLOCK_MONOTONIC or CLOCK_BOOTTIME; usually the former.
 * @backend: TWHEEL_BACKEND_ANY, or the only one that will do. _ANY is the device with
 *	TWHEEL_LOOP_KERNEL where it works, and user space otherwise. With _ANY, the
 *	environment variable TWHEEL_BACKEND may hold "device" or "user".
 * @flags: bits of TWHEEL_LOOP_*.
 * @unarmed: called for each timer that cannot be had. Without it, flushing fails, and
 *	timers that could not be armed wait for the next flush.
 * @data: the caller's; twheel_loop_data() returns it.
 * @reserved: must be zero.
 */
struct twheel_loop_config {
	uint64_t tick_ns;
	uint64_t max_timers;
	uint32_t wheel_size;
	uint32_t clock_id;
	uint32_t backend;
	uint32_t flags;
	twheel_unarmed *unarmed;
	void *data;
	uint64_t reserved[4];
};

/**
 * twheel_loop_new() - make a loop
 * @config: how it is to be, or NULL for all as usual.
 *
 * With TWHEEL_BACKEND_ANY, a device that cannot be opened, or that is no wheel, makes for a
 * loop in user space.
 *
 * Return: the loop; or NULL with errno set: EINVAL for an invalid config or environment
 * variable, ENOSPC for more timers than the module allows, ENOMEM, EMFILE, ENODEV for a
 * device that is no wheel, or why the device that was asked for cannot be opened.
 */
struct twheel_loop *twheel_loop_new(const struct twheel_loop_config *config);

/**
 * twheel_loop_free() - drop a loop with all its timers
 * @loop: the loop, or NULL.
 *
 * No callback is called, and no function of a message: messages that were posted may be
 * posted again. The handles that were running are as good as not initialised.
 */
void twheel_loop_free(struct twheel_loop *loop);

/**
 * twheel_loop_fd() - the descriptor to wait for
 * @loop: the loop.
 *
 * It is readable (POLLIN, EPOLLIN) when there is something for twheel_loop_dispatch() to
 * do. It is to be waited for and nothing else. It is closed on exec.
 *
 * Return: the descriptor; or -1 with errno EINVAL.
 */
int twheel_loop_fd(const struct twheel_loop *loop);

/**
 * twheel_loop_backend() - what a loop runs over
 * @loop: the loop.
 *
 * Return: TWHEEL_BACKEND_DEVICE or TWHEEL_BACKEND_USER; or -1 with errno EINVAL.
 */
int twheel_loop_backend(const struct twheel_loop *loop);

/**
 * twheel_loop_data() - the caller's data
 * @loop: the loop.
 *
 * Return: what the config had; NULL without a loop.
 */
void *twheel_loop_data(const struct twheel_loop *loop);

/**
 * twheel_loop_now() - the loop's time
 * @loop: the loop.
 *
 * Return: nanoseconds on its clock; 0 with errno EINVAL without a loop.
 */
uint64_t twheel_loop_now(struct twheel_loop *loop);

/**
 * twheel_loop_update() - have the loop's time read anew when it is needed next
 * @loop: the loop.
 *
 * After work that took long, so that delays do not end early.
 */
int twheel_loop_update(struct twheel_loop *loop);

/**
 * twheel_loop_flush() - have all changes take effect, before the program waits
 * @loop: the loop.
 *
 * Costs next to nothing when nothing has changed. May call the callback for timers that
 * could not be armed, and no other one.
 *
 * Return: 0; or -1 with errno set, and what could not be done waits for the next flush:
 * ENOSPC or ENOMEM, if there is no callback for that; EOWNERDEAD after fork(); EINVAL
 * without a loop; or what twheel(4) lists for a descriptor that is no wheel.
 */
int twheel_loop_flush(struct twheel_loop *loop);

/**
 * twheel_loop_dispatch() - call back for all timers that have expired
 * @loop: the loop.
 *
 * Runs what other threads posted, then the callbacks in the order of their ticks, and
 * flushes. Does not wait. What the callbacks start comes with the next dispatch at the
 * earliest, even if it is due at once. After it, the descriptor is readable again only for
 * something new: edge-triggered epoll may be used.
 *
 * Call it when the descriptor is readable, and after messages have been read: a connection
 * that has just spoken is then not taken for idle.
 *
 * Return: how many callbacks were called; or -1 with errno set, as for twheel_loop_flush():
 * timers that have expired then wait for the next dispatch.
 */
int twheel_loop_dispatch(struct twheel_loop *loop);

/**
 * twheel_loop_take() - take timers that have expired, in place of callbacks
 * @loop: the loop.
 * @handles: set to the timers, in the order of their ticks.
 * @max: how many fit, at least 1.
 *
 * As twheel_loop_dispatch(), but no callback is called: for languages where that costs much.
 * One that repeats is running again, and its count is set; the others are not running. What
 * did not fit comes with the next call, and the descriptor stays readable.
 *
 * Return: how many were taken; or -1 with errno set, as for twheel_loop_dispatch(), and
 * EINVAL without room.
 */
ssize_t twheel_loop_take(struct twheel_loop *loop, struct twheel_handle **handles, size_t max);

/**
 * twheel_loop_wait() - flush, wait and dispatch, for programs without a loop
 * @loop: the loop.
 * @timeout_ms: the longest time to wait in milliseconds; -1 for any time, 0 for none.
 *
 * Timers that could not be armed for want of room do not keep it from waiting: those that
 * expire make room. Then, or after a tenth of a second, it returns -1.
 *
 * Return: how many callbacks and functions of messages were called; 0 when the time has
 * passed; or -1 with errno set, as for twheel_loop_dispatch(), and EINTR when a signal ended
 * the wait.
 */
int twheel_loop_wait(struct twheel_loop *loop, int timeout_ms);

/**
 * twheel_loop_run() - wait and dispatch until no timer is left
 * @loop: the loop.
 *
 * Ends when twheel_loop_count() is 0, or after a callback has called twheel_loop_stop().
 *
 * Return: 0; or -1 with errno set, as for twheel_loop_wait(): it may be called again.
 */
int twheel_loop_run(struct twheel_loop *loop);

/**
 * twheel_loop_stop() - have twheel_loop_run() return
 * @loop: the loop.
 *
 * For callbacks and functions of messages. The callbacks of all timers that have expired are
 * called before it returns. The timers go on running. Of runs within runs, the innermost one
 * ends. Without one, the next run ends at once.
 *
 * Return: 0; or -1 with errno set: EINVAL without a loop, EOWNERDEAD after fork().
 */
int twheel_loop_stop(struct twheel_loop *loop);

/**
 * twheel_loop_count() - how many timers are running
 * @loop: the loop.
 *
 * With what twheel_loop_ref() adds and twheel_loop_unref() takes away; never below 0.
 *
 * Return: how many; or -1 with errno set: EINVAL without a loop, EOWNERDEAD after fork().
 */
int64_t twheel_loop_count(struct twheel_loop *loop);

/**
 * twheel_loop_ref() - have twheel_loop_run() wait for one thing more
 * @loop: the loop.
 *
 * For messages that other threads may post; and before a timer is stopped for which
 * twheel_loop_unref() was called.
 *
 * Return: as twheel_loop_stop().
 */
int twheel_loop_ref(struct twheel_loop *loop);

/**
 * twheel_loop_unref() - have twheel_loop_run() wait for one timer less
 * @loop: the loop.
 *
 * After the start of a timer that does not keep the program running, such as one that
 * repeats for ever.
 *
 * Return: as twheel_loop_stop().
 */
int twheel_loop_unref(struct twheel_loop *loop);

/**
 * twheel_loop_walk() - visit all running timers
 * @loop: the loop, made with TWHEEL_LOOP_WALKABLE.
 * @visit: called for each timer, in no order.
 * @arg: passed to it.
 *
 * Return: 0, or what @visit returned if that was not 0; or -1 with errno set: EOPNOTSUPP for
 * another loop, EINVAL without a loop or a function, EOWNERDEAD after fork().
 */
int twheel_loop_walk(struct twheel_loop *loop, twheel_visit *visit, void *arg);

/**
 * struct twheel_message - something to do in another thread's loop
 * @call: called once in the thread of the loop, by twheel_loop_dispatch(). The message is
 *	the caller's again then: it may be freed or posted.
 * @next: private. Zero before the message is used for the first time.
 *
 * The caller owns the memory, and keeps it until @call is called. To hand a timer over,
 * put a message and a handle into one structure, and start or stop it in @call.
 */
struct twheel_message {
	void (*call)(struct twheel_loop *loop, struct twheel_message *message);
	struct twheel_message *next;
};

/**
 * twheel_loop_post() - have something done in the thread of a loop
 * @loop: the loop. It must not be freed at the same time.
 * @message: what to do.
 *
 * May be called by any thread. Messages are called in the order in which they were posted.
 * Those of a loop that is freed first are never called, and may be posted again.
 *
 * Return: 0; or -1 with errno set, and the message is not posted: EALREADY if it still is;
 * EINVAL without a loop, a message or a function; EOWNERDEAD after fork(); ESTALE for a
 * loop that was freed; ENOSPC, ENOMEM
 * or what twheel(4) lists besides when the loop cannot be woken.
 */
int twheel_loop_post(struct twheel_loop *loop, struct twheel_message *message);

/**
 * struct twheel_handle - a timer of a loop
 * @callback: called when it expires.
 * @data: the caller's.
 * @count: for the callback of a timer that repeats: how many periods have passed since the
 *	last one; usually 1.
 *
 * The caller owns the memory, and keeps it while the timer runs. Once it has expired, and
 * once twheel_stop() has returned 0, the loop never touches it again. One whose bytes are
 * zero but for @callback is initialised: calloc() and { .callback = f } will do.
 */
struct twheel_handle {
	twheel_callback *callback;
	void *data;
	uint32_t count;
	/* private: the rest is the library's. */
	uint32_t state;
	struct twheel_loop *loop;
	uint64_t deadline;
	union {
		uint64_t interval;
		twheel_next_deadline *next;
	} repeat;
	/* What the wheel in user space knows of a timer; over the device, links and id. */
	void *link[2];
	uint64_t armed;
	uint64_t where;
};

/**
 * twheel_handle_init() - get a timer's memory ready
 * @handle: the timer, which is not running; or NULL, and nothing happens.
 * @callback: called when it expires.
 * @data: the caller's.
 */
void twheel_handle_init(struct twheel_handle *handle, twheel_callback *callback, void *data);

/**
 * twheel_handle_new() - allocate a timer
 * @callback: called when it expires.
 * @data: the caller's.
 *
 * For languages that cannot have the struct. Its first three members are public.
 *
 * Return: the timer; or NULL with errno ENOMEM.
 */
struct twheel_handle *twheel_handle_new(twheel_callback *callback, void *data);

/**
 * twheel_handle_free() - stop a timer that twheel_handle_new() made, and free it
 * @handle: the timer, or NULL. Its loop may have been freed.
 */
void twheel_handle_free(struct twheel_handle *handle);

/**
 * twheel_handle_size() - how much memory a timer takes
 *
 * For languages that have memory of their own for it.
 *
 * Return: sizeof(struct twheel_handle) as the library was compiled.
 */
size_t twheel_handle_size(void);

/**
 * twheel_start() - start a timer
 * @loop: the loop it is to run in.
 * @handle: the timer.
 * @delay_ns: nanoseconds from the loop's time; what is beyond TWHEEL_TIME_MAX_NS on the
 *	clock counts as that.
 *
 * Return: 0; or -1 with errno set: EALREADY when it is running, EXDEV when it is running in
 * another loop, EINVAL for a delay above TWHEEL_TIME_MAX_NS and without a loop, a handle or
 * a callback; EOWNERDEAD after fork(); ESTALE for a loop that was freed.
 */
int twheel_start(struct twheel_loop *loop, struct twheel_handle *handle, uint64_t delay_ns);

/**
 * twheel_start_at() - start a timer that is to expire at a certain time
 * @loop: the loop it is to run in.
 * @handle: the timer.
 * @deadline_ns: the time, on the loop's clock. One that has passed is not an error.
 *
 * Return: as twheel_start().
 */
int twheel_start_at(struct twheel_loop *loop, struct twheel_handle *handle,
		    uint64_t deadline_ns);

/**
 * twheel_repeat() - start a timer that expires again and again
 * @loop: the loop it is to run in.
 * @handle: the timer.
 * @delay_ns: when it expires first, as for twheel_start().
 * @interval_ns: its period, 1 to TWHEEL_TIME_MAX_NS.
 *
 * It keeps its phase. A callback that comes late comes once for all the periods that have
 * passed, and @handle->count tells how many. In it the timer is running: it may be stopped.
 *
 * Return: as twheel_start(), and EINVAL for an interval that is out of range.
 */
int twheel_repeat(struct twheel_loop *loop, struct twheel_handle *handle, uint64_t delay_ns,
		  uint64_t interval_ns);

/**
 * twheel_schedule() - start a timer whose deadlines come from a function
 * @loop: the loop it is to run in.
 * @handle: the timer.
 * @next: says each deadline, the first one too.
 *
 * When @next says that there is none, the timer has ended: its callback is called for the
 * last deadline, and it is no longer running. If there is not even a first one, it does
 * not start.
 *
 * Return: as twheel_start(), and EINVAL without a function.
 */
int twheel_schedule(struct twheel_loop *loop, struct twheel_handle *handle,
		    twheel_next_deadline *next);

/**
 * twheel_again() - put a timer's deadline off, or start it again
 * @handle: the timer. It has been started before, and may have expired or been stopped.
 * @delay_ns: nanoseconds from the loop's time to the new deadline, as for twheel_start().
 *
 * Made for timeouts that are put off with each message: as long as the new deadline is not
 * before the one that the kernel knows, all that happens is that it is written down. What
 * repeats goes on repeating from the new deadline. A timer that has stopped starts in the
 * loop it was in, and expires once.
 *
 * Return: 0; or -1 with errno set: EINVAL for a delay above TWHEEL_TIME_MAX_NS, without a
 * handle, and for one that was never started; EOWNERDEAD after fork(); ESTALE when the loop
 * it was in has been freed; or, when the deadline is to be an earlier one, as twheel_stop().
 */
int twheel_again(struct twheel_handle *handle, uint64_t delay_ns);

/* As far as it is only about writing the deadline down, programs do that by themselves. */
static inline int twheel_again_inline(struct twheel_handle *handle, uint64_t delay_ns)
{
	if (handle && handle->loop) {
		/* A loop begins with its time; while that is not known, the sum is too large. */
		uint64_t deadline = *(const uint64_t *)handle->loop + delay_ns;

		if (deadline >= handle->armed && (deadline | delay_ns) <= TWHEEL_TIME_MAX_NS) {
			handle->deadline = deadline;
			return 0;
		}
	}
	return twheel_again(handle, delay_ns);
}

#define twheel_again(handle, delay_ns)	twheel_again_inline(handle, delay_ns)

/**
 * twheel_stop() - stop a timer
 * @handle: the timer.
 *
 * Return: 0, and its callback is not called any more, even if it has expired; or -1 with
 * errno set: ENOENT when it was not running; EINVAL without a handle; EOWNERDEAD after
 * fork(); ESTALE when its loop has been freed; or, when there were changes to be flushed and
 * that failed, as twheel_loop_flush(): it is running still.
 */
int twheel_stop(struct twheel_handle *handle);

/**
 * twheel_is_running() - is a timer running
 * @handle: the timer, or NULL.
 *
 * Return: 1 from its start until it expires or is stopped; else 0.
 */
int twheel_is_running(const struct twheel_handle *handle);

/**
 * twheel_set_interval() - change the period of a running timer
 * @handle: the timer.
 * @interval_ns: the period, from the next time it expires on: up to TWHEEL_TIME_MAX_NS. 0:
 *	it expires once more, and has ended.
 *
 * When it expires next stays as it is; twheel_again() changes that. A timer that was started
 * to expire once repeats from now on, and so does one of twheel_schedule().
 *
 * Return: 0; or -1 with errno set: ENOENT when it is not running, EINVAL for an interval out
 * of range and without a handle, EOWNERDEAD after fork(), ESTALE when its loop has been
 * freed.
 */
int twheel_set_interval(struct twheel_handle *handle, uint64_t interval_ns);

/**
 * twheel_remaining() - how long until a timer expires
 * @handle: the timer.
 *
 * Return: nanoseconds from the loop's time, 0 when the deadline has passed; or -1 with errno
 * set: ENOENT when it is not running, EINVAL without a handle.
 */
int64_t twheel_remaining(const struct twheel_handle *handle);

/*
 * The calls
 *
 * Their errors are those that twheel(4) lists.
 */
#define TWHEEL_DEVICE	"/dev/twheel"

/**
 * twheel_open() - make a wheel
 * @path: the device, or NULL for TWHEEL_DEVICE.
 * @flags: 0, or O_NONBLOCK and O_CLOEXEC, as for open().
 *
 * close() drops the wheel with all its timers.
 *
 * Return: a file descriptor, or -1 with errno set.
 */
int twheel_open(const char *path, int flags);

/**
 * twheel_set_up() - set the parameters of a wheel, once, before its first timer
 * @fd: the wheel.
 * @setup: the parameters.
 *
 * Return: 0, or -1 with errno set.
 */
int twheel_set_up(int fd, const struct twheel_setup *setup);

/**
 * twheel_add_timer() - arm a timer
 * @fd: the wheel.
 * @add: the timer. @add->id is set when the call succeeds.
 *
 * Return: 0, or -1 with errno set.
 */
int twheel_add_timer(int fd, struct twheel_add *add);

/**
 * twheel_cancel_timer() - make sure that a timer will not be read any more
 * @fd: the wheel.
 * @id: the timer.
 *
 * Return: 0 when the timer will never be read, even if it had expired; -1 with
 * errno ENOENT when it was read or cancelled before, or never existed.
 */
int twheel_cancel_timer(int fd, uint64_t id);

/**
 * twheel_modify_timer() - give a timer that has not been read a new deadline
 * @fd: the wheel.
 * @id: the timer.
 * @time_ns: the new delay, or with TWHEEL_ABSTIME the new deadline.
 * @flags: 0 or TWHEEL_ABSTIME.
 *
 * Return: 0, or -1 with errno set.
 */
int twheel_modify_timer(int fd, uint64_t id, uint64_t time_ns, uint32_t flags);

/**
 * twheel_query_timer() - look at a timer
 * @fd: the wheel.
 * @id: the timer.
 * @query: filled in when the call succeeds.
 *
 * Return: 0, or -1 with errno set.
 */
int twheel_query_timer(int fd, uint64_t id, struct twheel_query *query);

/**
 * twheel_get_info() - read the parameters and counters of a wheel
 * @fd: the wheel.
 * @info: filled in when the call succeeds.
 *
 * Return: 0, or -1 with errno set.
 */
int twheel_get_info(int fd, struct twheel_info *info);

/**
 * twheel_add_batch() - arm many timers
 * @fd: the wheel.
 * @adds: the timers. The id of each that was added is set.
 * @count: number of timers.
 *
 * Return: how many were added, in order from the first one; -1 with errno set
 * when the first one failed.
 */
int twheel_add_batch(int fd, struct twheel_add *adds, uint32_t count);

/**
 * twheel_cancel_batch() - cancel many timers
 * @fd: the wheel.
 * @ids: the timers.
 * @results: set for each timer: 0, or ENOENT if it was read or cancelled before, or never
 *	existed. Or NULL.
 * @count: number of timers.
 *
 * With @results, a timer that is not there does not keep the others from being cancelled; it
 * takes one or two calls of the kernel more. Without, this is one call, which stops at the
 * first timer that is not there, as twheel_add_batch() does.
 *
 * Return: how many were cancelled; or -1 with errno set. With @results that is only for
 * errors that are not of one timer, and the results that were not set are -1.
 */
int twheel_cancel_batch(int fd, const uint64_t *ids, int *results, uint32_t count);

/**
 * twheel_modify_batch() - give many timers new deadlines
 * @fd: the wheel.
 * @mods: the timers and their deadlines.
 * @results: set for each timer: 0, or the errno of twheel_modify_timer(). Or NULL.
 * @count: number of timers.
 *
 * With @results all are worked through, as with twheel_cancel_batch().
 *
 * Return: how many were modified; or -1 with errno set, as for twheel_cancel_batch().
 */
int twheel_modify_batch(int fd, const struct twheel_modify *mods, int *results,
			uint32_t count);

/**
 * twheel_read() - take expired timers
 * @fd: the wheel.
 * @events: set to the timers that expired, in the order of their ticks.
 * @max: number of events that fit.
 *
 * Waits for at least one, unless the wheel was opened with O_NONBLOCK.
 *
 * Return: how many were taken, or -1 with errno set: EAGAIN when there was none
 * and the wheel does not block, EINTR when a signal ended the wait.
 */
ssize_t twheel_read(int fd, struct twheel_event *events, size_t max);

/**
 * twheel_now() - the time on a wheel's clock
 * @clock_id: the clock of the wheel, as in struct twheel_info.
 * @now_ns: set to the time in nanoseconds.
 *
 * Return: 0, or -1 with errno set.
 */
int twheel_now(uint32_t clock_id, uint64_t *now_ns);

/**
 * twheel_deadline() - when a delay ends
 * @now_ns: when it begins.
 * @delay_ns: the delay.
 *
 * Return: the sum, or TWHEEL_TIME_MAX_NS where the sum is later than that.
 */
uint64_t twheel_deadline(uint64_t now_ns, uint64_t delay_ns);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif

#endif /* LIBTWHEEL_H */
