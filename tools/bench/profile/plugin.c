// SPDX-License-Identifier: MIT
/*
 * Counts the instructions of each block of code, for tools/bench/profile/run
 *
 * A plugin of QEMU. Whenever the guest reaches the address @mark, the plugin prints the
 * blocks that have run since the last time: a line with the address and the number of
 * instructions for each.
 */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plugin.h"

const int qemu_plugin_version = 1;

/* A hash table with open addressing, larger than all the code needs. */
#define SLOTS_LOG2	21
#define SLOTS		0x200000UL

static struct count {
	uint64_t address;
	uint64_t instructions;
	uint64_t written;
} counts[SLOTS];

static uint64_t mark;
static FILE *out;

static struct count *count_of(uint64_t address)
{
	/* The upper bits of a product with 2^64 divided by the golden ratio. */
	size_t slot = address * 0x9e3779b97f4a7c15ULL >> (64 - SLOTS_LOG2);

	while (counts[slot].address && counts[slot].address != address)
		slot = (slot + 1) % SLOTS;
	counts[slot].address = address;
	return &counts[slot];
}

static void write_counts(unsigned int cpu, void *arg)
{
	struct count *count;

	(void)cpu;
	(void)arg;
	fputs("mark\n", out);
	for (count = counts; count < counts + SLOTS; count++) {
		if (count->instructions == count->written)
			continue;
		fprintf(out, "%" PRIx64 " %" PRIu64 "\n", count->address,
			count->instructions - count->written);
		count->written = count->instructions;
	}
	fflush(out);
}

static void translate(plugin_id id, struct plugin_block *block)
{
	uint64_t *number = &count_of(qemu_plugin_tb_vaddr(block))->instructions;
	size_t n = qemu_plugin_tb_n_insns(block), i;

	(void)id;
	for (i = 0; i < n; i++) {
		struct plugin_instruction *instruction = qemu_plugin_tb_get_insn(block, i);

		if (qemu_plugin_insn_vaddr(instruction) == mark)
			qemu_plugin_register_vcpu_insn_exec_cb(instruction, write_counts,
							       USES_NO_REGISTERS, NULL);
	}
	qemu_plugin_register_vcpu_tb_exec_inline(block, ADD_U64, number, n);
}

int qemu_plugin_install(plugin_id id, const void *info, int argc, char **argv)
{
	int i;

	(void)info;
	for (i = 0; i < argc; i++) {
		if (!strncmp(argv[i], "mark=", strlen("mark=")))
			mark = strtoull(argv[i] + strlen("mark="), NULL, 16);
		if (!strncmp(argv[i], "out=", strlen("out=")))
			out = fopen(argv[i] + strlen("out="), "w");
	}
	if (!mark || !out)
		return -1;
	qemu_plugin_register_vcpu_tb_trans_cb(id, translate);
	return 0;
}
