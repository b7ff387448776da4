/* SPDX-License-Identifier: MIT */
/*
 * A point before each atomic operation
 */
#ifndef _INTERLEAVE_LINUX_ATOMIC_H
#define _INTERLEAVE_LINUX_ATOMIC_H

#include_next <linux/atomic.h>

#define atomic_read(v)			({ POINT("atomic_read"); atomic_read(v); })
#define atomic_inc(v)			({ POINT("atomic_inc"); atomic_inc(v); })
#define atomic_dec(v)			({ POINT("atomic_dec"); atomic_dec(v); })
#define atomic64_inc_return(v)		({ POINT("atomic64_inc_return"); atomic64_inc_return(v); })
#define atomic_long_sub(n, v)		({ POINT("atomic_long_sub"); atomic_long_sub(n, v); })
#define atomic_long_try_cmpxchg(v, old, new)				\
	({ POINT("atomic_long_try_cmpxchg"); atomic_long_try_cmpxchg(v, old, new); })

#endif /* _INTERLEAVE_LINUX_ATOMIC_H */
