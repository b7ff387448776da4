/* SPDX-License-Identifier: MIT */
/*
 * Small hash tables, which are restored before each schedule
 */
#ifndef _INTERLEAVE_LINUX_HASHTABLE_H
#define _INTERLEAVE_LINUX_HASHTABLE_H

#include "../../world.h"

#include_next <linux/hashtable.h>

#undef DEFINE_HASHTABLE
#define DEFINE_HASHTABLE(name, bits)	struct hlist_head name[2] WORLD

#endif /* _INTERLEAVE_LINUX_HASHTABLE_H */
