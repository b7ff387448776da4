/* SPDX-License-Identifier: MIT */
/*
 * The parts of the command twheel(1)
 *
 * Functions that cannot continue print the reason, and what to do, and exit.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#include <linux/twheel.h>

#define STATUS_ERROR	1
#define STATUS_USAGE	2

/* Where the module shows its limits, and root changes them. */
#define LIMITS	"/sys/module/twheel/parameters"

/* The options of the command line; 0 if they were not given, unless noted. */
struct options {
	const char *device;
	uint64_t tick_ns;	/* of a new wheel, as are the next three */
	uint64_t wheel_size;
	uint64_t max_timers;
	const char *clock;
	uint64_t count;		/* events of each label until `every` ends */
	uint64_t fd;		/* of the wheel of `save` and `load`; or NO_DESCRIPTOR */
	uint64_t pid;		/* the process that has this descriptor */
	const char *proc;
	uint64_t interval_ns;	/* between two samples of `top` */
	int sort;		/* the index of the column that `top` sorts by */
	bool once;
};

#define NO_DESCRIPTOR	UINT64_MAX
extern struct options options;

/* duration.c; the text of any duration fits. */
#define DURATION_TEXT	32
const char *duration_parse(const char *text, uint64_t *ns);
char *duration_format(int64_t ns, char text[DURATION_TEXT]);

/*
 * output.c: records on standard output, one line each
 *
 *	STYLE_LINE	expired 1 hello count=1 late=312us
 *	STYLE_JSON	{"event":"expired","id":1,"label":"hello","count":1,...}
 *	STYLE_TABLE	one field on each line, its name first
 */
extern enum style { STYLE_LINE, STYLE_JSON, STYLE_TABLE } style;

/* The place of a member of struct twheel_info, and its name in /proc/PID/fdinfo/FD. */
struct info_field {
	const char *name;
	const char *fdinfo;
	size_t offset;
	size_t size;
};

extern const struct info_field info_fields[];
extern const size_t nr_info_fields;

void record_begin(const char *kind);
void record_end(void);
void put_id(uint64_t id);
void put_string(const char *name, const char *text);
void put_word(const char *name, const char *word);
void put_number(const char *name, uint64_t number);
void put_duration(const char *name, int64_t ns);
void put_info(const struct twheel_info *info);

/* The line with a prompt has not ended. */
extern bool prompted;
void prompt(const char *text);
void flush_output(void);
void output_gone(int error);

const char *clock_name(uint32_t clock_id);
bool clock_named(const char *name, uint32_t *clock_id);

/* timers.c: a wheel of our own, whose timers have labels */

/* A timer that has events to come. */
struct timer {
	uint64_t number;	/* the user's name for it, and its data in the kernel */
	uint64_t id;		/* the kernel's name for it */
	uint64_t left;		/* events until a periodic timer is cancelled; 0: no end */
	bool periodic;
	char label[];
};

/* The wheel, and how many timers have events to come. */
struct wheel_handle {
	int fd;
	uint64_t tick_ns;
	uint32_t clock_id;
	int64_t offset_ns;	/* of its clock from the program's, in a time namespace */
	size_t timers;
};

extern struct wheel_handle wheel;

void wheel_open(void);
struct twheel_info query_wheel(int fd);
void print_info(void);
struct timer *timer_add(const char *label, uint64_t from_ns, uint64_t delay_ns, bool periodic);
struct timer *timer_find(uint64_t number);
int timer_cancel(struct timer *timer);
bool wait_for_timers(int input);
const char *explain(int fd, int error, uint64_t tick_ns);
uint64_t now_on(uint32_t clock_id);
uint64_t wheel_now(void);
void put_deadline(uint64_t deadline_ns);

/* The commands, with the words that follow them, and the help of `run`. */
void run(char **args);
void save(char **args);
void load(char **args);
void top(pid_t only);
void run_help(FILE *stream);
int column_named(const char *word);

/* One moment on two clocks: the wall clock, and the wheel's just before and after. */
struct moment {
	uint64_t before_ns;
	uint64_t wall_ns;
	uint64_t after_ns;
};

uint64_t to_wall(const struct moment *now, uint64_t deadline_ns, uint64_t interval_ns);
uint64_t to_wheel(const struct moment *now, uint64_t wall_ns, uint64_t interval_ns);

/* `twheel top`: the wheels of the machine, as /proc/PID/fdinfo shows them */

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

/* Wheels at one moment, in the order of their numbers. */
struct wheels {
	struct wheel *wheel;
	size_t count;
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

/* The rows to show: the wheels of all processes or one, the rows in order of a column. */
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
void put_row(FILE *stream, const struct wheel *wheel, int width);
int put_name(FILE *stream, const struct wheel *wheel, int width);
char *short_count(double n, char text[SHORT_TEXT]);
char *short_bytes(double n, char text[SHORT_TEXT]);
char *short_span(double ns, char text[SHORT_TEXT]);
char *format_value(const struct wheel *wheel, int column, char text[SHORT_TEXT]);

/* screen.c */
void run_screen(struct top *top);
