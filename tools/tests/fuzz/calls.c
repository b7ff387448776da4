// SPDX-License-Identifier: MIT
/*
 * Calls and their results: each is counted, and a wrong one ends the run
 */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/ioctl.h>

#include "fuzz.h"
#include "tap.h"

/* Print the first error, and end everything. */
void fuzz_fail(struct fuzzer *fuzzer, const char *format, ...)
{
	char text[512];
	va_list args;

	fuzzer->fuzz->stop = true;
	if (atomic_exchange(&fuzzer->fuzz->failed, true))
		return;
	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	tap_note("%s (operation %llu of this thread)", text, (unsigned long long)fuzzer->ops);
}

long fuzz_count(struct fuzzer *fuzzer, enum fuzz_call call, long ret)
{
	if (ret < 0)
		fuzzer->refused[call]++;
	else
		fuzzer->done[call]++;
	fuzzer->ops++;
	return ret;
}

long fuzz_ioctl(struct fuzzer *fuzzer, enum fuzz_call call, int fd, unsigned long cmd, void *arg)
{
	bool tight = atomic_load(&fuzzer->fuzz->large);
	long ret;

	if (uring_takes(fuzzer, cmd)) {
		ret = uring_command(fuzzer, fd, cmd, (uintptr_t)arg, 0);
		call = CALL_URING;
	} else {
		ret = ioctl(fd, cmd, arg);
		ret = ret < 0 ? -errno : ret;
	}
	fuzzer->tight = tight || atomic_load(&fuzzer->fuzz->large);
	return fuzz_count(fuzzer, call, ret);
}

int fuzz_open(struct fuzzer *fuzzer)
{
	bool tight = atomic_load(&fuzzer->fuzz->large);
	int fd = open("/dev/twheel", O_RDWR | O_NONBLOCK | O_CLOEXEC);

	fuzz_count(fuzzer, CALL_OPEN, fd < 0 ? -errno : 0);
	fuzzer->tight = tight || atomic_load(&fuzzer->fuzz->large);
	if (fd < 0 && !(fuzzer->tight && errno == ENOSPC))
		bail_out("cannot open /dev/twheel");
	return fd;
}
