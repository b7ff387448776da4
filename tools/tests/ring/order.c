// SPDX-License-Identifier: MIT
/*
 * The order of changes: always as linked; as submitted, while nothing else uses the wheel
 */
#include "ring.h"
#include "chance.h"

#define ROUNDS	300
#define MOST	40

/* Changes of one timer in one submission: the last one counts, and nothing after a cancel. */
static void test_submission(const struct kind *kind)
{
	int fd = open_wheel(O_NONBLOCK), wrong = 0, round, res[MOST];
	struct chance chance;
	struct io_uring ring;

	chance_init(&chance, 1, 0);
	open_ring(&ring, kind->flags);
	for (round = 0; round < ROUNDS; round++) {
		uint64_t id = add_timer(fd, HOUR, 0), before = info_of(fd).now_ns, delay = 0;
		unsigned int n = 2 + chance_below(&chance, MOST - 2), i, cancel;

		cancel = chance_below(&chance, 2) ? chance_below(&chance, n) : n;
		for (i = 0; i < n; i++) {
			if (i == cancel) {
				twheel_prep_cancel(get_sqe(&ring, i), fd, id);
				continue;
			}
			if (i < cancel)
				delay = HOUR + chance_below(&chance, 1000) * HOUR;
			twheel_prep_modify(get_sqe(&ring, i), fd, id, delay);
		}
		submit(&ring);
		wrong += !results(&ring, n, res);
		for (i = 0; i < n; i++)
			wrong += res[i] != (i > cancel ? -ENOENT : 0);
		if (cancel < n)
			wrong += exists(fd, id);
		else
			wrong += deadline_of(fd, id) - before - delay > LATE;
	}
	tap_result(!wrong && !count_workers(), "%s: changes of a timer are done in their order",
		   kind->name);
	io_uring_queue_exit(&ring);
	close(fd);
}

/* A chain continues after a batch, whose result is a count, and ends at a failure. */
static void test_chain(unsigned int flags, const char *who)
{
	struct twheel_add add[200] = { };
	struct twheel_batch batch = { (uintptr_t)add, 200, 0 };
	int fd = open_wheel(0), res[5], i;
	struct io_uring_sqe *sqe;
	struct io_uring ring;

	for (i = 0; i < 200; i++)
		add[i].time_ns = HOUR;
	open_ring(&ring, 0);
	sqe = get_sqe(&ring, 0);
	twheel_prep_add_batch(sqe, fd, &batch);
	sqe->flags |= IOSQE_IO_LINK | flags;
	sqe = get_sqe(&ring, 1);
	io_uring_prep_nop(sqe);
	sqe->user_data = 1;
	submit(&ring);
	tap_result(results(&ring, 2, res) && res[0] == 200 && !res[1],
		   "%s: a chain goes on behind a batch", who);

	twheel_prep_modify(sqe = get_sqe(&ring, 0), fd, add[0].id, 2 * HOUR);
	sqe->flags |= IOSQE_IO_LINK | flags;
	twheel_prep_cancel(sqe = get_sqe(&ring, 1), fd, add[0].id);
	sqe->flags |= IOSQE_IO_LINK | flags;
	twheel_prep_cancel(sqe = get_sqe(&ring, 2), fd, add[0].id);
	sqe->flags |= IOSQE_IO_LINK | flags;
	twheel_prep_cancel(sqe = get_sqe(&ring, 3), fd, add[1].id);
	submit(&ring);
	tap_result(results(&ring, 4, res) && !res[0] && !res[1] && res[2] == -ENOENT &&
		   res[3] == -ECANCELED && exists(fd, add[1].id),
		   "%s: and ends with what fails", who);
	io_uring_queue_exit(&ring);
	close(fd);
}

/* Changes keep their order while another call is stalled in a page fault. */
static void test_stalled_call(void)
{
	int fd = open_wheel(0), round, wrong = 0, res[MOST];
	struct io_uring ring;

	open_ring(&ring, 0);
	for (round = 0; round < 20; round++) {
		uint64_t id = add_timer(fd, HOUR, 0), before = info_of(fd).now_ns;
		struct holder *holder = hold_lock(fd);
		unsigned int i;

		for (i = 0; i < MOST; i++)
			twheel_prep_modify(get_sqe(&ring, i), fd, id, (2 + i) * HOUR);
		submit(&ring);
		wrong += peek_results(&ring, MOST, res) != MOST;
		for (i = 0; i < MOST; i++)
			wrong += res[i] != 0;
		release_lock(holder);
		wrong += deadline_of(fd, id) - before - (MOST + 1) * HOUR > LATE;
	}
	tap_result(!wrong, "changes are done in their order beside a stalled call");
	io_uring_queue_exit(&ring);
	close(fd);
}

void test_order(void)
{
	unsigned int i;

	for (i = 0; i < nr_kinds; i++)
		test_submission(&kinds[i]);
}

void test_links(void)
{
	test_chain(0, "at once");
	test_chain(IOSQE_ASYNC, "by workers");
	test_stalled_call();
}
