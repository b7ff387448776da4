// SPDX-License-Identifier: MIT
/*
 * Requests to the bench module, through its device
 */
#include <err.h>
#include <fcntl.h>
#include <stddef.h>
#include <sys/ioctl.h>

#include "kernel.h"

void kernel_request(unsigned long number, void *arg)
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

	kernel_request(TWHEEL_BENCH_JUMP, &arg);
}

uint64_t kernel_busy(void)
{
	__u64 busy;

	kernel_request(TWHEEL_BENCH_BUSY, &busy);
	return busy;
}
