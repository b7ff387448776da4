/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How much memory the wheels of each user hold
 */
#ifndef _TWHEEL_USER_H
#define _TWHEEL_USER_H

#include <linux/types.h>
#include <linux/uidgid.h>

struct twheel_user;

void twheel_user_init(void);
unsigned long twheel_user_limit(void);
unsigned long twheel_user_bytes(const struct twheel_user *user);
struct twheel_user *twheel_user_get(kuid_t uid);
void twheel_user_put(struct twheel_user *user);
bool twheel_user_charge(struct twheel_user *user, size_t bytes);
void twheel_user_uncharge(struct twheel_user *user, size_t bytes);

#endif /* _TWHEEL_USER_H */
