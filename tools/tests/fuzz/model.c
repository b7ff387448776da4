// SPDX-License-Identifier: MIT
/*
 * The wheel of one fuzzer, which knows everything about it; see fuzz.h
 *
 * Nobody else uses the wheel. So each call has one answer that is right, whatever
 * the time: a timer exists from when it is added until it is read or cancelled.
 */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/uio.h>
#include <unistd.h>

#include "clock.h"
#include "fuzz.h"
#include "tap.h"

/* A timer that is due must show within this time. */
#define PATIENCE_MS	20000

/* ---- What is known ------------------------------------------------------- */

static struct model_timer *find(struct model *model, uint64_t id)
{
	unsigned int i;

	for (i = 0; i < model->count; i++) {
		if (model->timer[i].id == id)
			return &model->timer[i];
	}
	return NULL;
}

static void forget(struct model *model, struct model_timer *timer)
{
	model->dead[model->nr_dead++ % FUZZ_DEAD] = timer->id;
	*timer = model->timer[--model->count];
}

static uint64_t saturate(uint64_t now, uint64_t delay)
{
	uint64_t sum = now + delay;

	return sum > TWHEEL_TIME_MAX_NS ? TWHEEL_TIME_MAX_NS : sum;
}

/* The deadline lies between what it would be @before and @after the call. */
static void set_deadline(struct model_timer *timer, uint64_t time_ns, uint32_t flags,
			 uint64_t before, uint64_t after)
{
	if (flags & TWHEEL_ABSTIME) {
		timer->earliest = time_ns;
		timer->latest = time_ns;
	} else {
		timer->earliest = saturate(before, time_ns);
		timer->latest = saturate(after, time_ns);
	}
}

/* An id that exists, or that did, or that never will. */
static uint64_t any_id(struct fuzzer *fuzzer)
{
	struct model *model = &fuzzer->model;
	struct chance *chance = &fuzzer->chance;
	unsigned int dice = chance_below(chance, 100);
	uint64_t id;

	if (dice < 80 && model->count)
		id = model->timer[chance_below(chance, model->count)].id;
	else if (dice < 95 && model->nr_dead)
		id = model->dead[chance_below(chance, model->nr_dead < FUZZ_DEAD ?
						      model->nr_dead : FUZZ_DEAD)];
	else
		id = chance_any_size(chance);
	if (chance_hit(chance, 3))
		id ^= 1ULL << chance_below(chance, 64);
	return id;
}

/* ---- Adding -------------------------------------------------------------- */

static bool time_is_valid(uint64_t time_ns, uint32_t flags, uint32_t reserved)
{
	return time_ns <= TWHEEL_TIME_MAX_NS && !(flags & ~TWHEEL_ABSTIME) && !reserved;
}

static bool add_is_valid(const struct model *model, const struct twheel_add *add)
{
	return time_is_valid(add->time_ns, add->flags, add->reserved) &&
	       (!add->interval_ns || (add->interval_ns >= model->tick_ns &&
				      add->interval_ns <= TWHEEL_TIME_MAX_NS));
}

/* What has to be the outcome for entry @i at @spot: 0 or minus an errno. */
static int expect_add(const struct model *model, const struct spot *spot, unsigned int i,
		      const struct twheel_add *add)
{
	size_t begin = i * sizeof(*add);

	if (spot->readable < begin + sizeof(*add))
		return -EFAULT;
	if (!add_is_valid(model, add))
		return -EINVAL;
	if (model->count + i >= model->max_timers)
		return -ENOSPC;
	if (spot->writable < begin + sizeof(add->id))
		return -EFAULT;
	return 0;
}

static void learn_add(struct fuzzer *fuzzer, const struct twheel_add *add, const char *at,
		      uint64_t before, uint64_t after)
{
	struct model *model = &fuzzer->model;
	struct model_timer *timer = &model->timer[model->count];
	uint64_t id;

	memcpy(&id, at + offsetof(struct twheel_add, id), sizeof(id));
	if (!id || find(model, id))
		fuzz_fail(fuzzer, "add returned id %#llx", (unsigned long long)id);
	timer->id = id;
	timer->data = add->data;
	timer->interval = add->interval_ns;
	set_deadline(timer, add->time_ns, add->flags, before, after);
	model->count++;
	model->added++;
}

/*
 * Levels of a large wheel may not be had; and while others have large ones, they may
 * leave nothing for the levels and timers of this one.
 */
static bool may_be_refused(const struct fuzzer *fuzzer, long ret)
{
	return fuzzer->tight && (ret > 0 || ret == -ENOSPC || ret == -ENOMEM);
}

/*
 * Compares what a batch returned with what it had to return: @expected are done,
 * and the next one fails with @error, unless it was the last.
 */
static bool batch_is_right(struct fuzzer *fuzzer, const char *what, long ret, long expected,
			   int error)
{
	struct twheel_info info = { };

	if (ret == (expected || !error ? expected : error))
		return true;
	if (ret < expected && may_be_refused(fuzzer, ret))
		return true;
	ioctl(fuzzer->model.fd, TWHEEL_INFO, &info);
	fuzz_fail(fuzzer,
		  "%s: %ld, not %ld, then %d; %u timers, in it %llu of %llu; %u levels, %llu bytes",
		  what, ret, expected, error, fuzzer->model.count,
		  (unsigned long long)(info.pending + info.expired),
		  (unsigned long long)info.max_timers, info.levels,
		  (unsigned long long)info.memory);
	return false;
}

/* Hands @count entries to @call; returns what it returned. */
static long call_batch(struct fuzzer *fuzzer, enum fuzz_call call, unsigned long cmd,
		       const struct spot *spot, uint32_t count)
{
	struct twheel_batch batch = { .entries = (uintptr_t)spot->at, .count = count };

	return fuzz_ioctl(fuzzer, call, fuzzer->model.fd, cmd, &batch);
}

static void fill(const struct spot *spot, const void *from, size_t size)
{
	if (spot->fill)
		memcpy(spot->fill, from, size < spot->readable ? size : spot->readable);
}

static unsigned int any_batch(struct fuzzer *fuzzer)
{
	return chance_below(&fuzzer->chance, chance_hit(&fuzzer->chance, 80) ? 10 : FUZZ_BATCH);
}

static void add_many(struct fuzzer *fuzzer, bool single)
{
	struct twheel_add add[FUZZ_BATCH];
	struct model *model = &fuzzer->model;
	unsigned int count = single ? 1 : any_batch(fuzzer), i, expected;
	uint64_t before, after;
	struct spot spot;
	int error = 0;
	long ret;

	if (model->count + count > FUZZ_TIMERS)
		return;
	for (i = 0; i < count; i++)
		any_add(fuzzer, model->clock, &add[i]);
	spot = memory_spot(&fuzzer->memory, &fuzzer->chance, count * sizeof(*add));
	fill(&spot, add, count * sizeof(*add));
	for (expected = 0; expected < count && !error; expected += !error)
		error = expect_add(model, &spot, expected, &add[expected]);

	before = now_on(model->clock);
	if (single)
		ret = fuzz_ioctl(fuzzer, CALL_ADD, model->fd, TWHEEL_ADD, spot.at) ?: 1;
	else
		ret = call_batch(fuzzer, CALL_ADD_BATCH, TWHEEL_ADD_BATCH, &spot, count);
	after = now_on(model->clock);
	if (!batch_is_right(fuzzer, "add", ret, expected, error))
		return;
	for (i = 0; (long)i < ret; i++)
		learn_add(fuzzer, &add[i], spot.at + i * sizeof(*add), before, after);
}

/* ---- Cancelling ---------------------------------------------------------- */

static void cancel_many(struct fuzzer *fuzzer, bool single)
{
	unsigned int count = single ? 1 : any_batch(fuzzer), done;
	struct model *model = &fuzzer->model;
	uint64_t id[FUZZ_BATCH];
	struct spot spot;
	int error = 0;
	long ret;

	for (done = 0; done < count; done++)
		id[done] = any_id(fuzzer);
	spot = memory_spot(&fuzzer->memory, &fuzzer->chance, count * sizeof(*id));
	fill(&spot, id, count * sizeof(*id));
	if (single)
		ret = fuzz_ioctl(fuzzer, CALL_CANCEL, model->fd, TWHEEL_CANCEL, spot.at) ?: 1;
	else
		ret = call_batch(fuzzer, CALL_CANCEL_BATCH, TWHEEL_CANCEL_BATCH, &spot, count);

	for (done = 0; done < count; done++) {
		struct model_timer *timer = find(model, id[done]);

		if (spot.readable < (done + 1) * sizeof(*id))
			error = -EFAULT;
		else if (!timer)
			error = -ENOENT;
		if (error)
			break;
		forget(model, timer);
		model->cancelled++;
	}
	batch_is_right(fuzzer, "cancel", ret, done, error);
}

/* ---- Modifying ----------------------------------------------------------- */

static int expect_modify(struct model *model, const struct spot *spot, unsigned int i,
			 const struct twheel_modify *modify)
{
	if (spot->readable < (i + 1) * sizeof(*modify))
		return -EFAULT;
	if (!time_is_valid(modify->time_ns, modify->flags, modify->reserved))
		return -EINVAL;
	return find(model, modify->id) ? 0 : -ENOENT;
}

static void modify_many(struct fuzzer *fuzzer, bool single)
{
	unsigned int count = single ? 1 : any_batch(fuzzer), i, expected;
	struct twheel_modify modify[FUZZ_BATCH];
	struct model *model = &fuzzer->model;
	uint64_t before, after;
	struct spot spot;
	int error = 0;
	long ret;

	for (i = 0; i < count; i++) {
		any_modify(fuzzer, model->clock, &modify[i]);
		modify[i].id = any_id(fuzzer);
	}
	spot = memory_spot(&fuzzer->memory, &fuzzer->chance, count * sizeof(*modify));
	fill(&spot, modify, count * sizeof(*modify));
	for (expected = 0; expected < count && !error; expected += !error)
		error = expect_modify(model, &spot, expected, &modify[expected]);

	before = now_on(model->clock);
	if (single)
		ret = fuzz_ioctl(fuzzer, CALL_MODIFY, model->fd, TWHEEL_MODIFY, spot.at) ?: 1;
	else
		ret = call_batch(fuzzer, CALL_MODIFY_BATCH, TWHEEL_MODIFY_BATCH, &spot, count);
	after = now_on(model->clock);
	if (!batch_is_right(fuzzer, "modify", ret, expected, error))
		return;
	for (i = 0; (long)i < ret; i++) {
		set_deadline(find(model, modify[i].id), modify[i].time_ns, modify[i].flags,
			     before, after);
		model->modified++;
	}
}

/* ---- Looking ------------------------------------------------------------- */

static void check_query(struct fuzzer *fuzzer, const struct model_timer *timer,
			const struct twheel_query *query, uint64_t now)
{
	if (query->id != timer->id || query->data != timer->data ||
	    query->interval_ns != timer->interval || query->reserved ||
	    query->deadline_ns < timer->earliest || query->deadline_ns > timer->latest ||
	    query->remaining_ns > query->deadline_ns || query->state > TWHEEL_EXPIRED ||
	    (query->state == TWHEEL_EXPIRED && query->deadline_ns > now))
		fuzz_fail(fuzzer, "looked up timer %#llx: deadline %llu, state %u",
			  query->id, query->deadline_ns, query->state);
}

static void query(struct fuzzer *fuzzer)
{
	struct model *model = &fuzzer->model;
	struct twheel_query query = {
		.id = any_id(fuzzer),
		.reserved = chance_hit(&fuzzer->chance, 5),
	};
	struct model_timer *timer = find(model, query.id);
	struct spot spot = memory_spot(&fuzzer->memory, &fuzzer->chance, sizeof(query));
	int expected = timer ? 0 : -ENOENT;
	long ret;

	fill(&spot, &query, sizeof(query));
	if (query.reserved)
		expected = -EINVAL;
	else if (timer && spot.writable < sizeof(query))
		expected = -EFAULT;
	if (spot.readable < sizeof(query))
		expected = -EFAULT;
	ret = fuzz_ioctl(fuzzer, CALL_QUERY, model->fd, TWHEEL_QUERY, spot.at);
	if (ret != expected) {
		fuzz_fail(fuzzer, "TWHEEL_QUERY returned %ld instead of %d", ret, expected);
	} else if (!ret) {
		memcpy(&query, spot.at, sizeof(query));
		check_query(fuzzer, timer, &query, now_on(model->clock));
		timer->earliest = query.deadline_ns;
		timer->latest = query.deadline_ns;
	}
}

static void check_info(struct fuzzer *fuzzer, const struct twheel_info *info)
{
	const struct model *model = &fuzzer->model;

	if (info->added != model->added || info->modified != model->modified ||
	    info->cancelled != model->cancelled || info->delivered != model->delivered ||
	    info->pending + info->expired != model->count ||
	    info->tick_ns != model->tick_ns || info->max_timers != model->max_timers ||
	    info->clock_id != (uint32_t)model->clock)
		fuzz_fail(fuzzer, "off by %+lld adds, %+lld modifies, %+lld cancels, %+lld reads",
			  (long long)(info->added - model->added),
			  (long long)(info->modified - model->modified),
			  (long long)(info->cancelled - model->cancelled),
			  (long long)(info->delivered - model->delivered));
}

static void info(struct fuzzer *fuzzer)
{
	struct twheel_info info;
	struct spot spot = memory_spot(&fuzzer->memory, &fuzzer->chance, sizeof(info));
	int expected = spot.writable < sizeof(info) ? -EFAULT : 0;
	long ret = fuzz_ioctl(fuzzer, CALL_INFO, fuzzer->model.fd, TWHEEL_INFO, spot.at);

	if (ret != expected) {
		fuzz_fail(fuzzer, "TWHEEL_INFO returned %ld instead of %d", ret, expected);
	} else if (!ret) {
		memcpy(&info, spot.at, sizeof(info));
		check_info(fuzzer, &info);
	}
}

/* ---- Reading ------------------------------------------------------------- */

static void learn_event(struct fuzzer *fuzzer, const struct twheel_event *event)
{
	struct model *model = &fuzzer->model;
	struct model_timer *timer = find(model, event->id);

	model->delivered++;
	if (!timer || event->data != timer->data || event->deadline_ns < timer->earliest ||
	    event->deadline_ns > timer->latest || event->deadline_ns > now_on(model->clock) ||
	    !event->count || (event->count > 1 && !timer->interval)) {
		const struct model_timer none = { };
		const struct model_timer *known = timer ?: &none;

		tap_note("timer %#jx has data %#jx and is due from %ju to %ju; it is %ju",
			 (uintmax_t)known->id, (uintmax_t)known->data,
			 (uintmax_t)known->earliest, (uintmax_t)known->latest,
			 (uintmax_t)now_on(model->clock));
		fuzz_fail(fuzzer, "an event of timer %#llx, data %#llx, deadline %llu, count %llu",
			  event->id, event->data, event->deadline_ns, event->count);
	} else if (timer->interval) {
		timer->earliest = saturate(event->deadline_ns, event->count * timer->interval);
		timer->latest = timer->earliest;
	} else {
		forget(model, timer);
	}
}

/* A buffer that lies in two pieces, with events across the border. */
static long read_pieces(struct fuzzer *fuzzer, const struct spot *spot, size_t size)
{
	size_t first = chance_below(&fuzzer->chance, size + 1);
	struct iovec piece[2] = {
		{ .iov_base = spot->at, .iov_len = first },
		{ .iov_base = spot->at + first, .iov_len = size - first },
	};

	return readv(fuzzer->model.fd, piece, 2);
}

static bool read_is_right(size_t size, const struct spot *spot, long ret)
{
	if (size < sizeof(struct twheel_event))
		return ret == -EINVAL || (!ret && !size) || (ret == -EFAULT && !spot->fill);
	if (ret == -EFAULT)
		return spot->writable < sizeof(struct twheel_event);
	if (ret == -EAGAIN)
		return true;
	return ret > 0 && (size_t)ret <= size && (size_t)ret <= spot->writable &&
	       !(ret % sizeof(struct twheel_event));
}

static void read_some(struct fuzzer *fuzzer)
{
	size_t size = chance_below(&fuzzer->chance, 20 * sizeof(struct twheel_event));
	struct spot spot = memory_spot(&fuzzer->memory, &fuzzer->chance, size);
	struct model *model = &fuzzer->model;
	struct twheel_event event;
	long ret, i;

	if (chance_hit(&fuzzer->chance, 30))
		ret = read_pieces(fuzzer, &spot, size);
	else
		ret = read(model->fd, spot.at, size);
	ret = fuzz_count(fuzzer, CALL_READ, ret < 0 ? -errno : ret);
	if (!read_is_right(size, &spot, ret)) {
		fuzz_fail(fuzzer, "read of %zu bytes returned %ld, %zu writable", size, ret,
			  spot.writable);
		return;
	}
	for (i = 0; i < ret; i += sizeof(event)) {
		memcpy(&event, spot.at + i, sizeof(event));
		learn_event(fuzzer, &event);
	}
}

/* Whether there is a timer that has to be readable: its tick has begun. */
static bool something_due(const struct model *model)
{
	uint64_t now = now_on(model->clock);
	unsigned int i;

	for (i = 0; i < model->count; i++) {
		if (model->timer[i].latest + model->tick_ns < now)
			return true;
	}
	return false;
}

static bool something_expired(const struct model *model)
{
	uint64_t now = now_on(model->clock);
	unsigned int i;

	for (i = 0; i < model->count; i++) {
		if (model->timer[i].earliest <= now)
			return true;
	}
	return false;
}

static void poll_wheel(struct fuzzer *fuzzer)
{
	const struct model *model = &fuzzer->model;
	struct pollfd pfd = { .fd = model->fd, .events = chance_next(&fuzzer->chance) | POLLIN };
	bool due = something_due(model);
	long ret = fuzz_count(fuzzer, CALL_POLL, poll(&pfd, 1, due ? PATIENCE_MS : 0));

	if (due && !(pfd.revents & POLLIN))
		fuzz_fail(fuzzer, "a timer is due, and poll returned %ld, %#x", ret, pfd.revents);
	if (ret && !something_expired(model))
		fuzz_fail(fuzzer, "nothing is due, and poll returned %ld, %#x", ret, pfd.revents);
}

/* ---- Setting up ---------------------------------------------------------- */

static int expect_setup(const struct fuzzer *fuzzer, const struct twheel_setup *setup)
{
	const struct model *model = &fuzzer->model;

	if (setup->flags || setup->reserved[0] || setup->reserved[1] || setup->reserved[2] ||
	    setup->tick_ns < TWHEEL_TICK_MIN_NS || setup->tick_ns > TWHEEL_TICK_MAX_NS ||
	    setup->wheel_size < TWHEEL_SIZE_MIN || setup->wheel_size > TWHEEL_SIZE_MAX ||
	    (setup->clock_id != CLOCK_MONOTONIC && setup->clock_id != CLOCK_BOOTTIME))
		return -EINVAL;
	if (setup->max_timers > fuzzer->fuzz->max_timers)
		return -ENOSPC;
	return model->is_set_up || model->added ? -EBUSY : 0;
}

static void set_up(struct fuzzer *fuzzer)
{
	struct model *model = &fuzzer->model;
	struct twheel_setup setup;
	struct spot spot;
	int expected;
	long ret;

	any_setup(fuzzer, &setup);
	spot = memory_spot(&fuzzer->memory, &fuzzer->chance, sizeof(setup));
	fill(&spot, &setup, sizeof(setup));
	expected = spot.readable < sizeof(setup) ? -EFAULT : expect_setup(fuzzer, &setup);
	ret = fuzz_ioctl(fuzzer, CALL_SETUP, model->fd, TWHEEL_SETUP, spot.at);
	if (ret != expected)
		fuzz_fail(fuzzer, "set-up returned %ld instead of %d", ret, expected);
	if (ret)
		return;
	model->is_set_up = true;
	model->tick_ns = setup.tick_ns;
	model->clock = setup.clock_id;
	model->max_timers = setup.max_timers ? setup.max_timers : fuzzer->fuzz->max_timers;
	model->large = setup.wheel_size > 2048;
	if (model->large)
		atomic_fetch_add(&fuzzer->fuzz->large, 1);
}

/* ---- All of it ----------------------------------------------------------- */

void model_open(struct fuzzer *fuzzer)
{
	struct model *model = &fuzzer->model;

	memset(model, 0, sizeof(*model));
	/* Large wheels are closed sooner or later; without them, this is refused no more. */
	do {
		model->fd = fuzz_open(fuzzer);
	} while (model->fd < 0);
	model->tick_ns = TWHEEL_TICK_DEFAULT_NS;
	model->clock = CLOCK_MONOTONIC;
	model->max_timers = fuzzer->fuzz->max_timers;
	if (chance_hit(&fuzzer->chance, 70))
		set_up(fuzzer);
}

void model_close(struct fuzzer *fuzzer)
{
	struct twheel_info info;

	if (ioctl(fuzzer->model.fd, TWHEEL_INFO, &info))
		fuzz_fail(fuzzer, "TWHEEL_INFO failed");
	else
		check_info(fuzzer, &info);
	close(fuzzer->model.fd);
	if (fuzzer->model.large)
		atomic_fetch_sub(&fuzzer->fuzz->large, 1);
}

static void model_reopen(struct fuzzer *fuzzer)
{
	model_close(fuzzer);
	model_open(fuzzer);
}

void model_act(struct fuzzer *fuzzer)
{
	unsigned int dice = chance_below(&fuzzer->chance, 1000);

	if (dice < 220)
		add_many(fuzzer, true);
	else if (dice < 320)
		add_many(fuzzer, false);
	else if (dice < 440)
		cancel_many(fuzzer, true);
	else if (dice < 500)
		cancel_many(fuzzer, false);
	else if (dice < 580)
		modify_many(fuzzer, true);
	else if (dice < 640)
		modify_many(fuzzer, false);
	else if (dice < 720)
		query(fuzzer);
	else if (dice < 770)
		info(fuzzer);
	else if (dice < 900)
		read_some(fuzzer);
	else if (dice < 980)
		poll_wheel(fuzzer);
	else if (dice < 995)
		set_up(fuzzer);
	else
		model_reopen(fuzzer);
}
