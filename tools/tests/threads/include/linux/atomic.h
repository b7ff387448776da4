/* SPDX-License-Identifier: MIT */
#ifndef _DRIVER_LINUX_ATOMIC_H
#define _DRIVER_LINUX_ATOMIC_H

#include <linux/types.h>

#include "../../kernel.h"

static inline int atomic_read(const atomic_t *v)
{
	return __atomic_load_n(&v->counter, __ATOMIC_SEQ_CST);
}

static inline void atomic_inc(atomic_t *v)
{
	__atomic_fetch_add(&v->counter, 1, __ATOMIC_SEQ_CST);
}

static inline void atomic_dec(atomic_t *v)
{
	__atomic_fetch_sub(&v->counter, 1, __ATOMIC_SEQ_CST);
}

static inline s64 atomic64_inc_return(atomic64_t *v)
{
	return __atomic_add_fetch(&v->counter, 1, __ATOMIC_SEQ_CST);
}

static inline long atomic_long_read(const atomic_long_t *v)
{
	return READ_ONCE(v->counter);
}

static inline bool atomic_long_try_cmpxchg(atomic_long_t *v, long *old, long new)
{
	return __atomic_compare_exchange_n(&v->counter, old, new, false, __ATOMIC_SEQ_CST,
					   __ATOMIC_RELAXED);
}

static inline void atomic_long_sub(long n, atomic_long_t *v)
{
	__atomic_fetch_sub(&v->counter, n, __ATOMIC_RELAXED);
}

/* Before each operation, another thread may run. */
#define atomic_read(v)			({ POINT("atomic_read"); atomic_read(v); })
#define atomic_inc(v)			({ POINT("atomic_inc"); atomic_inc(v); })
#define atomic_dec(v)			({ POINT("atomic_dec"); atomic_dec(v); })
#define atomic64_inc_return(v)		({ POINT("atomic64_inc_return"); atomic64_inc_return(v); })
#define atomic_long_sub(n, v)		({ POINT("atomic_long_sub"); atomic_long_sub(n, v); })
#define atomic_long_try_cmpxchg(v, old, new)				\
	({ POINT("atomic_long_try_cmpxchg"); atomic_long_try_cmpxchg(v, old, new); })

#endif /* _DRIVER_LINUX_ATOMIC_H */
