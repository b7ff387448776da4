// SPDX-License-Identifier: MIT
/*
 * A loop without the module: the same wheel in the program's memory
 *
 * The private part of a handle is a struct twheel_timer of the core. A start puts its handle
 * into the wheel. But handles that are due, and all of a loop with a limit, wait for the next
 * flush. A loop has a timerfd if the program asks for its descriptor, or waits in
 * twheel_loop_wait(), which messages have to end.
 */
#include <stdlib.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <linux/bitmap.h>
#include <linux/gfp.h>

#include "loop.h"
#include "twheel.h"

/* The time of the timerfd is unknown: it has fired, or a message has set it. */
#define UNSET		UINT64_MAX

struct user {
	struct twheel_loop loop;
	struct twheel wheel;	/* its times are nanoseconds */
	uint64_t set_ns;	/* what the timerfd is set to, or UNSET; 0 is never. Atomic */
};

static struct user *user_of(struct twheel_loop *loop)
{
	return container_of(loop, struct user, loop);
}

static inline struct twheel_timer *timer_of(struct twheel_handle *handle)
{
	static_assert(sizeof(*handle) - offsetof(struct twheel_handle, link) ==
		      sizeof(struct twheel_timer), "a handle holds a timer of the core");
	static_assert(offsetof(struct twheel_handle, armed) -
		      offsetof(struct twheel_handle, link) ==
		      offsetof(struct twheel_timer, deadline), "its deadline too");
	return (struct twheel_timer *)handle->link;
}

static noinline int arm_slowpath(struct twheel_loop *loop, struct twheel_handle *handle)
{
	struct twheel *w = &user_of(loop)->wheel;

	/* One that is due at once waits for the next dispatch. A single one may be stopped soon. */
	if (handle->deadline <= w->time || (!w->nr_pending && list_empty(&loop->changes)))
		return link_change(loop, handle);
	twheel_add(w, timer_of(handle));
	handle->state |= ARMED;
	return 0;
}

static int user_arm(struct twheel_loop *loop, struct twheel_handle *handle)
{
	struct twheel *w = &user_of(loop)->wheel;
	struct twheel_level *level;
	unsigned long index;

	handle->armed = handle->deadline;
	if (unlikely(!twheel_find_level(w, handle->deadline, &level)))
		return arm_slowpath(loop, handle);
	index = twheel_index(level, handle->deadline);
	if (unlikely(handle->deadline < level->bucket[index].first_expiry))
		return arm_slowpath(loop, handle);
	twheel_insert(level, index, timer_of(handle));
	w->nr_pending++;
	handle->state |= ARMED;
	return 0;
}

static int user_disarm(struct twheel_loop *loop, struct twheel_handle *handle)
{
	/* Before the wheel's call, so that nothing is saved across that. */
	set_idle(loop, handle);
	twheel_cancel(&user_of(loop)->wheel, timer_of(handle));
	return 1;
}

/* Note the time before setting it: a message that is posted after this makes it unknown. */
static int set_timerfd(struct user *user, uint64_t time)
{
	uint64_t ns = time == NEVER ? 0 : time ?: 1;
	struct itimerspec spec = {
		.it_value = { .tv_sec = ns / TWHEEL_SEC, .tv_nsec = ns % TWHEEL_SEC },
	};

	if (ns == __atomic_load_n(&user->set_ns, __ATOMIC_SEQ_CST))
		return 0;
	__atomic_store_n(&user->set_ns, ns, __ATOMIC_SEQ_CST);
	if (!timerfd_settime(user->loop.fd, TFD_TIMER_ABSTIME, &spec, NULL))
		return 0;
	__atomic_store_n(&user->set_ns, UNSET, __ATOMIC_SEQ_CST);
	return fail_call();
}

/* Set the timerfd to a time that is long past. Without one, the loop does not wait. */
static int user_wake(struct twheel_loop *loop)
{
	const struct itimerspec past = { .it_value.tv_nsec = 1 };
	int fd = __atomic_load_n(&loop->fd, __ATOMIC_SEQ_CST);
	int ret;

	if (fd < 0)
		return 0;
	ret = timerfd_settime(fd, TFD_TIMER_ABSTIME, &past, NULL);
	__atomic_store_n(&user_of(loop)->set_ns, UNSET, __ATOMIC_SEQ_CST);
	return ret ? fail_call() : 0;
}

static uint64_t user_next(struct twheel_loop *loop)
{
	struct twheel *w = &user_of(loop)->wheel;
	u64 tick;

	if (w->nr_expired)
		return 0;
	if (!twheel_next(w, &tick) || tick * w->tick > S64_MAX)
		return NEVER;
	return tick * w->tick;
}

/* Set the timerfd to the time at which there is something to do, if the program waits for it. */
static int set_next(struct twheel_loop *loop)
{
	uint64_t next = needs_alarm(loop) ? user_next(loop) : NEVER;

	/* Timers that were refused, and started again. */
	if (unlikely(needs_alarm(loop) && loop->config.unarmed && !list_empty(&loop->flushing)))
		next = min(next, loop_clock(loop) + RETRY_NS);
	if (set_timerfd(user_of(loop), next))
		return -1;
	/* After that: a message could have been posted and its wake-up overwritten. */
	return twheel_loop_has_left(loop) ? set_timerfd(user_of(loop), 0) : 0;
}

int twheel_user_open(struct twheel_loop *loop)
{
	int fd = loop->fd;

	if (fd < 0)
		fd = timerfd_create(loop->clock_id, TFD_NONBLOCK | TFD_CLOEXEC);
	if (fd < 0)
		return -1;
	__atomic_store_n(&loop->fd, fd, __ATOMIC_SEQ_CST);
	/* In the middle of a turn, there may be something to flush. */
	return needs_alarm(loop) && loop->delay_limit ? user_wake(loop) : set_next(loop);
}

/* Armed timers wake the program even if some could not be armed. */
static noinline int arm_flushing(struct twheel_loop *loop)
{
	struct twheel *w = &user_of(loop)->wheel;
	uint64_t max = loop->config.max_timers;
	int error = 0;

	while (!error && !list_empty(&loop->flushing)) {
		struct twheel_handle *handle = linked_handle(loop->flushing.next);

		if (max && w->nr_pending + w->nr_expired >= max) {
			errno = ENOSPC;
			error = twheel_loop_report(loop, handle) ? errno : 0;
			continue;
		}
		list_del(handle_link(handle));
		handle->armed = handle->deadline;
		handle->state ^= LINKED | ARMED;
		twheel_add(w, timer_of(handle));
	}
	if (twheel_loop_check(loop) || (loop->fd >= 0 && set_next(loop)))
		return -1;
	return error ? fail(error) : 0;
}

/* Place all timers again if the clock has been set back, also those that have been collected. */
static noinline void follow_back(struct twheel_loop *loop)
{
	struct twheel *w = &user_of(loop)->wheel;
	uint64_t tick = twheel_floor(w, twheel_loop_now(loop));

	if (tick >= w->now)
		return;
	list_splice_tail_init(&loop->expired, &loop->flushing);
	while (twheel_rewind(w, tick, UINT_MAX))
		;
}

static int user_flush(struct twheel_loop *loop)
{
	if (unlikely(loop->clock_id == CLOCK_REALTIME))
		follow_back(loop);
	if (unlikely(!list_empty(&loop->flushing)))
		return arm_flushing(loop);
	return loop->fd >= 0 ? set_next(loop) : 0;
}

static int user_collect(struct twheel_loop *loop, bool again)
{
	struct user *user = user_of(loop);
	struct twheel *w = &user->wheel;
	uint64_t set_ns = __atomic_load_n(&user->set_ns, __ATOMIC_RELAXED);
	struct list_head *last;
	uint64_t tick;
	bool due;
	u64 next;

	set_time(loop);
	tick = twheel_floor(w, loop->now);
	if (unlikely(loop->clock_id == CLOCK_REALTIME))
		follow_back(loop);
	/* It has fired; or it may have, before the clock was set back. */
	if (set_ns && (set_ns <= loop->now || loop->clock_id == CLOCK_REALTIME))
		__atomic_store_n(&user->set_ns, UNSET, __ATOMIC_SEQ_CST);
	due = twheel_next(w, &next) && next <= tick;
	/* Cascading ahead of time may wait. */
	twheel_advance(w, tick, due || w->cascading_levels ? UINT_MAX : 0);
	last = loop->expired.prev;
	list_splice_tail_init(&w->expired, &loop->expired);
	w->nr_expired = 0;
	twheel_loop_order(loop, last, LINKED | ARMED);
	return 0;
}

static void user_each_list(struct twheel_loop *loop, uint64_t until, list_function *act)
{
	struct twheel *w = &user_of(loop)->wheel;
	unsigned int nr, i;

	for (nr = 0; nr < w->nr_levels; nr++) {
		struct twheel_level *level = w->level[nr];

		/* A crowd is opened ahead of its time. */
		for (i = find_first_bit(level->busy, level->size); i < level->size;
		     i = find_next_bit(level->busy, level->size, i + 1))
			if (level->bucket[i].first_expiry <= until + level->span)
				act(loop, &level->bucket[i].timers);
		act(loop, &level->cascading);
	}
	for (i = 0; i < TWHEEL_BINS; i++)
		act(loop, &w->sort->bins[i]);
	act(loop, &w->expired);
}

static void user_free(struct twheel_loop *loop)
{
	struct itimerspec spec;

	/* If the program has closed it, the number may be another file's. */
	if (!timerfd_gettime(loop->fd, &spec))
		close(loop->fd);
	twheel_destroy(&user_of(loop)->wheel);
}

static const struct backend user_backend = {
	.number = TWHEEL_BACKEND_USER,
	.free = user_free,
	.arm = user_arm,
	.disarm = user_disarm,
	.flush = user_flush,
	.collect = user_collect,
	.wake = user_wake,
	.alarm = user_wake,
	.next = user_next,
	.each_list = user_each_list,
};

struct twheel_loop *twheel_user_new(const struct twheel_setup *setup)
{
	struct twheel_level *level;
	struct twheel *w;
	struct user *user;

	/* A timerfd cannot have it. */
	if (setup->clock_id == CLOCK_TAI)
		return fail(EINVAL), NULL;
	user = calloc(1, sizeof(*user));
	if (!user)
		return NULL;
	user->loop.fd = -1;
	user->loop.clock_id = setup->clock_id;
	user->loop.real = &user_backend;
	w = &user->wheel;
	twheel_init(w, setup->tick_ns, setup->wheel_size,
		    loop_clock(&user->loop) / setup->tick_ns);
	/* Levels for all of time, so that a timer can be placed whenever it is due. */
	while (twheel_max_delay(w) < S64_MAX) {
		level = twheel_level_alloc(w, w->nr_levels, GFP_KERNEL);
		if (!level) {
			twheel_destroy(w);
			free(user);
			return fail(ENOMEM), NULL;
		}
		twheel_level_install(w, level);
	}
	return &user->loop;
}
