/* SPDX-License-Identifier: MIT */
#ifndef _DRIVER_LINUX_POLL_H
#define _DRIVER_LINUX_POLL_H

#include <sys/epoll.h>

#include <linux/fs.h>
#include <linux/wait.h>

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

#endif /* _DRIVER_LINUX_POLL_H */
