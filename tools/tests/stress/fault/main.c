// SPDX-License-Identifier: MIT
/*
 * twheel-fault - lets every allocation and every copy by copy_from_user() and copy_to_user() fail
 * once
 *
 * Every call of /dev/twheel is repeated: the first time, its first allocation or copy
 * fails, the next time the second, and so on until a call completes without a failure.
 * After each failed call the counters of the wheel must be unchanged, and the same call
 * must succeed, and take as much memory as without a failure. A call in which nothing has failed
 * is an error. To cancel one timer and to read into one buffer, get_user() and unsafe_put_user()
 * copy, which inject no faults: there, selftest passes bad pointers.
 *
 * All this is done as an unprivileged user, whose account must match the memory that the
 * wheel reports, to the byte.
 *
 * Prints TAP. Needs root and a kernel with fault injection for slab, pages and
 * user copies, and its directory in debugfs.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "clock.h"
#include "helpers.h"
#include "libtwheel.h"
#include "machine.h"
#include "options.h"
#include "tap.h"

#define DEBUGFS		"/sys/kernel/debug/"
#define FAIL_NTH	"/proc/thread-self/fail-nth"
#define LIMIT		"/sys/module/twheel/parameters/max_user_bytes"

#define BATCH		200
#define DIRECTORY_CHUNKS	8
/* Far enough for the highest level of a wheel with the default setup. */
#define FAR		(100ULL * 365 * 24 * HOUR)
/* A call that still fails after this many faults always will. */
#define MAX_FAULTS	5000
/* How many of the last faults in loading are tested, unless all are. */
#define LOAD_FAULTS	100

/* The counter of struct twheel_info that a call adds to. */
enum counter { NOTHING, ADDED, MODIFIED, CANCELLED, DELIVERED };

/* A wheel, and the arguments of a call on it. */
struct situation {
	int fd;
	int other;			/* the descriptor that the call itself has opened */
	unsigned int count;		/* ids of existing timers */
	struct twheel_add add[BATCH];
	struct twheel_modify modify[BATCH];
	uint64_t id[BATCH];
	struct twheel_event event[BATCH];
	struct twheel_ring_view ring;
};

/* A call: returns its result, or minus errno. */
struct target {
	const char *name;
	void (*prepare)(struct situation *s);
	long (*call)(struct situation *s);
	enum counter counter;
	long full;			/* its result without failures */
	unsigned int flags;
};

/* A wheel that takes long to prepare is kept while calls fail. */
#define COSTLY		1
/* Levels are needed, which are larger than a page. */
#define LEVELS		2
/* The wheel has a ring then, and cannot be read. */
#define RING		4

static int fail_nth_fd, min_order_fd, page_probability_fd, slab_probability_fd;

static long result_of(long ret)
{
	return ret < 0 ? -errno : ret;
}

static struct twheel_info info_of(int fd)
{
	struct twheel_info info;

	if (twheel_get_info(fd, &info))
		bail_out("TWHEEL_INFO failed");
	return info;
}

/* ---- Situations ---------------------------------------------------------- */

static void no_wheel(struct situation *s)
{
	s->fd = -1;
}

static void new_wheel(struct situation *s)
{
	unsigned int i;

	s->fd = twheel_open(NULL, O_NONBLOCK | O_CLOEXEC);
	if (s->fd < 0)
		bail_out("cannot open " TWHEEL_DEVICE);
	for (i = 0; i < BATCH; i++)
		s->add[i] = (struct twheel_add) { .time_ns = HOUR, .data = i };
}

/* Add timers that are due in @delay, or that were due long ago if it is 0. */
static void add_timers(struct situation *s, unsigned int count, uint64_t delay)
{
	unsigned int i;

	for (; count; count -= i) {
		struct twheel_add add[BATCH] = { };

		for (i = 0; i < count && i < BATCH; i++) {
			add[i].time_ns = delay;
			add[i].flags = delay ? 0 : TWHEEL_ABSTIME;
		}
		if (twheel_add_batch(s->fd, add, i) != (int)i)
			bail_out("cannot add timers");
		s->count += i;
		memcpy(s->add, add, i * sizeof(*add));
	}
	for (i = 0; i < BATCH; i++) {
		s->id[i] = s->add[i].id;
		s->modify[i] = (struct twheel_modify) { .id = s->id[i], .time_ns = FAR };
	}
}

static void with_timers(struct situation *s)
{
	new_wheel(s);
	add_timers(s, BATCH, HOUR);
}

/* How many timers fit into a page: one more, and the wheel takes another page. */
static unsigned int page_timers(void)
{
	static unsigned int count;
	struct situation s = { };
	uint64_t memory;

	if (count)
		return count;
	new_wheel(&s);
	add_timers(&s, 1, HOUR);
	memory = info_of(s.fd).memory;
	while (info_of(s.fd).memory == memory)
		add_timers(&s, 1, HOUR);
	close(s.fd);
	count = s.count - 1;
	return count;
}

static void with_full_page(struct situation *s)
{
	new_wheel(s);
	add_timers(s, page_timers(), HOUR);
}

/*
 * These timers never need a level. Timers that are due now need one, unless a tick ends between
 * two looks at the clock.
 */
static void with_expired(struct situation *s)
{
	new_wheel(s);
	add_timers(s, BATCH, 0);
}

/* A failed add has left levels behind. */
static void with_levels(struct situation *s)
{
	struct twheel_add *add = mmap(NULL, sysconf(_SC_PAGESIZE), PROT_READ,
				      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	new_wheel(s);
	if (add == MAP_FAILED || !twheel_add_timer(s->fd, add) || errno != EFAULT)
		bail_out("an add into read-only memory did not fail with EFAULT");
	munmap(add, sysconf(_SC_PAGESIZE));
}

/*
 * The next page of timers needs a new chunk of the directory (a page of addresses), which
 * needs a larger directory: the first one has room for this many chunks.
 */
static void with_full_directory(struct situation *s)
{
	unsigned int pages = DIRECTORY_CHUNKS * sysconf(_SC_PAGESIZE) / sizeof(uint64_t);

	new_wheel(s);
	add_timers(s, pages * page_timers(), HOUR);
}

/* ---- Calls --------------------------------------------------------------- */

static long call_open(struct situation *s)
{
	long ret = result_of(twheel_open(NULL, O_NONBLOCK | O_CLOEXEC));

	if (ret < 0)
		return ret;
	s->fd = ret;
	return 0;
}

static long set_up_on(struct situation *s, clockid_t clock)
{
	struct twheel_setup setup = {
		.tick_ns = 1000,
		.wheel_size = 10,
		.clock_id = clock,
	};

	return result_of(twheel_set_up(s->fd, &setup));
}

static long call_setup(struct situation *s)
{
	return set_up_on(s, CLOCK_BOOTTIME);
}

/* All levels are made at once. */
static long call_setup_wall(struct situation *s)
{
	return set_up_on(s, CLOCK_REALTIME);
}

static long call_add(struct situation *s)
{
	s->add[0] = (struct twheel_add) { .time_ns = HOUR, .id = 0 };
	return result_of(twheel_add_timer(s->fd, &s->add[0])) ?: 1;
}

static long call_add_far(struct situation *s)
{
	s->add[0] = (struct twheel_add) { .time_ns = FAR };
	return result_of(twheel_add_timer(s->fd, &s->add[0])) ?: 1;
}

static long call_add_due(struct situation *s)
{
	s->add[0] = (struct twheel_add) { .flags = TWHEEL_ABSTIME };
	return result_of(twheel_add_timer(s->fd, &s->add[0])) ?: 1;
}

static long call_add_periodic(struct situation *s)
{
	s->add[0] = (struct twheel_add) { .time_ns = HOUR, .interval_ns = FAR };
	return result_of(twheel_add_timer(s->fd, &s->add[0])) ?: 1;
}

static long call_add_batch(struct situation *s)
{
	return result_of(twheel_add_batch(s->fd, s->add, BATCH));
}

static long call_cancel_batch(struct situation *s)
{
	return result_of(twheel_cancel_batch(s->fd, s->id, NULL, BATCH));
}

static long call_modify(struct situation *s)
{
	return result_of(twheel_modify_timer(s->fd, s->id[0], FAR, 0)) ?: 1;
}

static long call_modify_batch(struct situation *s)
{
	return result_of(twheel_modify_batch(s->fd, s->modify, NULL, BATCH));
}

/* Unmapping can fail, too, so it is done without faults. */
static long call_ring(struct situation *s)
{
	return result_of(twheel_ring_map(s->fd, 1000, &s->ring));
}

static long call_query(struct situation *s)
{
	struct twheel_query query;

	return result_of(twheel_query_timer(s->fd, s->id[0], &query));
}

static long call_info(struct situation *s)
{
	struct twheel_info info;

	return result_of(twheel_get_info(s->fd, &info));
}

/* Lists all timers; a page that is missing half-way ends a call, and the next call fails. */
static long call_list(struct situation *s)
{
	struct twheel_listed listed[BATCH];
	uint64_t cursor = 0;
	long count = 0, n;

	do {
		n = result_of(twheel_list_timers(s->fd, &cursor, listed, BATCH));
		count += n;
	} while (n > 0);
	return n ?: count;
}

/* Events cross the borders of the buffers. */
static long call_readv(struct situation *s)
{
	struct iovec part[3] = {
		{ .iov_base = s->event, .iov_len = 50 },
		{ .iov_base = (char *)s->event + 50, .iov_len = 1000 },
		{ .iov_base = (char *)s->event + 1050, .iov_len = sizeof(s->event) - 1050 },
	};
	long size = result_of(readv(s->fd, part, 3));

	return size < 0 ? size : size / (long)sizeof(s->event[0]);
}

static long call_poll(struct situation *s)
{
	struct pollfd pfd = { .fd = s->fd, .events = POLLIN };

	return result_of(poll(&pfd, 1, 0));
}

static long call_epoll(struct situation *s)
{
	struct epoll_event event = { .events = EPOLLIN };
	int epoll = epoll_create1(EPOLL_CLOEXEC);
	long ret;

	if (epoll < 0)
		return -errno;
	ret = result_of(epoll_ctl(epoll, EPOLL_CTL_ADD, s->fd, &event));
	if (!ret)
		ret = result_of(epoll_wait(epoll, &event, 1, 0));
	close(epoll);
	return ret;
}

static long call_fdinfo(struct situation *s)
{
	char path[64], text[4096];
	long ret;
	int fd;

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", s->fd);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	ret = result_of(read(fd, text, sizeof(text) - 1));
	close(fd);
	if (ret < 0)
		return ret;
	text[ret] = '\0';
	return strstr(text, "twheel-memory:") ? 0 : -ENOENT;
}

static const struct target targets[] = {
	{ "open", no_wheel, call_open, NOTHING, 0, 0 },
	{ "set up", new_wheel, call_setup, NOTHING, 0, 0 },
	{ "set up on a wall clock", new_wheel, call_setup_wall, NOTHING, 0, 0 },
	/* SECURITY: no memory */
	{ "set up a wheel that has levels", with_levels, call_setup, NOTHING, 0, 0 },
	{ "add the first timer", new_wheel, call_add, ADDED, 1, LEVELS },
	{ "add to a full page", with_full_page, call_add, ADDED, 1, 0 },
	{ "add to a new level", with_timers, call_add_far, ADDED, 1, LEVELS },
	{ "add a timer that is due", new_wheel, call_add_due, ADDED, 1, LEVELS },
	{ "add a periodic timer", new_wheel, call_add_periodic, ADDED, 1, LEVELS },
	/* SECURITY: no memory */
	{ "add a batch", new_wheel, call_add_batch, ADDED, BATCH, LEVELS },
	/* SECURITY: no memory */
	{ "cancel a batch", with_timers, call_cancel_batch, CANCELLED, BATCH, 0 },
	{ "cancel expired timers", with_expired, call_cancel_batch, CANCELLED, BATCH, 0 },
	{ "modify", with_timers, call_modify, MODIFIED, 1, LEVELS },
	/* SECURITY: no memory */
	{ "modify a batch", with_timers, call_modify_batch, MODIFIED, BATCH, LEVELS },
	{ "modify expired timers", with_expired, call_modify_batch, MODIFIED, BATCH, LEVELS },
	{ "make and map a ring", with_timers, call_ring, NOTHING, 0, RING },
	{ "query", with_timers, call_query, NOTHING, 0, 0 },
	{ "info", with_timers, call_info, NOTHING, 0, 0 },
	{ "list pending timers", with_timers, call_list, NOTHING, BATCH, 0 },
	{ "list expired timers", with_expired, call_list, NOTHING, BATCH, 0 },
	/* SECURITY: no memory */
	{ "read into several pieces", with_expired, call_readv, DELIVERED, BATCH, 0 },
	{ "poll", with_expired, call_poll, NOTHING, 1, 0 },
	{ "epoll", with_expired, call_epoll, NOTHING, 1, 0 },
	{ "fdinfo", with_timers, call_fdinfo, NOTHING, 0, 0 },
	/* SECURITY: bytes of a user; no memory */
	{ "add to a full directory", with_full_directory, call_add, ADDED, 1, COSTLY },
};

/* ---- Faults -------------------------------------------------------------- */

/* The write itself copies user memory, so an armed fault may hit it. */
static void arm_fault(unsigned int nth)
{
	char text[16];
	int size = snprintf(text, sizeof(text), "%u", nth);

	while (pwrite(fail_nth_fd, text, size, 0) != size) {
		if (errno != EFAULT)
			bail_out("cannot write to " FAIL_NTH);
	}
}

/* How many steps were left until the fault: 0 if it happened. */
static unsigned int disarm_fault(void)
{
	char text[16] = "";

	if (pread(fail_nth_fd, text, sizeof(text) - 1, 0) <= 0) {
		if (errno != EFAULT)
			bail_out("cannot read from " FAIL_NTH);
		/* It hit the copy of the result, which was the next step. */
		return 1;
	}
	arm_fault(0);
	return atoi(text);
}

struct setting {
	const char *path;
	const char *value;
};

static bool apply(const struct setting *setting, unsigned int count)
{
	for (; count; count--, setting++) {
		if (!write_line(setting->path, setting->value))
			return false;
	}
	return true;
}

/* Lets faults hit every allocation, without kernel messages. */
static bool prepare_faults(void)
{
	static const struct setting settings[] = {
		{ DEBUGFS "failslab/verbose", "0" },
		{ DEBUGFS "failslab/ignore-gfp-wait", "N" },
		{ DEBUGFS "failslab/task-filter", "Y" },
		{ DEBUGFS "failslab/times", "-1" },
		{ DEBUGFS "fail_page_alloc/verbose", "0" },
		{ DEBUGFS "fail_page_alloc/ignore-gfp-wait", "N" },
		{ DEBUGFS "fail_page_alloc/ignore-gfp-highmem", "N" },
		{ DEBUGFS "fail_page_alloc/min-order", "0" },
		{ DEBUGFS "fail_page_alloc/task-filter", "Y" },
		{ DEBUGFS "fail_page_alloc/times", "-1" },
		{ DEBUGFS "fail_usercopy/verbose", "0" },
		{ "/proc/self/make-it-fail", "1" },
	};

	if (!apply(settings, ARRAY_SIZE(settings)))
		return false;
	fail_nth_fd = open(FAIL_NTH, O_RDWR | O_CLOEXEC);
	min_order_fd = open(DEBUGFS "fail_page_alloc/min-order", O_WRONLY | O_CLOEXEC);
	page_probability_fd = open(DEBUGFS "fail_page_alloc/probability", O_WRONLY | O_CLOEXEC);
	slab_probability_fd = open(DEBUGFS "failslab/probability", O_WRONLY | O_CLOEXEC);
	return fail_nth_fd >= 0 && min_order_fd >= 0 && page_probability_fd >= 0 &&
	       slab_probability_fd >= 0;
}

/*
 * Whether there is memory beyond single pages. While a fault is armed, nothing else
 * fails; but memory larger than a page is put together from single pages if necessary,
 * and fails only if that fails, too.
 */
static void set_memory(bool there)
{
	const char *probability = there ? "000" : "100";

	/* Opening a file needs memory itself. */
	if (write(min_order_fd, there ? "0" : "1", 1) != 1 ||
	    write(page_probability_fd, probability, 3) != 3 ||
	    write(slab_probability_fd, probability, 3) != 3)
		bail_out("cannot write to " DEBUGFS "fail_page_alloc and failslab");
}

/* ---- The effect of a call ------------------------------------------------ */

static uint64_t counted(const struct twheel_info *info, enum counter counter)
{
	switch (counter) {
	case ADDED:
		return info->added;
	case MODIFIED:
		return info->modified;
	case CANCELLED:
		return info->cancelled;
	case DELIVERED:
		return info->delivered;
	default:
		return 0;
	}
}

/* Check that only @counter has changed, by @done. */
static bool changed_by(const struct target *target, const struct twheel_info *before,
		       const struct twheel_info *after, long done)
{
	enum counter counter;

	for (counter = ADDED; counter <= DELIVERED; counter++) {
		uint64_t change = counted(after, counter) - counted(before, counter);
		uint64_t expected = counter == target->counter ? done : 0;

		if (change != expected) {
			tap_note("%s: counter %d went up by %llu instead of %llu",
				 target->name, counter, (unsigned long long)change,
				 (unsigned long long)expected);
			return false;
		}
	}
	if (after->added == after->pending + after->expired + after->cancelled +
			    after->delivered)
		return true;
	tap_note("%s: the books do not balance", target->name);
	return false;
}

/* The same with a ring: polling returns due timers. */
static bool ring_still_works(int fd)
{
	struct twheel_add due = { .data = 0x600d };
	struct pollfd pfd = { .fd = fd, .events = POLLIN };
	const struct twheel_event *event;
	struct twheel_ring_view view;
	size_t count;
	bool ok;

	if (twheel_ring_map(fd, 0, &view) || twheel_add_timer(fd, &due) ||
	    poll(&pfd, 1, 5000) != 1)
		return false;
	event = twheel_ring_peek(&view, &count);
	ok = count == 1 && event->id == due.id && event->data == due.data;
	twheel_ring_unmap(&view);
	return ok;
}

/* Check that the wheel works after a failure: a timer expires, another is cancelled. */
static bool still_works(int fd, bool has_ring)
{
	struct twheel_add due = { .data = 0x600d }, later = { .time_ns = HOUR };
	struct twheel_event event = { };

	if (has_ring)
		return ring_still_works(fd);
	if (twheel_add_timer(fd, &later) || twheel_cancel_timer(fd, later.id) ||
	    twheel_add_timer(fd, &due))
		return false;
	do {
		if (twheel_read(fd, &event, 1) != 1)
			return false;
	} while (event.id != due.id);
	return event.data == due.data;
}

/* ---- The user's account -------------------------------------------------- */

/* A wheel that stays open, so that the account never closes. */
static int anchor;

static void set_limit(uint64_t bytes)
{
	char text[32];

	snprintf(text, sizeof(text), "%llu", (unsigned long long)bytes);
	if (setresuid(-1, 0, -1) || !write_line(LIMIT, text) || setresuid(-1, NOBODY, -1))
		bail_out("cannot set " LIMIT);
}

/* Whether a wheel can be opened if the user may hold @bytes; and the memory it takes. */
static bool may_open(uint64_t bytes, uint64_t *memory)
{
	int fd;

	set_limit(bytes);
	fd = twheel_open(NULL, O_CLOEXEC);
	if (fd < 0)
		return false;
	*memory = info_of(fd).memory;
	close(fd);
	return true;
}

/*
 * Check that the account holds exactly the memory that @fd reports: another wheel can be
 * opened with a limit that just fits, and not with a byte less.
 */
static bool account_is_right(int fd)
{
	uint64_t held = info_of(anchor).memory + info_of(fd).memory, empty, memory;
	bool ok;

	if (!may_open(UINT64_MAX >> 1, &empty))
		bail_out("cannot open " TWHEEL_DEVICE);
	ok = may_open(held + empty, &memory) && !may_open(held + empty - 1, &memory);
	set_limit(UINT64_MAX >> 1);
	return ok;
}

/* ---- The tests ----------------------------------------------------------- */

struct outcome {
	bool ok;
	bool through;		/* no fault happened */
	bool failed;		/* and the call failed */
};

static bool error_is_right(const struct target *target, long done, unsigned int nth)
{
	if (done == -ENOMEM || done == -EFAULT)
		return true;
	tap_note("%s: with fault %u: %s", target->name, nth, strerror(-done));
	return false;
}

/* Make one call with the fault @nth. The wheel may be gone after it. */
static struct outcome try_call(const struct target *target, struct situation *s,
			       unsigned int nth)
{
	struct twheel_info before = { }, after = { };
	struct outcome outcome = { .ok = true };
	long done;

	if (s->fd >= 0)
		before = info_of(s->fd);
	arm_fault(nth);
	done = target->call(s);
	outcome.through = disarm_fault() > 0;
	outcome.failed = done < 0;
	if (s->fd >= 0)
		after = info_of(s->fd);

	if (outcome.failed)
		outcome.ok = !outcome.through && error_is_right(target, done, nth);
	else if (outcome.through && done != target->full)
		outcome.ok = false;
	if (!outcome.ok)
		tap_note("%s: returned %ld with fault %u", target->name, done, nth);
	if (!changed_by(target, &before, &after, outcome.failed ? 0 : done))
		outcome.ok = false;
	return outcome;
}

/* After a failure, the call must succeed and take the same memory as without one. */
static bool retry_call(const struct target *target, struct situation *s, uint64_t memory)
{
	long done = target->call(s);
	uint64_t now;

	if (done != target->full) {
		tap_note("%s: tried again it returned %ld", target->name, done);
		return false;
	}
	now = info_of(s->fd).memory;
	if (memory && now != memory) {
		tap_note("%s: %llu bytes instead of %llu after a failure", target->name,
			 (unsigned long long)now, (unsigned long long)memory);
		return false;
	}
	if (!account_is_right(s->fd)) {
		tap_note("%s: after a failure the user's account is wrong", target->name);
		return false;
	}
	if (still_works(s->fd, target->flags & RING))
		return true;
	tap_note("%s: the wheel does not work after a failure", target->name);
	return false;
}

static struct situation *prepare(const struct target *target)
{
	static struct situation situation;

	memset(&situation, 0, sizeof(situation));
	target->prepare(&situation);
	return &situation;
}

static void drop(struct situation *s)
{
	twheel_ring_unmap(&s->ring);
	if (s->fd >= 0)
		close(s->fd);
	s->fd = -1;
}

/* The memory of a wheel on which the call did not fail. */
static uint64_t undisturbed_memory(const struct target *target)
{
	struct situation *s;
	uint64_t memory;

	if (target->flags & COSTLY)
		return 0;
	s = prepare(target);
	if (target->call(s) != target->full)
		bail_out("%s fails without faults", target->name);
	memory = info_of(s->fd).memory;
	drop(s);
	return memory;
}

static void test_target(const struct target *target)
{
	uint64_t memory = undisturbed_memory(target);
	struct situation *s = prepare(target);
	unsigned int nth = 1, failures = 0;
	struct outcome outcome;
	bool ok = true;

	for (; nth <= MAX_FAULTS; nth++) {
		outcome = try_call(target, s, nth);
		ok = ok && outcome.ok;
		failures += outcome.failed;
		if (outcome.through)
			break;
		if (outcome.failed && target->flags & COSTLY)
			continue;
		if (outcome.failed && !retry_call(target, s, memory))
			ok = false;
		drop(s);
		s = prepare(target);
	}
	drop(s);
	tap_result(ok && failures && nth <= MAX_FAULTS, "%s (%u faults, %u failures)",
		   target->name, nth - 1, failures);
}

/* The same call when there is not enough memory for a level, and when there is. */
static void test_exhausted(const struct target *target)
{
	uint64_t memory = undisturbed_memory(target);
	struct situation *s = prepare(target);
	struct twheel_info before = info_of(s->fd), after;
	long done;

	set_memory(false);
	done = target->call(s);
	set_memory(true);
	after = info_of(s->fd);
	tap_result(done == -ENOMEM && changed_by(target, &before, &after, 0) &&
		   retry_call(target, s, memory), "%s without memory", target->name);
	drop(s);
}

/* ---- Loading ------------------------------------------------------------- */

static bool device_exists(void)
{
	return !access(TWHEEL_DEVICE, F_OK);
}

/* Read a file of *@size bytes. */
static void *slurp(const char *path, size_t *size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat stat;
	void *map;

	if (fd < 0 || fstat(fd, &stat))
		bail_out("cannot open %s", path);
	*size = stat.st_size;
	/* Read beforehand, so that no fault hits reading it. */
	map = mmap(NULL, *size, PROT_READ, MAP_PRIVATE | MAP_POPULATE, fd, 0);
	if (map == MAP_FAILED)
		bail_out("cannot map %s", path);
	close(fd);
	return map;
}

static void unload(void)
{
	if (syscall(SYS_delete_module, "twheel", O_NONBLOCK))
		bail_out("cannot take the module out");
}

/* Loads the module with the fault @nth; returns how many steps were left. */
static unsigned int load(const void *module, size_t size, unsigned int nth, int *ret)
{
	unsigned int left;

	arm_fault(nth);
	*ret = syscall(SYS_init_module, module, size, "");
	left = disarm_fault();
	if ((*ret == 0) == device_exists())
		return left;
	bail_out("loading with fault %u: returned %d, device %s", nth, *ret,
		 device_exists() ? "there" : "not there");
}

/*
 * Loading fails cleanly for every fault until it succeeds. Most faults are in the
 * kernel's own work, before it calls the module.
 */
static void test_loading(const char *path, bool all)
{
	unsigned int nth, left, failures = 0;
	size_t size;
	void *module = slurp(path, &size);
	int ret;

	unload();
	nth = MAX_FAULTS - load(module, size, MAX_FAULTS, &ret);
	unload();
	nth = all || nth < LOAD_FAULTS ? 1 : nth - LOAD_FAULTS;
	for (;; nth++) {
		left = load(module, size, nth, &ret);
		failures += ret < 0;
		if (left || nth == MAX_FAULTS)
			break;
		if (!ret)
			unload();
	}
	/* SECURITY: no memory */
	tap_result(left && !ret && failures, "load the module (%u faults, %u failures)",
		   nth - 1, failures);
}

/* ---- main ---------------------------------------------------------------- */

static bool wanted(const struct target *target, char **names)
{
	if (!*names)
		return true;
	for (; *names; names++) {
		if (strstr(target->name, *names))
			return true;
	}
	return false;
}

static void test_calls(char **names, bool costly)
{
	unsigned int i;

	/* Only the real user counts; the saved user stays root. */
	if (setresuid(NOBODY, NOBODY, 0))
		bail_out("cannot become user %d", NOBODY);
	anchor = twheel_open(NULL, O_CLOEXEC);
	if (anchor < 0)
		bail_out("cannot open " TWHEEL_DEVICE);
	for (i = 0; i < ARRAY_SIZE(targets); i++) {
		if (!wanted(&targets[i], names) || (targets[i].flags & COSTLY && !costly))
			continue;
		test_target(&targets[i]);
		if (targets[i].flags & LEVELS)
			test_exhausted(&targets[i]);
	}
	close(anchor);
	if (setresuid(0, 0, 0))
		bail_out("cannot become root again");
}

int main(int argc, char **argv)
{
	const char *module = NULL;
	bool costly = false;
	const struct program_option list[] = {
		{ "load", "FILE", "also unload the module and load this one", .text = &module },
		{ "costly", NULL, "also slow tests: a wheel with hundreds of thousands of\n"
		  "                     timers, and all of the kernel's own work in loading",
		  .flag = &costly },
		{ }
	};
	char **names = words_or_exit(argc, argv, &(const struct command_line) {
		"Usage: twheel-fault [OPTIONS] [NAME...]\n"
		"Make every allocation and many user copies of every call of /dev/twheel fail once,\n"
		"and print the results as TAP. With NAMEs, only calls whose names contain one.\n"
		"Needs root and a kernel with fault injection (CONFIG_FAILSLAB,\n"
		"CONFIG_FAIL_PAGE_ALLOC, CONFIG_FAULT_INJECTION_USERCOPY and _DEBUG_FS).\n",
		.options = list,
		.any_words = true,
	});

	puts("TAP version 13");
	if (!prepare_faults()) {
		tap_skip("needs root and a kernel with fault injection", "faults");
		return tap_done();
	}
	test_calls(names, costly);
	if (module)
		test_loading(module, costly);
	return tap_done();
}
