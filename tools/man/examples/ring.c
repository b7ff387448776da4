// SPDX-License-Identifier: MIT
#include <poll.h>
#include <stdio.h>
#include <libtwheel-device.h>

int main(void)
{
	struct twheel_add add = { .time_ns = 100 * TWHEEL_MSEC, .data = 7 };
	int fd = twheel_open(NULL, 0);
	struct pollfd wait = { .fd = fd, .events = POLLIN };
	const struct twheel_event *event;
	struct twheel_ring_view ring;
	size_t i, n;

	if (fd < 0 || twheel_ring_map(fd, 500, &ring) || twheel_add_timer(fd, &add) ||
	    poll(&wait, 1, -1) < 0)
		return perror("twheel"), 1;
	while ((event = twheel_ring_peek(&ring, &n))) {
		for (i = 0; i < n; i++)
			printf("timer %llu\n", (unsigned long long)event[i].data);
		twheel_ring_consume(&ring, n);
	}
	twheel_ring_unmap(&ring);
	return 0;
}
