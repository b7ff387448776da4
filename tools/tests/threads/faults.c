// SPDX-License-Identifier: MIT
/*
 * Every allocation and every access to user memory fails once, in each call
 *
 * Each call is repeated: the first time, none of its steps fails, then the first step that may
 * fail does, then the second one, until none is left; and once more with all steps after it. A
 * call that fails changes nothing; repeated without a fault, it succeeds, and the wheel takes as
 * much memory as without the failure. A user who has no room for that memory is refused.
 *
 * In the end, what a call has read is overwritten at once: it uses the value that it has checked.
 */
#include "../../../twheel_file.h"

#include "clock.h"
#include "kernel.h"
#include "threads.h"

/* A user whose account no other wheel keeps. */
#define USER		NR_WHEELS
#define BATCH		100
/* Far enough for the highest level of a wheel with the default setup. */
#define FAR		(100 * YEAR)
/* More bytes than the wheel with a full directory takes. */
#define USER_BYTES	(64UL << 20)

static struct twheel_add adds[BATCH];
static struct twheel_modify modifies[BATCH];
static struct twheel_event events[BATCH];
static u64 ids[BATCH];
static struct twheel_query query;
static struct twheel_listed listed[BATCH];
static struct twheel_list list;

static struct twheel_info info_of_wheel(void)
{
	struct twheel_info info = {};

	if (sys_ioctl(wheel, TWHEEL_INFO, &info))
		broken("a wheel has no counters");
	return info;
}

/* Situations. */

static void no_wheel(void)
{
	wheel = NULL;
}

static void new_wheel(void)
{
	unsigned int i;

	if (sys_open(USER, &wheel))
		broken("a wheel cannot be opened");
	for (i = 0; i < BATCH; i++)
		adds[i] = (struct twheel_add) { .time_ns = HOUR };
	list = (struct twheel_list) { .entries = (unsigned long)listed, .count = BATCH };
}

/* Add timers that are due in @delay, or that were due long ago if it is 0. */
static void add_timers(unsigned int count, u64 delay)
{
	struct twheel_batch batch = { .entries = (unsigned long)adds };
	unsigned int i;

	for (; count; count -= batch.count) {
		batch.count = min_t(unsigned int, count, BATCH);
		for (i = 0; i < BATCH; i++)
			adds[i] = (struct twheel_add) {
				.time_ns = delay,
				.flags = delay ? 0 : TWHEEL_ABSTIME,
			};
		if (sys_ioctl(wheel, TWHEEL_ADD_BATCH, &batch) != batch.count)
			broken("timers cannot be added");
	}
	for (i = 0; i < BATCH; i++) {
		ids[i] = adds[i].id;
		modifies[i] = (struct twheel_modify) { .id = ids[i], .time_ns = FAR };
	}
	query.id = ids[0];
}

static void with_timers(void)
{
	new_wheel();
	add_timers(BATCH, HOUR);
}

static void with_expired(void)
{
	new_wheel();
	add_timers(BATCH, 0);
}

static void with_full_page(void)
{
	new_wheel();
	add_timers(TWHEEL_PAGE_ENTRIES, HOUR);
}

/* The next page needs a new chunk of the directory, which needs a larger directory. */
static void with_full_directory(void)
{
	new_wheel();
	add_timers(TWHEEL_DIR_MIN_LEAVES * TWHEEL_LEAF_BLOCKS * TWHEEL_PAGE_ENTRIES, HOUR);
}

/* A failed add has left levels behind. */
static void with_levels(void)
{
	new_wheel();
	current->unwritable = (unsigned long)adds;
	if (sys_ioctl(wheel, TWHEEL_ADD, adds) != -EFAULT)
		broken("an add to read-only memory succeeds");
	task_mend(current);
}

/* Calls that are not a single ioctl. */

static long open_one(void)
{
	return sys_open(USER, &wheel);
}

static long make_ring(void)
{
	struct twheel_ring_setup setup = { .slots = 1000 };
	long err = sys_ioctl(wheel, TWHEEL_RING, &setup);

	return err || sys_mmap(wheel, setup.size) ? err : -ENOMEM;
}

static long read_all(bool plain)
{
	ssize_t size = sys_read(wheel, events, sizeof(events), O_NONBLOCK, plain);

	return size < 0 ? size : size / (ssize_t)sizeof(events[0]);
}

static long read_plain(void)
{
	return read_all(true);
}

static long read_vector(void)
{
	return read_all(false);
}

static long add_by_uring(void)
{
	return sys_uring(wheel, TWHEEL_ADD, (unsigned long)adds, 0);
}

#define COUNTS(field)	.counter = offsetof(struct twheel_info, field)

static struct twheel_setup boottime = {
	.tick_ns = 1000, .wheel_size = 10, .clock_id = CLOCK_BOOTTIME,
};

static struct twheel_setup realtime = {
	.tick_ns = 1000, .wheel_size = 10, .clock_id = CLOCK_REALTIME,
};

static struct twheel_add far = { .time_ns = FAR };
static struct twheel_add due = { .flags = TWHEEL_ABSTIME };
static struct twheel_add periodic = { .time_ns = HOUR, .interval_ns = FAR };
static struct twheel_batch add_batch = { .entries = (unsigned long)adds, .count = BATCH };
static struct twheel_batch id_batch = { .entries = (unsigned long)ids, .count = BATCH };
static struct twheel_batch modify_batch = { .entries = (unsigned long)modifies, .count = BATCH };
static struct twheel_info some_info;

/* With @counter: the field of struct twheel_info to which a call adds its result. */
static const struct call {
	const char *name;
	void (*prepare)(void);
	unsigned int cmd;
	void *argument;
	long (*other)(void);
	size_t counter;
} calls[] = {
	/* SECURITY: no memory */
	{ "open", no_wheel, .other = open_one },
	{ "set up", new_wheel, TWHEEL_SETUP, &boottime },
	{ "set up on a wall clock", new_wheel, TWHEEL_SETUP, &realtime },
	{ "set up a wheel that has levels", with_levels, TWHEEL_SETUP, &boottime },
	{ "add the first timer", new_wheel, TWHEEL_ADD, adds, COUNTS(added) },
	{ "add by io_uring", new_wheel, .other = add_by_uring, COUNTS(added) },
	{ "add to a full page", with_full_page, TWHEEL_ADD, adds, COUNTS(added) },
	/* SECURITY: bytes of a user; no memory */
	{ "add to a full directory", with_full_directory, TWHEEL_ADD, adds, COUNTS(added) },
	{ "add to a new level", with_timers, TWHEEL_ADD, &far, COUNTS(added) },
	{ "add a timer that is due", new_wheel, TWHEEL_ADD, &due, COUNTS(added) },
	{ "add a periodic timer", new_wheel, TWHEEL_ADD, &periodic, COUNTS(added) },
	{ "add a batch", new_wheel, TWHEEL_ADD_BATCH, &add_batch, COUNTS(added) },
	{ "cancel", with_timers, TWHEEL_CANCEL, ids, COUNTS(cancelled) },
	{ "cancel a batch", with_timers, TWHEEL_CANCEL_BATCH, &id_batch, COUNTS(cancelled) },
	{ "cancel expired timers", with_expired, TWHEEL_CANCEL_BATCH, &id_batch,
	  COUNTS(cancelled) },
	{ "modify", with_timers, TWHEEL_MODIFY, modifies, COUNTS(modified) },
	{ "modify a batch", with_timers, TWHEEL_MODIFY_BATCH, &modify_batch, COUNTS(modified) },
	{ "modify expired timers", with_expired, TWHEEL_MODIFY_BATCH, &modify_batch,
	  COUNTS(modified) },
	{ "query", with_timers, TWHEEL_QUERY, &query },
	{ "info", with_timers, TWHEEL_INFO, &some_info },
	{ "list pending timers", with_timers, TWHEEL_LIST, &list },
	{ "list expired timers", with_expired, TWHEEL_LIST, &list },
	{ "make and map a ring", with_timers, .other = make_ring },
	{ "read", with_expired, .other = read_plain, COUNTS(delivered) },
	{ "read as readv(2)", with_expired, .other = read_vector, COUNTS(delivered) },
};

/* Return how many were done; of a single timer, an ioctl returns 0. */
static long make(const struct call *c)
{
	long ret = c->other ? c->other() : sys_ioctl(wheel, c->cmd, c->argument);

	return !ret && c->counter ? 1 : ret;
}

/* Check that only the counter of the call has changed, by its result. */
static bool changed_by(const struct call *c, struct twheel_info wanted, long done)
{
	struct twheel_info info = info_of_wheel();

	if (c->counter && done > 0)
		*(u64 *)((char *)&wanted + c->counter) += done;
	return info.added == wanted.added && info.modified == wanted.modified &&
	       info.cancelled == wanted.cancelled && info.delivered == wanted.delivered &&
	       info.added == info.pending + info.expired + info.cancelled + info.delivered;
}

/* Make the call with its step @nth failing; return false if it has fewer. */
static bool fail_step(const struct call *c, unsigned int nth, long *full, u64 *memory)
{
	struct twheel_info before = {};
	long ret;

	c->prepare();
	if (wheel)
		before = info_of_wheel();
	current->fault = nth;
	current->failed = 0;
	ret = make(c);
	current->fault = 0;
	if (!nth)
		*full = ret;
	if (current->failed ? ret < 0 && ret != -ENOMEM && ret != -EFAULT : ret < 0 || ret != *full)
		wrong("%s, with step %u failing: %ld", c->name, nth, ret);
	if (wheel && !changed_by(c, before, ret))
		wrong("%s, with step %u failing: other counters", c->name, nth);
	if (ret < 0) {
		ret = make(c);
		if (ret != *full)
			wrong("%s, after step %u had failed: %ld", c->name, nth, ret);
	}
	if (!nth)
		*memory = info_of_wheel().memory;
	if (ret == *full && info_of_wheel().memory != *memory)
		wrong("%s, after step %u had failed: %llu bytes instead of %llu",
		      c->name, nth, info_of_wheel().memory, *memory);
	check_charge(wheel);
	sys_close(wheel);
	return current->failed || !nth;
}

/* Make the call for a user who may hold a byte less than it takes; it fails, or does less. */
static void refuse_memory(const struct call *c, long full, u64 memory)
{
	u64 before;
	long ret;

	c->prepare();
	before = wheel ? info_of_wheel().memory : 0;
	*parameter_max_user_bytes = memory - 1;
	ret = make(c);
	*parameter_max_user_bytes = USER_BYTES;
	if (memory > before ? ret == full || (ret < 0 && ret != -ENOSPC) : ret != full)
		wrong("%s, without room: %ld", c->name, ret);
	if (!wheel)
		return;
	check_charge(wheel);
	sys_close(wheel);
}

/* Return true if the wheel has what calls have been given, and nothing else. */
static bool is_as_given(const struct call *c)
{
	struct twheel_info info = info_of_wheel();
	long n;

	if (c->cmd == TWHEEL_SETUP && (info.tick_ns != 1000 || info.wheel_size != 10))
		return false;
	list = (struct twheel_list) { .entries = (unsigned long)listed, .count = BATCH };
	while ((n = sys_ioctl(wheel, TWHEEL_LIST, &list)) > 0) {
		while (n--) {
			if (listed[n].data || listed[n].deadline_ns > info.now_ns + FAR ||
			    (listed[n].interval_ns && listed[n].interval_ns != FAR))
				return false;
		}
	}
	return !n;
}

/* Make the call while another thread overwrites what it has read. SECURITY: arguments */
static void overwrite_argument(const struct call *c, long full)
{
	bool is_batch = c->cmd == TWHEEL_ADD_BATCH || c->cmd == TWHEEL_MODIFY_BATCH;
	size_t size = c->argument ? _IOC_SIZE(c->cmd) : 0;
	char argument[sizeof(struct twheel_info)];
	long ret;

	c->prepare();
	if (size)
		memcpy(argument, c->argument, size);
	current->overwrites = true;
	ret = make(c);
	current->overwrites = false;
	/* A batch that lacks memory copies its entries again. */
	if ((ret != full && !(is_batch && ret == -EINVAL)) || !is_as_given(c))
		wrong("%s, with an argument that changes: %ld", c->name, ret);
	if (size)
		memcpy(c->argument, argument, size);
	sys_close(wheel);
}

/* A crowd that is due in two seconds does not delay a call, which cascades a part of it at most. */
static void call_ahead_of_a_crowd(unsigned int cmd, void *arg)
{
	struct twheel_setup setup = { MSEC, 0, 256, CLOCK_BOOTTIME };
	/* A bucket of the third level is opened a sixteenth of its length ahead. */
	const u64 length = 256 * 256 * MSEC, now = clock_now(CLOCK_BOOTTIME);
	const u64 begin = (now / length + 2) * length + SEC;

	new_wheel();
	if (sys_ioctl(wheel, TWHEEL_SETUP, &setup))
		broken("no wheel for a crowd");
	add_timers(1000, begin - now);
	clock_suspend(begin - 2 * SEC - now);
	if (sys_ioctl(wheel, cmd, arg) || info_of_wheel().cascaded > 500)
		wrong("ahead of a crowd, a call cascades %llu timers",
		      info_of_wheel().cascaded);
	sys_close(wheel);
}

/* Calls that need many holds of the lock let others run in between. SECURITY: calls */
static void make_long_calls(void)
{
	static struct twheel_listed many[50000];
	struct twheel_setup setup = { USEC, 0, TWHEEL_SIZE_MAX, CLOCK_BOOTTIME };
	struct twheel_list all = {
		.entries = (unsigned long)many, .count = ARRAY_SIZE(many)
	};

	new_wheel();
	if (sys_ioctl(wheel, TWHEEL_SETUP, &setup))
		broken("no wheel with large levels");
	add_timers(1, 10 * YEAR);
	add_timers(ARRAY_SIZE(many), HOUR);
	sys_fdinfo(wheel);
	if (sys_ioctl(wheel, TWHEEL_LIST, &all) != ARRAY_SIZE(many))
		wrong("a list ends early");
	clock_suspend(HOUR + SEC);
	if (info_of_wheel().expired != ARRAY_SIZE(many))
		wrong("a query does not advance the wheel");
	sys_close(wheel);
}

/* No memory for the device. */
static void fail_loading(void)
{
	module_unload();
	current->fault = 1;
	current->fault_lasts = false;
	if (module_load() != -ENOMEM || device) /* SECURITY: no memory */
		wrong("the module is loaded without a device");
	if (module_load())
		broken("the module cannot be loaded again");
}

void fail_each_step(void)
{
	unsigned long limit = *parameter_max_user_bytes;
	unsigned int i, nth;
	long full;
	u64 memory;

	*parameter_max_user_bytes = USER_BYTES;
	current->alone = true;
	for (i = 0; i < 2 * ARRAY_SIZE(calls); i++) {
		current->fault_lasts = i % 2;
		for (nth = 0; fail_step(&calls[i / 2], nth, &full, &memory); nth++)
			HAPPENS("steps of calls that failed", !!nth);
		if (nth < 2)
			wrong("%s has no step that may fail", calls[i / 2].name);
		refuse_memory(&calls[i / 2], full, memory);
		overwrite_argument(&calls[i / 2], full);
	}
	make_long_calls();
	current->alone = false;
	*parameter_max_user_bytes = limit;
	call_ahead_of_a_crowd(TWHEEL_INFO, &some_info);
	if (some_info.max_timers != 1 << 24)
		wrong("the module limits wheels to %llu timers", some_info.max_timers);
	call_ahead_of_a_crowd(TWHEEL_ADD, &due);
	fail_loading();
}
