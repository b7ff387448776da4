// SPDX-License-Identifier: MIT
/*
 * Requests to the bench module, through its device
 */
#include <err.h>
#include <fcntl.h>
#include <sys/ioctl.h>

#include "clock.h"
#include "kernel.h"

static int device(void)
{
	static int fd = -1;

	if (fd < 0)
		fd = open("/dev/" TWHEEL_BENCH_DEVICE, O_RDWR | O_CLOEXEC);
	if (fd < 0)
		err(1, "/dev/" TWHEEL_BENCH_DEVICE);
	return fd;
}

void kernel_jump(uint64_t ns)
{
	__u64 arg = ns;

	if (ioctl(device(), TWHEEL_BENCH_JUMP, &arg))
		err(1, "TWHEEL_BENCH_JUMP");
}

uint64_t kernel_busy(void)
{
	uint64_t now = now_ns();
	__u64 idle;

	if (ioctl(device(), TWHEEL_BENCH_IDLE, &idle))
		err(1, "TWHEEL_BENCH_IDLE");
	return now - idle;
}

void kernel_run(struct twheel_bench_run *run)
{
	if (ioctl(device(), TWHEEL_BENCH_RUN, run))
		err(1, "TWHEEL_BENCH_RUN");
}

void kernel_watch(void)
{
	if (ioctl(device(), TWHEEL_BENCH_WATCH))
		err(1, "TWHEEL_BENCH_WATCH");
}

void kernel_watched(struct twheel_bench_watch *watch)
{
	if (ioctl(device(), TWHEEL_BENCH_WATCHED, watch))
		err(1, "TWHEEL_BENCH_WATCHED");
}
