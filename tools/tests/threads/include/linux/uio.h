/* SPDX-License-Identifier: MIT */
/*
 * The destination of a read: one buffer, plain or as an array of one
 */
#pragma once

#include <linux/uaccess.h>

struct iov_iter {
	size_t iov_offset;
	size_t count;
	void __user *ubuf;
};

#define ITER_DEST	0

static inline void iov_iter_ubuf(struct iov_iter *i, unsigned int direction, void __user *buf,
				 size_t count)
{
	*i = (struct iov_iter) { .count = count, .ubuf = buf };
}

#define iov_iter_count(i)	((i)->count)

static inline void iov_iter_advance(struct iov_iter *i, size_t bytes)
{
	if (bytes > i->count)
		broken("an iterator is advanced beyond its end");
	i->iov_offset += bytes;
	i->count -= bytes;
}

static inline void iov_iter_revert(struct iov_iter *i, size_t bytes)
{
	if (bytes > i->iov_offset)
		broken("an iterator is reverted to before its beginning");
	i->iov_offset -= bytes;
	i->count += bytes;
}

static inline size_t copy_to_iter(const void *from, size_t bytes, struct iov_iter *i)
{
	size_t n = bytes < i->count ? bytes : i->count;

	n -= copy_to_user(i->ubuf + i->iov_offset, from, n);
	iov_iter_advance(i, n);
	return n;
}

/* Returns how many bytes cannot be brought in. */
static inline size_t fault_in_iov_iter_writeable(const struct iov_iter *i, size_t bytes)
{
	const void __user *p = i->ubuf + i->iov_offset;

	may_sleep();
	if (fails_now())
		return bytes;
	return bytes - user_bytes(p, bytes, current->unwritable);
}
