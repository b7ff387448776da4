// SPDX-License-Identifier: MIT
/*
 * Requests that wait read events: without a worker, and none is lost
 */
#include "ring.h"

#define SIZE	sizeof(struct twheel_event)

enum way { READ, READV, READ_FIXED, PROVIDED };

static const char *const way_names[] = {
	"READ", "READV", "READ_FIXED", "READ into a selected buffer",
};

struct reader {
	struct io_uring ring;
	struct twheel_event event[16];
	struct iovec iov;
	int fd;
};

static void give_buffer(struct reader *reader)
{
	io_uring_prep_provide_buffers(get_sqe(&reader->ring, 0), reader->event,
				      sizeof(reader->event), 1, 7, 0);
	submit(&reader->ring);
	if (result(&reader->ring) < 0)
		bail_out("cannot provide a buffer");
}

static void open_reader(struct reader *reader, unsigned int ring_flags, int file_flags)
{
	reader->fd = open_wheel(file_flags);
	open_ring(&reader->ring, ring_flags);
	reader->iov = (struct iovec){ reader->event, sizeof(reader->event) };
	if (io_uring_register_buffers(&reader->ring, &reader->iov, 1))
		bail_out("cannot register a buffer");
}

static void close_reader(struct reader *reader)
{
	io_uring_queue_exit(&reader->ring);
	close(reader->fd);
}

static void submit_read(struct reader *reader, enum way way, unsigned int flags)
{
	struct io_uring_sqe *sqe;

	if (way == PROVIDED)
		give_buffer(reader);
	sqe = get_sqe(&reader->ring, 1);
	if (way == READV)
		io_uring_prep_readv(sqe, reader->fd, &reader->iov, 1, 0);
	else if (way == READ_FIXED)
		io_uring_prep_read_fixed(sqe, reader->fd, reader->event,
					 sizeof(reader->event), 0, 0);
	else
		io_uring_prep_read(sqe, reader->fd, reader->event, sizeof(reader->event), 0);
	if (way == PROVIDED) {
		sqe->addr = 0;
		flags |= IOSQE_BUFFER_SELECT;
		sqe->buf_group = 7;
	}
	sqe->flags |= flags;
	submit(&reader->ring);
}

static void test_waiting(const struct kind *kind, enum way way, int file_flags)
{
	struct io_uring_cqe cqe;
	struct reader reader;
	uint64_t began;
	bool early;
	int res;

	open_reader(&reader, kind->flags, file_flags);
	submit_read(&reader, way, 0);
	early = wait_cqe(&reader.ring, A_WHILE, &cqe) != NONE;
	began = now_ns();
	add_timer(reader.fd, 30 * MSEC, 42);
	res = result(&reader.ring);
	tap_result(!early && res == SIZE && reader.event[0].data == 42 &&
		   now_ns() - began >= 30 * MSEC && !count_workers(),
		   "%s%s in %s waits, without a worker", way_names[way],
		   file_flags ? ", O_NONBLOCK" : "", kind->name);
	/* Expired timers are read at once. */
	add_timer(reader.fd, 0, 43);
	submit_read(&reader, way, 0);
	tap_result(result(&reader.ring) == SIZE && reader.event[0].data == 43,
		   "%s%s in %s reads what has expired", way_names[way],
		   file_flags ? ", O_NONBLOCK" : "", kind->name);
	close_reader(&reader);
}

static void test_worker(void)
{
	struct reader reader;

	open_reader(&reader, 0, 0);
	submit_read(&reader, READ, IOSQE_ASYNC);
	add_timer(reader.fd, 30 * MSEC, 42);
	tap_result(result(&reader.ring) == SIZE && reader.event[0].data == 42,
		   "READ with IOSQE_ASYNC");
	close_reader(&reader);
}

/* Several reads wait, each for one event or many; every event goes to one of them. */
static void test_many(unsigned int flags, unsigned int reads, unsigned int max)
{
	enum { TIMERS = 300 };
	static struct twheel_event event[16][32];
	unsigned int i, got = 0, twice = 0;
	bool seen[TIMERS] = { };
	struct io_uring_cqe cqe;
	struct reader reader;

	open_reader(&reader, flags, 0);
	for (i = 0; i < reads; i++)
		io_uring_prep_read(get_sqe(&reader.ring, i), reader.fd, event[i], max * SIZE, 0);
	submit(&reader.ring);
	for (i = 0; i < TIMERS; i++)
		add_timer(reader.fd, (10 + i / 3) * MSEC, i);
	while (got < TIMERS && wait_cqe(&reader.ring, LATE, &cqe) > 0) {
		for (i = 0; i < cqe.res / SIZE; i++) {
			bool *one = &seen[event[cqe.user_data][i].data];

			twice += *one;
			*one = true;
		}
		got += cqe.res / SIZE;
		io_uring_prep_read(get_sqe(&reader.ring, cqe.user_data), reader.fd,
				   event[cqe.user_data], max * SIZE, 0);
		submit(&reader.ring);
	}
	tap_result(got == TIMERS && !twice && !count_workers(),
		   "%u reads of up to %u events wait in %s: none is lost, none comes twice",
		   reads, max, flags ? "DEFER_TASKRUN" : "a plain ring");
	close_reader(&reader);
}

static void test_end(void)
{
	struct __kernel_timespec ts = { .tv_nsec = 30 * MSEC };
	struct reader reader;
	int res[3];
	uint64_t began;

	open_reader(&reader, 0, 0);
	io_uring_prep_read(get_sqe(&reader.ring, 0), reader.fd, reader.event, SIZE, 0);
	submit(&reader.ring);
	io_uring_prep_cancel64(get_sqe(&reader.ring, 1), 0, 0);
	submit(&reader.ring);
	tap_result(results(&reader.ring, 2, res) && res[0] == -ECANCELED && !res[1],
		   "a read that waits is cancelled");

	io_uring_prep_read(get_sqe(&reader.ring, 0), reader.fd, reader.event, SIZE, 0);
	reader.ring.sq.sqes[(reader.ring.sq.sqe_tail - 1) & *reader.ring.sq.kring_mask].flags |=
		IOSQE_IO_LINK;
	io_uring_prep_link_timeout(get_sqe(&reader.ring, 1), &ts, 0);
	submit(&reader.ring);
	tap_result(results(&reader.ring, 2, res) && res[0] == -ECANCELED && res[1] == -ETIME,
		   "a read that waits has a linked timeout");

	io_uring_prep_read(get_sqe(&reader.ring, 0), reader.fd, reader.event, SIZE, 0);
	submit(&reader.ring);
	began = now_ns();
	close_reader(&reader);
	tap_result(now_ns() - began < LATE / 4, "a ring is closed while a read waits");
}

/* IORING_OP_READ_MULTISHOT, which headers of 6.1 lack. */
#define OP_READ_MULTISHOT	49

static bool has_multishot(struct io_uring *ring)
{
	struct io_uring_probe *probe = io_uring_get_probe_ring(ring);
	bool has = probe && io_uring_opcode_supported(probe, OP_READ_MULTISHOT);

	io_uring_free_probe(probe);
	return has;
}

static void test_multishot(void)
{
	enum { TIMERS = 300, BUFFERS = 64 };
	static struct twheel_event pool[BUFFERS][4];
	unsigned int got = 0, armed = 1, i;
	struct io_uring_cqe cqe;
	struct io_uring ring;
	struct io_uring_sqe *sqe;
	uint64_t sum = 0;
	int fd = open_wheel(O_NONBLOCK);

	open_ring(&ring, 0);
	if (!has_multishot(&ring)) {
		tap_note("this kernel has no IORING_OP_READ_MULTISHOT, which came with 6.7");
		goto out;
	}
	io_uring_prep_provide_buffers(get_sqe(&ring, 0), pool, sizeof(pool[0]), BUFFERS, 7, 0);
	submit(&ring);
	if (result(&ring) < 0)
		bail_out("cannot provide buffers");
	sqe = get_sqe(&ring, 1);
	io_uring_prep_rw(OP_READ_MULTISHOT, sqe, fd, NULL, 0, 0);
	sqe->flags |= IOSQE_BUFFER_SELECT;
	sqe->buf_group = 7;
	submit(&ring);
	for (i = 0; i < TIMERS; i++)
		add_timer(fd, (20 + i / 3) * MSEC, i);
	while (got < TIMERS && wait_cqe(&ring, LATE, &cqe) > 0) {
		unsigned int nr = cqe.flags >> IORING_CQE_BUFFER_SHIFT;

		for (i = 0; i < cqe.res / SIZE; i++)
			sum += pool[nr][i].data;
		got += cqe.res / SIZE;
		armed += !(cqe.flags & IORING_CQE_F_MORE);
		sqe = get_sqe(&ring, 0);
		io_uring_prep_provide_buffers(sqe, pool[nr], sizeof(pool[0]), 1, 7, nr);
		sqe->flags |= IOSQE_CQE_SKIP_SUCCESS;
		submit(&ring);
	}
	tap_result(got == TIMERS && sum == TIMERS * (TIMERS - 1) / 2 && armed == 1,
		   "READ_MULTISHOT, armed once, loses none");
out:
	io_uring_queue_exit(&ring);
	close(fd);
}

void test_reads(void)
{
	unsigned int i, way;

	for (i = 0; i < nr_kinds; i++) {
		for (way = READ; way <= PROVIDED; way++)
			test_waiting(&kinds[i], way, 0);
		test_waiting(&kinds[i], READ, O_NONBLOCK);
	}
	test_many(0, 1, 32);
	test_many(0, 16, 32);
	test_many(0, 16, 1);
	test_many(DEFER, 16, 1);
	test_end();
	test_multishot();
	test_worker();
}
