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

/**
 * struct options - the options of the command line; 0 if they were not given, unless noted
 * @device: the device.
 * @tick_ns: the tick of a new wheel.
 * @wheel_size: its number of buckets in a level.
 * @max_timers: how many timers it may hold.
 * @clock: the name of its clock.
 * @count: events of each label until `every` ends.
 * @fd: the descriptor of the wheel of `save` and `load`, or -1.
 * @pid: the process that has this descriptor.
 * @proc: where the proc file system is.
 * @interval_ns: the time between two samples of `top`.
 * @sort: the index of the column that `top` sorts by.
 * @once: `top` prints one table.
 */
struct options {
	const char *device;
	uint64_t tick_ns;
	uint64_t wheel_size;
	uint64_t max_timers;
	const char *clock;
	uint64_t count;
	int fd;
	pid_t pid;
	const char *proc;
	uint64_t interval_ns;
	int sort;
	bool once;
};

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

/**
 * struct timer - a timer that has events to come
 * @number: the user's name for the timer, and its data in the kernel.
 * @id: the kernel's name for the timer.
 * @left: events until a periodic timer is cancelled, or 0 for no end.
 * @periodic: it expires again and again.
 * @label: the text to print.
 */
struct timer {
	uint64_t number;
	uint64_t id;
	uint64_t left;
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
void load(const char *path);
void top(pid_t only);
int column_named(const char *word);

#endif /* TWHEEL_COMMAND_H */
