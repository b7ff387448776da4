/* SPDX-License-Identifier: MIT */
/*
 * libtwheel - millions of timers for programs
 *
 * Timers with a callback, for any event loop. They are in a wheel in the program's own memory, or
 * in /dev/twheel, whose ioctls are the functions of libtwheel-device.h. An event loop waits for
 * twheel_loop_fd(); or, with TWHEEL_LOOP_TIMEOUT, as long as twheel_loop_timeout() says. After
 * that, it calls twheel_loop_dispatch(). A program without one calls twheel_loop_run().
 *
 * A function that fails has changed nothing. libtwheel(3) has first programs, and describes the
 * memory of timers, time, callbacks, threads, fork() and debugging.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <linux/twheel.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The version of this header, also as MAJOR << 16 | MINOR << 8 | PATCH. */
#define LIBTWHEEL_VERSION		"1.0.0"
#define LIBTWHEEL_VERSION_NUMBER	0x010000

/* Units of time: 5 * TWHEEL_SEC. */
#define TWHEEL_USEC	1000ULL
#define TWHEEL_MSEC	1000000ULL
#define TWHEEL_SEC	1000000000ULL

/**
 * twheel_version() - the version of the library that the program runs with
 *
 * Return: "MAJOR.MINOR.PATCH", which is independent of the version of the loaded module.
 */
const char *twheel_version(void);

struct twheel_loop;
struct twheel_handle;

/**
 * typedef twheel_callback - called when a timer expires
 * @loop: the loop.
 * @handle: the timer. It is no longer running, unless it repeats.
 */
typedef void twheel_callback(struct twheel_loop *loop, struct twheel_handle *handle);

/**
 * typedef twheel_unarmed - called for a timer that could not be armed
 * @loop: the loop.
 * @handle: the timer. It is no longer running.
 * @error: why: ENOSPC at a limit, ENOMEM without memory.
 *
 * A limit is hit when the loop is flushed, or when a timer that was postponed or repeats is
 * rearmed. The callback may do the same as other callbacks. A timer that it starts is armed in the
 * same flush if there is room. If not, the next flush reports it again: after a tenth of a second
 * at most, or in a program that waits for the device's descriptor, when a timer expires.
 */
typedef void twheel_unarmed(struct twheel_loop *loop, struct twheel_handle *handle, int error);

/**
 * typedef twheel_resolve - find the handle for a timer of the kernel by its data
 * @loop: the loop, which outlives a process: see @resolve in struct twheel_loop_config.
 * @data: the @data of the handle, as a number.
 *
 * Return: the handle; or NULL, or one without a callback, and the timer is dropped.
 */
typedef struct twheel_handle *twheel_resolve(struct twheel_loop *loop, uint64_t data);

/* The values of @backend in struct twheel_loop_config. */
#define TWHEEL_BACKEND_ANY	0	/* the best one for @flags */
#define TWHEEL_BACKEND_DEVICE	1	/* /dev/twheel */
#define TWHEEL_BACKEND_USER	2	/* the program's memory */

/* The bits of @flags in struct twheel_loop_config. */
#define TWHEEL_LOOP_KERNEL	0x1U	/* _ANY is the device if it works */
#define TWHEEL_LOOP_TIMEOUT	0x2U	/* not twheel_loop_wait(), but twheel_loop_timeout() */

/*
 * The values of @clock in struct twheel_loop_config. They are not those of clock_gettime(), of
 * which CLOCK_REALTIME is 0, the default here.
 */
#define TWHEEL_CLOCK_REALTIME	0x10000U
#define TWHEEL_CLOCK_MONOTONIC	0x10001U
#define TWHEEL_CLOCK_BOOTTIME	0x10007U
#define TWHEEL_CLOCK_TAI	0x1000bU
#define TWHEEL_CLOCK_MANUAL	0x1ffffU	/* begins at 0; twheel_loop_advance() moves it */

/**
 * struct twheel_loop_config - loop parameters; 0 means default, as TWHEEL_TICK_DEFAULT_NS
 * @tick_ns: length of a tick in nanoseconds, TWHEEL_TICK_MIN_NS to TWHEEL_TICK_MAX_NS.
 * @max_timers: how many timers may be armed at once; by default as many as the module allows,
 *	and in user space any number.
 * @wheel_size: buckets per level, TWHEEL_SIZE_MIN to TWHEEL_SIZE_MAX.
 * @clock: TWHEEL_CLOCK_MONOTONIC, the default, or TWHEEL_CLOCK_BOOTTIME; or one that can be
 *	set: TWHEEL_CLOCK_REALTIME, or TWHEEL_CLOCK_TAI over the device. twheel_start_at() then
 *	takes calendar time, and timers follow the clock when it is set, forward and back. With
 *	TWHEEL_CLOCK_MANUAL, the timers are in the program's memory, without a descriptor.
 * @backend: TWHEEL_BACKEND_ANY, or the required one. _ANY selects the device with
 *	TWHEEL_LOOP_KERNEL if it works, and user space otherwise; or what the environment
 *	variable TWHEEL_BACKEND holds, unless the loop is waited for by time.
 * @flags: bits of TWHEEL_LOOP_*. With _TIMEOUT, the program waits as long as
 *	twheel_loop_timeout() says.
 * @unarmed: called for each timer that could not be armed. Without it, flushing fails.
 * @data: the caller's; twheel_loop_data() returns it.
 * @resolve: for a loop over the device that another process may adopt; or NULL. The kernel then
 *	stores @data of each handle, a number that is valid in the next process, such as that of
 *	an order. twheel_again() changes the kernel's timer each time.
 * @reserved: must be zero.
 */
struct twheel_loop_config {
	uint64_t tick_ns;
	uint64_t max_timers;
	uint32_t wheel_size;
	uint32_t clock;
	uint32_t backend;
	uint32_t flags;
	twheel_unarmed *unarmed;
	void *data;
	twheel_resolve *resolve;
	uint64_t reserved[3];
};

/**
 * twheel_loop_new() - make a loop
 * @config: the parameters, or NULL for the defaults.
 *
 * Return: the loop; or NULL with errno set: EINVAL for an invalid config or environment variable,
 * ENOSPC for more timers or memory than the module allows, ENOMEM, EMFILE, ENODEV for a device
 * that is not a wheel, or an error of open() if the required device cannot be opened.
 */
struct twheel_loop *twheel_loop_new(const struct twheel_loop_config *config);

/**
 * twheel_loop_adopt() - make a loop over a wheel that has timers
 * @fd: the wheel: inherited, or received from another process. It had a loop with @resolve,
 *	or timers of twheel_add_batch(), with deadlines above 0. On success, the loop owns it.
 * @config: the parameters, with @resolve. Tick, size, limit and clock are the wheel's: 0 here.
 *
 * Timers for which @resolve returns a handle are running in the loop, with their deadlines and
 * periods; others are cancelled. Of two with the same data, the later one stays.
 * The first dispatch calls back for expired timers: first for the events that the previous process
 * had received, and may have handled before it died. @resolve returns NULL for those that are done.
 *
 * If it fails, the wheel keeps all timers except those for which @resolve returned NULL, and
 * the handles must be initialised again.
 *
 * Return: the loop; or NULL with errno set: EINVAL for an invalid config, EBADF, ENODEV or EIO if
 * @fd is not a wheel, EOPNOTSUPP from a module that is too old, ENOSPC, ENOMEM, EOWNERDEAD in a
 * child that @resolve has forked.
 */
struct twheel_loop *twheel_loop_adopt(int fd, const struct twheel_loop_config *config);

/**
 * twheel_loop_free() - drop a loop with all its timers
 * @loop: the loop, or NULL.
 *
 * No callback is called, and no function of a message: messages that were posted may be posted
 * again. Its descriptor is closed, unless the number is another kind of file's. Nothing may act on
 * the loop any more. libtwheel(3) says which handles must be initialised again.
 */
void twheel_loop_free(struct twheel_loop *loop);

/**
 * twheel_loop_fd() - the descriptor to wait for
 * @loop: the loop.
 *
 * It is readable (POLLIN, EPOLLIN) when twheel_loop_dispatch() should be called. Programs must do
 * nothing but wait for it. It is closed on exec. With TWHEEL_LOOP_TIMEOUT, it is readable only for
 * messages that other threads post, which they can do from the first call on, and for timers of the
 * device.
 *
 * Return: the descriptor, always the same; or -1 with errno set: EINVAL without a loop, or with
 * TWHEEL_CLOCK_MANUAL, EMFILE, ENOMEM, EBADF, EIO, EOWNERDEAD after fork().
 */
int twheel_loop_fd(struct twheel_loop *loop);

/**
 * twheel_loop_timeout() - make all changes take effect, and return how long to wait
 * @loop: the loop, with TWHEEL_LOOP_TIMEOUT or TWHEEL_CLOCK_MANUAL.
 *
 * Ends the turn of the program: the next use of the loop's time reads the clock. On a clock that
 * can be set, or that runs while the machine is suspended, it returns a second at most.
 *
 * Return: nanoseconds until the next timer expires, 0 if one has, -1 if there is none, or if the
 * descriptor of the device shows it; with errno 0. If it cannot make all changes, as at a limit, a
 * tenth of a second at most, with errno set as for twheel_loop_flush(); the next call tries again.
 * Or -1 with errno set: EINVAL without a loop, for one that is not waited for by time, and over the
 * device before twheel_loop_fd(); EOWNERDEAD after fork().
 */
int64_t twheel_loop_timeout(struct twheel_loop *loop);

/**
 * twheel_loop_advance() - let time pass on a loop's own clock, and dispatch
 * @loop: the loop, with TWHEEL_CLOCK_MANUAL.
 * @ns: how long, up to TWHEEL_TIME_MAX_NS, where the clock stops.
 *
 * Flushes and dispatches in each tick with timers, and at the end: what a callback starts expires,
 * too. A timer that it starts to expire at once is called a tick later.
 *
 * Return: how many callbacks and functions of messages were called; or -1 with errno set: EINVAL
 * for a loop with another clock; or as for twheel_loop_dispatch(), with the time of the failure.
 */
int twheel_loop_advance(struct twheel_loop *loop, uint64_t ns);

/**
 * twheel_loop_backend() - the backend of a loop
 * @loop: the loop.
 *
 * Return: TWHEEL_BACKEND_DEVICE or TWHEEL_BACKEND_USER; or -1 with errno EINVAL without a loop.
 */
int twheel_loop_backend(const struct twheel_loop *loop);

/**
 * twheel_loop_data() - the caller's data
 * @loop: the loop.
 *
 * Return: @data of the config; NULL without a loop.
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
 * twheel_loop_update() - let the loop's time be the current one, as after long work
 * @loop: the loop.
 *
 * Return: 0; or -1 with errno EINVAL without a loop.
 */
int twheel_loop_update(struct twheel_loop *loop);

/**
 * twheel_loop_flush() - make all changes take effect, as the next dispatch would
 * @loop: the loop.
 *
 * Ends the turn of the program, as twheel_loop_timeout(). May call @unarmed, and no other callback.
 * After an error, changes that were not made wait for the next flush.
 *
 * Return: 0; or -1 with errno set: ENOSPC or ENOMEM, without @unarmed; EOWNERDEAD after
 * fork(); EINVAL without a loop; EBADF, EIO if the descriptor is another file's, or another error
 * of twheel(4).
 */
int twheel_loop_flush(struct twheel_loop *loop);

/**
 * twheel_loop_dispatch() - call back for all timers that have expired
 * @loop: the loop.
 *
 * Reads the clock, and runs the messages that other threads posted, then the callbacks of the
 * timers that are due at that time, in the order of their ticks. Flushes, except with
 * TWHEEL_LOOP_TIMEOUT. After that, the descriptor is readable again only for new events.
 *
 * Return: how many callbacks and functions of messages were called; or -1 with errno set, as for
 * twheel_loop_flush(): timers that have expired then wait for the next dispatch.
 */
int twheel_loop_dispatch(struct twheel_loop *loop);

/**
 * twheel_loop_wait() - flush, wait and dispatch, for programs without a loop
 * @loop: the loop.
 * @timeout_ns: the longest time to wait in nanoseconds; -1 for any time, 0 for none.
 *
 * It waits even if timers could not be armed at a limit, as timers that expire make room. If some
 * still cannot be armed after that, or after a tenth of a second, it returns -1.
 *
 * Return: 0 when the time has passed; or as for twheel_loop_dispatch(), and -1 with errno EINTR
 * when a signal ended the wait, EMFILE without a descriptor, EINVAL for a loop that is waited for
 * by time.
 */
int twheel_loop_wait(struct twheel_loop *loop, int64_t timeout_ns);

/**
 * twheel_loop_run() - wait and dispatch until twheel_loop_count() is 0, or twheel_loop_stop()
 * @loop: the loop.
 *
 * To wait for messages alone, start a timer with a delay of TWHEEL_TIME_MAX_NS.
 *
 * Return: 0; or -1 with errno set, as for twheel_loop_wait(), but signals do not end it.
 */
int twheel_loop_run(struct twheel_loop *loop);

/**
 * twheel_loop_stop() - make twheel_loop_run() return
 * @loop: the loop.
 *
 * For callbacks, functions of messages, and signal handlers. All timers that have expired are
 * called before it returns, and the others keep running. Of nested runs, the innermost one ends;
 * without a run, the next one.
 *
 * Return: 0; or -1 with errno set: EINVAL without a loop, or for one that cannot run, EOWNERDEAD
 * after fork().
 */
int twheel_loop_stop(struct twheel_loop *loop);

/**
 * twheel_loop_count() - how many timers are running, without those of twheel_unref()
 * @loop: the loop.
 *
 * Return: how many; or -1 with errno set: EINVAL without a loop, EOWNERDEAD after fork().
 */
int64_t twheel_loop_count(struct twheel_loop *loop);

/**
 * twheel_loop_walk() - call a function for each running timer
 * @loop: the loop.
 * @visit: called once for each timer. It may start, stop and free any timer, and must return.
 *
 * Timers that @visit starts are not visited. It cannot flush, dispatch, wait or walk.
 *
 * Return: 0; or -1 with errno set: EINVAL without a loop or a function, EBUSY within a walk,
 * EOWNERDEAD after fork().
 */
int twheel_loop_walk(struct twheel_loop *loop, twheel_callback *visit);

/**
 * struct twheel_message - a function to call in another thread's loop
 * @call: called once in the thread of the loop, by twheel_loop_dispatch(). The message is
 *	the caller's again when it is called: it may be freed or posted.
 * @next: private. Zero before the message is used for the first time.
 *
 * To hand a timer over, put both into one structure, and start or stop the timer in @call.
 */
struct twheel_message {
	void (*call)(struct twheel_loop *loop, struct twheel_message *message);
	struct twheel_message *next;
};

/**
 * twheel_loop_post() - call a function in the thread of a loop
 * @loop: the loop. It must not be freed concurrently.
 * @message: the message, with its function.
 *
 * May be called by any thread, and by a signal handler. Messages are called in the order in which
 * they were posted. With TWHEEL_LOOP_TIMEOUT, the loop needs its descriptor: twheel_loop_fd().
 *
 * Return: 0; or -1 with errno set: EALREADY if the message is still posted; EINVAL without a
 * loop, a message or a function, or for a loop that nothing can wake; EOWNERDEAD after fork();
 * EBADF, EIO, ENOSPC, ENOMEM, or another error of twheel(4) if waking it fails.
 */
int twheel_loop_post(struct twheel_loop *loop, struct twheel_message *message);

/**
 * struct twheel_handle - a timer of a loop
 * @callback: called when it expires.
 * @data: the caller's.
 * @count: for the callback of a timer that repeats: periods since the last one; usually 1.
 *
 * The caller owns the memory, and keeps it while the timer runs. A handle of zeros, except for
 * @callback, is initialised: calloc() and { .callback = f } are enough.
 */
struct twheel_handle {
	twheel_callback *callback;
	void *data;
	uint64_t count;
	/* private: the rest is the library's. */
	uint32_t state;
	uint32_t reserved;
	struct twheel_loop *loop;
	uint64_t deadline;
	uint64_t interval;
	/* The user-space wheel's part of a timer; over the device, links and id. */
	void *link[2];
	uint64_t armed;
	uint64_t where;
};

/**
 * twheel_handle_init() - initialise a timer's memory
 * @handle: the timer, which is not running; or NULL, and nothing happens.
 * @callback: called when it expires.
 * @data: the caller's.
 */
static inline void twheel_handle_init(struct twheel_handle *handle, twheel_callback *callback,
				      void *data)
{
	if (!handle)
		return;
	memset(handle, 0, sizeof(*handle));
	handle->callback = callback;
	handle->data = data;
}

/**
 * twheel_start() - start a timer
 * @loop: the loop to run it in.
 * @handle: the timer. If it is running in this loop, it starts again with this delay.
 * @delay_ns: nanoseconds from the loop's time; a sum beyond TWHEEL_TIME_MAX_NS saturates.
 *
 * Return: 0; or -1 with errno set: EXDEV when it is running in another loop, EINVAL for a delay
 * above TWHEEL_TIME_MAX_NS and without a loop, a handle or a callback; EOWNERDEAD after fork();
 * EBADF or EIO if the loop cannot be woken, as its descriptor was closed or is another file's; or,
 * for an earlier deadline of a running timer, as twheel_stop().
 */
int twheel_start(struct twheel_loop *loop, struct twheel_handle *handle, uint64_t delay_ns);

/**
 * twheel_start_at() - start a timer with a deadline
 * @loop: the loop to run it in.
 * @handle: the timer.
 * @deadline_ns: the time, on the loop's clock. One that has passed is not an error.
 *
 * Return: as twheel_start().
 */
int twheel_start_at(struct twheel_loop *loop, struct twheel_handle *handle, uint64_t deadline_ns);

/**
 * twheel_repeat() - start a timer that expires periodically
 * @loop: the loop to run it in.
 * @handle: the timer.
 * @delay_ns: when it expires first, as for twheel_start().
 * @interval_ns: its period, 1 to TWHEEL_TIME_MAX_NS.
 *
 * It keeps its phase. A late callback is called once for all the periods that have passed.
 *
 * Return: as twheel_start(), and EINVAL for an interval that is out of range.
 */
int twheel_repeat(struct twheel_loop *loop, struct twheel_handle *handle, uint64_t delay_ns,
		  uint64_t interval_ns);

#define TWHEEL_SAME_DELAY	(TWHEEL_TIME_MAX_NS + 1)	/* for twheel_again() */

/**
 * twheel_again() - postpone a timer, or start it again
 * @handle: the timer. It has been started before, and may have expired or been stopped.
 * @delay_ns: as for twheel_start(); or TWHEEL_SAME_DELAY, for the delay of its last
 *	twheel_start(), or for its period.
 *
 * Made for timeouts that are postponed with each message. A timer that repeats continues from the
 * new deadline. A timer that has stopped starts in the loop it was in, and expires once.
 *
 * Return: 0; or -1 with errno set: EINVAL for a delay above TWHEEL_TIME_MAX_NS, without a
 * handle, for one that was never started, and for the delay of one that was started by
 * twheel_start_at() or adopted; EOWNERDEAD after fork(); or, when it starts or gets an earlier
 * deadline, as twheel_start().
 */
int twheel_again(struct twheel_handle *handle, uint64_t delay_ns);

/*
 * The fast path, which only stores the deadline, is inline: a call costs seven instructions more.
 * So handles and the loop's first two members stay as they are in later versions.
 */
static inline int twheel_again_inline(struct twheel_handle *handle, uint64_t delay_ns)
{
	if (handle && handle->loop) {
		/* A loop begins with its time and a limit of delays, 0 while the time is unset. */
		const uint64_t *loop = (const uint64_t *)handle->loop;
		uint64_t deadline = loop[0] + delay_ns;

		if (__builtin_expect(delay_ns < loop[1] && deadline >= handle->armed, 1)) {
			handle->deadline = deadline;
			return 0;
		}
	}
	return twheel_again(handle, delay_ns);
}

#define twheel_again(handle, delay_ns)	twheel_again_inline(handle, delay_ns)

/**
 * twheel_stop() - stop a timer
 * @handle: the timer, or NULL.
 *
 * Its callback is not called any more, even if it has expired. Code that cleans up may ignore
 * the result: without the device, a stop never fails in the loop's own process.
 *
 * Return: 1 if it was running, 0 if not; or -1 with errno set: EOWNERDEAD after fork(); or, when
 * changes had to be flushed and that failed, as twheel_loop_flush(): it is still running.
 */
int twheel_stop(struct twheel_handle *handle);

/**
 * twheel_is_running() - whether a timer is running
 * @handle: the timer, or NULL.
 *
 * Return: 1 from its start until it expires or is stopped; else 0.
 */
static inline int twheel_is_running(const struct twheel_handle *handle)
{
	return handle && (handle->state & 3);
}

/**
 * twheel_unref() - let a timer, such as a heartbeat, not keep twheel_loop_run() waiting
 * @handle: the timer, running or not. It stays so until twheel_ref(), or it is initialised.
 *
 * Return: 0; or -1 with errno set: EINVAL without a handle, EOWNERDEAD after fork() if it runs.
 */
int twheel_unref(struct twheel_handle *handle);

/**
 * twheel_ref() - let a timer keep twheel_loop_run() waiting again
 * @handle: the timer.
 *
 * Return: as twheel_unref().
 */
int twheel_ref(struct twheel_handle *handle);

/**
 * twheel_set_interval() - change the period of a running timer
 * @handle: the timer.
 * @interval_ns: the period after the next expiry, up to TWHEEL_TIME_MAX_NS; 0 if that is the last.
 *
 * The next deadline stays. A timer that was started to expire once repeats from now on.
 *
 * Return: 0; or -1 with errno set: ENOENT when it is not running, EINVAL for an interval out
 * of range and without a handle, EOWNERDEAD after fork().
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

#ifdef __cplusplus
}
#endif
