/* SPDX-License-Identifier: MIT */
/*
 * `twheel top`: the wheels of the machine, as /proc/PID/fdinfo shows them
 */
#ifndef TOP_H
#define TOP_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#include <linux/twheel.h>

/* A wheel of two buckets needs this many levels for all of time. */
#define WHEEL_LEVELS	63

/* How many samples of the rates are kept. */
#define WHEEL_HISTORY	60

/* Long enough for a number as put_row() writes it. */
#define SHORT_TEXT	16

enum rate { RATE_ADD, RATE_CANCEL, RATE_EXPIRE, RATE_FIRES, NR_RATES };

/**
 * struct wheel - a wheel at one moment
 * @id: its number.
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
 * @level: the timers and the busy buckets of each level.
 * @nr_samples: how many samples have rates in @history.
 * @history: the rates, per second; the latest one is last.
 */
struct wheel {
	uint64_t id;
	pid_t pid;
	int fd;
	char comm[64];
	unsigned int descriptors;
	unsigned int processes;
	uint64_t user_id;
	uint64_t user_memory;
	uint64_t user_limit;
	struct twheel_info info;
	unsigned int nr_levels;
	struct {
		uint64_t timers;
		uint64_t busy;
	} level[WHEEL_LEVELS];
	unsigned int nr_samples;
	float history[NR_RATES][WHEEL_HISTORY];
};

/**
 * struct wheels - wheels at one moment, in the order of their numbers
 * @wheel: the wheels.
 * @count: how many.
 * @room: for how many there is memory.
 * @hidden: processes that the caller may not inspect.
 */
struct wheels {
	struct wheel *wheel;
	size_t count;
	size_t room;
	unsigned int hidden;
};

/* A column of the table; the key sorts by it, and options call it @word. */
struct column {
	const char *name;
	char key;
	const char *word;
	int width;
};

enum {
	PID, COMMAND, FD, PENDING, UNREAD, ADD, CANCEL, EXPIRE, FIRES, MEMORY, USER, NR_COLUMNS
};

/**
 * struct top - what is being shown
 * @only: the process whose wheels are shown, or 0.
 * @now: the latest sample.
 * @before: the previous sample.
 * @rows: the wheels of @now, in order.
 * @sort: the column that they are ordered by.
 * @reverse: the other way round.
 */
struct top {
	pid_t only;
	struct wheels now;
	struct wheels before;
	const struct wheel **rows;
	int sort;
	bool reverse;
};

/* wheels.c */
int wheels_scan(struct wheels *wheels, pid_t only);
struct wheel *wheels_find(const struct wheels *wheels, uint64_t id);
void wheels_compare(struct wheels *wheels, const struct wheels *before);

/* top.c */
extern const struct column columns[NR_COLUMNS];
int take_sample(struct top *top);
void fail_sample(const struct top *top, int error, bool again);
void sort_rows(struct top *top);
int ms_until(uint64_t time_ns);
void put_head(FILE *stream, int width);
void put_row(FILE *stream, const struct wheel *wheel, int width);
int put_name(FILE *stream, const struct wheel *wheel, int width);
char *short_count(double n, char text[SHORT_TEXT]);
char *short_bytes(double n, char text[SHORT_TEXT]);
char *short_span(double ns, char text[SHORT_TEXT]);
char *format_value(const struct wheel *wheel, int column, char text[SHORT_TEXT]);

/* screen.c */
void run_screen(struct top *top);

#endif /* TOP_H */
