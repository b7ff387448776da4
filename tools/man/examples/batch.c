// SPDX-License-Identifier: MIT
#include <stdio.h>
#include <unistd.h>
#include <libtwheel-device.h>

#define TIMERS	3

int main(void)
{
	struct twheel_listed listed[TIMERS];
	struct twheel_add add[TIMERS] = {};
	int i, fd = twheel_open(NULL, 0), results[TIMERS];
	uint64_t id[TIMERS], cursor = 0;
	ssize_t n;

	for (i = 0; i < TIMERS; i++)
		add[i].time_ns = (i + 1) * TWHEEL_SEC;
	if (fd < 0 || twheel_add_batch(fd, add, TIMERS) != TIMERS)
		return perror("twheel"), 1;
	while ((n = twheel_list_timers(fd, &cursor, listed, TIMERS)) > 0)
		printf("%zd timers listed\n", n);
	for (i = 0; i < TIMERS; i++)
		id[i] = add[i].id;
	printf("%d timers cancelled\n", twheel_cancel_batch(fd, id, results, TIMERS));
	close(fd);
	return 0;
}
