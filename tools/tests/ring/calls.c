// SPDX-License-Identifier: MIT
/*
 * With SQPOLL, timers are changed without a system call
 *
 * A child may only call read, write and exit: any other call kills it.
 */
#include <linux/seccomp.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "ring.h"

#define TIMERS		100
/* The ring's thread polls for work all that time, and need not be woken. */
#define IDLE_MS		60000

/* The child's message at its end. */
#define GOOD		'+'
#define BAD		'-'
#define CANNOT		'?'

static int completed(struct io_uring *ring)
{
	struct io_uring_cqe *cqe;
	int res;

	while (io_uring_peek_cqe(ring, &cqe))
		;
	res = cqe->res;
	io_uring_cqe_seen(ring, cqe);
	return res;
}

/* Each timer is added, modified and cancelled. */
static int change_timers(struct io_uring *ring, int fd)
{
	struct twheel_add add = { .time_ns = HOUR };
	unsigned int i;
	int bad = 0;

	for (i = 0; i < TIMERS; i++) {
		twheel_prep_add(get_sqe(ring, 0), fd, &add);
		io_uring_submit(ring);
		bad |= completed(ring);
		twheel_prep_modify(get_sqe(ring, 0), fd, add.id, 2 * HOUR);
		io_uring_submit(ring);
		bad |= completed(ring);
		if (i % 2)
			continue;
		twheel_prep_cancel(get_sqe(ring, 0), fd, add.id);
		io_uring_submit(ring);
		bad |= completed(ring);
	}
	return bad;
}

static void child(int fd, int answers)
{
	struct io_uring_params params = {
		.flags = IORING_SETUP_SQPOLL,
		.sq_thread_idle = IDLE_MS,
	};
	struct io_uring ring;
	char answer = GOOD;

	if (io_uring_queue_init_params(4, &ring, &params))
		_exit(1);
	/* Start the thread. */
	io_uring_prep_nop(get_sqe(&ring, 0));
	io_uring_submit(&ring);
	completed(&ring);
	if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT))
		answer = CANNOT;
	else if (change_timers(&ring, fd))
		answer = BAD;
	if (write(answers, &answer, 1) == 1)
		syscall(SYS_exit, 0);
}

/* The ring's thread continues after the child has called exit, or was killed by a call. */
static char answer_of_child(int fd)
{
	char answer = BAD;
	struct pollfd pfd;
	int pair[2];
	pid_t pid;

	if (pipe(pair))
		bail_out("cannot make a pipe");
	pid = fork();
	if (pid < 0)
		bail_out("cannot fork");
	if (!pid) {
		child(fd, pair[1]);
		_exit(1);
	}
	close(pair[1]);
	pfd = (struct pollfd){ .fd = pair[0], .events = POLLIN };
	if (poll(&pfd, 1, LATE / MSEC) == 1 && read(pair[0], &answer, 1) != 1)
		answer = BAD;
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	close(pair[0]);
	return answer;
}

void test_no_calls(void)
{
	static const char name[] = "SQPOLL: timers are changed without a system call";
	int fd = open_wheel(0);
	char answer = answer_of_child(fd);
	struct twheel_info info = info_of(fd);

	if (answer == CANNOT)
		tap_skip("the kernel has no seccomp", "%s", name);
	else if (!tap_result(answer == GOOD && info.added == TIMERS &&
			     info.modified == TIMERS && info.cancelled == TIMERS / 2, "%s", name))
		tap_note("%llu were added, %llu modified, %llu cancelled", info.added,
			 info.modified, info.cancelled);
	close(fd);
}
