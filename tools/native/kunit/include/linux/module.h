/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _NATIVE_LINUX_MODULE_H
#define _NATIVE_LINUX_MODULE_H

#define MODULE_DESCRIPTION(text)
#define MODULE_LICENSE(text)

#endif /* _NATIVE_LINUX_MODULE_H */
