/* SPDX-License-Identifier: MIT */
/*
 * User memory, parts of which may be missing: see struct task_struct
 */
#pragma once

#include <errno.h>
#include <string.h>

#include "../../kernel.h"

#define u64_to_user_ptr(x)	((void __user *)(unsigned long)(x))

/* User memory that is there may have been taken away, which a page fault would undo. */
static inline void pagefault_disable(void)
{
	may_call();
	current->pagefaults_off++;
}

static inline void pagefault_enable(void)
{
	may_call();
	if (!current->pagefaults_off--)
		broken("page faults are enabled twice");
}

static inline bool page_is_gone(void)
{
	return current->pagefaults_off && !current->alone && one_in(64);
}

/* How many of @n bytes are present before the first missing one. */
static inline unsigned long user_bytes(const void __user *p, unsigned long n,
				       unsigned long missing)
{
	unsigned long address = (unsigned long)p;

	if (address >= missing)
		return 0;
	return n < missing - address ? n : missing - address;
}

/* The same; arm64 copies up to 63 bytes less. */
static inline unsigned long user_copied(const void __user *p, unsigned long n,
					unsigned long missing)
{
	unsigned long bytes = user_bytes(p, n, missing);

	POINT("copy user memory");
	current->pagefaults_off ? may_call() : may_sleep();
	if (page_is_gone())
		bytes = any_below(n);
	if (fails_now())
		bytes = 0;
	if (bytes == n)
		return n;
	return bytes > 63 ? bytes - 63 : 0;
}

static inline unsigned long __must_check copy_from_user(void *to, const void __user *from,
							unsigned long n)
{
	unsigned long bytes = user_copied(from, n, -1UL);

	memcpy(to, from, bytes);
	memset(to + bytes, 0, n - bytes);
	if (current->overwrites)
		memset((void *)from, 0x80, bytes);
	return n - bytes;
}

static inline unsigned long __must_check copy_to_user(void __user *to, const void *from,
						      unsigned long n)
{
	unsigned long bytes = user_copied(to, n, current->unwritable);

	memcpy(to, from, bytes);
	return n - bytes;
}

#define get_user(x, p)		(copy_from_user(&(x), p, sizeof(*(p))) ? -EFAULT : 0)

#define put_user(x, p)							\
({									\
	typeof(*(p)) __value = (x);					\
									\
	copy_to_user(p, &__value, sizeof(__value)) ? -EFAULT : 0;	\
})

static inline bool user_access_begin(const void __user *p, unsigned long n)
{
	/* There is one point for all accesses: others only see that the lock is held. */
	POINT("user_access_begin");
	current->pagefaults_off ? may_call() : may_sleep();
	current->in_user_access = true;
	return true;
}

static inline void user_access_end(void)
{
	if (!current->in_user_access)
		broken("user memory is not open");
	current->in_user_access = false;
}

#define user_write_access_begin		user_access_begin
#define user_write_access_end		user_access_end

static inline bool user_access_works(const void __user *p, unsigned long n,
				     unsigned long missing)
{
	if (!current->in_user_access)
		broken("user memory is not open");
	breathing_space();
	return !page_is_gone() && !fails_now() && user_bytes(p, n, missing) == n;
}

#define unsafe_put_user(x, p, label)					\
do {									\
	typeof(*(p)) __value = (x);					\
									\
	if (!user_access_works(p, sizeof(__value), current->unwritable)) \
		goto label;						\
	memcpy(p, &__value, sizeof(__value));				\
} while (0)
