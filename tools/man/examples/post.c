// SPDX-License-Identifier: MIT
#include <pthread.h>
#include <stdio.h>
#include <libtwheel.h>

static void stop(struct twheel_loop *loop, struct twheel_message *message)
{
	(void)message;
	puts("the other thread is done");
	twheel_loop_unref(loop);
}

static struct twheel_message message = { .call = stop };

static void *work(void *loop)
{
	if (twheel_loop_post(loop, &message))
		perror("twheel_loop_post");
	return NULL;
}

int main(void)
{
	struct twheel_loop *loop = twheel_loop_new(NULL);
	pthread_t thread;

	/* The loop runs until the message, without a timer. */
	if (!loop || twheel_loop_ref(loop) || pthread_create(&thread, NULL, work, loop))
		return perror("twheel"), 1;
	if (twheel_loop_run(loop))
		return perror("twheel_loop_run"), 1;
	pthread_join(thread, NULL);
	twheel_loop_free(loop);
	return 0;
}
