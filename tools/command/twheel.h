/* SPDX-License-Identifier: MIT */
/*
 * The parts of the command twheel(1)
 *
 * Functions that cannot continue print the reason, and what to do, and exit.
 */
#ifndef TWHEEL_COMMAND_H
#define TWHEEL_COMMAND_H

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

void prompt(const char *text);
void prompt_answered(void);
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
	size_t timers;
};

extern struct wheel_handle wheel;

void wheel_open(void);
struct timer *timer_add(const char *label, uint64_t from_ns, uint64_t delay_ns, bool periodic);
struct timer *timer_find(uint64_t number);
int timer_cancel(struct timer *timer);
bool wait_for_timers(int input);
const char *explain(int fd, int error, uint64_t tick_ns);
uint64_t now_on(uint32_t clock_id);

/* The commands, and the help of `run`. */
void run(void);
void run_help(FILE *stream);
void save(const char *path);

/* One moment on two clocks: the wall clock, and the wheel's just before and after. */
struct moment {
	uint64_t before_ns;
	uint64_t wall_ns;
	uint64_t after_ns;
};

uint64_t to_wall(const struct moment *now, uint64_t deadline_ns);
uint64_t to_wheel(const struct moment *now, uint64_t wall_ns, uint64_t interval_ns);
void load(const char *path);
void top(pid_t only);
int column_named(const char *word);

#endif /* TWHEEL_COMMAND_H */
