// SPDX-License-Identifier: MIT
/*
 * Memory of wheels is charged to the cgroup of the process that opened them; or to the one above
 * it, when it has been removed.
 */
#include <sys/stat.h>

#include "selftest.h"
#include "machine.h"

#define CGROUP		"/sys/fs/cgroup/"
#define MB		(1024 * 1024UL)
#define LIMIT		(12 * MB)

/* The test is the only process of each group, so the kernel would kill it for memory. */
FIXTURE(full_cgroup)
{
	int fd;
};

FIXTURE_VARIANT(full_cgroup)
{
	const char *opener;
	bool by_heir;	/* a process of another group adds to the wheel */
	bool is_gone;	/* the opener's group has been removed */
};

FIXTURE_VARIANT_ADD(full_cgroup, of_the_opener) { "opener" };
FIXTURE_VARIANT_ADD(full_cgroup, of_another) { "opener", true };
FIXTURE_VARIANT_ADD(full_cgroup, above_one_that_is_gone) { "outer/inner", true, true };

static bool make_group(const char *group)
{
	char path[64];

	snprintf(path, sizeof(path), CGROUP "%s", group);
	if (mkdir(path, 0755) && errno != EEXIST)
		return false;
	strcat(path, "/memory.max");
	return write_line(path, "12M");
}

static bool enter_group(const char *group)
{
	char path[64];

	snprintf(path, sizeof(path), CGROUP "%s/cgroup.procs", group);
	return write_line(path, "0");
}

FIXTURE_SETUP(full_cgroup)
{
	if (!write_line(CGROUP "cgroup.subtree_control", "+memory"))
		SKIP(return, "there are no cgroups with memory");
	ASSERT_TRUE(make_group("opener") && make_group("heir") && make_group("outer"));
	ASSERT_TRUE(write_line(CGROUP "outer/cgroup.subtree_control", "+memory"));
	ASSERT_TRUE(make_group("outer/inner"));
	/* There may be no memory later. */
	ASSERT_EQ(0, mlockall(MCL_CURRENT));
	ASSERT_TRUE(enter_group(variant->opener));
	self->fd = open_wheel(_metadata, O_NONBLOCK);
	ASSERT_TRUE(!variant->by_heir || enter_group("heir"));
	ASSERT_TRUE(!variant->is_gone || !rmdir(CGROUP "outer/inner"));
}

/* Leave nothing behind, as this may be a machine that goes on. */
FIXTURE_TEARDOWN(full_cgroup)
{
	static const char * const groups[] = { "opener", "heir", "outer/inner", "outer" };
	char path[64];
	size_t i;

	close(self->fd);
	enter_group("");
	for (i = 0; i < ARRAY_SIZE(groups); i++) {
		snprintf(path, sizeof(path), CGROUP "%s", groups[i]);
		EXPECT_TRUE(!rmdir(path) || errno == ENOENT);
	}
}

/* SECURITY: cgroups; spend another cgroup's memory after a restart */
TEST_F(full_cgroup, refuses_memory_and_the_wheel_works_on)
{
	__u64 before = read_number(CGROUP "heir/memory.current"), memory;
	struct twheel_ring_setup ring;
	int ret;

	/* The levels are 2 MB each. */
	ASSERT_EQ(0, tw_setup(self->fd, MSEC, TWHEEL_SIZE_MAX, CLOCK_MONOTONIC, 0));
	ASSERT_NE(0, add_at(self->fd, 0, 7));
	fill_adds(MAX_EVENTS, HOUR, 0, 0);
	while ((ret = tw_batch(self->fd, TWHEEL_ADD_BATCH, adds, MAX_EVENTS)) > 0)
		;
	EXPECT_EQ(-ENOMEM, ret);
	EXPECT_EQ(-ENOMEM, make_ring(self->fd, TWHEEL_RING_SLOTS_MAX, &ring));
	memory = tw_info(self->fd).memory;
	EXPECT_LE(LIMIT / 2, memory);
	EXPECT_GE(LIMIT, memory);
	/* Memory of a group that is gone may be freed a little later. */
	EXPECT_TRUE(wait_until(try_add(self->fd) == -ENOMEM));
	/* The timer that is read makes room for another. */
	EXPECT_EQ(7, read_one(self->fd));
	EXPECT_NE(0, add_at(self->fd, 0, 8));
	EXPECT_EQ(8, read_one(self->fd));
	if (variant->by_heir)
		EXPECT_GE(before + MB, read_number(CGROUP "heir/memory.current"));
}
