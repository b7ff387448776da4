/* SPDX-License-Identifier: MIT */
#ifndef _DRIVER_LINUX_FS_H
#define _DRIVER_LINUX_FS_H

#include <errno.h>
#include <fcntl.h>
#include <limits.h>

#include <linux/bits.h>
#include <linux/cred.h>
#include <linux/err.h>
#include <linux/types.h>

struct io_uring_cmd;
struct iov_iter;
struct poll_table_struct;
struct seq_file;
struct vm_area_struct;

#define FMODE_NOWAIT	BIT(27)
#define IOCB_NOWAIT	BIT(20)

struct inode {
	int unused;
};

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

struct file_operations {
	void *owner;
	int (*open)(struct inode *inode, struct file *filp);
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

static inline long compat_ptr_ioctl(struct file *filp, unsigned int cmd, unsigned long arg)
{
	(void)filp;
	(void)cmd;
	(void)arg;
	return -1;
}

static inline int stream_open(struct inode *inode, struct file *filp)
{
	(void)inode;
	(void)filp;
	return 0;
}

#endif /* _DRIVER_LINUX_FS_H */
