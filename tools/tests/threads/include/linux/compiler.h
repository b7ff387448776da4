/* SPDX-License-Identifier: MIT */
/*
 * Marked accesses are atomic, so that ThreadSanitizer knows them
 */
#pragma once

#include_next <linux/compiler.h>

#undef data_race
#undef READ_ONCE
#undef WRITE_ONCE
#define READ_ONCE(x)		__atomic_load_n(&(x), __ATOMIC_RELAXED)
#define WRITE_ONCE(x, val)	__atomic_store_n(&(x), (val), __ATOMIC_RELAXED)
#define __init
#define smp_mb()		__sync_synchronize()

/* A read that may race with anything: ThreadSanitizer does not see it. */
#define data_race(x)							\
({									\
	typeof(x) __copy;						\
									\
	copy_unseen((void *)&__copy, &(x), sizeof(__copy));		\
	__copy;								\
})

static noinline __attribute__((unused, no_sanitize("thread")))
void copy_unseen(void *to, const void *from, unsigned long size)
{
	const char *f = from;
	char *t = to;

	while (size--)
		*t++ = *f++;
}
