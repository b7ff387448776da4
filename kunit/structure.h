/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Invariants of a wheel
 */
#ifndef _STRUCTURE_H
#define _STRUCTURE_H

#include "model.h"

/**
 * struct slot - a timer that is in the wheel
 * @nr: its number.
 * @level: the level it was last seen at: it must never rise.
 * @timer: the wheel's and the model's.
 */
struct slot {
	u16 nr;
	u8 level;
	struct model_timer timer;
};

static inline struct slot *slot_of(struct model_timer *t)
{
	return container_of(t, struct slot, timer);
}

/*
 * Check that all timers of the model are in their buckets, that buckets hold nothing else, and
 * that the fields of levels and buckets are right. Each timer is in a slot.
 */
void check_structure(struct model *m);

#endif /* _STRUCTURE_H */
