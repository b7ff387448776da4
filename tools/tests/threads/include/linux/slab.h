/* SPDX-License-Identifier: MIT */
/*
 * Memory, which is missing at times
 */
#pragma once

#include <linux/gfp.h>
#include_next <linux/slab.h>

/* Large allocations may fail, and must not fill the log then. */
#undef __GFP_NOWARN
#define __GFP_NOWARN	8U
#define __GFP_ACCOUNT	16U

#include "../../kernel.h"

#define kmalloc(size, gfp)	(out_of_memory() ? NULL : kmalloc(size, gfp))
/* The driver does that with a spin lock held. */
#define krealloc(p, size, gfp)						\
({									\
	if (!((gfp) & __GFP_ACCOUNT))					\
		broken("memory is not charged to the cgroup");		\
	out_of_memory_now() ? NULL : krealloc(p, size, gfp);		\
})
#define kzalloc(size, gfp)	(out_of_memory() ? NULL : kzalloc(size, gfp))
#define __vmalloc(size, gfp)						\
({									\
	if (!((gfp) & __GFP_NOWARN))					\
		broken("a large allocation that fails is logged");	\
	kmalloc(size, gfp);						\
})
#define kvfree(p)		({ may_sleep(); kvfree(p); })
#define kfree(p)		({ may_call(); kfree(p); })
