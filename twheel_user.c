// SPDX-License-Identifier: GPL-2.0-only
/*
 * Limiting the memory that the wheels of each user hold
 *
 * /dev/twheel is open to all users, and every open file may hold memory that the
 * kernel cannot reclaim. So the total of the bytes that the wheels of one user hold
 * is bounded, as epoll bounds the memory of its watches.
 *
 * Users are looked up only when a wheel is opened: a small hash table under a mutex
 * is enough. The bytes are atomic and need no lock.
 */
#include <linux/capability.h>
#include <linux/hashtable.h>
#include <linux/mm.h>
#include <linux/moduleparam.h>
#include <linux/mutex.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/user_namespace.h>

#include "twheel_file.h"

static ulong max_user_bytes;
module_param(max_user_bytes, ulong, 0644);
MODULE_PARM_DESC(max_user_bytes,
		 "Bytes that the wheels of one user may hold (0 when loaded: 4% of low memory)");

static DEFINE_HASHTABLE(users, 8);
static DEFINE_MUTEX(users_lock);

/**
 * twheel_user_init() - set the default limit, unless the parameter was given
 */
void __init twheel_user_init(void)
{
	struct sysinfo si;

	if (max_user_bytes)
		return;
	si_meminfo(&si);
	max_user_bytes = ((si.totalram - si.totalhigh) / 25) << PAGE_SHIFT;
}

/**
 * twheel_user_show() - write the lines of an account in fdinfo
 * @m: the output
 * @user: the account
 */
void twheel_user_show(struct seq_file *m, const struct twheel_user *user)
{
	seq_printf(m, "twheel-user-id:\t%u\n", from_kuid_munged(seq_user_ns(m), user->uid));
	seq_printf(m, "twheel-user-memory:\t%lu\n", atomic_long_read(&user->bytes));
	seq_printf(m, "twheel-user-limit:\t%lu\n", READ_ONCE(max_user_bytes));
}

/**
 * twheel_user_get() - find or make the account of a user; may sleep
 * @uid: the user
 *
 * Return: the account, with a reference for twheel_user_put(); or NULL without memory.
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
 * twheel_user_put() - return a reference to an account; may sleep
 * @user: the account
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
 *
 * CAP_SYS_RESOURCE is exempt from the limit; it is checked without auditing. Checked before
 * charging: a transient overcharge would fail concurrent calls.
 *
 * Return: false, and nothing is charged, if that would be above the limit.
 */
bool twheel_user_charge(struct twheel_user *user, size_t bytes)
{
	long held = atomic_long_read(&user->bytes);

	do {
		if (held + bytes > READ_ONCE(max_user_bytes) &&
		    !ns_capable_noaudit(&init_user_ns, CAP_SYS_RESOURCE))
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
