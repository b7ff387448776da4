/* SPDX-License-Identifier: MIT */
/*
 * selftest.h - the helpers of the self-tests of /dev/twheel
 *
 * The tests know only the ABI: they check the contract in <linux/twheel.h>. Every call
 * here returns the result of the system call, or minus its errno, so that a test names
 * the error it expects.
 *
 * The harness keeps its list of tests in static variables. The sources of this folder are
 * therefore one translation unit: main.c includes them.
 */
#ifndef _TWHEEL_SELFTEST_H
#define _TWHEEL_SELFTEST_H

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <time.h>

#include <linux/twheel.h>

/* The harness compares literals with unsigned values, and pointers; tables leave out zeros. */
#pragma GCC diagnostic ignored "-Wsign-compare"
#pragma GCC diagnostic ignored "-Wpointer-to-int-cast"
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"
#include "harness.h"

#include "chance.h"
#include "clock.h"
#include "ring.h"

#define DEVICE		"/dev/twheel"
#define DEFER_TASKRUN	(IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN)

/*
 * How late a reader may get an event. On a busy host, an emulated machine may stall for a
 * while: this only distinguishes "at the boundary" from "at the next one" or "never". If time
 * does not depend on the host, --late-max sets a strict limit.
 */
static __u64 lateness_max = 500 * MSEC;

/* An event that has not happened after this time never will. */
#define AT_LAST		(30 * SEC)

/* Wait for this condition: whether it became true in time. */
#define wait_until(condition)					\
({								\
	__u64 last = now_ns() + AT_LAST;			\
	bool is_true;						\
								\
	while (!(is_true = (condition)) && now_ns() < last)	\
		sleep_for(MSEC);				\
	is_true;						\
})

/* An id that a call must not touch. */
#define UNTOUCHED	0xdeadbeefdeadbeefULL

/*
 * The last results of a test, and the timers that it adds. Each test is a process of its own, so
 * these are its own, and zero in the beginning.
 */
#define MAX_EVENTS	5000
static struct twheel_event event[MAX_EVENTS];
static struct twheel_add adds[MAX_EVENTS];
static __u64 ids[MAX_EVENTS];
static struct twheel_query query;
static struct twheel_listed listed[20000];
static struct twheel_info before;

/* The first multiple of @tick at or after @when. */
static inline __u64 boundary_of(__u64 when, __u64 tick)
{
	return (when + tick - 1) / tick * tick;
}

/* The errno of a call that failed and returned -1, or 0. */
static inline int errno_of(long ret)
{
	return ret == -1 ? errno : 0;
}

static inline int tw_open(int flags)
{
	int fd = open(DEVICE, O_RDWR | O_CLOEXEC | flags);

	return fd < 0 ? -errno : fd;
}

/*
 * How the fixture changes timers. By a ring, each command has the address of its argument; by
 * SQEs, those of single timers have the argument itself.
 */
enum how { BY_IOCTL, BY_RING, BY_SQE };

static enum how by;

static inline int uring_command(int fd, __u32 command, __u64 first, __u64 second)
{
	static __thread struct ring ring;
	struct io_uring_sqe sqe = { .user_data = 0 };

	if (!ring.queues && !ring_open(&ring, by == BY_SQE ? DEFER_TASKRUN : 0))
		abort();
	twheel_prep_command(&sqe, fd, command, first, second);
	return ring_execute(&ring, &sqe);
}

static inline int tw_ioctl(int fd, unsigned long cmd, void *arg)
{
	int ret;

	/* Some have no command: they change no timer. */
	if (by != BY_IOCTL && cmd != TWHEEL_SETUP && cmd != TWHEEL_QUERY && cmd != TWHEEL_INFO &&
	    cmd != TWHEEL_LIST && cmd != TWHEEL_RING)
		return uring_command(fd, cmd, (uintptr_t)arg, 0);
	errno = 0;
	ret = ioctl(fd, cmd, arg);
	return ret < 0 ? -errno : ret;
}

static inline int tw_setup(int fd, __u64 tick, __u32 size, clockid_t clock, __u64 max_timers)
{
	struct twheel_setup setup = {
		.tick_ns = tick,
		.max_timers = max_timers,
		.wheel_size = size,
		.clock_id = clock,
	};

	return tw_ioctl(fd, TWHEEL_SETUP, &setup);
}

/* Adds a timer and returns its id, or 0 when the call failed or gave no id. */
static inline __u64 tw_add(int fd, __u64 time_ns, __u32 flags, __u64 interval, __u64 data)
{
	struct twheel_add add = {
		.time_ns = time_ns,
		.interval_ns = interval,
		.data = data,
		.flags = flags,
	};

	return tw_ioctl(fd, TWHEEL_ADD, &add) ? 0 : add.id;
}

/* A timer that expires once, @delay from now. */
static inline __u64 add_after(int fd, __u64 delay, __u64 data)
{
	return tw_add(fd, delay, 0, 0, data);
}

/* A timer that expires once, at @deadline. */
static inline __u64 add_at(int fd, __u64 deadline, __u64 data)
{
	return tw_add(fd, deadline, TWHEEL_ABSTIME, 0, data);
}

/* 0, or minus the errno of an add that is expected to fail. */
static inline int try_add(int fd)
{
	struct twheel_add add = { .time_ns = HOUR };

	return tw_ioctl(fd, TWHEEL_ADD, &add);
}

static inline int tw_cancel(int fd, __u64 id)
{
	if (by == BY_SQE)
		return uring_command(fd, TWHEEL_URING_CANCEL, id, 0);
	return tw_ioctl(fd, TWHEEL_CANCEL, &id);
}

/* From now on. A first command makes the ring, before the test has pages without memory. */
static inline void change_by(int fd, enum how how)
{
	by = how;
	tw_cancel(fd, 0);
}

static inline int tw_modify(int fd, __u64 id, __u64 time_ns, __u32 flags)
{
	struct twheel_modify modify = { .id = id, .time_ns = time_ns, .flags = flags };

	if (by == BY_SQE && !flags)
		return uring_command(fd, TWHEEL_URING_MODIFY, id, time_ns);
	return tw_ioctl(fd, TWHEEL_MODIFY, &modify);
}

/* The answer is in @query. */
static inline int tw_query(int fd, __u64 id)
{
	memset(&query, 0xa5, sizeof(query));
	query.id = id;
	query.reserved = 0;
	return tw_ioctl(fd, TWHEEL_QUERY, &query);
}

/* The deadline of a timer, or ~0; the whole answer is in @query. */
static inline __u64 deadline_of(int fd, __u64 id)
{
	return tw_query(fd, id) ? ~0ULL : query.deadline_ns;
}

static inline struct twheel_info tw_info(int fd)
{
	struct twheel_info info;

	memset(&info, 0xa5, sizeof(info));
	if (tw_ioctl(fd, TWHEEL_INFO, &info))
		abort();
	return info;
}

static inline int tw_batch(int fd, unsigned long cmd, void *entries, __u32 count)
{
	struct twheel_batch batch = { .entries = (uintptr_t)entries, .count = count };

	return tw_ioctl(fd, cmd, &batch);
}

/* Fill @adds with @count timers that expire once, at @first and each @step later. */
static inline struct twheel_add *fill_adds(unsigned int count, __u64 first, __u64 step,
					   __u32 flags)
{
	for (unsigned int i = 0; i < count; i++) {
		adds[i] = (struct twheel_add) {
			.id = UNTOUCHED, .time_ns = first + i * step, .data = i, .flags = flags,
		};
	}
	return adds;
}

/* Add such timers in a batch; their ids are in @ids. */
static inline bool add_many(int fd, unsigned int count, __u64 first, __u64 step, __u32 flags)
{
	fill_adds(count, first, step, flags);
	if (tw_batch(fd, TWHEEL_ADD_BATCH, adds, count) != (int)count)
		return false;
	for (unsigned int i = 0; i < count; i++)
		ids[i] = adds[i].id;
	return true;
}

/* Add any multiple of MAX_EVENTS timers, an hour ahead, whose ids are in @id. */
static inline bool add_crowd(int fd, __u64 *id, unsigned int count)
{
	for (unsigned int done = 0; done < count; done += MAX_EVENTS) {
		fill_adds(MAX_EVENTS, HOUR, 0, 0);
		for (unsigned int i = 0; i < MAX_EVENTS; i++)
			adds[i].data += done;
		if (tw_batch(fd, TWHEEL_ADD_BATCH, adds, MAX_EVENTS) != MAX_EVENTS)
			return false;
		for (unsigned int i = 0; i < MAX_EVENTS; i++)
			id[done + i] = adds[i].id;
	}
	return true;
}

/* Add timers that are due one by one, with deadlines and data of @first, @first + 1, ... */
static inline bool add_due(int fd, unsigned int count, __u64 first)
{
	for (unsigned int i = 0; i < count; i++)
		if (!add_at(fd, first + i, first + i))
			return false;
	return true;
}

/* The number of whole events in @size bytes, or minus errno; -EPROTO for a part of an event. */
static inline int whole_events(ssize_t size)
{
	if (size < 0)
		return -errno;
	return size % sizeof(*event) ? -EPROTO : (int)(size / sizeof(*event));
}

static inline int tw_read(int fd, struct twheel_event *to, unsigned int max)
{
	return whole_events(read(fd, to, max * sizeof(*to)));
}

/* The same into @event. */
static inline int read_events(int fd, unsigned int max)
{
	return tw_read(fd, event, max);
}

/* Read one event: its user data, or minus errno. */
static inline long read_one(int fd)
{
	int ret = read_events(fd, 1);

	return ret == 1 ? (long)event->data : ret;
}

/* Return how many of @count events have the data @first, @first + 1, and so on. */
static inline int in_order(int count, __u64 first)
{
	int n = 0;

	while (n < count && event[n].data == first + n)
		n++;
	return count < 0 ? count : n;
}

/* The result of poll(): the events, 0 after @timeout_ms, or minus errno. */
static inline int poll_for(int fd, short events, int timeout_ms)
{
	struct pollfd pfd = { .fd = fd, .events = events };
	int ret = poll(&pfd, 1, timeout_ms);

	return ret < 0 ? -errno : pfd.revents;
}

static inline bool readable(int fd)
{
	return poll_for(fd, POLLIN, 0) & POLLIN;
}

/* Wait for something to read and read it: as read_events(), or -ETIMEDOUT. */
static inline int wait_and_read(int fd, unsigned int max)
{
	return poll_for(fd, POLLIN, 5000) == POLLIN ? read_events(fd, max) : -ETIMEDOUT;
}

/* Waits until @count timers have expired unread. */
static inline bool wait_expired(int fd, __u64 count)
{
	return wait_until(tw_info(fd).expired == count);
}

/* An epoll instance that watches @fd. */
static inline int watch(int fd, __u32 events)
{
	struct epoll_event event = { .events = events, .data.fd = fd };
	int epoll = epoll_create1(EPOLL_CLOEXEC);

	return epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event) ? -1 : epoll;
}

static inline int epoll_for(int epoll, int timeout_ms)
{
	struct epoll_event event;
	int ret = epoll_wait(epoll, &event, 1, timeout_ms);

	return ret == 1 ? (int)event.events : ret;
}

static inline void note_signal(int signal)
{
}

/* A signal every @usec microseconds, as the first may come before the call; @flags: SA_*. */
static inline bool start_signals(unsigned int usec, int flags)
{
	struct itimerval every = { .it_interval.tv_usec = usec, .it_value.tv_usec = usec };
	struct sigaction action = { .sa_handler = note_signal, .sa_flags = flags };

	return !sigaction(SIGALRM, &action, NULL) && !setitimer(ITIMER_REAL, &every, NULL);
}

/* Copy what a file of /proc has behind "@name:", and blanks, in a line; false if there is none. */
static inline bool proc_value(const char *path, const char *name, char *value, size_t size)
{
	FILE *file = fopen(path, "r");
	const size_t length = strlen(name);
	bool found = false;
	char line[128];

	while (file && !found && fgets(line, sizeof(line), file)) {
		const char *behind = line + length;

		found = !strncmp(line, name, length) && *behind == ':';
		if (found)
			snprintf(value, size, "%s", behind + 1 + strspn(behind + 1, " \t"));
	}
	if (file)
		fclose(file);
	return found;
}

/* The value of @field in the fdinfo of @fd, or ~0. */
static inline unsigned long long fdinfo_field(int fd, const char *field)
{
	char path[64], value[64];

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", fd);
	return proc_value(path, field, value, sizeof(value)) ? strtoull(value, NULL, 0) : ~0ULL;
}

/*
 * How often a task has gone to sleep, if it is sleeping now; or -1. The state in its status says so
 * while it still runs; its syscall has no number until it has left the CPU, nor when it has ended.
 */
static inline long sleeps_of(pid_t tid)
{
	char path[32], sleeps[32];
	bool in_call;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/syscall", tid);
	file = fopen(path, "r");
	in_call = file && isdigit(fgetc(file));
	if (file)
		fclose(file);
	snprintf(path, sizeof(path), "/proc/%d/status", tid);
	return in_call && proc_value(path, "voluntary_ctxt_switches", sleeps, sizeof(sleeps)) ?
		strtol(sleeps, NULL, 10) : -1;
}

/* The same when it has slept for a while; or -1 if it does not go to sleep. */
static inline long wait_asleep(pid_t tid)
{
	__u64 until = now_ns() + AT_LAST;
	long sleeps = -1, before;

	do {
		before = sleeps;
		sleeps = sleeps_of(tid);
		if (sleeps >= 0 && sleeps == before)
			return sleeps;
		sleep_for(2 * MSEC);
	} while (now_ns() < until);
	return -1;
}

/*
 * Return true if no parameter or counter differs from @than. Memory and levels may grow in a call
 * that fails; the clock runs.
 */
static inline bool is_unchanged(int fd, const struct twheel_info *than)
{
	struct twheel_info after = tw_info(fd);

	after.now_ns = than->now_ns;
	after.memory = than->memory;
	after.levels = than->levels;
	return !memcmp(&after, than, sizeof(after));
}

/* Checks the counters of a wheel without periodic timers: none is lost or counted twice. */
static inline bool balanced(int fd)
{
	struct twheel_info info = tw_info(fd);

	return info.added == info.pending + info.expired + info.cancelled + info.delivered;
}

/* Pages of memory, which are zero. */
static inline void *new_pages(size_t size)
{
	void *map = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (map == MAP_FAILED)
		abort();
	return map;
}

/*
 * Pages, and after them one that is not there (@prot < 0) or has protection @prot. Returns the
 * address @size bytes before that one.
 */
static inline void *before_page(size_t size, int prot)
{
	size_t page = sysconf(_SC_PAGESIZE), first = (size + page - 1) / page * page;
	char *map = new_pages(first + page);

	if (prot < 0 ? munmap(map + first, page) : mprotect(map + first, page, prot))
		abort();
	return map + first - size;
}

/* Wait for a child: its exit status, or -1 if it was killed. */
static inline int wait_for(pid_t pid)
{
	int status;

	return waitpid(pid, &status, 0) == pid && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* The wheel of a fixture; @flags as for open(). */
static inline int open_wheel(struct __test_metadata *_metadata, int flags)
{
	int fd = tw_open(flags);

	ASSERT_LE(0, fd)
		TH_LOG("cannot open " DEVICE ": %s; is the module loaded?", strerror(-fd));
	return fd;
}

/* A fixture of one wheel, with other members, and its teardown. */
#define FIXTURE_OF_WHEEL(name, ...)				\
FIXTURE(name)							\
{								\
	int fd;							\
	__VA_ARGS__						\
};								\
								\
FIXTURE_TEARDOWN(name)						\
{								\
	close(self->fd);					\
}								\
struct name##_fixture

/* Make such a fixture; @flags as for open(). */
#define WHEEL_FIXTURE(name, flags, ...)				\
FIXTURE_OF_WHEEL(name, __VA_ARGS__);				\
								\
FIXTURE_SETUP(name)						\
{								\
	self->fd = open_wheel(_metadata, flags);		\
}								\
struct name##_fixture

/* The same, with its timers changed in each way. */
#define CHANGING_FIXTURE(name)					\
FIXTURE_OF_WHEEL(name);						\
								\
FIXTURE_VARIANT(name)						\
{								\
	enum how by;						\
};								\
								\
FIXTURE_VARIANT_ADD(name, by_ioctl) { .by = BY_IOCTL };		\
FIXTURE_VARIANT_ADD(name, by_ring) { .by = BY_RING };		\
FIXTURE_VARIANT_ADD(name, by_sqe) { .by = BY_SQE };		\
								\
FIXTURE_SETUP(name)						\
{								\
	self->fd = open_wheel(_metadata, O_NONBLOCK);		\
	change_by(self->fd, variant->by);			\
}								\
struct name##_fixture

/* A wheel's ring in this process's memory. */
struct mapped {
	int fd;
	struct twheel_ring *ring;
	__u32 slots;
	__u32 size;
};

static inline int make_ring(int fd, __u32 slots, struct twheel_ring_setup *setup)
{
	*setup = (struct twheel_ring_setup) { .slots = slots };
	return tw_ioctl(fd, TWHEEL_RING, setup);
}

static inline bool map_ring(struct mapped *map, int fd, __u32 slots)
{
	struct twheel_ring_setup setup;

	if (make_ring(fd, slots, &setup))
		return false;
	*map = (struct mapped) { .fd = fd, .slots = setup.slots, .size = setup.size };
	map->ring = map_fd(fd, setup.size, PROT_READ | PROT_WRITE, MAP_SHARED, 0);
	return map->ring;
}

/* Take up to @max events into @event; returns how many. */
static inline int take(struct mapped *map, unsigned int max)
{
	__u32 tail = __atomic_load_n(&map->ring->tail, __ATOMIC_ACQUIRE);
	__u32 head = map->ring->head;
	unsigned int n;

	for (n = 0; n < max && head != tail; n++) {
		event[n] = ((struct twheel_event *)(map->ring + 1))[head];
		head = head + 1 < map->slots ? head + 1 : 0;
	}
	__atomic_store_n(&map->ring->head, head, __ATOMIC_RELEASE);
	return n;
}

#endif /* _TWHEEL_SELFTEST_H */
