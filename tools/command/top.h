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

/* A wheel at one moment. */
struct wheel {
	uint64_t id;
	pid_t pid;			/* of the processes that have it, the lowest one */
	int fd;				/* its descriptor there */
	char comm[64];			/* the name of that process */
	unsigned int descriptors;	/* how many lead to it */
	unsigned int processes;		/* how many have one */
	uint64_t user_id;
	uint64_t user_memory;		/* bytes that all wheels of its user hold */
	uint64_t user_limit;
	struct twheel_info info;
	unsigned int nr_levels;
	struct {
		uint64_t timers;
		uint64_t busy;
	} level[WHEEL_LEVELS];
	unsigned int nr_samples;	/* how many have rates */
	float history[NR_RATES][WHEEL_HISTORY];	/* per second; the latest one is last */
};

/* Wheels at one moment, in the order of their numbers, and memory for more. */
struct wheels {
	struct wheel *wheel;
	size_t count;
	size_t capacity;
	unsigned int hidden;		/* processes that the caller may not inspect */
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

/* What is shown: the wheels of all processes or one, the rows in order of a column. */
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
