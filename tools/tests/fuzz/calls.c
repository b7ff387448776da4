// SPDX-License-Identifier: MIT
/*
 * Calls and their results: each is counted, and a wrong one ends the run
 *
 * A fuzzer waits for each completion of its io_uring. So a command has to return the same as the
 * ioctl, whether it is done at once or by a worker.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>

#include "fuzz.h"
#include "libtwheel-uring.h"
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
	fuzzer->count[call][ret < 0]++;
	fuzzer->ops++;
	return ret;
}

long fuzz_ioctl(struct fuzzer *fuzzer, uint32_t cmd, void *arg)
{
	long ret = ioctl(fuzzer->model.fd, cmd, arg);

	return fuzz_count(fuzzer, _IOC_NR(cmd), ret < 0 ? -errno : ret);
}

/*
 * There may be no memory for the levels of a large wheel; and large wheels of other
 * threads may leave none for the levels and timers of this one.
 */
bool fuzz_may_be_refused(const struct fuzzer *fuzzer, long ret)
{
	return (ret > 0 || ret == -ENOSPC || ret == -ENOMEM) &&
	       atomic_load(&fuzzer->fuzz->large) != fuzzer->closed;
}

/*
 * Make an ioctl that has to return @expected, if all of its argument is in memory. If it
 * succeeds, @arg is what is there after the call.
 */
long fuzz_call(struct fuzzer *fuzzer, uint32_t cmd, void *arg, int expected)
{
	size_t size = _IOC_SIZE(cmd);
	struct spot spot = memory_spot(&fuzzer->memory, &fuzzer->chance, size);
	long ret;

	memory_fill(&spot, 0, arg, size);
	if ((_IOC_DIR(cmd) & _IOC_WRITE && spot.readable < size) ||
	    (_IOC_DIR(cmd) & _IOC_READ && spot.writable < size && !expected))
		expected = -EFAULT;
	ret = fuzz_ioctl(fuzzer, cmd, spot.at);
	if (ret != expected && !fuzz_may_be_refused(fuzzer, ret))
		fuzz_fail(fuzzer, "ioctl %u returned %ld instead of %d", _IOC_NR(cmd), ret,
			  expected);
	else if (!ret)
		memcpy(arg, spot.at, size);
	return ret;
}

/* Submit a command with the words of its argument; one in twenty begins in a worker. */
long fuzz_uring(struct fuzzer *fuzzer, uint32_t cmd, uint64_t first, uint64_t second)
{
	struct io_uring_sqe sqe = { };

	twheel_prep_command(&sqe, fuzzer->model.fd, cmd, first, second);
	if (chance_hit(&fuzzer->chance, 5))
		sqe.flags |= IOSQE_ASYNC;
	return fuzz_count(fuzzer, CALL_URING, ring_execute(&fuzzer->ring, &sqe));
}

/* Let the io_uring make some of the calls. */
long fuzz_submit(struct fuzzer *fuzzer, uint32_t cmd, void *arg)
{
	if (chance_hit(&fuzzer->chance, FUZZ_BY_RING))
		return fuzz_uring(fuzzer, cmd, (uintptr_t)arg, 0);
	return fuzz_ioctl(fuzzer, cmd, arg);
}
