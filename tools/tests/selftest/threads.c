// SPDX-License-Identifier: MIT
/*
 * Threads that add, modify, cancel and read at once on one wheel. Afterwards
 * the books must balance: each timer was read once or cancelled once, never
 * both, never neither.
 */
#include "selftest.h"

#define NR_WORKERS	3
#define NR_READERS	2
#define PER_WORKER	4000
#define NR_TIMERS	(NR_WORKERS * PER_WORKER)

WHEEL_FIXTURE(threads, O_NONBLOCK);

struct race {
	int fd;
	bool batches;
	atomic_bool stop;
	atomic_uint errors;		/* an error that a thread saw */
	atomic_ullong id[NR_TIMERS];	/* as the add returned it */
	atomic_ullong read_id[NR_TIMERS];	/* as an event carried it */
	atomic_uchar read[NR_TIMERS];
	atomic_uchar cancelled[NR_TIMERS];
	atomic_uint modified;
};

/* Timers of a worker that have an id so far, and the index of the first. */
struct worker {
	struct race *race;
	unsigned int first;
	unsigned int count;
	struct chance chance;
};

static unsigned int pick(struct worker *worker)
{
	return worker->first + chance_below(&worker->chance, worker->count);
}

static void add_some(struct worker *worker)
{
	unsigned int nr = worker->race->batches ? 16 : 1, i;
	struct race *race = worker->race;
	struct twheel_add add[16];

	for (i = 0; i < nr; i++) {
		add[i] = (struct twheel_add) {
			.time_ns = chance_below(&worker->chance, 20 * MSEC),
			.data = worker->first + worker->count + i,
		};
	}
	if (nr == 1 && tw_ioctl(race->fd, TWHEEL_ADD, add))
		race->errors++;
	if (nr > 1 && tw_batch(race->fd, TWHEEL_ADD_BATCH, add, nr) != (int)nr)
		race->errors++;
	for (i = 0; i < nr; i++)
		race->id[add[i].data] = add[i].id;
	worker->count += nr;
}

static void cancel_one(struct worker *worker)
{
	struct race *race = worker->race;
	unsigned int nr = pick(worker);
	__u64 id = race->id[nr];
	int ret;

	if (race->batches) {
		ret = tw_batch(race->fd, TWHEEL_CANCEL_BATCH, &id, 1);
		if (ret == 1)
			ret = 0;
	} else {
		ret = tw_cancel(race->fd, id);
	}
	if (!ret)
		race->cancelled[nr]++;
	else if (ret != -ENOENT)
		race->errors++;
}

static void modify_one(struct worker *worker)
{
	__u64 delay = chance_below(&worker->chance, 20 * MSEC);
	struct race *race = worker->race;
	int ret = tw_modify(race->fd, race->id[pick(worker)], delay, 0);

	if (!ret)
		race->modified++;
	else if (ret != -ENOENT)
		race->errors++;
}

static void *work(void *arg)
{
	struct worker *worker = arg;

	while (worker->count < PER_WORKER) {
		add_some(worker);
		if (chance_below(&worker->chance, 2))
			cancel_one(worker);
		if (chance_below(&worker->chance, 4) == 0)
			modify_one(worker);
	}
	return NULL;
}

static void book_event(struct race *race, const struct twheel_event *event)
{
	if (event->data >= NR_TIMERS || event->count != 1 || event->deadline_ns > now_ns()) {
		race->errors++;
		return;
	}
	race->read[event->data]++;
	race->read_id[event->data] = event->id;
}

static void *read_events(void *arg)
{
	struct race *race = arg;
	struct twheel_event event[7];
	int ret, i;

	while (!race->stop) {
		if (!poll_for(race->fd, POLLIN, 20))
			continue;
		ret = tw_read(race->fd, event, ARRAY_SIZE(event));
		if (ret < 0 && ret != -EAGAIN)
			race->errors++;
		for (i = 0; i < ret; i++)
			book_event(race, &event[i]);
	}
	return NULL;
}

/* Waits until the readers have taken everything, or five seconds. */
static void wait_until_empty(int fd)
{
	__u64 until = now_ns() + 5 * SEC;
	struct twheel_info info;

	do {
		sleep_for(MSEC);
		info = tw_info(fd);
	} while (info.pending + info.expired && now_ns() < until);
}

static void check_race(struct __test_metadata *_metadata, struct race *race)
{
	unsigned int i, read = 0, cancelled = 0;
	struct twheel_info info = tw_info(race->fd);

	for (i = 0; i < NR_TIMERS; i++) {
		ASSERT_EQ(1, race->read[i] + race->cancelled[i])
			TH_LOG("timer %u was read %u times and cancelled %u times", i,
			       race->read[i], race->cancelled[i]);
		if (race->read[i])
			ASSERT_EQ(race->id[i], race->read_id[i]);
		read += race->read[i];
		cancelled += race->cancelled[i];
	}
	EXPECT_EQ(0, race->errors);
	EXPECT_EQ(0, info.pending);
	EXPECT_EQ(0, info.expired);
	EXPECT_EQ(NR_TIMERS, info.added);
	EXPECT_EQ(read, info.delivered);
	EXPECT_EQ(cancelled, info.cancelled);
	EXPECT_EQ(race->modified, info.modified);
	EXPECT_FALSE(readable(race->fd));
}

static void run_race(struct __test_metadata *_metadata, struct race *race)
{
	pthread_t worker_thread[NR_WORKERS], reader_thread[NR_READERS];
	struct worker worker[NR_WORKERS];
	int i;

	for (i = 0; i < NR_READERS; i++)
		ASSERT_EQ(0, pthread_create(&reader_thread[i], NULL, read_events, race));
	for (i = 0; i < NR_WORKERS; i++) {
		worker[i] = (struct worker) {
			.race = race,
			.first = i * PER_WORKER,
		};
		chance_init(&worker[i].chance, 1, i);
		ASSERT_EQ(0, pthread_create(&worker_thread[i], NULL, work, &worker[i]));
	}
	for (i = 0; i < NR_WORKERS; i++)
		ASSERT_EQ(0, pthread_join(worker_thread[i], NULL));
	wait_until_empty(race->fd);
	race->stop = true;
	for (i = 0; i < NR_READERS; i++)
		ASSERT_EQ(0, pthread_join(reader_thread[i], NULL));
	check_race(_metadata, race);
}

TEST_F_TIMEOUT(threads, add_modify_cancel_and_read_at_once, 60) /* SECURITY: concurrent calls */
{
	static struct race race;

	race.fd = self->fd;
	run_race(_metadata, &race);
}

TEST_F_TIMEOUT(threads, the_same_in_batches, 60)
{
	static struct race race;

	race.fd = self->fd;
	race.batches = true;
	run_race(_metadata, &race);
}

/* A short tick and a small wheel: many levels and cascades. */
TEST_F_TIMEOUT(threads, the_same_in_a_small_wheel, 60)
{
	static struct race race;

	ASSERT_EQ(0, tw_setup(self->fd, 10 * USEC, 2, CLOCK_MONOTONIC, 0));
	race.fd = self->fd;
	run_race(_metadata, &race);
}

/* Two threads cancel the same ids: each is cancelled by one of them. */
struct cancel_race {
	int fd;
	const __u64 *id;
	unsigned int count, done, errors;
	pthread_barrier_t *start;
};

static void *cancel_all(void *arg)
{
	struct cancel_race *race = arg;
	unsigned int i;
	int ret;

	pthread_barrier_wait(race->start);
	for (i = 0; i < race->count; i++) {
		ret = tw_cancel(race->fd, race->id[i]);
		race->done += !ret;
		race->errors += ret && ret != -ENOENT;
	}
	return NULL;
}

TEST_F(threads, two_cancels_of_one_timer)
{
	static __u64 id[3000];
	struct cancel_race race[2];
	pthread_barrier_t start;
	pthread_t thread[2];
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(id); i++)
		ASSERT_NE(0, id[i] = add_after(self->fd, HOUR, i));
	ASSERT_EQ(0, pthread_barrier_init(&start, NULL, 2));
	for (i = 0; i < 2; i++) {
		race[i] = (struct cancel_race) {
			.fd = self->fd,
			.id = id,
			.count = ARRAY_SIZE(id),
			.start = &start,
		};
		ASSERT_EQ(0, pthread_create(&thread[i], NULL, cancel_all, &race[i]));
	}
	for (i = 0; i < 2; i++)
		ASSERT_EQ(0, pthread_join(thread[i], NULL));
	EXPECT_EQ(ARRAY_SIZE(id), race[0].done + race[1].done);
	EXPECT_EQ(0, race[0].errors + race[1].errors);
	EXPECT_EQ(0, tw_info(self->fd).pending);
}

/* Set-up in two threads at once: one gets it, the other EBUSY. */
struct setup_race {
	int fd, ret;
	pthread_barrier_t *start;
};

static void *set_up(void *arg)
{
	struct setup_race *race = arg;

	pthread_barrier_wait(race->start);
	race->ret = tw_setup(race->fd, 3 * MSEC, 10, CLOCK_MONOTONIC, 0);
	return NULL;
}

TEST_F(threads, two_setups_of_one_wheel) /* SECURITY: concurrent calls */
{
	struct setup_race race[2];
	pthread_barrier_t start;
	pthread_t thread[2];
	int round, i;

	ASSERT_EQ(0, pthread_barrier_init(&start, NULL, 2));
	for (round = 0; round < 50; round++) {
		int fd = tw_open(O_NONBLOCK);

		ASSERT_LE(0, fd);
		for (i = 0; i < 2; i++) {
			race[i] = (struct setup_race) { .fd = fd, .start = &start };
			ASSERT_EQ(0, pthread_create(&thread[i], NULL, set_up, &race[i]));
		}
		for (i = 0; i < 2; i++)
			ASSERT_EQ(0, pthread_join(thread[i], NULL));
		EXPECT_EQ(-EBUSY, race[0].ret + race[1].ret);
		EXPECT_TRUE(!race[0].ret || !race[1].ret);
		close(fd);
	}
}
