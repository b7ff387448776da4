/* SPDX-License-Identifier: MIT */
/*
 * Control groups: their references, and the one that is charged
 */
#ifndef _DRIVER_LINUX_MEMCONTROL_H
#define _DRIVER_LINUX_MEMCONTROL_H

#include "../../kernel.h"

static inline struct mem_cgroup *get_mem_cgroup_from_mm(struct mm_struct *mm)
{
	__atomic_add_fetch(&mm->memcg->references, 1, __ATOMIC_RELAXED);
	return mm->memcg;
}

static inline void mem_cgroup_put(struct mem_cgroup *memcg)
{
	if (__atomic_fetch_sub(&memcg->references, 1, __ATOMIC_ACQ_REL) <= 0)
		broken("a control group is put once too often");
}

static inline struct mem_cgroup *set_active_memcg(struct mem_cgroup *memcg)
{
	struct mem_cgroup *old = current->active_memcg;

	current->active_memcg = memcg;
	return old;
}

#endif /* _DRIVER_LINUX_MEMCONTROL_H */
