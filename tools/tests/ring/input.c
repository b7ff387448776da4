// SPDX-License-Identifier: MIT
/*
 * Bad input: an errno in the CQE, and nothing has changed
 */
#include <sys/eventfd.h>
#include <sys/mman.h>

#include "ring.h"

/* A wheel with a timer, before and after. */
struct scene {
	int fd;
	uint64_t id;
	struct twheel_info before;
	struct io_uring ring;
};

static void begin(struct scene *scene, unsigned int flags)
{
	scene->fd = open_wheel(O_NONBLOCK);
	scene->id = add_timer(scene->fd, HOUR, 1);
	scene->before = info_of(scene->fd);
	open_ring(&scene->ring, flags);
}

static bool unchanged(struct scene *scene)
{
	struct twheel_info now = info_of(scene->fd);

	return now.added == scene->before.added && now.modified == scene->before.modified &&
	       now.cancelled == scene->before.cancelled && now.memory == scene->before.memory &&
	       now.pending == scene->before.pending && now.tick_ns == scene->before.tick_ns;
}

static void end(struct scene *scene)
{
	io_uring_queue_exit(&scene->ring);
	close(scene->fd);
}

/* The prepared request gets this errno, at once and by a worker. */
static bool refused(struct scene *scene, const struct io_uring_sqe *request, int err)
{
	struct io_uring_sqe *sqe;
	int i, res, wrong = 0;

	for (i = 0; i < 2; i++) {
		sqe = get_sqe(&scene->ring, 0);
		*sqe = *request;
		if (i)
			sqe->flags |= IOSQE_ASYNC;
		submit(&scene->ring);
		res = result(&scene->ring);
		if (res != -err) {
			tap_note("%s: %d", i ? "by a worker" : "at once", res);
			wrong++;
		}
	}
	return !wrong && unchanged(scene);
}

static void test_unknown(struct scene *scene)
{
	static const uint32_t commands[] = {
		0, 1, _IO(TWHEEL_IOC_MAGIC, 0), _IO(TWHEEL_IOC_MAGIC, 0x7f),
		_IO(TWHEEL_IOC_MAGIC, 0x22), _IOW(TWHEEL_IOC_MAGIC, 0x20, uint64_t),
		_IO(TWHEEL_IOC_MAGIC + 1, 0x20), TWHEEL_ADD ^ 1U << 16, UINT32_MAX,
		/* These change no timer. */
		TWHEEL_SETUP, TWHEEL_QUERY, TWHEEL_INFO, TWHEEL_RING,
	};
	struct io_uring_sqe sqe = { };
	bool ok = true;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(commands); i++) {
		twheel_prep_command(&sqe, scene->fd, commands[i], 0, 0);
		ok &= refused(scene, &sqe, ENOTTY);
	}
	tap_result(ok, "what is no command: ENOTTY");
}

static void test_pointers(struct scene *scene)
{
	static const uint32_t commands[] = {
		TWHEEL_ADD, TWHEEL_CANCEL, TWHEEL_MODIFY, TWHEEL_ADD_BATCH,
		TWHEEL_CANCEL_BATCH, TWHEEL_MODIFY_BATCH,
	};
	void *none = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	const uint64_t pointers[] = { 0, 1, (uintptr_t)none, 1ULL << 47, ~0ULL << 47, ~7ULL };
	struct io_uring_sqe sqe = { };
	unsigned int i, j;
	bool ok = true;

	for (i = 0; i < ARRAY_SIZE(commands); i++) {
		for (j = 0; j < ARRAY_SIZE(pointers); j++) {
			twheel_prep_command(&sqe, scene->fd, commands[i], pointers[j], 0);
			ok &= refused(scene, &sqe, EFAULT);
		}
	}
	tap_result(ok, "addresses of nothing: EFAULT");
	for (i = 3, ok = true; i < ARRAY_SIZE(commands); i++) {
		for (j = 0; j < ARRAY_SIZE(pointers); j++) {
			struct twheel_batch batch = { pointers[j], 1, 0 };

			twheel_prep_call(&sqe, scene->fd, commands[i], &batch);
			ok &= refused(scene, &sqe, EFAULT);
		}
	}
	tap_result(ok, "batches whose entries are nowhere: EFAULT");
}

static void test_fields(struct scene *scene)
{
	struct twheel_add add = { .time_ns = HOUR };
	struct io_uring_sqe sqe = { };
	bool ok = true;

	twheel_prep_command(&sqe, scene->fd, TWHEEL_ADD, (uintptr_t)&add, 1);
	ok &= refused(scene, &sqe, EINVAL);
	twheel_prep_command(&sqe, scene->fd, TWHEEL_URING_CANCEL, scene->id, 1);
	ok &= refused(scene, &sqe, EINVAL);
	twheel_prep_command(&sqe, scene->fd, TWHEEL_URING_CANCEL, scene->id, 1ULL << 63);
	ok &= refused(scene, &sqe, EINVAL);
	tap_result(ok, "bytes behind the argument that are not zero: EINVAL");

	ok = true;
	twheel_prep_cancel(&sqe, scene->fd, scene->id);
	sqe.rw_flags = 1 << 2;	/* uring_cmd_flags */
	ok &= refused(scene, &sqe, EINVAL);
	sqe.rw_flags = 1 << 30;
	ok &= refused(scene, &sqe, EINVAL);
	twheel_prep_cancel(&sqe, scene->fd, scene->id);
	sqe.off |= 1ULL << 32;	/* what is behind cmd_op */
	ok &= refused(scene, &sqe, EINVAL);
	tap_result(ok, "flags of a command: EINVAL");

	twheel_prep_modify(&sqe, scene->fd, scene->id, 1ULL << 63);
	ok = refused(scene, &sqe, EINVAL);
	twheel_prep_modify(&sqe, scene->fd, 0, HOUR);
	ok &= refused(scene, &sqe, ENOENT);
	twheel_prep_modify(&sqe, scene->fd, scene->id + (1ULL << 32), HOUR);
	ok &= refused(scene, &sqe, ENOENT);
	twheel_prep_cancel(&sqe, scene->fd, 0);
	ok &= refused(scene, &sqe, ENOENT);
	add.flags = 2;
	twheel_prep_add(&sqe, scene->fd, &add);
	ok &= refused(scene, &sqe, EINVAL);
	add = (struct twheel_add){ .time_ns = HOUR, .reserved = 1 };
	ok &= refused(scene, &sqe, EINVAL);
	tap_result(ok && !add.id, "arguments that an ioctl refuses");
}

/* Flags that use a resource of the ring. */
static void test_buffers(struct scene *scene)
{
	char memory[64];
	struct iovec iov = { memory, sizeof(memory) };
	struct io_uring_sqe sqe = { };
	bool ok;

	ok = !io_uring_register_buffers(&scene->ring, &iov, 1);
	twheel_prep_cancel(&sqe, scene->fd, scene->id);
	sqe.rw_flags = 1;	/* IORING_URING_CMD_FIXED */
	tap_result(ok && refused(scene, &sqe, EINVAL), "a registered buffer: EINVAL");
}

static void test_long_sqes(void)
{
	struct twheel_add add = { .time_ns = HOUR };
	struct io_uring_sqe *sqe;
	struct scene scene;
	unsigned int word;
	bool ok = true;

	begin(&scene, IORING_SETUP_SQE128);
	for (word = 2; word < 10; word++) {
		sqe = get_sqe(&scene.ring, 0);
		twheel_prep_add(sqe, scene.fd, &add);
		(&sqe->addr3)[word] = 1;
		submit(&scene.ring);
		ok &= result(&scene.ring) == -EINVAL;
		sqe = get_sqe(&scene.ring, 0);
		twheel_prep_modify(sqe, scene.fd, scene.id, HOUR);
		sqe->flags |= IOSQE_ASYNC;
		(&sqe->addr3)[word] = 1ULL << 63;
		submit(&scene.ring);
		ok &= result(&scene.ring) == -EINVAL;
	}
	tap_result(ok && unchanged(&scene),
		   "an SQE of 128 bytes whose second half is not zero: EINVAL");
	twheel_prep_add(get_sqe(&scene.ring, 0), scene.fd, &add);
	submit(&scene.ring);
	tap_result(!result(&scene.ring) && exists(scene.fd, add.id),
		   "an SQE of 128 bytes whose second half is zero");
	end(&scene);
}

static void test_iopoll(void)
{
	struct io_uring_sqe sqe = { };
	struct scene scene;
	int res;

	begin(&scene, IORING_SETUP_IOPOLL);
	twheel_prep_cancel(&sqe, scene.fd, scene.id);
	*get_sqe(&scene.ring, 0) = sqe;
	submit(&scene.ring);
	/* From about 7.0 on, io_uring does not need polling for it. */
	res = result(&scene.ring);
	tap_result((res == -EOPNOTSUPP && unchanged(&scene)) ||
		   (!res && !exists(scene.fd, scene.id)),
		   "a ring with IOPOLL: EOPNOTSUPP, or it is done");
	end(&scene);
}

/* Files that are not wheels. */
static void test_files(struct scene *scene)
{
	struct io_uring_sqe sqe = { };
	int other = eventfd(0, 0);
	bool ok;

	twheel_prep_cancel(&sqe, other, scene->id);
	ok = refused(scene, &sqe, EOPNOTSUPP);
	close(other);
	ok &= refused(scene, &sqe, EBADF);
	tap_result(ok, "another file: EOPNOTSUPP; none: EBADF");
}

void test_input(void)
{
	struct scene scene;

	begin(&scene, 0);
	test_unknown(&scene);
	test_pointers(&scene);
	test_fields(&scene);
	test_buffers(&scene);
	test_files(&scene);
	end(&scene);
	test_long_sqes();
	test_iopoll();
}
