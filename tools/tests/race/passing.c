// SPDX-License-Identifier: MIT
/*
 * Wheels that are passed on in messages
 */
#include <fcntl.h>
#include <pthread.h>
#include <sys/socket.h>
#include <unistd.h>

#include "clock.h"
#include "libtwheel.h"
#include "pass.h"
#include "race.h"
#include "tap.h"

struct passing {
	int socket;
	unsigned int received, errors;
};

/* Every wheel has two timers: one expires about now, the other one never. */
static void *receive_wheels(void *arg)
{
	struct passing *passing = arg;
	struct twheel_event event;
	struct twheel_info info;
	int fd;

	while ((fd = receive_fd(passing->socket)) >= 0) {
		/* Every fourth wheel is dropped with its timers. */
		if (passing->received++ % 4 &&
		    (twheel_read(fd, &event, 1) != 1 || event.data != passing->received - 1 ||
		     twheel_get_info(fd, &info) || info.pending != 1 || info.expired))
			passing->errors++;
		close(fd);
	}
	return NULL;
}

/* A wheel may be open only in a message in flight. */
void race_passing(const struct race_options *options)
{
	unsigned int i, rounds = options->ops / 100 + 10;
	struct passing passing = { };
	struct chance chance;
	pthread_t thread;
	int pair[2];

	chance_init(&chance, options->seed, 0);
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair))
		bail_out("cannot create a socket");
	passing.socket = pair[1];
	if (pthread_create(&thread, NULL, receive_wheels, &passing))
		bail_out("cannot create a thread");
	for (i = 0; i < rounds; i++) {
		struct twheel_add due = { .data = i,
					  .time_ns = chance_below(&chance, 200 * USEC) };
		struct twheel_add later = { .time_ns = HOUR };
		int fd = twheel_open(NULL, O_CLOEXEC);

		if (fd < 0 || twheel_add_timer(fd, &due) || twheel_add_timer(fd, &later))
			bail_out("cannot add a timer");
		if (send_fd(pair[0], fd))
			bail_out("cannot send a descriptor");
		close(fd);
	}
	close(pair[0]);
	pthread_join(thread, NULL);
	close(pair[1]);
	tap_result(passing.received == rounds && !passing.errors,
		   "wheels in messages (%u of them)", rounds);
}
