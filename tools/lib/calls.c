// SPDX-License-Identifier: MIT
/*
 * The ioctls of /dev/twheel as functions; libtwheel-device.h describes them
 */
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "loop.h"

const char *twheel_version(void)
{
	return TWHEEL_VERSION;
}

int twheel_open(const char *path, int flags)
{
	return open(path ? path : TWHEEL_DEVICE, O_RDWR | flags);
}

int twheel_set_up(int fd, const struct twheel_setup *setup)
{
	return ioctl(fd, TWHEEL_SETUP, setup);
}

int twheel_add_timer(int fd, struct twheel_add *add)
{
	return ioctl(fd, TWHEEL_ADD, add);
}

int twheel_cancel_timer(int fd, uint64_t id)
{
	return ioctl(fd, TWHEEL_CANCEL, &id);
}

int twheel_modify_timer(int fd, uint64_t id, uint64_t time_ns, uint32_t flags)
{
	struct twheel_modify mod = { .id = id, .time_ns = time_ns, .flags = flags };

	return ioctl(fd, TWHEEL_MODIFY, &mod);
}

int twheel_query_timer(int fd, uint64_t id, struct twheel_query *query)
{
	if (!query)
		return fail(EFAULT);
	query->id = id;
	query->reserved = 0;
	return ioctl(fd, TWHEEL_QUERY, query);
}

int twheel_get_info(int fd, struct twheel_info *info)
{
	return ioctl(fd, TWHEEL_INFO, info);
}

static int batch(int fd, unsigned long request, const void *entries, uint32_t count)
{
	struct twheel_batch arg = { .entries = (uintptr_t)entries, .count = count };

	return ioctl(fd, request, &arg);
}

/*
 * A batch that, with @results, continues after an entry that fails. The kernel stops there, or
 * between any two entries for a signal, and returns the error only when called again from there.
 */
static int resumed_batch(int fd, unsigned long request, const void *entries, size_t size,
			 int *results, uint32_t count)
{
	uint32_t i = 0;
	int total = 0;

	if (!results)
		return batch(fd, request, entries, count);
	while (i < count) {
		int done = batch(fd, request, entries + i * size, count - i);

		if (done > 0) {
			memset(results + i, 0, done * sizeof(*results));
			i += done;
			total += done;
		} else if (done < 0 && (errno == ENOENT || errno == EINVAL)) {
			/* Of this entry: the next one may succeed. */
			results[i++] = errno;
		} else if (!done || errno != EINTR) {
			/* No progress and no error: this is not a wheel. */
			errno = done ? errno : ENOTTY;
			memset(results + i, -1, (count - i) * sizeof(*results));
			return -1;
		}
	}
	return total;
}

int twheel_add_batch(int fd, struct twheel_add *adds, uint32_t count)
{
	return batch(fd, TWHEEL_ADD_BATCH, adds, count);
}

int twheel_cancel_batch(int fd, const uint64_t *ids, int *results, uint32_t count)
{
	return resumed_batch(fd, TWHEEL_CANCEL_BATCH, ids, sizeof(*ids), results, count);
}

int twheel_modify_batch(int fd, const struct twheel_modify *mods, int *results,
			uint32_t count)
{
	return resumed_batch(fd, TWHEEL_MODIFY_BATCH, mods, sizeof(*mods), results, count);
}

ssize_t twheel_list_timers(int fd, uint64_t *cursor, struct twheel_listed *timers, size_t max)
{
	struct twheel_list list = {
		.cursor = *cursor,
		.entries = (uintptr_t)timers,
		.count = max < INT_MAX ? max : INT_MAX,
	};
	int n = ioctl(fd, TWHEEL_LIST, &list);

	*cursor = list.cursor;
	return n;
}

ssize_t twheel_read(int fd, struct twheel_event *events, size_t max)
{
	ssize_t bytes = read(fd, events, min(max, SSIZE_MAX / sizeof(*events)) * sizeof(*events));

	return bytes < 0 ? -1 : bytes / (ssize_t)sizeof(*events);
}

int twheel_ring_map(int fd, uint32_t slots, struct twheel_ring_view *view)
{
	struct twheel_ring_setup setup = { .slots = slots };
	void *ring;

	if (!view)
		return fail(EFAULT);
	if (ioctl(fd, TWHEEL_RING, &setup))
		return -1;
	ring = mmap(NULL, setup.size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (ring == MAP_FAILED)
		return -1;
	*view = (struct twheel_ring_view){ ring, setup.slots, setup.size };
	return 0;
}

void twheel_ring_unmap(struct twheel_ring_view *view)
{
	if (view->ring)
		munmap(view->ring, view->size);
	*view = (struct twheel_ring_view){ };
}

struct twheel_event *twheel_ring_peek(const struct twheel_ring_view *view, size_t *count)
{
	struct twheel_ring *ring = view->ring;
	uint32_t tail = __atomic_load_n(&ring->tail, __ATOMIC_ACQUIRE);
	uint32_t head = ring->head;

	*count = (tail >= head ? tail : view->slots) - head;
	return *count ? (struct twheel_event *)(ring + 1) + head : NULL;
}

void twheel_ring_consume(const struct twheel_ring_view *view, size_t count)
{
	struct twheel_ring *ring = view->ring;
	uint32_t head = ring->head + count;

	__atomic_store_n(&ring->head, head < view->slots ? head : 0, __ATOMIC_RELEASE);
}

int twheel_now(uint32_t clock_id, uint64_t *now_ns)
{
	struct timespec now;

	if (!now_ns)
		return fail(EFAULT);
	if (clock_gettime((clockid_t)clock_id, &now))
		return -1;
	*now_ns = now.tv_sec * TWHEEL_SEC + now.tv_nsec;
	return 0;
}
