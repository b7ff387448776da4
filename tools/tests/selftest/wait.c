// SPDX-License-Identifier: MIT
/*
 * Waiting: no wake-up is lost, no spurious one reaches user space, and the hrtimer fires
 * only while there are waiters.
 *
 * A thread waits in each of the possible ways, and the test changes the wheel while it
 * sleeps. The number of times that a thread has gone to sleep shows whether it was woken.
 */
#include <linux/userfaultfd.h>
#include <sched.h>
#include <sys/resource.h>

#include "selftest.h"
#include "aio.h"

/* On a busy host a thread may need this long to begin to wait. */
#define SOON		SEC
/* How long to wait for events that must not happen. */
#define A_WHILE		(50 * MSEC)
/* The length of a bucket of the second level. */
#define BUCKET		(TWHEEL_SIZE_DEFAULT * TWHEEL_TICK_DEFAULT_NS)

struct waiter;

/* A way to wait until there is something to read. */
struct way {
	int (*wait)(struct waiter *waiter);
	__u32 events;		/* of an epoll */
	bool nested;		/* the epoll is in another one */
	bool reads;		/* the ring */
};

/*
 * A thread that waits once.
 */
struct waiter {
	int fd;
	const struct way *way;
	atomic_int tid;		/* 0 until it is about to sleep */
	atomic_int result;	/* 0 until it has waited; 1 when there was something to read */
	long sleeps;		/* as of when it slept */
	long slept;		/* in the end */
	__u64 when;
	struct twheel_event event;	/* if it reads */
};

static void begin_to_wait(struct waiter *waiter)
{
	waiter->tid = gettid();
}

static int wait_in_read(struct waiter *waiter)
{
	begin_to_wait(waiter);
	return tw_read(waiter->fd, &waiter->event, 1);
}

static int wait_in_poll(struct waiter *waiter)
{
	begin_to_wait(waiter);
	return poll_for(waiter->fd, POLLIN, -1);
}

static int wait_in_epoll(struct waiter *waiter)
{
	int epoll = watch(waiter->fd, waiter->way->events);

	if (waiter->way->nested)
		epoll = watch(epoll, waiter->way->events);
	begin_to_wait(waiter);
	return epoll_for(epoll, -1);
}

static int wait_in_ring(struct waiter *waiter)
{
	bool reads = waiter->way->reads;
	struct io_uring_cqe cqe;
	struct ring ring;

	if (!ring_open(&ring, 0) ||
	    !(reads ? ring_read(&ring, waiter->fd, &waiter->event, sizeof(waiter->event)) :
	      ring_poll(&ring, waiter->fd, 0)))
		return -errno;
	begin_to_wait(waiter);
	ring_next(&ring, &cqe, true);
	return reads && cqe.res > 0 ? whole_events(cqe.res) : cqe.res;
}

static int wait_in_aio(struct waiter *waiter)
{
	aio_context_t aio = aio_open(1);

	if (!aio || !aio_poll(aio, waiter->fd))
		return -errno;
	begin_to_wait(waiter);
	return aio_next(aio, -1);
}

#define EDGE	(EPOLLIN | EPOLLET)

static const struct way in_read = { wait_in_read };
static const struct way in_poll = { wait_in_poll };
static const struct way in_epoll = { wait_in_epoll, EPOLLIN };
static const struct way in_edge = { wait_in_epoll, EDGE };
static const struct way in_exclusive = { wait_in_epoll, EPOLLIN | EPOLLEXCLUSIVE };
static const struct way in_nested_edge = { wait_in_epoll, EDGE, .nested = true };
static const struct way in_ring_poll = { wait_in_ring };
static const struct way in_ring_read = { wait_in_ring, .reads = true };
static const struct way in_aio = { wait_in_aio };

static void *wait_once(void *arg)
{
	struct waiter *waiter = arg;
	struct rusage usage;
	int result = waiter->way->wait(waiter);

	waiter->when = now_ns();
	getrusage(RUSAGE_THREAD, &usage);
	waiter->slept = usage.ru_nvcsw;
	waiter->result = result ?: -ENODATA;
	return NULL;
}

/* Returns true when it sleeps. */
static bool start_waiter(struct waiter *waiter, int fd, const struct way *way)
{
	pthread_t thread;

	memset(waiter, 0, sizeof(*waiter));
	waiter->fd = fd;
	waiter->way = way;
	if (pthread_create(&thread, NULL, wait_once, waiter))
		return false;
	wait_until(waiter->tid || waiter->result);
	waiter->sleeps = wait_asleep(waiter->tid);
	return waiter->sleeps >= 0;
}

/* Its result, or 0 if it never returned. */
static int result_of(struct waiter *waiter)
{
	wait_until(waiter->result);
	return waiter->result;
}

/* Check that it sleeps, and has not been woken. */
static bool is_undisturbed(struct waiter *waiter)
{
	return !waiter->result && sleeps_of(waiter->tid) == waiter->sleeps;
}

/*
 * Each of these in each of the ways to wait, also for a wheel with a ring.
 */
FIXTURE_OF_WHEEL(waiting, struct mapped map; struct waiter waiter[1];);

/* With @believes, the waiter trusts the wake-up, though it is no longer true. */
FIXTURE_VARIANT(waiting)
{
	const struct way *way;
	bool ring;
	bool believes;
};

FIXTURE_VARIANT_ADD(waiting, read) { .way = &in_read };
FIXTURE_VARIANT_ADD(waiting, poll) { .way = &in_poll };
FIXTURE_VARIANT_ADD(waiting, epoll) { .way = &in_epoll };
FIXTURE_VARIANT_ADD(waiting, edge) { .way = &in_edge };
FIXTURE_VARIANT_ADD(waiting, exclusive) { .way = &in_exclusive };
FIXTURE_VARIANT_ADD(waiting, nested_edge) { .way = &in_nested_edge };
FIXTURE_VARIANT_ADD(waiting, ring_poll) { .way = &in_ring_poll, .believes = true };
FIXTURE_VARIANT_ADD(waiting, ring_read) { .way = &in_ring_read };
FIXTURE_VARIANT_ADD(waiting, aio) { .way = &in_aio };
FIXTURE_VARIANT_ADD(waiting, poll_with_ring) { .way = &in_poll, .ring = true };
FIXTURE_VARIANT_ADD(waiting, epoll_with_ring) { .way = &in_epoll, .ring = true };
FIXTURE_VARIANT_ADD(waiting, edge_with_ring) { .way = &in_edge, .ring = true };
FIXTURE_VARIANT_ADD(waiting, nested_edge_with_ring) { .way = &in_nested_edge, .ring = true };
FIXTURE_VARIANT_ADD(waiting, aio_with_ring) { .way = &in_aio, .ring = true };
FIXTURE_VARIANT_ADD(waiting, ring_poll_with_ring) { &in_ring_poll, true, true };

FIXTURE_SETUP(waiting)
{
	self->fd = open_wheel(_metadata, variant->ring ? O_NONBLOCK : 0);
	if (variant->ring)
		ASSERT_TRUE(map_ring(&self->map, self->fd, 100));
}

/* Take an event away, wherever it is, unless the waiter has read it. */
static void take_away(struct mapped *map, int fd, __u64 id)
{
	tw_cancel(fd, id);
	if (map->ring)
		take(map, 1);
}

/* On a busy host, a waiter may need long to sleep. */
TEST_F(waiting, ends_at_the_deadline)
{
	__u64 soon = SOON / 4, deadline, id;

	do {
		deadline = now_ns() + soon;
		before = tw_info(self->fd);
		ASSERT_NE(0, id = add_at(self->fd, deadline, 3));
		if (start_waiter(self->waiter, self->fd, variant->way))
			break;
		ASSERT_EQ(1, result_of(self->waiter));
		take_away(&self->map, self->fd, id);
		soon *= 2;
	} while (soon < AT_LAST);
	EXPECT_EQ(1, result_of(self->waiter));
	EXPECT_LE(deadline, self->waiter->when);
	if (variant->ring)
		EXPECT_EQ(1, in_order(take(&self->map, 1), 3));
	EXPECT_EQ(before.fires + 1, tw_info(self->fd).fires);
}

/* It is due at once, or the earliest. */
TEST_F(waiting, ends_for_a_timer_that_is_added_or_modified)
{
	for (int i = 0; i < 4; i++) {
		__u64 id = add_after(self->fd, HOUR, 1), deadline;

		ASSERT_TRUE(start_waiter(self->waiter, self->fd, variant->way));
		deadline = i / 2 ? now_ns() + A_WHILE : 0;
		if (!(i % 2))
			id = add_at(self->fd, deadline, 2);
		EXPECT_EQ(0, i % 2 ? tw_modify(self->fd, id, deadline, TWHEEL_ABSTIME) : 0);
		EXPECT_EQ(1, result_of(self->waiter))
			TH_LOG("%s, %s", i % 2 ? "modified" : "added", i / 2 ? "earliest" : "due");
		EXPECT_LE(deadline, self->waiter->when);
		take_away(&self->map, self->fd, id);
	}
}

/* If there is another one, the hrtimer fires spuriously, and no waiter notices. */
TEST_F(waiting, goes_on_when_the_first_timer_is_cancelled)
{
	for (int others = 0; others < 2; others++) {
		__u64 fires = tw_info(self->fd).fires, deadline = now_ns() + SOON + BUCKET;
		__u64 id = add_after(self->fd, SOON, 1);

		if (others)
			ASSERT_NE(0, add_at(self->fd, deadline, 2));
		ASSERT_TRUE(start_waiter(self->waiter, self->fd, variant->way));
		ASSERT_EQ(0, tw_cancel(self->fd, id));
		if (!others) {
			sleep_until(deadline);
			EXPECT_TRUE(is_undisturbed(self->waiter));
			EXPECT_GE(fires + 1, tw_info(self->fd).fires);
			deadline = now_ns() + A_WHILE;
			ASSERT_NE(0, id = add_at(self->fd, deadline, 2));
		}
		EXPECT_EQ(1, result_of(self->waiter));
		EXPECT_LE(deadline, self->waiter->when);
		EXPECT_EQ(self->waiter->sleeps, self->waiter->slept);
		EXPECT_GE(fires + 2, tw_info(self->fd).fires);
		take_away(&self->map, self->fd, id);
	}
}

TEST_F(waiting, on_an_empty_wheel_lets_no_hrtimer_fire)
{
	ASSERT_TRUE(start_waiter(self->waiter, self->fd, variant->way));
	sleep_for(A_WHILE);
	EXPECT_TRUE(is_undisturbed(self->waiter));
	EXPECT_EQ(0, tw_info(self->fd).fires);
	ASSERT_NE(0, add_at(self->fd, 0, 1));
	EXPECT_EQ(1, result_of(self->waiter));
	EXPECT_EQ(0, tw_info(self->fd).fires);
}

/*
 * Keep the threads that this one starts from running until it sleeps. They wait on its CPU, where
 * the hrtimer fires then, and where the kernel's thread completes an aio.
 */
static bool run_alone(void)
{
	struct sched_param param = { .sched_priority = 50 };
	cpu_set_t first;

	CPU_ZERO(&first);
	CPU_SET(0, &first);
	return !sched_setaffinity(0, sizeof(first), &first) &&
	       !sched_setscheduler(0, SCHED_FIFO | SCHED_RESET_ON_FORK, &param);
}

/* It is woken, but the timer is gone when it runs. */
TEST_F(waiting, goes_on_when_there_is_nothing_left_to_read)
{
	__u64 deadline = now_ns() + SOON;
	__u64 id = add_at(self->fd, deadline, 1);

	ASSERT_TRUE(run_alone());
	ASSERT_TRUE(start_waiter(self->waiter, self->fd, variant->way));
	/* Let no other thread of this CPU run. */
	sleep_until(deadline - MSEC);
	while (now_ns() < deadline + 2 * MSEC)
		;
	ASSERT_EQ(0, tw_cancel(self->fd, id));
	sleep_for(A_WHILE);
	/* With io_uring of some kernels it ends, as it does with timerfds. */
	if (variant->believes && self->waiter->result == 1)
		return;
	EXPECT_EQ(0, self->waiter->result);
	EXPECT_LE(0, sleeps_of(self->waiter->tid));
	EXPECT_GE(self->waiter->sleeps + 1, sleeps_of(self->waiter->tid));
	ASSERT_NE(0, add_after(self->fd, A_WHILE, 2));
	EXPECT_EQ(1, result_of(self->waiter));
}

/*
 * Several that wait for one wheel, and what the hrtimer does for them.
 */
#define NR_WAITERS	8

WHEEL_FIXTURE(waiters, 0, struct waiter waiter[NR_WAITERS];);

static unsigned int count_ended(struct waiter *waiter)
{
	unsigned int i, n = 0;

	for (i = 0; i < NR_WAITERS; i++)
		n += waiter[i].result == 1;
	return n;
}

/* Check that this many end, that nothing follows, and that the others were not disturbed. */
static bool only_end(struct waiter *waiter, unsigned int count)
{
	unsigned int others = 0;

	wait_until(count_ended(waiter) >= count);
	sleep_for(A_WHILE);
	for (int i = 0; i < NR_WAITERS; i++)
		others += is_undisturbed(&waiter[i]);
	return count_ended(waiter) == count && others == NR_WAITERS - count;
}

static bool start_waiters(struct waiter *waiter, int fd, const struct way *way)
{
	for (int i = 0; i < NR_WAITERS; i++)
		if (!start_waiter(&waiter[i], fd, way))
			return false;
	return true;
}

TEST_F(waiters, exclusive_waiters_are_woken_one_for_each_timer)
{
	/* A read that has to wait for its memory wakes the next waiter. */
	memset(event, 0xff, sizeof(*event));
	for (int exclusive = 0; exclusive < 2; exclusive++) {
		int fd = open_wheel(_metadata, 0);

		ASSERT_TRUE(start_waiters(self->waiter, fd, exclusive ? &in_exclusive : &in_read));
		for (int i = 1; i <= NR_WAITERS; i++) {
			ASSERT_NE(0, add_after(fd, i % 2 ? 20 * MSEC : 0, i));
			ASSERT_TRUE(only_end(self->waiter, i));
			if (exclusive)
				ASSERT_EQ(1, wait_and_read(fd, 1));
		}
	}
}

TEST_F(waiters, multishot_poll_reports_each_timer)
{
	struct io_uring_cqe cqe;
	struct ring ring;

	ASSERT_TRUE(ring_open(&ring, 0));
	ASSERT_TRUE(ring_poll(&ring, self->fd, IORING_POLL_ADD_MULTI));
	for (int i = 0; i < 10; i++) {
		EXPECT_FALSE(ring_next(&ring, &cqe, false));
		ASSERT_NE(0, add_after(self->fd, i % 2 ? 20 * MSEC : 0, i));
		ASSERT_TRUE(wait_until(ring_next(&ring, &cqe, false)));
		EXPECT_EQ(POLLIN, cqe.res);
		EXPECT_EQ(IORING_CQE_F_MORE, cqe.flags);
		ASSERT_EQ(i, read_one(self->fd));
	}
	EXPECT_EQ(5, tw_info(self->fd).fires);
}

/* How often an epoll reports in 20 turns or more, and within a second and a half or more. */
static unsigned int count_reports(int epoll)
{
	__u64 until = now_ns() + 1500 * MSEC;
	unsigned int reports = 0;

	for (int turn = 0; turn < 20 || now_ns() < until; turn++) {
		reports += epoll_for(epoll, 100) == EPOLLIN;
		sleep_for(10 * MSEC);
	}
	return reports;
}

/* Neither other timers nor calls that change nothing cause another fire or report. */
TEST_F(waiters, unread_wheel_wakes_once)
{
	int edge = watch(self->fd, EDGE), level = watch(self->fd, EPOLLIN);

	ASSERT_TRUE(add_many(self->fd, 1000, 4 * A_WHILE, MSEC, 0));
	EXPECT_LT(10, count_reports(level));
	EXPECT_EQ(1, count_reports(edge));
	ASSERT_NE(0, add_after(self->fd, 20 * MSEC, 1));
	sleep_for(40 * MSEC);
	for (int i = 0; i < 1000; i++) {
		ASSERT_EQ(0, tw_query(self->fd, ids[0]));
		ASSERT_NE(0, add_after(self->fd, HOUR, 3));
	}
	EXPECT_EQ(1, fdinfo_field(self->fd, "twheel-fires"));
	EXPECT_EQ(0, epoll_for(edge, 20));
}

TEST_F(waiters, no_hrtimer_fires_without_any) /* SECURITY: expiry */
{
	ASSERT_TRUE(add_many(self->fd, 10, 4 * A_WHILE, MSEC, 0));
	/* A waiter that has left leaves the hrtimer armed, but it is not armed again. */
	ASSERT_EQ(0, poll_for(self->fd, POLLIN, 1));
	ASSERT_EQ(0, tw_cancel(self->fd, ids[0]));
	sleep_for(5 * A_WHILE);
	EXPECT_EQ(1, fdinfo_field(self->fd, "twheel-fires"));
	ASSERT_EQ(9, read_events(self->fd, 10));
	ASSERT_TRUE(add_many(self->fd, 10, 4 * A_WHILE, MSEC, 0));
	/* This poll does not wait. */
	EXPECT_FALSE(readable(self->fd));
	sleep_for(5 * A_WHILE);
	EXPECT_EQ(10, tw_info(self->fd).expired);
	EXPECT_TRUE(readable(self->fd));
	EXPECT_EQ(0, read_one(self->fd));
	EXPECT_EQ(1, tw_info(self->fd).fires);
}

/* Return the time for which the only hrtimer of a wheel is armed, as the kernel lists it, or 0. */
static __u64 armed_for(void)
{
	unsigned long long time = 0;
	bool found = false;
	char line[256];

	/* Read it again: an hrtimer that goes while the list is printed may hide the next. */
	for (int tries = 0; !time && tries < 50; tries++) {
		FILE *file = fopen("/proc/timer_list", "r");

		while (file && !time && fgets(line, sizeof(line), file)) {
			if (found)
				sscanf(line, " # expires at %llu", &time);
			found = strstr(line, "twheel_file_fire");
		}
		if (file)
			fclose(file);
	}
	return time;
}

/* No test can wait for these. */
TEST_F(waiters, far_timer_arms_for_its_deadline)
{
	static const __u64 hours[] = { 1, 23, 25, 60 * 24, 10 * 365 * 24, 200 * 365 * 24 };
	struct waiter waiter;

	for (unsigned int i = 0; i < ARRAY_SIZE(hours); i++) {
		int fd = open_wheel(_metadata, 0);
		__u64 deadline = now_ns() + hours[i] * HOUR;

		ASSERT_NE(0, add_at(fd, deadline, 1));
		ASSERT_TRUE(start_waiter(&waiter, fd, &in_read));
		EXPECT_EQ(boundary_of(deadline, MSEC), armed_for())
			TH_LOG("%llu hours ahead", hours[i]);
		ASSERT_NE(0, add_at(fd, 0, 2));
		EXPECT_EQ(1, result_of(&waiter));
		close(fd);
	}
}

/* A page whose first fault ends when the test decides. */
struct trap {
	int fd;
	size_t size;
	void *page;
};

static bool set_trap(struct trap *trap)
{
	struct uffdio_api api = { .api = UFFD_API };
	struct uffdio_register range = { .mode = UFFDIO_REGISTER_MODE_MISSING };

	trap->size = sysconf(_SC_PAGESIZE);
	trap->page = new_pages(trap->size);
	trap->fd = syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK);
	range.range.start = (uintptr_t)trap->page;
	range.range.len = trap->size;
	return trap->fd >= 0 && !ioctl(trap->fd, UFFDIO_API, &api) &&
	       !ioctl(trap->fd, UFFDIO_REGISTER, &range);
}

static pid_t start_reader_of(int fd, __u64 data, bool stalled)
{
	struct twheel_event *to = event;
	struct trap trap;
	pid_t pid = fork();

	if (!pid) {
		if (stalled && set_trap(&trap))
			to = trap.page;
		_exit(tw_read(fd, to, 1) != 1 || to->data != data);
	}
	return wait_asleep(pid) < 0 ? -1 : pid;
}

/* The first is woken, waits for its memory, and leaves the event to the next. */
TEST_F(waiters, stalled_reader_wakes_the_next) /* SECURITY: missing pages */
{
	/* Late enough for the readers to be ready, even on a busy host. */
	__u64 deadline = now_ns() + 2 * SEC;
	pid_t reader[2];
	int i;

	ASSERT_NE(0, add_at(self->fd, deadline, 7));
	for (i = 0; i < 2; i++)
		ASSERT_LT(0, reader[i] = start_reader_of(self->fd, 7, !i));
	EXPECT_TRUE(wait_until(waitpid(reader[1], NULL, WNOHANG)));
	ASSERT_EQ(0, waitpid(reader[0], NULL, WNOHANG));
	ASSERT_EQ(0, kill(reader[0], SIGKILL));
	ASSERT_TRUE(wait_until(waitpid(reader[0], NULL, WNOHANG)));
	EXPECT_EQ(1, tw_info(self->fd).delivered);
}
