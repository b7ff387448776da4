/* SPDX-License-Identifier: MIT */
/*
 * The wheels of the machine, as /proc/PID/fdinfo shows them
 *
 * A list holds each wheel once, however many descriptors lead to it. With an older list of
 * the same wheels, counters become rates.
 */
#ifndef WHEELS_H
#define WHEELS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <linux/twheel.h>

/* A wheel of two buckets needs this many levels for all of time. */
#define WHEEL_LEVELS	63

/* How many samples of the rates are kept. */
#define WHEEL_HISTORY	60

/* Room for the name of a process. */
#define WHEEL_COMM	64

/* The counts that have rates. */
enum wheel_rate {
	RATE_ADD,
	RATE_CANCEL,
	RATE_EXPIRE,
	RATE_FIRES,
	NR_RATES,
};

/**
 * struct wheel_level - what a level holds
 * @timers: how many timers.
 * @busy: how many buckets have timers.
 */
struct wheel_level {
	uint64_t timers;
	uint32_t busy;
};

/**
 * struct wheel - a wheel at one moment
 * @id: its number; 0 if the module is too old to show it.
 * @pid: a process that has it open: that with the lowest number.
 * @fd: its descriptor there.
 * @comm: the name of that process.
 * @descriptors: how many descriptors lead to the wheel.
 * @processes: how many processes have one.
 * @user_id: the user that opened it.
 * @user_memory: how many bytes all wheels of that user hold.
 * @user_limit: how many they may.
 * @info: parameters and counters.
 * @nr_levels: how many levels there are in @level.
 * @level: its levels.
 * @nr_samples: how many samples have rates in @history.
 * @history: the rates, per second; the latest one is last.
 */
struct wheel {
	uint64_t id;
	pid_t pid;
	int fd;
	char comm[WHEEL_COMM];
	unsigned int descriptors;
	unsigned int processes;
	uint32_t user_id;
	uint64_t user_memory;
	uint64_t user_limit;
	struct twheel_info info;
	unsigned int nr_levels;
	struct wheel_level level[WHEEL_LEVELS];
	unsigned int nr_samples;
	float history[NR_RATES][WHEEL_HISTORY];
};

/**
 * struct wheels - wheels at one moment, in the order of their numbers
 * @wheel: the wheels.
 * @count: how many.
 * @room: for how many there is memory.
 * @hidden: processes that the caller may not look into.
 * @outdated: the module is too old to show what is needed.
 */
struct wheels {
	struct wheel *wheel;
	size_t count;
	size_t room;
	unsigned int hidden;
	bool outdated;
};

bool fdinfo_parse(const char *text, struct wheel *wheel);

int wheels_scan(struct wheels *wheels, const char *proc, pid_t only);
void wheels_compare(struct wheels *wheels, const struct wheels *before);
const struct wheel *wheels_find(const struct wheels *wheels, uint64_t id);
void wheels_free(struct wheels *wheels);

/* The latest of the rates. */
static inline double wheel_rate(const struct wheel *wheel, enum wheel_rate rate)
{
	return wheel->history[rate][WHEEL_HISTORY - 1];
}

#endif /* WHEELS_H */
