// SPDX-License-Identifier: MIT
#include <stdio.h>
#include <sys/epoll.h>
#include <libtwheel.h>

static void idle(struct twheel_loop *loop, struct twheel_handle *handle)
{
	printf("no message until %llu\n", (unsigned long long)twheel_loop_now(loop));
	*(int *)handle->data = 1;
}

int main(void)
{
	const struct twheel_loop_config config = { .flags = TWHEEL_LOOP_TIMEOUT };
	struct twheel_loop *loop = twheel_loop_new(&config);
	struct epoll_event event = { .events = EPOLLIN };
	int done = 0, epoll = epoll_create1(0);
	struct twheel_handle timeout = { .callback = idle, .data = &done };

	/* Messages of other threads make the descriptor readable. */
	if (!loop || epoll < 0 ||
	    epoll_ctl(epoll, EPOLL_CTL_ADD, twheel_loop_fd(loop), &event) ||
	    twheel_start(loop, &timeout, 100 * TWHEEL_MSEC))
		return perror("twheel"), 1;
	while (!done) {
		int64_t ns = twheel_loop_timeout(loop);
		int ms = ns < 0 ? -1 : (int)((ns + 999999) / 1000000);

		if (epoll_wait(epoll, &event, 1, ms) < 0 || twheel_loop_dispatch(loop) < 0)
			return perror("twheel"), 1;
	}
	twheel_loop_free(loop);
	return 0;
}
