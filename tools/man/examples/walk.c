// SPDX-License-Identifier: MIT
#include <stdio.h>
#include <libtwheel.h>

static void never(struct twheel_loop *loop, struct twheel_handle *handle)
{
	(void)loop;
	(void)handle;
}

static int show(struct twheel_loop *loop, struct twheel_handle *handle, void *arg)
{
	(void)loop;
	(void)arg;
	printf("%s: %lld ns left\n", (char *)handle->data, (long long)twheel_remaining(handle));
	return 0;
}

int main(void)
{
	struct twheel_loop_config config = { .flags = TWHEEL_LOOP_WALKABLE };
	struct twheel_loop *loop = twheel_loop_new(&config);
	struct twheel_handle tea = { .callback = never, .data = "tea" };

	if (!loop || twheel_start(loop, &tea, 180 * TWHEEL_SEC) ||
	    twheel_loop_walk(loop, show, NULL))
		return perror("twheel"), 1;
	twheel_loop_free(loop);
	return 0;
}
