// SPDX-License-Identifier: GPL-2.0-only
/*
 * The addresses of functions that the kernel does not export
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/err.h>
#include <linux/kprobes.h>
#include <linux/printk.h>

#include "module.h"

void *bench_symbol(const char *name)
{
	struct kprobe probe = { .symbol_name = name };
	int err = register_kprobe(&probe);
	void *addr = probe.addr;

	if (err) {
		pr_err("no %s in this kernel\n", name);
		return ERR_PTR(err);
	}
	unregister_kprobe(&probe);
	return addr;
}
