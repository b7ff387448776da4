// SPDX-License-Identifier: MIT
/*
 * Another thread or process holds the lock of a wheel in a page fault; rings and processes
 * end with commands in flight
 */
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>

#include "ring.h"

/* Calls of others must not take this long. */
#define PROMPT	(5 * SEC)
#define MOST	8

/* Prepares one of each kind of command; returns how many. */
static unsigned int prepare_all(struct io_uring *ring, int fd, const uint64_t *id)
{
	static struct twheel_add add[3];
	static struct twheel_modify modify[2];
	static uint64_t cancel[2];
	static struct twheel_batch batch[3];
	int i;

	for (i = 0; i < 3; i++)
		add[i] = (struct twheel_add){ .time_ns = HOUR };
	for (i = 0; i < 2; i++) {
		modify[i] = (struct twheel_modify){ .id = id[i], .time_ns = 2 * HOUR };
		cancel[i] = id[2 + i];
	}
	batch[0] = (struct twheel_batch){ (uintptr_t)(add + 1), 2, 0 };
	batch[1] = (struct twheel_batch){ (uintptr_t)(modify + 1), 1, 0 };
	batch[2] = (struct twheel_batch){ (uintptr_t)(cancel + 1), 1, 0 };
	twheel_prep_add(get_sqe(ring, 0), fd, add);
	twheel_prep_add_batch(get_sqe(ring, 1), fd, batch);
	twheel_prep_modify_timer(get_sqe(ring, 2), fd, modify);
	twheel_prep_modify_batch(get_sqe(ring, 3), fd, batch + 1);
	twheel_prep_call(get_sqe(ring, 4), fd, TWHEEL_CANCEL, cancel);
	twheel_prep_cancel_batch(get_sqe(ring, 5), fd, batch + 2);
	twheel_prep_modify(get_sqe(ring, 6), fd, id[4], HOUR);
	twheel_prep_cancel(get_sqe(ring, 7), fd, id[5]);
	return MOST;
}

static void add_some(int fd, uint64_t *id, unsigned int n)
{
	while (n--)
		*id++ = add_timer(fd, HOUR, n);
}

/* Nothing waits for a call that is stalled in a page fault: all commands are done at once. */
static void test_held_lock(const struct kind *kind)
{
	int fd = open_wheel(0), res[MOST + 1], wrong = 0;
	struct holder *holder;
	struct io_uring ring;
	unsigned int n, i;
	uint64_t id[6], began;

	add_some(fd, id, 6);
	open_ring(&ring, kind->flags);
	holder = hold_lock(fd);
	began = now_ns();
	n = prepare_all(&ring, fd, id);
	submit(&ring);
	wrong = !results(&ring, n, res);
	for (i = 0; i < n; i++)
		wrong += res[i] != (i == 1 ? 2 : i == 3 || i == 5);
	tap_result(!wrong && now_ns() - began < PROMPT && info_of(fd).pending == 6 + 3 - 3 &&
		   info_of(fd).modified == 3,
		   "%s: commands do not wait for a call that is stalled", kind->name);
	release_lock(holder);
	tap_result(info_of(fd).pending == 6 + 3 - 3 + 1, "%s: and that call ends", kind->name);
	io_uring_queue_exit(&ring);
	close(fd);
}

/* A batch that is longer than a hold of the lock is done, or ends early, but does nothing twice. */
static void test_long_batch(void)
{
	enum { MANY = 20000 };
	static struct twheel_add add[MANY];
	struct twheel_batch batch = { (uintptr_t)add, MANY, 0 };
	int fd = open_wheel(0), i, res;
	struct io_uring_sqe *sqe;
	struct io_uring ring;

	for (i = 0; i < MANY; i++)
		add[i].time_ns = HOUR;
	open_ring(&ring, 0);
	twheel_prep_add_batch(get_sqe(&ring, 0), fd, &batch);
	submit(&ring);
	res = result(&ring);
	tap_result(res == MANY && info_of(fd).added == MANY, "a batch of %d is done at once", MANY);
	sqe = get_sqe(&ring, 0);
	twheel_prep_add_batch(sqe, fd, &batch);
	sqe->flags |= IOSQE_ASYNC;
	submit(&ring);
	res = result(&ring);
	tap_result(res == MANY && info_of(fd).added == 2 * MANY, "and by a worker");
	io_uring_queue_exit(&ring);
	close(fd);
}

/* A ring is closed while workers of it wait for the lock. */
static void test_closed_ring(void)
{
	int fd = open_wheel(0);
	struct holder *holder;
	struct io_uring ring;
	uint64_t id[6], began;
	unsigned int i;

	add_some(fd, id, 6);
	holder = hold_lock(fd);
	began = now_ns();
	for (i = 0; i < 5; i++) {
		open_ring(&ring, 0);
		prepare_all(&ring, fd, id);
		submit(&ring);
		io_uring_queue_exit(&ring);
	}
	tap_result(now_ns() - began < PROMPT, "a ring is closed with commands in flight");
	release_lock(holder);
	began = now_ns();
	while (count_workers() && now_ns() - began < LATE)
		sleep_for(MSEC);
	add_timer(fd, HOUR, 0);
	tap_result(info_of(fd).added >= 8, "and the wheel goes on");
	close(fd);
}

/* A process is killed, or ends, while workers of it wait for the lock. */
static void test_killed_process(bool kill_it)
{
	int fd = open_wheel(0), status;
	struct holder *holder;
	struct io_uring ring;
	uint64_t id[6], began;
	char byte;
	int up[2];
	pid_t pid;

	add_some(fd, id, 6);
	holder = hold_lock(fd);
	if (pipe(up))
		bail_out("pipe() failed");
	pid = fork();
	if (!pid) {
		open_ring(&ring, 0);
		prepare_all(&ring, fd, id);
		submit(&ring);
		if (write(up[1], "x", 1) != 1)
			_exit(1);
		while (kill_it)
			pause();
		_exit(0);
	}
	if (pid < 0 || read(up[0], &byte, 1) != 1)
		bail_out("no process with a ring");
	began = now_ns();
	if (kill_it)
		kill(pid, SIGKILL);
	while (waitpid(pid, &status, WNOHANG) != pid && now_ns() - began < PROMPT)
		sleep_for(MSEC);
	tap_result(now_ns() - began < PROMPT, "a process %s with commands in flight",
		   kill_it ? "is killed" : "ends");
	release_lock(holder);
	tap_result(info_of(fd).pending >= 4 && add_timer(fd, HOUR, 0), "and the wheel goes on");
	close(up[0]);
	close(up[1]);
	close(fd);
}

/* A child has its own ring on its parent's wheel. */
static void test_other_process(void)
{
	struct twheel_add add = { .time_ns = 20 * MSEC, .data = 5 };
	int fd = open_wheel(0), status;
	struct twheel_event event = { };
	struct io_uring ring;
	ssize_t size;
	pid_t pid = fork();

	if (!pid) {
		open_ring(&ring, DEFER);
		twheel_prep_add(get_sqe(&ring, 0), fd, &add);
		submit(&ring);
		_exit(result(&ring) || !add.id);
	}
	open_ring(&ring, 0);
	io_uring_prep_read(get_sqe(&ring, 0), fd, &event, sizeof(event), 0);
	submit(&ring);
	size = result(&ring);
	waitpid(pid, &status, 0);
	tap_result(!status && size == sizeof(event) && event.data == 5,
		   "one process adds by its ring, another reads by its ring");
	io_uring_queue_exit(&ring);
	close(fd);
}

void test_trouble(void)
{
	unsigned int i;

	for (i = 0; i < nr_kinds; i++)
		test_held_lock(&kinds[i]);
	test_long_batch();
	test_closed_ring();
	test_killed_process(true);
	test_killed_process(false);
	test_other_process();
}
