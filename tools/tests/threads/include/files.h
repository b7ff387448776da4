/* SPDX-License-Identifier: MIT */
/*
 * The module, its device, and open files; and all that <linux/...> has elsewhere
 */
#pragma once

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>

#include <linux/bits.h>
#include <linux/err.h>
#include <linux/wait.h>

/* A kernel that has everything the driver needs. */
#define KERNEL_VERSION(a, b, c)	((a) << 16 | (b) << 8 | (c))
#define LINUX_VERSION_CODE	KERNEL_VERSION(6, 18, 0)

/* Parameters, and a way to them for the tests. */
#define module_param(name, type, mode)	type *const parameter_##name = &(name)
#define MODULE_PARM_DESC(name, text)

#define KBUILD_MODNAME		"twheel"
#define THIS_MODULE		NULL
#define __exit

/* Enabled options are 1. */
#define IS_ENABLED(CONFIG_option)	(CONFIG_option)
#define PTR_IF(cond, ptr)	((cond) ? (ptr) : NULL)

#define MODULE_AUTHOR(text)
#define MODULE_DESCRIPTION(text)
#define MODULE_LICENSE(text)
#define MODULE_VERSION(text)

#define module_init(function)	int module_load(void) { return function(); }
#define module_exit(function)	void module_unload(void) { function(); }

#define pr_err(format, ...)	fprintf(stderr, pr_fmt(format), ##__VA_ARGS__)

#define NSEC_PER_USEC	1000L
#define NSEC_PER_MSEC	1000000L

#define ktime_get_ns()		clock_look(CLOCK_MONOTONIC)
enum tk_offsets { TK_OFFS_REAL = CLOCK_REALTIME, TK_OFFS_BOOT = CLOCK_BOOTTIME,
		  TK_OFFS_TAI = CLOCK_TAI };
#define ktime_get_with_offset(offset)	clock_look((clockid_t)(offset))

#define jiffies			((unsigned long)ktime_get_ns())
#define time_after(a, b)	((long)((b) - (a)) < 0)

/* No task is privileged, and there is one namespace. */
#define CAP_SYS_RESOURCE		24
#define ns_capable_noaudit(ns, cap)	false

typedef struct {
	u32 val;
} kuid_t;

#define __kuid_val(uid)			((uid).val)
#define uid_eq(a, b)			((a).val == (b).val)
#define from_kuid_munged(ns, uid)	((uid).val)

struct cred {
	kuid_t uid;
};

/* Cgroups: their references, and the one that is charged. */
static inline struct mem_cgroup *get_mem_cgroup_from_mm(struct mm_struct *mm)
{
	__atomic_add_fetch(&mm->memcg->references, 1, __ATOMIC_RELAXED);
	return mm->memcg;
}

static inline void mem_cgroup_put(struct mem_cgroup *memcg)
{
	if (__atomic_fetch_sub(&memcg->references, 1, __ATOMIC_ACQ_REL) <= 0)
		broken("a cgroup is put once too often");
}

static inline struct mem_cgroup *set_active_memcg(struct mem_cgroup *memcg)
{
	struct mem_cgroup *old = current->active_memcg;

	current->active_memcg = memcg;
	return old;
}

/* In a table of one bucket, any entry may have the key. */
#define hlist_node			list_head
#define DEFINE_HASHTABLE(name, bits)	struct list_head name WORLD = LIST_HEAD_INIT(name)
#define hash_add(table, node, key)	list_add(node, &(table))
#define hash_del(node)			list_del(node)
#define hash_for_each_possible(table, entry, member, key)		\
	list_for_each_entry(entry, &(table), member)

struct inode;
struct io_uring_cmd;
struct iov_iter;
struct poll_table_struct;
struct seq_file;
struct vm_area_struct;

#define FMODE_NOWAIT	BIT(27)
#define IOCB_NOWAIT	BIT(20)

struct file {
	unsigned int f_mode;
	unsigned int f_flags;
	const struct cred *f_cred;
	void *private_data;
};

struct kiocb {
	struct file *ki_filp;
	int ki_flags;
};

typedef void *fl_owner_t;

struct file_operations {
	void *owner;
	int (*open)(struct inode *inode, struct file *filp);
	int (*flush)(struct file *filp, fl_owner_t id);
	int (*release)(struct inode *inode, struct file *filp);
	ssize_t (*read)(struct file *filp, char *to, size_t size, loff_t *pos);
	ssize_t (*read_iter)(struct kiocb *iocb, struct iov_iter *to);
	__poll_t (*poll)(struct file *filp, struct poll_table_struct *wait);
	int (*mmap)(struct file *filp, struct vm_area_struct *vma);
	long (*unlocked_ioctl)(struct file *filp, unsigned int cmd, unsigned long arg);
	long (*compat_ioctl)(struct file *filp, unsigned int cmd, unsigned long arg);
	void (*show_fdinfo)(struct seq_file *m, struct file *filp);
	int (*uring_cmd)(struct io_uring_cmd *ioucmd, unsigned int issue_flags);
};

#define compat_ptr_ioctl		NULL
#define stream_open(inode, filp)	0

typedef struct poll_table_struct poll_table;

struct poll_table_struct {
	void (*_qproc)(struct file *filp, wait_queue_head_t *wq, poll_table *table);
	__poll_t _key;
};

static inline void poll_wait(struct file *filp, wait_queue_head_t *wq, poll_table *table)
{
	if (table && table->_qproc)
		table->_qproc(filp, wq, table);
}

#define EIOCBQUEUED		529

#define IO_URING_F_SQE128	BIT(8)
#define IO_URING_F_NONBLOCK	INT_MIN

struct io_uring_sqe {
	u64 cmd[2];
};

struct io_uring_cmd {
	struct file *file;
	const struct io_uring_sqe *sqe;
	u32 cmd_op;
	u32 flags;
	s32 result;	/* what it was completed with */
};

#define io_uring_cmd_done(cmd, ret, flags)	((cmd)->result = (ret))

struct seq_file {
	char text[16384];
	size_t count;
};

#define seq_printf(m, ...)	((m)->count += snprintf((m)->text + (m)->count, \
						sizeof((m)->text) - (m)->count, __VA_ARGS__))

/* The operations that the module registered. */
extern const struct file_operations *device;

#define MISC_DYNAMIC_MINOR	255

struct miscdevice {
	int minor;
	const char *name;
	const struct file_operations *fops;
	mode_t mode;
};

static inline int misc_register(struct miscdevice *misc)
{
	if (current && fails_now())
		return -ENOMEM;
	device = misc->fops;
	return 0;
}

#define misc_deregister(misc)	(device = NULL)

/* Return the first byte that is not @c, or NULL. */
static inline const void *memchr_inv(const void *start, char c, size_t bytes)
{
	const char *p = start;

	for (; bytes && *p == c; bytes--)
		p++;
	return bytes ? p : NULL;
}
