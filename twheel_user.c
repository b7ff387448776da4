// SPDX-License-Identifier: GPL-2.0-only
/*
 * How much memory the wheels of each user hold
 *
 * /dev/twheel is open to everybody, and every open file may hold memory that the
 * kernel cannot take back. So the bytes that the wheels of one user hold, all
 * added up, are bounded, as epoll bounds what its watches take.
 *
 * Users are looked up only when a wheel is opened: a small hash table under a mutex
 * will do. The bytes are atomic and need no lock.
 */
#include <linux/atomic.h>
#include <linux/capability.h>
#include <linux/hashtable.h>
#include <linux/mutex.h>
#include <linux/refcount.h>
#include <linux/slab.h>

#include "twheel_user.h"

/**
 * struct twheel_user - a user who has wheels open
 * @node: in the table of users, under users_lock.
 * @uid: who it is.
 * @refs: one for each wheel.
 * @bytes: the memory that the wheels hold.
 */
struct twheel_user {
	struct hlist_node node;
	kuid_t uid;
	refcount_t refs;
	atomic_long_t bytes;
};

static DEFINE_HASHTABLE(users, 8);
static DEFINE_MUTEX(users_lock);

/**
 * twheel_user_get() - find or make the account of a user
 * @uid: the user
 *
 * May sleep.
 *
 * Return: the account, with a reference for twheel_user_put(); or NULL without
 * memory.
 */
struct twheel_user *twheel_user_get(kuid_t uid)
{
	struct twheel_user *user;

	mutex_lock(&users_lock);
	hash_for_each_possible(users, user, node, __kuid_val(uid)) {
		if (uid_eq(user->uid, uid)) {
			refcount_inc(&user->refs);
			goto unlock;
		}
	}
	user = kzalloc(sizeof(*user), GFP_KERNEL);
	if (user) {
		user->uid = uid;
		refcount_set(&user->refs, 1);
		hash_add(users, &user->node, __kuid_val(uid));
	}
unlock:
	mutex_unlock(&users_lock);
	return user;
}

/**
 * twheel_user_put() - return a reference to an account
 * @user: the account
 *
 * May sleep.
 */
void twheel_user_put(struct twheel_user *user)
{
	if (!refcount_dec_and_mutex_lock(&user->refs, &users_lock))
		return;
	hash_del(&user->node);
	mutex_unlock(&users_lock);
	kfree(user);
}

/**
 * twheel_user_charge() - account for memory that is about to be allocated
 * @user: the account
 * @bytes: how much
 * @limit: how much the user may hold; CAP_SYS_RESOURCE is exempt
 *
 * What is refused is never charged, not even for a moment: what another wheel asks for,
 * and would fit, would be refused meanwhile.
 *
 * Return: false, and nothing is charged, if that would be above the limit.
 */
bool twheel_user_charge(struct twheel_user *user, size_t bytes, unsigned long limit)
{
	long held = atomic_long_read(&user->bytes);

	do {
		if (held + bytes > limit && !capable(CAP_SYS_RESOURCE))
			return false;
	} while (!atomic_long_try_cmpxchg(&user->bytes, &held, held + bytes));
	return true;
}

/**
 * twheel_user_uncharge() - account for memory that has been freed
 * @user: the account
 * @bytes: how much
 */
void twheel_user_uncharge(struct twheel_user *user, size_t bytes)
{
	atomic_long_sub(bytes, &user->bytes);
}
