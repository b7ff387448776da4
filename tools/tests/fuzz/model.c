// SPDX-License-Identifier: MIT
/*
 * The wheel of one fuzzer, which knows everything about it; see fuzz.h
 *
 * No other thread uses the wheel. So each call has one right result, whatever the time: a
 * timer exists from its add until it is read or cancelled.
 */
#include <errno.h>
#include <fcntl.h>
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
	bool absolute = flags & TWHEEL_ABSTIME;

	timer->earliest = absolute ? time_ns : saturate(before, time_ns);
	timer->latest = absolute ? time_ns : saturate(after, time_ns);
}

static void learn_deadline(struct model_timer *timer, uint64_t deadline)
{
	timer->earliest = deadline;
	timer->latest = deadline;
}

/* Check a timer that the kernel shows, and learn its deadline; return NULL if it is wrong. */
static struct model_timer *check_timer(struct fuzzer *fuzzer, const char *where, uint64_t id,
				       uint64_t data, uint64_t deadline)
{
	struct model_timer *timer = find(&fuzzer->model, id);
	const struct model_timer none = { }, *known = timer ?: &none;

	if (timer && data == timer->data && deadline >= timer->earliest &&
	    deadline <= timer->latest) {
		learn_deadline(timer, deadline);
		return timer;
	}
	fuzz_fail(fuzzer, "%s: timer %#jx with data %#jx, due at %ju, not %#jx due from %ju to %ju",
		  where, (uintmax_t)id, (uintmax_t)data, (uintmax_t)deadline,
		  (uintmax_t)known->data, (uintmax_t)known->earliest, (uintmax_t)known->latest);
	return NULL;
}

/* ---- Changing timers, one or many at a time ------------------------------ */

/* The ioctl for one, that for many, and the io_uring command without an address. */
struct change {
	uint32_t one;
	uint32_t many;
	uint32_t by_words;
};

static const struct change adding = { TWHEEL_ADD, TWHEEL_ADD_BATCH, 0 };

static const struct change cancelling = {
	TWHEEL_CANCEL, TWHEEL_CANCEL_BATCH, TWHEEL_URING_CANCEL
};

static const struct change modifying = {
	TWHEEL_MODIFY, TWHEEL_MODIFY_BATCH, TWHEEL_URING_MODIFY
};

static bool time_is_valid(uint64_t time_ns, uint32_t flags, uint32_t reserved)
{
	return time_ns <= TWHEEL_TIME_MAX_NS && !(flags & ~TWHEEL_ABSTIME) && !reserved;
}

/* The right result for an entry: 0 or minus an errno. */
static int expect_change(struct model *model, uint32_t cmd, const union entry *entry,
			 bool writable)
{
	const struct twheel_modify *modify = &entry->modify;
	const struct twheel_add *add = &entry->add;

	if (cmd == TWHEEL_ADD) {
		if (!time_is_valid(add->time_ns, add->flags, add->reserved) ||
		    (add->interval_ns && (add->interval_ns < model->tick_ns ||
					  add->interval_ns > TWHEEL_TIME_MAX_NS)))
			return -EINVAL;
		if (model->count >= model->max_timers)
			return -ENOSPC; /* SECURITY: timers */
		return writable ? 0 : -EFAULT;
	}
	if (cmd == TWHEEL_MODIFY &&
	    !time_is_valid(modify->time_ns, modify->flags, modify->reserved))
		return -EINVAL;
	return find(model, entry->id) ? 0 : -ENOENT;
}

/* An entry is done; for an add, the id is @at. */
static void learn_change(struct fuzzer *fuzzer, uint32_t cmd, const union entry *entry,
			 const char *at, uint64_t before, uint64_t after)
{
	const struct twheel_modify *modify = &entry->modify;
	struct model *model = &fuzzer->model;
	struct model_timer *timer = find(model, entry->id);

	if (cmd == TWHEEL_MODIFY) {
		set_deadline(timer, modify->time_ns, modify->flags, before, after);
		model->modified++;
	} else if (cmd == TWHEEL_CANCEL) {
		forget(model, timer);
		model->cancelled++;
	} else {
		timer = &model->timer[model->count];
		memcpy(&timer->id, at + offsetof(struct twheel_add, id), sizeof(timer->id));
		if (!timer->id || find(model, timer->id))
			fuzz_fail(fuzzer, "add returned id %#jx", (uintmax_t)timer->id);
		timer->data = entry->add.data;
		timer->interval = entry->add.interval_ns;
		set_deadline(timer, entry->add.time_ns, entry->add.flags, before, after);
		model->count++;
		model->added++;
	}
}

/* Compare the result with the right one: @done entries, and the next one failed with @error. */
static void check_change(struct fuzzer *fuzzer, uint32_t cmd, long ret, long done, int error)
{
	struct twheel_info info = { };

	if (ret == (done || !error ? done : error) ||
	    (ret < done && fuzz_may_be_refused(fuzzer, ret)))
		return;
	ioctl(fuzzer->model.fd, TWHEEL_INFO, &info);
	fuzz_fail(fuzzer,
		  "ioctl %u: %ld, not %ld, then %d; %u timers, in it %llu of %llu; %u levels, %llu bytes",
		  _IOC_NR(cmd), ret, done, error, fuzzer->model.count,
		  (unsigned long long)(info.pending + info.expired),
		  (unsigned long long)info.max_timers, info.levels,
		  (unsigned long long)info.memory);
}

static void change(struct fuzzer *fuzzer, const struct change *change)
{
	struct chance *chance = &fuzzer->chance;
	struct model *model = &fuzzer->model;
	bool one = chance_hit(chance, 65);
	bool by_words = one && change->by_words && chance_hit(chance, FUZZ_BY_RING);
	long count = one ? 1 : chance_below(chance, chance_hit(chance, 80) ? 10 : FUZZ_BATCH), i;
	size_t size = _IOC_SIZE(change->one);
	struct spot spot = memory_spot(&fuzzer->memory, chance, count * size);
	struct twheel_batch batch = {
		.entries = (uintptr_t)spot.at,
		.count = count,
		.flags = any_reserved(chance),
	};
	int error = !one && batch.flags ? -EINVAL : 0;
	union entry entry[FUZZ_BATCH];
	uint64_t before, after;
	long ret;

	for (i = 0; i < count; i++) {
		any_entry(fuzzer, change->one, &entry[i]);
		memory_fill(&spot, i * size, &entry[i], size);
	}
	if (by_words) { /* with no address that may be wrong, and no flags */
		spot.readable = size;
		entry->modify.flags = 0;
		entry->modify.reserved = 0;
	}

	before = now_on(model->clock);
	if (by_words)
		ret = fuzz_uring(fuzzer, change->by_words, entry->id, entry->modify.time_ns);
	else if (one)
		ret = fuzz_submit(fuzzer, change->one, spot.at);
	else
		ret = fuzz_submit(fuzzer, change->many, &batch);
	after = now_on(model->clock);
	if (one && !ret)
		ret = 1;

	for (i = 0; i < count && !error; i += !error) {
		error = spot.readable < (i + 1) * size ? -EFAULT :
			expect_change(model, change->one, &entry[i], spot.writable);
		if (!error && i < ret)
			learn_change(fuzzer, change->one, &entry[i], spot.at + i * size,
				     before, after);
	}
	/* Pages that are not present are brought in before the first entry is checked. */
	if (change == &adding && ret == -EFAULT && !spot.writable)
		error = -EFAULT;
	check_change(fuzzer, change->one, ret, i, error);
	/* The remaining entries are untouched. */
	count = by_words ? 0 : count;
	for (i = ret > 0 ? ret : 0; i < count && (i + 1) * size <= spot.readable; i++) {
		if (memcmp(spot.at + i * size, &entry[i], size))
			fuzz_fail(fuzzer, "ioctl %u touched entry %ld, but returned %ld",
				  _IOC_NR(change->one), i, ret);
	}
}

/* ---- Looking ------------------------------------------------------------- */

/* It has expired if its deadline has passed, and if its tick had ended @before the call. */
static void check_listed(struct fuzzer *fuzzer, const struct twheel_listed *listed,
			 uint64_t before)
{
	const struct model_timer *timer = check_timer(fuzzer, "listed", listed->id, listed->data,
						      listed->deadline_ns);
	bool expired = listed->state == TWHEEL_EXPIRED;

	if (timer && (listed->interval_ns != timer->interval || listed->reserved ||
		      listed->state > TWHEEL_EXPIRED ||
		      (expired ? listed->deadline_ns > now_on(fuzzer->model.clock) :
				 listed->deadline_ns + fuzzer->model.tick_ns < before)))
		fuzz_fail(fuzzer, "listed: timer %#llx, state %u, interval %llu, reserved %u",
			  listed->id, listed->state, listed->interval_ns, listed->reserved);
}

static uint64_t remaining(uint64_t deadline, uint64_t now)
{
	return deadline > now ? deadline - now : 0;
}

static void query(struct fuzzer *fuzzer)
{
	uint64_t before = now_on(fuzzer->model.clock);
	struct twheel_query query = {
		.id = any_id(fuzzer),
		.reserved = any_reserved(&fuzzer->chance),
	};
	int expected = query.reserved ? -EINVAL :
		       find(&fuzzer->model, query.id) ? 0 : -ENOENT;

	if (fuzz_call(fuzzer, TWHEEL_QUERY, &query, expected))
		return;
	check_listed(fuzzer, &(struct twheel_listed) {
		.id = query.id,
		.data = query.data,
		.deadline_ns = query.deadline_ns,
		.interval_ns = query.interval_ns,
		.state = query.state,
		.reserved = query.reserved,
	}, before);
	if (query.remaining_ns > remaining(query.deadline_ns, before) ||
	    query.remaining_ns < remaining(query.deadline_ns, now_on(fuzzer->model.clock)))
		fuzz_fail(fuzzer, "%llu to %llu remain", query.remaining_ns, query.deadline_ns);
}

/* Listed once in a walk */
static void check_listed_once(struct fuzzer *fuzzer, const struct twheel_listed *listed,
			      uint64_t before)
{
	struct model_timer *timer = find(&fuzzer->model, listed->id);

	check_listed(fuzzer, listed, before);
	if (timer && timer->listed)
		fuzz_fail(fuzzer, "timer %#llx is listed twice", listed->id);
	if (timer)
		timer->listed = true;
}

/*
 * A part of the timers, or -EINVAL: surely from an id, or from the slot of more timers than fit in
 * any page. SECURITY: arguments
 */
static void list_from_any_cursor(struct fuzzer *fuzzer)
{
	const uint64_t before = now_on(fuzzer->model.clock);
	const uint64_t cursor = chance_any_size(&fuzzer->chance) |
				(chance_hit(&fuzzer->chance, 10) ? 0xfff : 0);
	const uint32_t flags = any_reserved(&fuzzer->chance);
	bool is_invalid = flags || cursor > UINT32_MAX || (cursor & 0xfff) == 0xfff;
	struct twheel_listed listed[FUZZ_BATCH];
	struct twheel_list list = {
		.cursor = cursor, .entries = (uintptr_t)listed, .count = FUZZ_BATCH, .flags = flags,
	};
	long ret = fuzz_ioctl(fuzzer, TWHEEL_LIST, &list), i;

	for (i = 0; i < ret; i++)
		check_listed(fuzzer, &listed[i], before);
	if ((is_invalid || ret < 0 ? ret != -EINVAL : ret > FUZZ_BATCH) ||
	    (ret <= 0 && list.cursor != cursor))
		fuzz_fail(fuzzer, "TWHEEL_LIST from %#jx to %#llx returned %ld",
			  (uintmax_t)cursor, list.cursor, ret);
}

/* A whole walk: it lists all timers, and no others. */
static void list(struct fuzzer *fuzzer)
{
	const uint64_t before = now_on(fuzzer->model.clock);
	struct model *model = &fuzzer->model;
	struct twheel_list list = { };
	struct twheel_listed listed;
	unsigned int nr;
	long ret, i;

	list_from_any_cursor(fuzzer);
	for (nr = 0; nr < model->count; nr++)
		model->timer[nr].listed = false;

	do {
		struct spot spot;

		list.count = chance_below(&fuzzer->chance, FUZZ_BATCH);
		spot = memory_spot(&fuzzer->memory, &fuzzer->chance, list.count * sizeof(listed));
		list.entries = (uintptr_t)spot.at;
		ret = fuzz_ioctl(fuzzer, TWHEEL_LIST, &list);
		if (ret == -EFAULT && spot.writable < sizeof(listed))
			continue;
		if (ret < 0 || (uint64_t)ret > list.count || ret * sizeof(listed) > spot.writable) {
			fuzz_fail(fuzzer, "TWHEEL_LIST of %u returned %ld", list.count, ret);
			return;
		}
		for (i = 0; i < ret; i++) {
			memcpy(&listed, spot.at + i * sizeof(listed), sizeof(listed));
			check_listed_once(fuzzer, &listed, before);
		}
	} while (ret || !list.count);
	for (nr = 0; nr < model->count; nr++) {
		if (!model->timer[nr].listed)
			fuzz_fail(fuzzer, "timer %#jx is not listed",
				  (uintmax_t)model->timer[nr].id);
	}
}

/* SECURITY: kernel information */
static void check_info(struct fuzzer *fuzzer, const struct twheel_info *info)
{
	static const struct twheel_info zero;
	const struct model *model = &fuzzer->model;

	if (info->added != model->added || info->modified != model->modified ||
	    info->cancelled != model->cancelled || info->delivered != model->delivered ||
	    info->pending + info->expired != model->count ||
	    info->tick_ns != model->tick_ns || info->max_timers != model->max_timers ||
	    info->wheel_size != model->wheel_size || info->clock_id != (uint32_t)model->clock ||
	    !info->levels || memcmp(info->reserved, zero.reserved, sizeof(zero.reserved)))
		fuzz_fail(fuzzer, "off by %+lld adds, %+lld modifies, %+lld cancels, %+lld reads",
			  (long long)(info->added - model->added),
			  (long long)(info->modified - model->modified),
			  (long long)(info->cancelled - model->cancelled),
			  (long long)(info->delivered - model->delivered));
}

static void info(struct fuzzer *fuzzer)
{
	const clockid_t clock = fuzzer->model.clock;
	uint64_t before = now_on(clock);
	struct twheel_info info;

	memset(&info, 0xa5, sizeof(info));
	if (fuzz_call(fuzzer, TWHEEL_INFO, &info, 0))
		return;
	check_info(fuzzer, &info);
	if (info.now_ns < before || info.now_ns > now_on(clock))
		fuzz_fail(fuzzer, "it is %llu on clock %d", info.now_ns, clock);
}

/* ---- Reading ------------------------------------------------------------- */

static void learn_event(struct fuzzer *fuzzer, const struct twheel_event *event)
{
	struct model *model = &fuzzer->model;
	struct model_timer *timer = check_timer(fuzzer, "an event", event->id, event->data,
						event->deadline_ns);

	model->delivered++;
	if (!timer)
		return;
	/* The last of the periods that it stands for has passed. */
	if (saturate(event->deadline_ns, (event->count - 1) * timer->interval) >
	    now_on(model->clock) || !event->count || (event->count > 1 && !timer->interval))
		fuzz_fail(fuzzer, "an event of timer %#llx, deadline %llu, count %llu",
			  event->id, event->deadline_ns, event->count);
	if (timer->interval)
		learn_deadline(timer, saturate(event->deadline_ns,
					       event->count * timer->interval));
	else
		forget(model, timer);
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
	/* A buffer in two pieces, with events across the border. */
	size_t first = chance_below(&fuzzer->chance, size + 1);
	const struct iovec piece[] = {
		{ .iov_base = spot.at, .iov_len = first },
		{ .iov_base = spot.at + first, .iov_len = size - first },
	};
	char unread[20 * sizeof(struct twheel_event)];
	struct twheel_event event;
	long ret, i;

	memset(unread, 0x5a, size);
	memory_fill(&spot, 0, unread, size);
	if (chance_hit(&fuzzer->chance, 30))
		ret = readv(model->fd, piece, ARRAY_SIZE(piece));
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
	/* SECURITY: kernel information */
	ret = ret < 0 ? 0 : ret;
	if (spot.writable >= size && memcmp(spot.at + ret, unread, size - ret))
		fuzz_fail(fuzzer, "a read writes behind its %ld bytes", ret);
}

/* Return true if a timer has to be readable, as its tick has begun; or could be, as it is due. */
static bool is_due(const struct model *model, uint64_t now, bool surely)
{
	unsigned int i;

	for (i = 0; i < model->count; i++) {
		const struct model_timer *timer = &model->timer[i];

		if (surely ? timer->latest + model->tick_ns < now : timer->earliest <= now)
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

/* The pages for the slots that are wanted, or the current ones if the ring exists. */
static void make_ring(struct fuzzer *fuzzer)
{
	struct model *model = &fuzzer->model;
	struct twheel_ring_setup setup = any_ring(&fuzzer->chance);
	size_t slot = sizeof(struct twheel_event), page = sysconf(_SC_PAGESIZE), wanted;
	int expected = expect_ring(model, &setup);
	long ret;

	wanted = (sizeof(struct twheel_ring) + setup.slots * slot + page - 1) / page * page;
	ret = fuzz_call(fuzzer, TWHEEL_RING, &setup, expected);
	/* It is also made if its description cannot be written. */
	if (ret == -EFAULT && !expected) {
		setup = (struct twheel_ring_setup) { };
		ret = ioctl(model->fd, TWHEEL_RING, &setup);
	}
	if (ret)
		return;
	if (setup.size != (model->slots ? model->size : wanted) ||
	    setup.slots != (setup.size - sizeof(struct twheel_ring)) / slot)
		fuzz_fail(fuzzer, "a ring of %u slots has %u bytes", setup.slots, setup.size);
	if (model->slots)
		return;
	model->slots = setup.slots;
	model->size = setup.size;
	model->ring = mmap(NULL, model->size, PROT_READ | PROT_WRITE, MAP_SHARED, model->fd, 0);
	if (model->ring == MAP_FAILED)
		bail_out("cannot map a ring of %u bytes", model->size);
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

/* An event is delivered when a poll moves it to the ring, whenever it is taken. */
static void check_ring(struct fuzzer *fuzzer, uint64_t before, short revents)
{
	struct model *model = &fuzzer->model;
	struct twheel_ring *ring = model->ring;
	uint32_t tail = __atomic_load_n(&ring->tail, __ATOMIC_ACQUIRE);
	/* It is the one from spoil(), and makes the wheel readable: the program's own mistake. */
	bool spoiled = tail >= model->slots, empty;

	if (spoiled) {
		if (is_due(model, before, true))
			fuzz_fail(fuzzer, "a timer is due, and the tail of its ring is %u", tail);
		tail = model->tail;
		__atomic_store_n(&ring->tail, tail, __ATOMIC_RELAXED);
	}
	if ((tail + model->slots - model->tail) % model->slots > room(model))
		fuzz_fail(fuzzer, "from %u to %u, a ring of %u got more than %u events",
			  model->tail, tail, model->slots, room(model));
	while (model->tail != tail) {
		learn_event(fuzzer, (struct twheel_event *)(ring + 1) + model->tail);
		model->tail = (model->tail + 1) % model->slots;
	}
	if (is_due(model, before, true) &&
	    !(__atomic_load_n(&ring->flags, __ATOMIC_RELAXED) & TWHEEL_RING_MORE))
		fuzz_fail(fuzzer, "a timer is due, and is neither in the ring nor told of");
	empty = model->head == tail;
	if (!spoiled && !(revents & POLLIN) != empty)
		fuzz_fail(fuzzer, "head %u, tail %u, and poll returned %#x", model->head, tail,
			  revents);
	if (__atomic_load_n(&ring->head, __ATOMIC_RELAXED) != model->head)
		fuzz_fail(fuzzer, "the kernel wrote to the head of a ring");
}

static void poll_wheel(struct fuzzer *fuzzer)
{
	const struct model *model = &fuzzer->model;
	struct pollfd pfd = { .fd = model->fd, .events = chance_next(&fuzzer->chance) | POLLIN };
	uint64_t before = now_on(model->clock);
	bool due = is_due(model, before, true);
	long ret = fuzz_count(fuzzer, CALL_POLL, poll(&pfd, 1, due ? PATIENCE_MS : 0));

	if (pfd.revents && pfd.revents != (POLLIN | (pfd.events & POLLRDNORM)))
		fuzz_fail(fuzzer, "poll for %#x returned %#x", pfd.events, pfd.revents);
	if (model->slots)
		check_ring(fuzzer, before, pfd.revents);
	else if (due ? !(pfd.revents & POLLIN) :
		 ret && !is_due(model, now_on(model->clock), false))
		fuzz_fail(fuzzer, "%s is due, and poll returned %ld, %#x",
			  due ? "a timer" : "nothing", ret, pfd.revents);
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

/* ---- Setting up ---------------------------------------------------------- */

static int expect_setup(const struct fuzzer *fuzzer, const struct twheel_setup *setup)
{
	const struct model *model = &fuzzer->model;

	if (setup->flags || setup->reserved[0] || setup->reserved[1] || setup->reserved[2] ||
	    setup->tick_ns < TWHEEL_TICK_MIN_NS || setup->tick_ns > TWHEEL_TICK_MAX_NS ||
	    setup->wheel_size < TWHEEL_SIZE_MIN || setup->wheel_size > TWHEEL_SIZE_MAX ||
	    (setup->clock_id != CLOCK_MONOTONIC && setup->clock_id != CLOCK_BOOTTIME &&
	     setup->clock_id != CLOCK_REALTIME && setup->clock_id != CLOCK_TAI))
		return -EINVAL;
	if (setup->max_timers > fuzzer->fuzz->max_timers)
		return -ENOSPC;
	return model->is_set_up || model->added ? -EBUSY : 0;
}

static void set_up(struct fuzzer *fuzzer)
{
	struct model *model = &fuzzer->model;
	struct twheel_setup setup = any_setup(&fuzzer->chance);

	if (fuzz_call(fuzzer, TWHEEL_SETUP, &setup, expect_setup(fuzzer, &setup)))
		return;
	model->is_set_up = true;
	model->tick_ns = setup.tick_ns;
	model->wheel_size = setup.wheel_size;
	model->clock = setup.clock_id;
	model->max_timers = setup.max_timers ? setup.max_timers : fuzzer->fuzz->max_timers;
	model->large = setup.wheel_size > 2048;
	if (model->large)
		atomic_fetch_add(&fuzzer->fuzz->large, 1);
}

/* ---- All of it ----------------------------------------------------------- */

/* Large wheels are closed sooner or later; without them, this succeeds. */
static int open_wheel(struct fuzzer *fuzzer)
{
	int fd;

	do {
		fuzzer->closed = atomic_load(&fuzzer->fuzz->closed);
		fd = open("/dev/twheel", O_RDWR | O_NONBLOCK | O_CLOEXEC);
		if (fuzz_count(fuzzer, CALL_OPEN, fd < 0 ? -errno : 0) &&
		    !(errno == ENOSPC && fuzz_may_be_refused(fuzzer, -errno)))
			bail_out("cannot open /dev/twheel");
	} while (fd < 0);
	return fd;
}

void model_open(struct fuzzer *fuzzer)
{
	fuzzer->model = (struct model) {
		.fd = open_wheel(fuzzer),
		.tick_ns = TWHEEL_TICK_DEFAULT_NS,
		.wheel_size = TWHEEL_SIZE_DEFAULT,
		.clock = CLOCK_MONOTONIC,
		.max_timers = fuzzer->fuzz->max_timers,
	};
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
		atomic_fetch_add(&fuzzer->fuzz->closed, 1);
}

void model_act(struct fuzzer *fuzzer)
{
	unsigned int dice = chance_below(&fuzzer->chance, 1000);
	const struct model *model = &fuzzer->model;

	fuzzer->closed = atomic_load(&fuzzer->fuzz->closed);
	if (dice < 320 && model->count + FUZZ_BATCH <= FUZZ_TIMERS) {
		change(fuzzer, &adding);
	} else if (dice < 500) {
		change(fuzzer, &cancelling);
	} else if (dice < 640) {
		change(fuzzer, &modifying);
	} else if (dice < 720) {
		query(fuzzer);
	} else if (dice < 750) {
		info(fuzzer);
	} else if (dice < 770) {
		list(fuzzer);
	} else if (dice < 774) {
		make_ring(fuzzer);
	} else if (dice < 778) {
		map_ring(fuzzer);
	} else if (dice < 786 || (dice < 900 && !model->slots)) {
		read_some(fuzzer);
	} else if (dice < 800) {
		spoil(fuzzer);
	} else if (dice < 900) {
		take(fuzzer);
	} else if (dice < 980) {
		poll_wheel(fuzzer);
	} else if (dice < 995) {
		set_up(fuzzer);
	} else {
		model_close(fuzzer);
		model_open(fuzzer);
	}
}
