// SPDX-License-Identifier: MIT
/*
 * Wheels, rings and completions, for the tests of io_uring
 */
#include <dirent.h>
#include <linux/userfaultfd.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "ring.h"

#define ENTRIES		256

const struct kind kinds[] = {
	{ "a plain ring", 0 },
	{ "DEFER_TASKRUN", DEFER },
	{ "COOP_TASKRUN", IORING_SETUP_COOP_TASKRUN },
	{ "SQPOLL", IORING_SETUP_SQPOLL },
};

const unsigned int nr_kinds = ARRAY_SIZE(kinds);

int open_wheel(int flags)
{
	int fd = open(TWHEEL_DEVICE, O_RDWR | O_CLOEXEC | flags);

	if (fd < 0)
		bail_out("cannot open " TWHEEL_DEVICE);
	return fd;
}

struct twheel_info info_of(int fd)
{
	struct twheel_info info;

	if (ioctl(fd, TWHEEL_INFO, &info))
		bail_out("TWHEEL_INFO failed");
	return info;
}

uint64_t add_timer(int fd, uint64_t delay, uint64_t data)
{
	struct twheel_add add = { .time_ns = delay, .data = data };

	if (ioctl(fd, TWHEEL_ADD, &add))
		bail_out("TWHEEL_ADD failed");
	return add.id;
}

uint64_t deadline_of(int fd, uint64_t id)
{
	struct twheel_query query = { .id = id };

	return ioctl(fd, TWHEEL_QUERY, &query) ? 0 : query.deadline_ns;
}

bool exists(int fd, uint64_t id)
{
	return deadline_of(fd, id);
}

void open_ring(struct io_uring *ring, unsigned int flags)
{
	struct io_uring_params params = { .flags = flags, .sq_thread_idle = 1000 };
	int err = io_uring_queue_init_params(ENTRIES, ring, &params);

	errno = -err;
	if (err)
		bail_out("cannot make a ring with flags %#x", flags);
}

struct io_uring_sqe *get_sqe(struct io_uring *ring, uint64_t user_data)
{
	struct io_uring_sqe *sqe = io_uring_get_sqe(ring);

	/* The thread of SQPOLL has not taken all yet. */
	while (!sqe) {
		io_uring_submit(ring);
		sqe = io_uring_get_sqe(ring);
	}
	memset(sqe, 0, sizeof(*sqe) << !!(ring->flags & IORING_SETUP_SQE128));
	sqe->user_data = user_data;
	return sqe;
}

void submit(struct io_uring *ring)
{
	int ret = io_uring_submit(ring);

	errno = -ret;
	if (ret < 0)
		bail_out("io_uring_submit() failed");
}

unsigned int count_workers(void)
{
	DIR *tasks = opendir("/proc/self/task");
	unsigned int n = 0;
	struct dirent *entry;

	while (tasks && (entry = readdir(tasks))) {
		char path[300], name[32] = "";
		FILE *file;

		snprintf(path, sizeof(path), "/proc/self/task/%s/comm", entry->d_name);
		file = fopen(path, "r");
		if (file && fgets(name, sizeof(name), file))
			n += !strncmp(name, "iou-wrk", 7);
		if (file)
			fclose(file);
	}
	if (tasks)
		closedir(tasks);
	return n;
}

int wait_cqe(struct io_uring *ring, uint64_t ns, struct io_uring_cqe *cqe)
{
	uint64_t end = now_ns() + ns;
	struct io_uring_cqe *first;
	int err;

	do {
		uint64_t now = now_ns(), left = end > now ? end - now : 0;
		struct __kernel_timespec ts = { left / SEC, left % SEC };

		err = io_uring_wait_cqe_timeout(ring, &first, &ts);
	} while (err == -EINTR);
	if (err)
		return NONE;
	*cqe = *first;
	io_uring_cqe_seen(ring, first);
	return cqe->res;
}

int result(struct io_uring *ring)
{
	struct io_uring_cqe cqe;

	return wait_cqe(ring, LATE, &cqe);
}

bool results(struct io_uring *ring, unsigned int n, int *res)
{
	struct io_uring_cqe cqe;
	unsigned int i;

	for (i = 0; i < n; i++)
		res[i] = NONE;
	for (i = 0; i < n; i++) {
		if (wait_cqe(ring, LATE, &cqe) == NONE || cqe.user_data >= n ||
		    res[cqe.user_data] != NONE)
			return false;
		res[cqe.user_data] = cqe.res;
	}
	return true;
}

unsigned int peek_results(struct io_uring *ring, unsigned int n, int *res)
{
	struct io_uring_cqe *cqe;
	unsigned int i, got = 0;

	for (i = 0; i < n; i++)
		res[i] = NONE;
	io_uring_get_events(ring);
	while (!io_uring_peek_cqe(ring, &cqe)) {
		if (cqe->user_data < n)
			res[cqe->user_data] = cqe->res;
		io_uring_cqe_seen(ring, cqe);
		got++;
	}
	return got;
}

struct holder {
	int fd;
	int fault;	/* the userfaultfd */
	size_t size;
	void *page;
	pthread_t thread;
};

static void *add_from_page(void *arg)
{
	struct holder *holder = arg;

	if (ioctl(holder->fd, TWHEEL_ADD, holder->page))
		bail_out("the add that held the lock failed");
	return NULL;
}

struct holder *hold_lock(int fd)
{
	struct holder *holder = calloc(1, sizeof(*holder));
	struct uffdio_register range = { .mode = UFFDIO_REGISTER_MODE_MISSING };
	struct uffdio_api api = { .api = UFFD_API };
	struct pollfd pfd = { .events = POLLIN };

	holder->fd = fd;
	holder->size = sysconf(_SC_PAGESIZE);
	holder->page = mmap(NULL, holder->size, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	holder->fault = syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK);
	pfd.fd = holder->fault;
	range.range.start = (uintptr_t)holder->page;
	range.range.len = holder->size;
	if (pfd.fd < 0 || ioctl(pfd.fd, UFFDIO_API, &api) ||
	    ioctl(pfd.fd, UFFDIO_REGISTER, &range) ||
	    pthread_create(&holder->thread, NULL, add_from_page, holder) ||
	    poll(&pfd, 1, LATE / MSEC) != 1)
		bail_out("cannot hold the lock of a wheel in a page fault");
	return holder;
}

void release_lock(struct holder *holder)
{
	struct twheel_add *content = calloc(1, holder->size);
	struct uffdio_copy copy = {
		.dst = (uintptr_t)holder->page,
		.src = (uintptr_t)content,
		.len = holder->size,
	};

	content->time_ns = HOUR;
	if (ioctl(holder->fault, UFFDIO_COPY, &copy) || pthread_join(holder->thread, NULL))
		bail_out("cannot end a page fault");
	munmap(holder->page, holder->size);
	close(holder->fault);
	free(content);
	free(holder);
}
