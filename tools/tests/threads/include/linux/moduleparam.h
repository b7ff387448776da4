/* SPDX-License-Identifier: MIT */
/*
 * Parameters, and a way to them for the tests
 */
#ifndef _DRIVER_LINUX_MODULEPARAM_H
#define _DRIVER_LINUX_MODULEPARAM_H

#define module_param(name, type, mode)	type *const parameter_##name = &(name)
#define MODULE_PARM_DESC(name, text)

#endif /* _DRIVER_LINUX_MODULEPARAM_H */
