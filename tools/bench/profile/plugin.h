/* SPDX-License-Identifier: MIT */
/*
 * The part of QEMU's plugin interface, version 1, that is used here: no package has its header
 */
#ifndef PROFILE_PLUGIN_H
#define PROFILE_PLUGIN_H

#include <stddef.h>
#include <stdint.h>

typedef uint64_t plugin_id;
struct plugin_block;
struct plugin_instruction;
enum { USES_NO_REGISTERS = 0, ADD_U64 = 0 };

#define PUBLIC	__attribute__((visibility("default")))

extern PUBLIC const int qemu_plugin_version;
PUBLIC int qemu_plugin_install(plugin_id id, const void *info, int argc, char **argv);

void qemu_plugin_register_vcpu_tb_trans_cb(plugin_id id,
					   void (*call)(plugin_id, struct plugin_block *));
void qemu_plugin_register_vcpu_insn_exec_cb(struct plugin_instruction *instruction,
					    void (*call)(unsigned int, void *), int uses,
					    void *arg);
void qemu_plugin_register_vcpu_tb_exec_inline(struct plugin_block *block, int op, void *number,
					      uint64_t by);
size_t qemu_plugin_tb_n_insns(struct plugin_block *block);
uint64_t qemu_plugin_tb_vaddr(struct plugin_block *block);
struct plugin_instruction *qemu_plugin_tb_get_insn(struct plugin_block *block, size_t nr);
uint64_t qemu_plugin_insn_vaddr(struct plugin_instruction *instruction);

#endif /* PROFILE_PLUGIN_H */
