// SPDX-License-Identifier: MIT
#include <pthread.h>
#include <stdio.h>
#include <libtwheel.h>

static void stop(struct twheel_loop *loop, struct twheel_message *message)
{
	(void)message;
	puts("the other thread is done");
	twheel_loop_stop(loop);
}

static struct twheel_message message = { .call = stop };

static void never(struct twheel_loop *loop, struct twheel_handle *handle)
{
	(void)loop;
	(void)handle;
}

static void *work(void *loop)
{
	if (twheel_loop_post(loop, &message))
		perror("twheel_loop_post");
	return NULL;
}

int main(void)
{
	struct twheel_loop *loop = twheel_loop_new(NULL);
	struct twheel_handle keep = { .callback = never };
	pthread_t thread;

	/* The loop runs until the message: this timer keeps it going. */
	if (!loop || twheel_start(loop, &keep, TWHEEL_TIME_MAX_NS) ||
	    pthread_create(&thread, NULL, work, loop))
		return perror("twheel"), 1;
	if (twheel_loop_run(loop))
		return perror("twheel_loop_run"), 1;
	pthread_join(thread, NULL);
	twheel_loop_free(loop);
	return 0;
}
