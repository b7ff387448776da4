/* SPDX-License-Identifier: MIT */
#ifndef _DRIVER_LINUX_SEQ_FILE_H
#define _DRIVER_LINUX_SEQ_FILE_H

#include <stdarg.h>
#include <stdio.h>

#include <linux/types.h>
#include <linux/user_namespace.h>

struct seq_file {
	char text[16384];
	size_t count;
};

static inline __attribute__((format(printf, 2, 3)))
void seq_printf(struct seq_file *m, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	m->count += vsnprintf(m->text + m->count, sizeof(m->text) - m->count, format, args);
	va_end(args);
}

static inline struct user_namespace *seq_user_ns(struct seq_file *m)
{
	(void)m;
	return &init_user_ns;
}

#endif /* _DRIVER_LINUX_SEQ_FILE_H */
