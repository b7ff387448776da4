/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _NATIVE_LINUX_MODULE_H
#define _NATIVE_LINUX_MODULE_H

/* Parameters keep their defaults, except @ops, which run.c has an option for. */
#define module_param(name, type, mode)						\
static void __attribute__((__constructor__)) param_##name(void)			\
{										\
	kunit_##name = &(name);							\
}

#define module_param_array(name, type, count, mode)
#define MODULE_PARM_DESC(name, text)
#define MODULE_DESCRIPTION(text)
#define MODULE_LICENSE(text)

extern unsigned int *kunit_ops;

#endif /* _NATIVE_LINUX_MODULE_H */
