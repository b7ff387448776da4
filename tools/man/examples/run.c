// SPDX-License-Identifier: MIT
#include <stdio.h>
#include <libtwheel.h>

static void tick(struct twheel_loop *loop, struct twheel_handle *handle)
{
	(void)loop;
	puts("tick");
	if (--*(int *)handle->data == 0)
		twheel_stop(handle);
}

int main(void)
{
	struct twheel_loop *loop = twheel_loop_new(NULL);
	int ticks = 3;
	struct twheel_handle timer = { .callback = tick, .data = &ticks };

	if (!loop || twheel_repeat(loop, &timer, 0, 100 * TWHEEL_MSEC))
		return perror("twheel"), 1;
	if (twheel_loop_run(loop))
		return perror("twheel_loop_run"), 1;
	twheel_loop_free(loop);
	return 0;
}
