// SPDX-License-Identifier: MIT
/*
 * A service whose timers survive its restarts: systemd keeps the wheel in its descriptor store
 *
 *	cc -O2 survivor.c -o survivor $(pkg-config --cflags --libs libtwheel libsystemd)
 *
 * In its unit: FileDescriptorStoreMax=1, NotifyAccess=main and Restart=always. It runs a
 * hundred jobs, one every 200 ms, and prints a line for each, however often it is killed.
 */
#include <err.h>
#include <stdint.h>
#include <stdio.h>
#include <systemd/sd-daemon.h>
#include <libtwheel.h>

#define JOBS	100
#define EVERY	(200 * TWHEEL_MSEC)

static struct twheel_handle job[JOBS];

static void run(struct twheel_loop *loop, struct twheel_handle *handle)
{
	(void)loop;
	printf("job %u\n", (unsigned int)(uintptr_t)handle->data);
}

/* The kernel keeps the numbers of jobs, which stay valid in the next process. */
static struct twheel_handle *find(struct twheel_loop *loop, uint64_t number)
{
	(void)loop;
	return number < JOBS ? &job[number] : NULL;
}

static const struct twheel_loop_config config = { .resolve = find };

static struct twheel_loop *take_over(int fd)
{
	struct twheel_loop *loop = twheel_loop_adopt(fd, &config);

	if (!loop)
		err(1, "cannot adopt the wheel");
	printf("adopted %u\n", (unsigned int)twheel_loop_count(loop));
	return loop;
}

/* Without FDPOLL=0, systemd would wait for the descriptor, and wake up at each expiry. */
static void store(struct twheel_loop *loop)
{
	int fd = twheel_loop_fd(loop);

	if (sd_pid_notify_with_fds(0, 0, "FDSTORE=1\nFDNAME=wheel\nFDPOLL=0", &fd, 1) <= 0)
		errx(1, "systemd does not keep the wheel");
}

static struct twheel_loop *begin(void)
{
	struct twheel_loop *loop = twheel_loop_new(&config);
	uintptr_t i;

	if (!loop)
		err(1, "cannot make a loop");
	store(loop);
	for (i = 0; i < JOBS; i++)
		if (twheel_start(loop, &job[i], (i + 1) * EVERY))
			err(1, "cannot start a timer");
	puts("started");
	return loop;
}

int main(void)
{
	struct twheel_loop *loop;
	uintptr_t i;

	setvbuf(stdout, NULL, _IOLBF, 0);
	for (i = 0; i < JOBS; i++)
		twheel_handle_init(&job[i], run, (void *)i);
	loop = sd_listen_fds(1) > 0 ? take_over(SD_LISTEN_FDS_START) : begin();
	while (twheel_loop_wait(loop, -1) >= 0)
		;
	err(1, "cannot wait");
}
