// SPDX-License-Identifier: MIT
/*
 * Calls, also senseless ones, on wheels that all fuzzers share; see fuzz.h
 *
 * Anything may happen to such a wheel at any time. It may even be closed and another one
 * opened with the same descriptor, which is thus always a wheel. Still, the possible
 * errors of each call are known, and a wheel's counters must balance.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fuzz.h"
#include "helpers.h"
#include "tap.h"

/* ---- ioctls -------------------------------------------------------------- */

static const unsigned long commands[] = {
	TWHEEL_SETUP, TWHEEL_ADD, TWHEEL_CANCEL, TWHEEL_MODIFY, TWHEEL_QUERY, TWHEEL_INFO,
	TWHEEL_RING, TWHEEL_ADD_BATCH, TWHEEL_CANCEL_BATCH, TWHEEL_MODIFY_BATCH,
	TWHEEL_LIST,
};

/* The possible errors of an ioctl on a wheel; EBADF if it was opened with O_PATH. */
static bool error_is_known(long ret)
{
	switch (-ret) {
	case EINVAL:
	case EFAULT:
	case ENOENT:
	case ENOSPC:
	case ENOMEM:
	case EBUSY:
	case ENOTTY:
	case EBADF:
		return true;
	default:
		return ret >= 0;
	}
}

/* Random bytes, at an address that may be anywhere. */
static void *any_argument(struct fuzzer *fuzzer, size_t size)
{
	struct spot spot = memory_spot(&fuzzer->memory, &fuzzer->chance, size);
	size_t i;

	for (i = 0; spot.fill && i < size && i < spot.readable; i++)
		spot.fill[i] = chance_hit(&fuzzer->chance, 70) ? 0 : chance_next(&fuzzer->chance);
	return spot.at;
}

/* A sensible array for @cmd. */
static void *any_entries(struct fuzzer *fuzzer, unsigned long cmd, uint32_t count)
{
	size_t size = cmd == TWHEEL_ADD_BATCH ? sizeof(struct twheel_add) :
		      cmd == TWHEEL_CANCEL_BATCH ? sizeof(uint64_t) :
		      sizeof(struct twheel_modify);
	struct spot spot = memory_spot(&fuzzer->memory, &fuzzer->chance, count * size);
	uint32_t i;

	for (i = 0; spot.fill && i < count && (i + 1) * size <= spot.readable; i++) {
		/* Both halves of an id are small numbers, so some of these exist. */
		uint64_t id = (1 + chance_below(&fuzzer->chance, 1000)) << 32 |
			      chance_below(&fuzzer->chance, 300);
		struct twheel_modify modify = { .id = id };
		struct twheel_add add;

		any_add(fuzzer, CLOCK_MONOTONIC, &add);
		any_modify(fuzzer, CLOCK_MONOTONIC, &modify);
		memcpy(spot.fill + i * size, cmd == TWHEEL_ADD_BATCH ? (void *)&add :
		       cmd == TWHEEL_CANCEL_BATCH ? (void *)&id : (void *)&modify, size);
	}
	return spot.at;
}

/* The fields of the batch are checked before anything else. */
static bool head_is_right(const struct twheel_batch *batch, const struct spot *spot, long ret)
{
	if (ret == -EBADF)
		return true;
	if (spot->readable < sizeof(*batch))
		return ret == -EFAULT;
	return !batch->flags || ret == -EINVAL;
}

static void shared_batch(struct fuzzer *fuzzer, int fd)
{
	static const enum fuzz_call calls[] = {
		CALL_ADD_BATCH, CALL_CANCEL_BATCH, CALL_MODIFY_BATCH,
	};
	struct chance *chance = &fuzzer->chance;
	unsigned int nr = chance_below(chance, 3);
	unsigned long cmd = commands[7 + nr];
	struct twheel_batch batch = { .count = chance_below(chance, FUZZ_BATCH) };
	struct spot spot;
	long ret;

	batch.entries = (uintptr_t)any_entries(fuzzer, cmd, batch.count);
	/* After that: writing to the entries may replace the page of the spot. */
	spot = memory_spot(&fuzzer->memory, chance, sizeof(batch));
	batch.flags = any_reserved(chance);
	/* More than the memory has: the call has to end where the memory ends. */
	if (chance_hit(chance, 5))
		batch.count = chance_next(chance);
	if (spot.fill)
		memcpy(spot.fill, &batch, sizeof(batch) < spot.readable ? sizeof(batch)
									: spot.readable);
	ret = fuzz_ioctl(fuzzer, calls[nr], fd, cmd, spot.at);
	if (!error_is_known(ret) || !head_is_right(&batch, &spot, ret))
		fuzz_fail(fuzzer, "batch %#lx returned %ld", cmd, ret);
}

/* From any cursor, to any place. */
static void shared_list(struct fuzzer *fuzzer, int fd)
{
	struct twheel_list list = {
		.count = chance_below(&fuzzer->chance, FUZZ_BATCH),
		.flags = any_reserved(&fuzzer->chance),
	};
	struct spot spot = memory_spot(&fuzzer->memory, &fuzzer->chance,
				       list.count * sizeof(struct twheel_listed));
	uint64_t cursor = chance_below(&fuzzer->chance, 1 << 12);
	long ret;

	if (chance_hit(&fuzzer->chance, 20))
		cursor = chance_any_size(&fuzzer->chance);
	list.cursor = cursor;
	list.entries = (uintptr_t)spot.at;
	if (chance_hit(&fuzzer->chance, 5))
		list.count = chance_next(&fuzzer->chance);
	ret = fuzz_ioctl(fuzzer, CALL_LIST, fd, TWHEEL_LIST, &list);
	if (ret == -EBADF)
		return;
	if (!error_is_known(ret) || (list.flags && ret != -EINVAL) ||
	    (ret <= 0 && list.cursor != cursor) || (ret > 0 && list.cursor <= cursor))
		fuzz_fail(fuzzer, "a list from %#llx to %#llx returned %ld",
			  (unsigned long long)cursor, list.cursor, ret);
}

static void shared_single(struct fuzzer *fuzzer, int fd)
{
	static const enum fuzz_call calls[] = {
		CALL_SETUP, CALL_ADD, CALL_CANCEL, CALL_MODIFY, CALL_QUERY, CALL_INFO, CALL_RING,
	};
	unsigned int nr = chance_below(&fuzzer->chance, ARRAY_SIZE(calls));
	void *arg = chance_hit(&fuzzer->chance, 50) ?
		any_argument(fuzzer, _IOC_SIZE(commands[nr])) :
		any_entries(fuzzer, nr == 1 ? TWHEEL_ADD_BATCH : TWHEEL_MODIFY_BATCH, 1);
	long ret = fuzz_ioctl(fuzzer, calls[nr], fd, commands[nr], arg);

	if (!error_is_known(ret) || ret > 0)
		fuzz_fail(fuzzer, "ioctl %#lx returned %ld", commands[nr], ret);
}

/* Skip ioctls of a wheel, and those that every file has. */
static bool is_taken(unsigned long cmd)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(commands); i++) {
		if ((uint32_t)cmd == commands[i])
			return true;
	}
	switch (_IOC_TYPE(cmd)) {
	case 0x00:
	case 0x12:
	case 'T':
	case 'X':
	case 'f':
	case 0x94:
		return true;
	}
	return false;
}

static void unknown_ioctl(struct fuzzer *fuzzer, int fd)
{
	struct chance *chance = &fuzzer->chance;
	unsigned long cmd = commands[chance_below(chance, ARRAY_SIZE(commands))];
	long ret;

	if (chance_hit(chance, 20))
		cmd = chance_next(chance);
	else
		cmd ^= 1UL << chance_below(chance, 32);
	if (is_taken(cmd))
		return;
	ret = fuzz_ioctl(fuzzer, CALL_OTHER, fd, cmd, any_argument(fuzzer, 64));
	if (ret != -ENOTTY)
		fuzz_fail(fuzzer, "unknown ioctl %#lx returned %ld", cmd, ret);
}

static void uring_call(struct fuzzer *fuzzer, int fd)
{
	long ret;

	if (!fuzzer->has_ring)
		return;
	ret = fuzz_count(fuzzer, CALL_URING,
			 uring_junk(fuzzer, fd, any_argument(fuzzer, sizeof(struct twheel_add))));
	if (!error_is_known(ret))
		fuzz_fail(fuzzer, "a command of io_uring returned %ld", ret);
}

static void balance(struct fuzzer *fuzzer, int fd)
{
	struct twheel_info info;
	long ret = fuzz_ioctl(fuzzer, CALL_INFO, fd, TWHEEL_INFO, &info);

	if (ret)
		fuzz_fail(fuzzer, "info returned %ld", ret);
	/* A periodic timer is delivered without end. */
	if (!ret && (info.added > info.pending + info.expired + info.cancelled + info.delivered ||
		     info.added < info.pending + info.expired + info.cancelled))
		fuzz_fail(fuzzer, "added %llu: there are %llu + %llu, cancelled %llu, read %llu",
			  info.added, info.pending, info.expired, info.cancelled,
			  info.delivered);
}

/* ---- Reading and polling ------------------------------------------------- */

static void shared_read(struct fuzzer *fuzzer, int fd)
{
	static const int flags[] = { 0, RWF_NOWAIT, RWF_HIPRI, RWF_DSYNC, RWF_APPEND };
	size_t size = chance_below(&fuzzer->chance, 64 * sizeof(struct twheel_event));
	struct spot spot = memory_spot(&fuzzer->memory, &fuzzer->chance, size);
	struct iovec piece[3];
	unsigned int i, count = 1 + chance_below(&fuzzer->chance, 3);
	long ret;

	for (i = 0; i < count; i++) {
		piece[i].iov_base = spot.at + i * size / count;
		piece[i].iov_len = chance_below(&fuzzer->chance, size / count + 1);
	}
	if (chance_hit(&fuzzer->chance, 50))
		ret = read(fd, spot.at, size);
	else
		ret = preadv2(fd, piece, count, chance_hit(&fuzzer->chance, 90) ? -1 : 0,
			      flags[chance_below(&fuzzer->chance, ARRAY_SIZE(flags))]);
	ret = fuzz_count(fuzzer, CALL_READ, ret < 0 ? -errno : ret);
	if (ret > 0 && ret % sizeof(struct twheel_event))
		fuzz_fail(fuzzer, "read returned %ld bytes", ret);
}

static void shared_poll(struct fuzzer *fuzzer, int fd)
{
	struct epoll_event event = {
		.events = (uint32_t)chance_next(&fuzzer->chance) & ~EPOLLWAKEUP,
	};
	struct pollfd pfd = { .fd = fd, .events = chance_next(&fuzzer->chance) };
	int epoll;

	fuzz_count(fuzzer, CALL_POLL, poll(&pfd, 1, chance_below(&fuzzer->chance, 2)));
	epoll = epoll_create1(EPOLL_CLOEXEC);
	if (epoll < 0)
		return;
	epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event);
	fuzz_count(fuzzer, CALL_POLL, epoll_wait(epoll, &event, 1, 0));
	if (chance_hit(&fuzzer->chance, 50))
		epoll_ctl(epoll, EPOLL_CTL_DEL, fd, &event);
	close(epoll);
}

/* ---- Calls that a wheel does not have ------------------------------------ */

/* Write rubbish anywhere in it, mostly where the kernel reads. */
static void scribble(struct fuzzer *fuzzer, struct twheel_ring *ring, size_t size)
{
	struct chance *chance = &fuzzer->chance;
	unsigned int i, n = chance_below(chance, 20);

	for (i = 0; i < n; i++) {
		uint32_t *where = (uint32_t *)ring + chance_below(chance, size / sizeof(*where));

		if (chance_hit(chance, 70))
			where = chance_hit(chance, 80) ? &ring->head : &ring->tail;
		__atomic_store_n(where, chance_hit(chance, 50) ? chance_below(chance, 200) :
				 chance_next(chance), __ATOMIC_RELAXED);
	}
}

/* Only a ring can be mapped: shared, from its begin to its end. */
static void map_wheel(struct fuzzer *fuzzer, int fd)
{
	static const size_t sizes[] = { 4096, 2 * 4096, 3 * 4096, 64 * 1024 };
	struct chance *chance = &fuzzer->chance;
	size_t size = chance_hit(chance, 70) ? sizes[chance_below(chance, ARRAY_SIZE(sizes))] :
		      1 + chance_below(chance, 1 << 20);
	int flags = chance_hit(chance, 70) ? MAP_SHARED : MAP_PRIVATE;
	int protection = chance_hit(chance, 50) ? PROT_READ | PROT_WRITE : chance_below(chance, 8);
	off_t offset = chance_hit(chance, 70) ? 0 : chance_below(chance, 1ULL << 40) << 12;
	struct twheel_ring_setup setup = { .slots = 2 + chance_below(chance, 600) };
	void *map, *more;

	/* Without a ring, nothing can be mapped; with one, nothing can be read. */
	if (chance_hit(chance, 20) &&
	    !error_is_known(fuzz_ioctl(fuzzer, CALL_RING, fd, TWHEEL_RING, &setup)))
		fuzz_fail(fuzzer, "a ring of %u slots: %s", setup.slots, strerror(errno));
	map = mmap(NULL, size, protection, flags, fd, offset);
	fuzz_count(fuzzer, CALL_MAP, map == MAP_FAILED ? -errno : 0);
	if (map == MAP_FAILED)
		return;
	if (offset || flags != MAP_SHARED || size > 64 * 1024)
		fuzz_fail(fuzzer, "what is no ring could be mapped");
	if (protection == (PROT_READ | PROT_WRITE)) {
		scribble(fuzzer, map, size);
		shared_poll(fuzzer, fd);
		scribble(fuzzer, map, size);
	}
	more = mremap(map, size, size + 4096 * (1 + chance_below(chance, 20)), MREMAP_MAYMOVE);
	if (more != MAP_FAILED)
		fuzz_fail(fuzzer, "the mapping of a ring grows");
	mprotect(map, size, chance_below(chance, 8));
	madvise(map, size, chance_below(chance, 26));
	munmap(map, size);
}

static long foreign_call(struct fuzzer *fuzzer, int fd, int other)
{
	size_t size = chance_below(&fuzzer->chance, 200);
	void *at = any_argument(fuzzer, size);
	off_t zero = 0;

	switch (chance_below(&fuzzer->chance, 9)) {
	case 0:
		return write(fd, at, size);
	case 1:
		return pread(fd, at, size, 0);
	case 2:
		return lseek(fd, chance_next(&fuzzer->chance), chance_below(&fuzzer->chance, 5));
	case 3:
		return ftruncate(fd, size);
	case 4:
		return fallocate(fd, 0, 0, size + 1);
	case 5:
		return splice(fd, NULL, other, NULL, size + 1, SPLICE_F_NONBLOCK);
	case 6:
		return sendfile(fd, fuzzer->memory.file, &zero, size + 1);
	case 7:
		return fsync(fd);
	default:
		return copy_file_range(fd, NULL, fuzzer->memory.file, NULL, size + 1, 0);
	}
}

static void other_call(struct fuzzer *fuzzer, int fd)
{
	int pair[2];
	long ret;

	if (pipe2(pair, O_CLOEXEC | O_NONBLOCK))
		return;
	ret = foreign_call(fuzzer, fd, pair[1]);
	ret = fuzz_count(fuzzer, CALL_OTHER, ret < 0 ? -errno : ret);
	if (ret >= 0)
		fuzz_fail(fuzzer, "a call that a wheel does not have returned %ld", ret);
	close(pair[0]);
	close(pair[1]);
}

/* ---- Coming and going ---------------------------------------------------- */

void shared_open(struct fuzzer *fuzzer, unsigned int nr)
{
	struct twheel_setup setup;
	int fd = fuzz_open(fuzzer);

	/* On failure, the old one stays. */
	if (fd < 0)
		return;
	any_setup(fuzzer, &setup);
	/* Memory that a wheel takes here is missing for others that expect it. */
	if (setup.wheel_size <= 2048)
		fuzz_ioctl(fuzzer, CALL_SETUP, fd, TWHEEL_SETUP, &setup);
	if (dup3(fd, FUZZ_SHARED_FD + nr, O_CLOEXEC) < 0)
		bail_out("cannot share a wheel");
	close(fd);
}

/* A child inherits everything, does a little, and exits. */
static void fork_child(struct fuzzer *fuzzer, int fd)
{
	struct twheel_event event[4];
	pid_t pid;

	/* The child keeps large wheels open that others close at the same time. */
	atomic_fetch_add(&fuzzer->fuzz->large, 1);
	pid = fork();
	if (!pid) {
		/* The ring is the parent's. */
		fuzzer->has_ring = false;
		shared_batch(fuzzer, fd);
		_exit(read(fd, event, sizeof(event)) < -1);
	}
	if (pid > 0)
		waitpid(pid, NULL, 0);
	atomic_fetch_sub(&fuzzer->fuzz->large, 1);
}

static void open_in_ways(struct fuzzer *fuzzer)
{
	static const int modes[] = { O_RDONLY, O_WRONLY, O_RDWR };
	static const int flags[] = { 0, O_NONBLOCK, O_APPEND, O_SYNC, O_TRUNC, O_CREAT, O_PATH };
	int fd = open("/dev/twheel", O_CLOEXEC | modes[chance_below(&fuzzer->chance, 3)] |
		      flags[chance_below(&fuzzer->chance, ARRAY_SIZE(flags))], 0600);

	fuzz_count(fuzzer, CALL_OPEN, fd < 0 ? -errno : 0);
	if (fd < 0)
		return;
	shared_batch(fuzzer, fd);
	close(fd);
}

void shared_act(struct fuzzer *fuzzer)
{
	unsigned int nr = chance_below(&fuzzer->chance, FUZZ_SHARED);
	unsigned int dice = chance_below(&fuzzer->chance, 1000);
	int fd = FUZZ_SHARED_FD + nr;

	if (dice < 250)
		shared_single(fuzzer, fd);
	else if (dice < 300)
		uring_call(fuzzer, fd);
	else if (dice < 510)
		shared_batch(fuzzer, fd);
	else if (dice < 550)
		shared_list(fuzzer, fd);
	else if (dice < 700)
		shared_read(fuzzer, fd);
	else if (dice < 800)
		unknown_ioctl(fuzzer, fd);
	else if (dice < 850)
		balance(fuzzer, fd);
	else if (dice < 910)
		shared_poll(fuzzer, fd);
	else if (dice < 940)
		map_wheel(fuzzer, fd);
	else if (dice < 970)
		other_call(fuzzer, fd);
	else if (dice < 985)
		open_in_ways(fuzzer);
	else if (dice < 998)
		shared_open(fuzzer, nr);
	else
		fork_child(fuzzer, fd);
}
