// SPDX-License-Identifier: MIT
/*
 * The charge of a user's wheels: exactly what they take, and nothing when they are gone.
 */
#include <sys/resource.h>

#include "selftest.h"

#define NR_WHEELS	1000

/* @fd stays unchanged, and shows the account of the user. */
FIXTURE_OF_WHEEL(accounts, __u64 before;);

static __u64 charged(int fd)
{
	return fdinfo_field(fd, "twheel-user-memory");
}

FIXTURE_SETUP(accounts)
{
	self->fd = open_wheel(_metadata, O_NONBLOCK);
	self->before = charged(self->fd);
}

/* The object size of a cache, by its name: kmalloc-512, kmalloc-cg-2k; debugging adds to others. */
static __u64 kmalloc_size(const char *cache)
{
	unsigned long long size;
	char unit = 0;

	if (strncmp(cache, "kmalloc-", strlen("kmalloc-")) ||
	    sscanf(strrchr(cache, '-'), "-%llu%c", &size, &unit) < 1)
		return 0;
	return unit == 'k' ? size << 10 : unit == 'M' ? size << 20 : size;
}

/* The memory of all objects in the kernel's caches by size. */
static __u64 kmalloc_bytes(void)
{
	FILE *file = fopen("/proc/slabinfo", "r");
	unsigned long long objects;
	char line[512], name[64];
	__u64 bytes = 0;

	if (!file)
		abort();
	while (fgets(line, sizeof(line), file)) {
		if (sscanf(line, "%63s %llu", name, &objects) == 2)
			bytes += objects * kmalloc_size(name);
	}
	fclose(file);
	return bytes;
}

/* Perhaps each with a timer, in levels of a size that no cache has. */
static bool open_wheels(int *fd, bool with_timer)
{
	for (int i = 0; i < NR_WHEELS; i++) {
		fd[i] = tw_open(O_NONBLOCK);
		if (fd[i] < 0)
			return false;
		if (with_timer && (tw_setup(fd[i], MSEC, 30, CLOCK_MONOTONIC, 0) ||
				   !add_after(fd[i], HOUR, 1)))
			return false;
	}
	return true;
}

static void close_wheels(const int *fd)
{
	for (int i = 0; i < NR_WHEELS; i++)
		close(fd[i]);
}

TEST_F(accounts, are_charged_what_wheels_take) /* SECURITY: bytes of a user */
{
	struct rlimit many = { 2 * NR_WHEELS, 2 * NR_WHEELS };
	int fd[NR_WHEELS];

	ASSERT_EQ(0, setrlimit(RLIMIT_NOFILE, &many));
	/* The first round only grows the table of descriptors, which keeps its size. */
	for (int round = 0; round < 3; round++) {
		/* Two of timers and of the directory, which are not in these caches. */
		__u64 pages = round < 2 ? 0 : 2ULL * NR_WHEELS * sysconf(_SC_PAGESIZE);
		__u64 bytes = kmalloc_bytes();

		ASSERT_TRUE(open_wheels(fd, round == 2));
		bytes = kmalloc_bytes() - bytes;
		if (round) {
			EXPECT_LE(bytes * 3 / 4, charged(self->fd) - self->before - pages);
			EXPECT_GE(bytes * 5 / 4, charged(self->fd) - self->before - pages);
		}
		close_wheels(fd);
		EXPECT_EQ(self->before, charged(self->fd));
	}
}
