/* SPDX-License-Identifier: MIT */
/*
 * The tests of twheel-limits, and what they share
 */
#ifndef LIMITS_H
#define LIMITS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "libtwheel-device.h"

#define PARAMETERS	"/sys/module/twheel/parameters/"
#define MB		(1024 * 1024UL)
#define FDS		10000
#define BATCH		1024

/* Shared memory for the report of a child. */
struct report {
	atomic_int stage;
	int error;
	unsigned int wheels;
	unsigned int timers;
	uint64_t memory;
	bool works;
};

struct twheel_info info_of(int fd);
int open_wheel(void);
unsigned int add_timers(int fd, unsigned int count, uint64_t time_ns, uint32_t flags);
uint64_t fill_with_rings(int *error);
struct report *new_report(void);
bool wait_stage(struct report *report, int stage);
pid_t start_child(void);
bool child_ended_well(pid_t pid);
void become(uid_t user);

void test_groups(void);
void test_timer_limit(void);
void test_user_limit(void);
void test_many(void);

#endif /* LIMITS_H */
