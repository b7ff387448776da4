// SPDX-License-Identifier: MIT
/*
 * Requests to the bench module, through its device
 */
#include <err.h>
#include <fcntl.h>
#include <stddef.h>
#include <sys/ioctl.h>

#include "kernel.h"

static void request(unsigned long number, void *arg)
{
	static int fd = -1;

	if (fd < 0)
		fd = open("/dev/" TWHEEL_BENCH_DEVICE, O_RDWR | O_CLOEXEC);
	if (fd < 0 || ioctl(fd, number, arg))
		err(1, "/dev/" TWHEEL_BENCH_DEVICE);
}

void kernel_jump(uint64_t ns)
{
	__u64 arg = ns;

	request(TWHEEL_BENCH_JUMP, &arg);
}

uint64_t kernel_busy(void)
{
	__u64 busy;

	request(TWHEEL_BENCH_BUSY, &busy);
	return busy;
}

void kernel_run(struct twheel_bench_run *run)
{
	request(TWHEEL_BENCH_RUN, run);
}

void kernel_watch(void)
{
	request(TWHEEL_BENCH_WATCH, NULL);
}

void kernel_watched(struct twheel_bench_watch *watch)
{
	request(TWHEEL_BENCH_WATCHED, watch);
}
