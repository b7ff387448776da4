// SPDX-License-Identifier: MIT
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>
#include <libtwheel-device.h>

int main(void)
{
	struct twheel_add add = { .data = 42, .flags = TWHEEL_ABSTIME };
	int fd = twheel_open(NULL, O_CLOEXEC);
	struct twheel_event event;
	uint64_t now;

	printf("libtwheel %s\n", twheel_version());
	if (fd < 0 || twheel_now(CLOCK_MONOTONIC, &now))
		return perror("twheel"), 1;
	add.time_ns = now + 100 * TWHEEL_MSEC;
	if (twheel_add_timer(fd, &add) || twheel_read(fd, &event, 1) < 0)
		return perror("twheel"), 1;
	printf("timer %llu has expired\n", (unsigned long long)event.data);
	close(fd);
	return 0;
}
