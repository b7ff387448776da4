// SPDX-License-Identifier: MIT
/*
 * The wheel of one fuzzer, which knows everything about it; see fuzz.h
 *
 * No other thread uses the wheel. So each call has one right result, whatever the time: a
 * timer exists from its add until it is read or cancelled.
 */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

#include "clock.h"
#include "fuzz.h"
#include "tap.h"

/* A timer that is due must be readable within this time. */
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

/* The id of a timer that exists, existed, or never will. */
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

/* The right result for entry @i at @spot: 0 or minus an errno. */
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
 * There may be no memory for the levels of a large wheel; and large wheels of other
 * threads may leave none for the levels and timers of this one.
 */
static bool may_be_refused(const struct fuzzer *fuzzer, long ret)
{
	return fuzzer->tight && (ret > 0 || ret == -ENOSPC || ret == -ENOMEM);
}

/*
 * Compare a batch's result with the right one: @expected entries are done, and the next
 * one fails with @error, unless it was the last.
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

/* Pass @count entries to @call; return its result. */
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
	/* Pages that are not present are brought in before the first entry is checked. */
	if (ret == -EFAULT && !spot.writable)
		error = -EFAULT;
	if (!batch_is_right(fuzzer, "add", ret, expected, error))
		return;
	for (i = 0; (long)i < ret; i++)
		learn_add(fuzzer, &add[i], spot.at + i * sizeof(*add), before, after);
}

/* ---- Cancelling ---------------------------------------------------------- */

/* With the id in the SQE, not at an address that may be wrong. */
static long cancel_by_ring(struct fuzzer *fuzzer, uint64_t id, struct spot *spot)
{
	spot->readable = sizeof(id);
	return fuzz_count(fuzzer, CALL_URING, uring_command(fuzzer, fuzzer->model.fd,
							    TWHEEL_URING_CANCEL, id, 0));
}

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
	if (single && uring_is_used(fuzzer))
		ret = cancel_by_ring(fuzzer, *id, &spot) ?: 1;
	else if (single)
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

/* The same with a delay. */
static void modify_by_ring(struct fuzzer *fuzzer)
{
	struct model *model = &fuzzer->model;
	const struct spot spot = { .readable = sizeof(struct twheel_modify) };
	struct twheel_modify modify;
	uint64_t before;
	int expected;
	long ret;

	any_modify(fuzzer, model->clock, &modify);
	modify.id = any_id(fuzzer);
	modify.flags = 0;
	modify.reserved = 0;
	expected = expect_modify(model, &spot, 0, &modify);
	before = now_on(model->clock);
	ret = fuzz_count(fuzzer, CALL_URING,
			 uring_command(fuzzer, model->fd, TWHEEL_URING_MODIFY, modify.id,
				       modify.time_ns));
	if (!batch_is_right(fuzzer, "modify by io_uring", ret ?: 1, !expected, expected) || ret)
		return;
	set_deadline(find(model, modify.id), modify.time_ns, 0, before, now_on(model->clock));
	model->modified++;
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

	if (single && uring_is_used(fuzzer)) {
		modify_by_ring(fuzzer);
		return;
	}
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

static void check_listed(struct fuzzer *fuzzer, const void *at, uint64_t now)
{
	struct twheel_listed listed;
	struct model_timer *timer;
	struct twheel_query query;

	memcpy(&listed, at, sizeof(listed));
	timer = find(&fuzzer->model, listed.id);
	query = (struct twheel_query) {
		.id = listed.id,
		.deadline_ns = listed.deadline_ns,
		.interval_ns = listed.interval_ns,
		.data = listed.data,
		.state = listed.state,
		.reserved = listed.reserved,
	};
	if (!timer)
		fuzz_fail(fuzzer, "listed %#llx, which does not exist", listed.id);
	else
		check_query(fuzzer, timer, &query, now);
}

/* A whole walk: it lists all timers, and no others. */
static void list(struct fuzzer *fuzzer)
{
	struct model *model = &fuzzer->model;
	struct twheel_list list = { };
	unsigned int listed = 0;
	uint64_t now;
	long ret, i;

	do {
		uint32_t count = 1 + chance_below(&fuzzer->chance, FUZZ_BATCH);
		size_t size = count * sizeof(struct twheel_listed);
		struct spot spot = memory_spot(&fuzzer->memory, &fuzzer->chance, size);

		list.entries = (uintptr_t)spot.at;
		list.count = count;
		ret = fuzz_ioctl(fuzzer, CALL_LIST, model->fd, TWHEEL_LIST, &list);
		now = now_on(model->clock);
		if (ret == -EFAULT && spot.writable < sizeof(struct twheel_listed))
			continue;
		if (ret < 0 || ret > count || ret * sizeof(struct twheel_listed) > spot.writable) {
			fuzz_fail(fuzzer, "TWHEEL_LIST of %u returned %ld", count, ret);
			return;
		}
		for (i = 0; i < ret; i++)
			check_listed(fuzzer, spot.at + i * sizeof(struct twheel_listed), now);
		listed += ret;
	} while (ret);
	if (listed != model->count)
		fuzz_fail(fuzzer, "listed %u of %u timers", listed, model->count);
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

/* A buffer in two pieces, with events across the border. */
static long read_pieces(struct fuzzer *fuzzer, const struct spot *spot, size_t size)
{
	size_t first = chance_below(&fuzzer->chance, size + 1);
	struct iovec piece[2] = {
		{ .iov_base = spot->at, .iov_len = first },
		{ .iov_base = spot->at + first, .iov_len = size - first },
	};

	return readv(fuzzer->model.fd, piece, 2);
}

static bool read_is_right(const struct model *model, size_t size, const struct spot *spot,
			  long ret)
{
	if (model->slots && size >= sizeof(struct twheel_event))
		return ret == -EBUSY || (ret == -EFAULT && !spot->fill);
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
	if (!read_is_right(model, size, &spot, ret)) {
		fuzz_fail(fuzzer, "read of %zu bytes returned %ld, %zu writable", size, ret,
			  spot.writable);
		return;
	}
	for (i = 0; i < ret; i += sizeof(event)) {
		memcpy(&event, spot.at + i, sizeof(event));
		learn_event(fuzzer, &event);
	}
}

/* Whether a timer has to be readable, as its tick has begun. */
static bool something_due(const struct model *model, uint64_t now)
{
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

/* ---- The ring ------------------------------------------------------------ */

static int expect_ring(const struct model *model, const struct twheel_ring_setup *setup)
{
	if (setup->flags || setup->reserved)
		return -EINVAL;
	if (model->slots)
		return 0;
	if (!setup->slots)
		return -ENOENT;
	return setup->slots < 2 || setup->slots > TWHEEL_RING_SLOTS_MAX ? -EINVAL : 0;
}

static void any_ring(struct fuzzer *fuzzer, struct twheel_ring_setup *setup)
{
	struct chance *chance = &fuzzer->chance;

	*setup = (struct twheel_ring_setup) {
		.slots = chance_hit(chance, 80) ? chance_below(chance, 300) :
			 TWHEEL_RING_SLOTS_MAX - 1 + chance_below(chance, 3),
		.size = chance_next(chance),
		.flags = any_reserved(chance),
		.reserved = any_reserved(chance),
	};
	if (chance_hit(chance, 5))
		setup->slots = chance_next(chance);
}

/* The pages for @wanted slots, or the current ones if the ring exists. */
static void learn_ring(struct fuzzer *fuzzer, const struct twheel_ring_setup *setup,
		       uint32_t wanted)
{
	struct model *model = &fuzzer->model;
	size_t page = sysconf(_SC_PAGESIZE);
	size_t size = sizeof(struct twheel_ring) + wanted * sizeof(struct twheel_event);

	if (model->slots ? setup->slots != model->slots || setup->size != model->size :
	    setup->size != (size + page - 1) / page * page ||
	    setup->slots != (setup->size - sizeof(struct twheel_ring)) /
			    sizeof(struct twheel_event))
		fuzz_fail(fuzzer, "a ring of %u slots has %u, and %u bytes", wanted, setup->slots,
			  setup->size);
	if (model->slots)
		return;
	model->slots = setup->slots;
	model->size = setup->size;
	model->ring = mmap(NULL, model->size, PROT_READ | PROT_WRITE, MAP_SHARED, model->fd, 0);
	if (model->ring == MAP_FAILED)
		bail_out("cannot map a ring of %u bytes", model->size);
}

static void make_ring(struct fuzzer *fuzzer)
{
	struct model *model = &fuzzer->model;
	struct twheel_ring_setup setup;
	struct spot spot = memory_spot(&fuzzer->memory, &fuzzer->chance, sizeof(setup));
	uint32_t wanted;
	int expected;
	long ret;

	any_ring(fuzzer, &setup);
	wanted = setup.slots;
	fill(&spot, &setup, sizeof(setup));
	expected = spot.readable < sizeof(setup) ? -EFAULT : expect_ring(model, &setup);
	ret = fuzz_ioctl(fuzzer, CALL_RING, model->fd, TWHEEL_RING, spot.at);
	if (ret < 0 && ret != expected && may_be_refused(fuzzer, ret))
		return;
	/* The ring is made even if its description cannot be written. */
	if (ret != (!expected && spot.writable < sizeof(setup) ? -EFAULT : expected))
		fuzz_fail(fuzzer, "a ring of %u slots: %ld instead of %d", wanted, ret, expected);
	if (expected)
		return;
	setup = (struct twheel_ring_setup) { };
	if (ioctl(model->fd, TWHEEL_RING, &setup))
		fuzz_fail(fuzzer, "there is no ring of %u slots", wanted);
	else
		learn_ring(fuzzer, &setup, wanted);
}

/* Map it in right and wrong ways. Two mappings are the same memory. */
static void map_ring(struct fuzzer *fuzzer)
{
	struct chance *chance = &fuzzer->chance;
	struct model *model = &fuzzer->model;
	size_t page = sysconf(_SC_PAGESIZE);
	size_t size = chance_hit(chance, 80) && model->size ? model->size :
		      page * (1 + chance_below(chance, 20));
	off_t offset = chance_hit(chance, 80) ? 0 : page * chance_below(chance, 20);
	int flags = chance_hit(chance, 80) ? MAP_SHARED : MAP_PRIVATE;
	bool good = model->slots && size == model->size && !offset && flags == MAP_SHARED;
	struct twheel_ring *map = mmap(NULL, size, PROT_READ | PROT_WRITE, flags, model->fd,
				       offset);

	fuzz_count(fuzzer, CALL_MAP, map == MAP_FAILED ? -errno : 0);
	if (map == MAP_FAILED ? good || errno != (model->slots ? EINVAL : ENODEV) : !good)
		fuzz_fail(fuzzer, "mapping %zu bytes from %lld of a ring of %u: %s", size,
			  (long long)offset, model->size,
			  map == MAP_FAILED ? strerror(errno) : "done");
	if (map == MAP_FAILED || !good)
		return;
	if (memcmp(map, model->ring, size))
		fuzz_fail(fuzzer, "two mappings of a ring differ");
	munmap(model->ring, size);
	model->ring = map;
}

/* How many events fit: the slot before @head stays empty, and none fit if @head is out of range. */
static uint32_t room(const struct model *model)
{
	if (model->head >= model->slots)
		return 0;
	return (model->head + model->slots - model->tail - 1) % model->slots;
}

/* Where the events of a poll end; any other value is still the one from spoil(). */
static uint32_t new_tail(struct fuzzer *fuzzer, bool due)
{
	struct model *model = &fuzzer->model;
	uint32_t tail = __atomic_load_n(&model->ring->tail, __ATOMIC_ACQUIRE);

	if (tail < model->slots)
		return tail;
	if (due)
		fuzz_fail(fuzzer, "a timer is due, and the tail of its ring is %u", tail);
	__atomic_store_n(&model->ring->tail, model->tail, __ATOMIC_RELAXED);
	return model->tail;
}

/* An event is delivered when a poll moves it to the ring, whenever it is taken. */
static void poll_ring(struct fuzzer *fuzzer)
{
	struct model *model = &fuzzer->model;
	struct pollfd pfd = { .fd = model->fd, .events = chance_next(&fuzzer->chance) | POLLIN };
	uint64_t before = now_on(model->clock);
	bool due = something_due(model, before), empty, spoiled;
	uint32_t space = room(model), tail;

	fuzz_count(fuzzer, CALL_POLL, poll(&pfd, 1, due ? PATIENCE_MS : 0));
	/* A tail that is out of range makes the wheel readable: the program's own mistake. */
	spoiled = __atomic_load_n(&model->ring->tail, __ATOMIC_RELAXED) >= model->slots;
	tail = new_tail(fuzzer, due);
	if ((tail + model->slots - model->tail) % model->slots > space)
		fuzz_fail(fuzzer, "from %u to %u, a ring of %u got more than %u events",
			  model->tail, tail, model->slots, space);
	while (model->tail != tail) {
		learn_event(fuzzer, (struct twheel_event *)(model->ring + 1) + model->tail);
		model->tail = (model->tail + 1) % model->slots;
	}
	if (something_due(model, before) &&
	    !(__atomic_load_n(&model->ring->flags, __ATOMIC_RELAXED) & TWHEEL_RING_MORE))
		fuzz_fail(fuzzer, "a timer is due, and is neither in the ring nor told of");
	empty = model->head == tail;
	if (!spoiled && !(pfd.revents & POLLIN) != empty)
		fuzz_fail(fuzzer, "head %u, tail %u, and poll returned %#x", model->head, tail,
			  pfd.revents);
	if (__atomic_load_n(&model->ring->head, __ATOMIC_RELAXED) != model->head)
		fuzz_fail(fuzzer, "the kernel wrote to the head of a ring");
}

static void move_head(struct model *model, uint32_t head)
{
	model->head = head;
	__atomic_store_n(&model->ring->head, head, __ATOMIC_RELEASE);
}

/* Take some or all of the events. */
static void take(struct fuzzer *fuzzer)
{
	struct model *model = &fuzzer->model;
	uint32_t held;

	fuzz_count(fuzzer, CALL_TAKE, 0);
	if (model->head >= model->slots || chance_hit(&fuzzer->chance, 50)) {
		move_head(model, model->tail);
		return;
	}
	held = (model->tail + model->slots - model->head) % model->slots;
	move_head(model, (model->head + chance_below(&fuzzer->chance, held + 1)) % model->slots);
}

/* Garbage: any head, a tail that is out of range, any flags, and any events. */
static void spoil(struct fuzzer *fuzzer)
{
	struct chance *chance = &fuzzer->chance;
	struct model *model = &fuzzer->model;
	uint64_t *event = (uint64_t *)(model->ring + 1);
	unsigned int i;

	fuzz_count(fuzzer, CALL_SPOIL, 0);
	move_head(model, chance_hit(chance, 60) ? chance_below(chance, model->slots + 2) :
		  chance_next(chance));
	if (chance_hit(chance, 50))
		__atomic_store_n(&model->ring->tail, -1 - chance_below(chance, 3),
				 __ATOMIC_RELAXED);
	if (chance_hit(chance, 50))
		__atomic_store_n(&model->ring->flags, chance_next(chance), __ATOMIC_RELAXED);
	for (i = chance_below(chance, 10); i; i--)
		event[chance_below(chance, 4 * model->slots)] = chance_next(chance);
}

static void read_or_take(struct fuzzer *fuzzer)
{
	unsigned int dice = chance_below(&fuzzer->chance, 130);

	if (dice < 4)
		make_ring(fuzzer);
	else if (dice < 8)
		map_ring(fuzzer);
	else if (!fuzzer->model.slots || dice < 16)
		read_some(fuzzer);
	else if (dice < 30)
		spoil(fuzzer);
	else
		take(fuzzer);
}

static void poll_wheel(struct fuzzer *fuzzer)
{
	const struct model *model = &fuzzer->model;
	struct pollfd pfd = { .fd = model->fd, .events = chance_next(&fuzzer->chance) | POLLIN };
	bool due = something_due(model, now_on(model->clock));
	long ret;

	if (model->slots) {
		poll_ring(fuzzer);
		return;
	}
	ret = fuzz_count(fuzzer, CALL_POLL, poll(&pfd, 1, due ? PATIENCE_MS : 0));

	if (due && !(pfd.revents & POLLIN))
		fuzz_fail(fuzzer, "a timer is due, and poll returned %ld, %#x", ret, pfd.revents);
	if (ret && !something_expired(model))
		fuzz_fail(fuzzer, "nothing is due, and poll returned %ld, %#x", ret, pfd.revents);
}

/* ---- Setting up ---------------------------------------------------------- */

static bool can_be_set(clockid_t clock)
{
	return clock == CLOCK_REALTIME || clock == CLOCK_TAI;
}

static int expect_setup(const struct fuzzer *fuzzer, const struct twheel_setup *setup)
{
	const struct model *model = &fuzzer->model;

	if (setup->flags || setup->reserved[0] || setup->reserved[1] || setup->reserved[2] ||
	    setup->tick_ns < TWHEEL_TICK_MIN_NS || setup->tick_ns > TWHEEL_TICK_MAX_NS ||
	    setup->wheel_size < TWHEEL_SIZE_MIN || setup->wheel_size > TWHEEL_SIZE_MAX ||
	    (setup->clock_id != CLOCK_MONOTONIC && setup->clock_id != CLOCK_BOOTTIME &&
	     !can_be_set(setup->clock_id)))
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
	/* All of its levels at once may exceed the rest of the user's limit. */
	if (!expected && ret == -ENOSPC && can_be_set(setup.clock_id) &&
	    (setup.wheel_size > 2048 || fuzzer->tight))
		return;
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
	/* Large wheels are closed sooner or later; without them, this succeeds. */
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
	if (fuzzer->model.slots)
		munmap(fuzzer->model.ring, fuzzer->model.size);
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
	else if (dice < 750)
		info(fuzzer);
	else if (dice < 770)
		list(fuzzer);
	else if (dice < 900)
		read_or_take(fuzzer);
	else if (dice < 980)
		poll_wheel(fuzzer);
	else if (dice < 995)
		set_up(fuzzer);
	else
		model_reopen(fuzzer);
}
