// SPDX-License-Identifier: MIT
#include <stdio.h>
#include <libtwheel.h>

static void ring(struct twheel_loop *loop, struct twheel_handle *handle)
{
	(void)loop;
	(void)handle;
	puts("ring");
}

int main(void)
{
	struct twheel_loop *loop = twheel_loop_new(NULL);
	struct twheel_handle *timer = twheel_handle_new(ring, NULL);

	if (!loop || !timer || twheel_start(loop, timer, 100 * TWHEEL_MSEC) ||
	    twheel_loop_run(loop))
		return perror("twheel"), 1;
	twheel_handle_free(timer);
	twheel_loop_free(loop);
	return 0;
}
