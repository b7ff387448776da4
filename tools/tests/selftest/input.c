// SPDX-License-Identifier: MIT
/*
 * Commands and operations that wheels do not have, and programs of 32 bits. twheel-fuzz has invalid
 * values of every field.
 */
#include <asm/ioctls.h>

#include "selftest.h"

CHANGING_FIXTURE(input);

#ifdef __x86_64__
/* The ioctl of a program of 32 bits. */
static int compat_ioctl(int fd, __u32 cmd, void *arg)
{
	int ret;

	asm volatile("int $0x80" : "=a" (ret) : "a" (54), "b" (fd), "c" (cmd), "d" (arg)
		     : "memory", "r8", "r9", "r10", "r11");
	return ret;
}
#else
#define compat_ioctl	tw_ioctl
#endif
#ifndef MAP_32BIT
#define MAP_32BIT	0
#endif

TEST_F(input, programs_of_32_bits_have_all_calls)
{
	struct twheel_add *add = mmap(NULL, sizeof(*add), PROT_READ | PROT_WRITE,
				      MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);

	*add = (struct twheel_add) { .time_ns = HOUR, .data = 7 };
	EXPECT_EQ(0, compat_ioctl(self->fd, TWHEEL_ADD, add));
	EXPECT_EQ(0, tw_query(self->fd, add->id));
	EXPECT_EQ(7, query.data);
	EXPECT_EQ(0, compat_ioctl(self->fd, TWHEEL_CANCEL, add));
	EXPECT_EQ(-ENOENT, tw_query(self->fd, add->id));
}

TEST_F(input, unknown_commands_are_enotty) /* SECURITY: arguments */
{
	static const unsigned long commands[] = {
		0,
		TCGETS,
		_IO(TWHEEL_IOC_MAGIC, 0x00),
		_IO(TWHEEL_IOC_MAGIC, 0x7f),
		_IO(TWHEEL_IOC_MAGIC, 0xff),
		_IOW(TWHEEL_IOC_MAGIC, 0x10, struct twheel_batch),
		_IOW(TWHEEL_IOC_MAGIC, 0x14, struct twheel_batch),
		_IOW(TWHEEL_IOC_MAGIC, 0x06, struct twheel_setup),
		/* The right number with another size or direction. */
		_IOW(TWHEEL_IOC_MAGIC, 0x00, __u32),
		_IOR(TWHEEL_IOC_MAGIC, 0x00, struct twheel_setup),
		_IOW(TWHEEL_IOC_MAGIC, 0x01, struct twheel_add),
		_IOW(TWHEEL_IOC_MAGIC, 0x02, __u32),
		/* The right number and size with another magic. */
		_IOW(TWHEEL_IOC_MAGIC + 1, 0x00, struct twheel_setup),
	};
	char buffer[1024] = { 0 };

	before = tw_info(self->fd);
	for (unsigned int i = 0; i < ARRAY_SIZE(commands); i++) {
		EXPECT_EQ(-ENOTTY, tw_ioctl(self->fd, commands[i], buffer))
			TH_LOG("command %#lx", commands[i]);
		EXPECT_EQ(-ENOTTY, tw_ioctl(self->fd, commands[i], NULL));
	}
	EXPECT_TRUE(is_unchanged(self->fd, &before));
}

/* Operations of other files that wheels do not have. */
TEST_F(input, other_file_operations_are_refused) /* SECURITY: arguments */
{
	int fd = self->fd, end[2];

	before = tw_info(fd);
	ASSERT_EQ(0, pipe(end));
	EXPECT_EQ(EINVAL, errno_of(write(fd, event, sizeof(*event))));
	EXPECT_EQ(ESPIPE, errno_of(pwrite(fd, event, sizeof(*event), 0)));
	EXPECT_EQ(ESPIPE, errno_of(pread(fd, event, sizeof(*event), 0)));
	EXPECT_EQ(ESPIPE, errno_of(lseek(fd, 0, SEEK_SET)));
	EXPECT_EQ(EINVAL, errno_of(splice(fd, NULL, end[1], NULL, 4096, SPLICE_F_NONBLOCK)));
	EXPECT_EQ(EINVAL, errno_of(ftruncate(fd, 0)));
	EXPECT_EQ(ENODEV, errno_of((long)mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, fd, 0)));
	EXPECT_EQ(ENODEV, errno_of((long)mmap(NULL, 4096, PROT_WRITE, MAP_SHARED, fd, 0)));
	EXPECT_TRUE(is_unchanged(fd, &before));
}
