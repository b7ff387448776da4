/* SPDX-License-Identifier: MIT */
/*
 * selftest.h - the helpers of the self-tests of /dev/twheel
 *
 * The tests know only the ABI: they check the contract in <linux/twheel.h>. Every call
 * here returns the result of the system call, or minus its errno, so that a test names
 * the error it expects.
 *
 * kselftest's harness keeps its list of tests in static variables. The sources of
 * this folder are therefore one translation unit: main.c includes them.
 */
#ifndef _TWHEEL_SELFTEST_H
#define _TWHEEL_SELFTEST_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <linux/twheel.h>

/* The harness may compare a signed literal with an unsigned value. */
#pragma GCC diagnostic ignored "-Wsign-compare"
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-parameter"
#include "kselftest_harness.h"
#pragma GCC diagnostic pop

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
#define AT_LAST		(10 * SEC)

/* An id that a call must not touch. */
#define UNTOUCHED	0xdeadbeefdeadbeefULL

/* The first multiple of @tick at or after @when. */
static inline __u64 boundary_of(__u64 when, __u64 tick)
{
	return (when + tick - 1) / tick * tick;
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

	if (!ring.queues && !ring_open_with(&ring, by == BY_SQE ? DEFER_TASKRUN : 0))
		abort();
	twheel_prep_command(&sqe, fd, command, first, second);
	return ring_execute(&ring, &sqe);
}

/* These have no command: they change no timer. */
static inline bool only_by_ioctl(unsigned long cmd)
{
	return cmd == TWHEEL_SETUP || cmd == TWHEEL_QUERY || cmd == TWHEEL_INFO ||
	       cmd == TWHEEL_LIST || cmd == TWHEEL_RING;
}

static inline int tw_ioctl(int fd, unsigned long cmd, void *arg)
{
	int ret;

	if (by != BY_IOCTL && !only_by_ioctl(cmd))
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

static inline int tw_query(int fd, __u64 id, struct twheel_query *query)
{
	memset(query, 0xa5, sizeof(*query));
	query->id = id;
	query->reserved = 0;
	return tw_ioctl(fd, TWHEEL_QUERY, query);
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

/* The number of events read, or minus errno; -EPROTO for a part of an event. */
static inline int tw_read(int fd, struct twheel_event *event, unsigned int max)
{
	ssize_t ret = read(fd, event, max * sizeof(*event));

	if (ret < 0)
		return -errno;
	return ret % sizeof(*event) ? -EPROTO : (int)(ret / sizeof(*event));
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

/* Waits for something to read and reads it: returns as tw_read(), or -ETIMEDOUT. */
static inline int wait_and_read(int fd, struct twheel_event *event, unsigned int max)
{
	if (poll_for(fd, POLLIN, 5000) != POLLIN)
		return -ETIMEDOUT;
	return tw_read(fd, event, max);
}

/* Waits until @count timers have expired unread. */
static inline bool wait_expired(int fd, __u64 count)
{
	__u64 until = now_ns() + 5 * SEC;

	while (tw_info(fd).expired != count) {
		if (now_ns() > until)
			return false;
		sleep_for(MSEC);
	}
	return true;
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
	(void)signal;
}

/* A signal every @usec microseconds, as the first may come before the call; @flags: SA_*. */
static inline bool start_signals(unsigned int usec, int flags)
{
	struct itimerval every = { .it_interval.tv_usec = usec, .it_value.tv_usec = usec };
	struct sigaction action = { .sa_handler = note_signal, .sa_flags = flags };

	return !sigaction(SIGALRM, &action, NULL) && !setitimer(ITIMER_REAL, &every, NULL);
}

/* The value of @field in the fdinfo of @fd, or ~0. */
static inline unsigned long long fdinfo_field(int fd, const char *field)
{
	unsigned long long value = ~0ULL;
	char path[64], name[64];
	FILE *file;

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", fd);
	file = fopen(path, "r");
	if (!file)
		return value;
	while (fscanf(file, "%63[^:]: %lli\n", name, (long long *)&value) == 2) {
		if (!strcmp(name, field))
			break;
		value = ~0ULL;
	}
	fclose(file);
	return value;
}

/* How often a task has gone to sleep, if it is sleeping now; or -1. */
static inline long sleeps_of(pid_t tid)
{
	const char *switches = "voluntary_ctxt_switches:";
	char path[32], line[128], state = 0;
	long sleeps = -1;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/status", tid);
	file = fopen(path, "r");
	if (!file)
		return -1;
	while (fgets(line, sizeof(line), file)) {
		if (!strncmp(line, "State:", strlen("State:")))
			state = line[strlen("State:\t")];
		if (!strncmp(line, switches, strlen(switches)))
			sleeps = strtol(line + strlen(switches), NULL, 10);
	}
	fclose(file);
	return state == 'S' || state == 'D' ? sleeps : -1;
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
 * The name of the first parameter or counter that differs from @before, or "".
 * Memory and levels may grow in a call that fails; the clock runs.
 */
static inline const char *changes(int fd, const struct twheel_info *before)
{
	struct twheel_info after = tw_info(fd);

	if (after.tick_ns != before->tick_ns)
		return "tick_ns";
	if (after.max_timers != before->max_timers)
		return "max_timers";
	if (after.wheel_size != before->wheel_size)
		return "wheel_size";
	if (after.clock_id != before->clock_id)
		return "clock_id";
	if (after.pending != before->pending)
		return "pending";
	if (after.expired != before->expired)
		return "expired";
	if (after.added != before->added)
		return "added";
	if (after.modified != before->modified)
		return "modified";
	if (after.cancelled != before->cancelled)
		return "cancelled";
	return after.delivered != before->delivered ? "delivered" : "";
}

/* Checks the counters of a wheel without periodic timers: none is lost or counted twice. */
static inline bool balanced(int fd)
{
	struct twheel_info info = tw_info(fd);

	return info.added == info.pending + info.expired + info.cancelled + info.delivered;
}

/*
 * A page, and after it one that is not there (@prot < 0) or has protection
 * @prot. Returns the address @size bytes before the second one.
 */
static inline void *before_page(size_t size, int prot)
{
	size_t page = sysconf(_SC_PAGESIZE);
	size_t first = (size + page - 1) / page * page;
	char *map = mmap(NULL, first + page, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (map == MAP_FAILED)
		abort();
	if (prot < 0 ? munmap(map + first, page) : mprotect(map + first, page, prot))
		abort();
	return map + first - size;
}

static inline void *before_hole(size_t size)
{
	return before_page(size, -1);
}

/* A copy of @from in a read-only page. */
static inline void *read_only_copy(const void *from, size_t size)
{
	size_t page = sysconf(_SC_PAGESIZE);
	void *map = mmap(NULL, page, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (map == MAP_FAILED || size > page)
		abort();
	memcpy(map, from, size);
	if (mprotect(map, page, PROT_READ))
		abort();
	return map;
}

/* Pointers that no call can use: NULL, an unmapped page, the kernel's memory. */
#define NR_BAD_POINTERS	3
static inline void *bad_pointer(unsigned int nr)
{
	switch (nr) {
	case 0:
		return NULL;
	case 1:
		return before_hole(0);
	default:
		return (void *)-4096L;
	}
}

/* The wheel of a fixture; @flags as for open(). */
static inline int open_wheel(struct __test_metadata *_metadata, int flags)
{
	int fd = tw_open(flags);

	ASSERT_LE(0, fd)
		TH_LOG("cannot open " DEVICE ": %s; is the module loaded?", strerror(-fd));
	return fd;
}

/* What a fixture of one wheel has, besides other members, and how it ends. */
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

static inline void *map_fd(int fd, size_t size, int prot, int flags, off_t offset)
{
	void *map = mmap(NULL, size, prot, flags, fd, offset);

	return map == MAP_FAILED ? NULL : map;
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

/* Takes up to @max events; returns how many. */
static inline unsigned int take(struct mapped *map, struct twheel_event *events, unsigned int max)
{
	__u32 tail = __atomic_load_n(&map->ring->tail, __ATOMIC_ACQUIRE);
	__u32 head = map->ring->head;
	unsigned int n;

	for (n = 0; n < max && head != tail; n++) {
		events[n] = ((struct twheel_event *)(map->ring + 1))[head];
		head = head + 1 < map->slots ? head + 1 : 0;
	}
	__atomic_store_n(&map->ring->head, head, __ATOMIC_RELEASE);
	return n;
}

#endif /* _TWHEEL_SELFTEST_H */
