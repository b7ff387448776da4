// SPDX-License-Identifier: MIT
/*
 * `twheel run`: a wheel driven by lines of standard input
 *
 * Every command is answered with one record on standard output (`help` and `list` with
 * several), in the order of the commands; expiries come between the answers. An error is an
 * answer, too, and does not end the program.
 */
#include <err.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "helpers.h"
#include "libtwheel-device.h"
#include "twheel.h"

#define LINE_SIZE	65536
#define BLANKS		" \t"

/* Timers listed with one call of the kernel. */
#define LIST_AT_ONCE	256

/* The arguments of a command. */
struct request {
	struct timer *timer;
	uint64_t ns;
	const char *label;
	bool periodic;
};

/* Set by `quit`. */
static bool quit;

#define refuse(...)	say("error", __VA_ARGS__)

static __printf(2, 3) void say(const char *kind, const char *format, ...)
{
	char message[256];
	va_list args;

	va_start(args, format);
	vsnprintf(message, sizeof(message), format, args);
	va_end(args);
	record_begin(kind);
	put_string("message", message);
	record_end();
}

/* Cut the first word off @rest; it is empty if there is none. */
static char *take_word(char **rest)
{
	char *word = *rest + strspn(*rest, BLANKS);
	char *end = word + strcspn(word, BLANKS);

	*rest = end + strspn(end, BLANKS);
	*end = '\0';
	return word;
}

static struct timer *find_timer(const char *text)
{
	uint64_t number = strtoull(text, NULL, 10);
	struct timer *timer;

	if (!*text || text[strspn(text, "0123456789")]) {
		refuse("%.64s is not a timer: use the number that it was added with", text);
		return NULL;
	}
	timer = timer_find(number);
	if (!timer)
		refuse("there is no timer %ju: it has expired, was cancelled or never existed",
		       (uintmax_t)number);
	return timer;
}

/* Answer a command by a record of its timer, or an error if it @failed. */
static void answer(bool failed, const char *kind, uint64_t number, const char *label)
{
	if (failed) {
		refuse("%s", explain(wheel.fd, errno, wheel.tick_ns));
		return;
	}
	record_begin(kind);
	put_id(number);
	if (label)
		put_string("label", label);
	record_end();
}

static void run_add(const struct request *what)
{
	struct timer *timer = timer_add(what->label, wheel_now(), what->ns, what->periodic);

	answer(!timer, "added", timer ? timer->number : 0, what->label);
}

static void run_cancel(const struct request *what)
{
	uint64_t number = what->timer->number;

	answer(timer_cancel(what->timer), "cancelled", number, NULL);
}

static void run_modify(const struct request *what)
{
	answer(twheel_modify_timer(wheel.fd, what->timer->id, what->ns, 0), "modified",
	       what->timer->number, NULL);
}

static void print_timer(const struct timer *timer, uint32_t state, uint64_t deadline_ns,
			uint64_t interval_ns)
{
	uint64_t now_ns = wheel_now();

	record_begin(state == TWHEEL_EXPIRED ? "due" : "pending");
	put_id(timer->number);
	put_string("label", timer->label);
	put_deadline(deadline_ns);
	put_duration("left", deadline_ns > now_ns ? (int64_t)(deadline_ns - now_ns) : 0);
	put_duration("period", (int64_t)interval_ns);
	record_end();
}

static void run_query(const struct request *what)
{
	struct twheel_query query;

	if (twheel_query_timer(wheel.fd, what->timer->id, &query))
		refuse("%s", explain(wheel.fd, errno, wheel.tick_ns));
	else
		print_timer(what->timer, query.state, query.deadline_ns, query.interval_ns);
}

/* Print all timers; or, if @cancel is set, cancel the periodic ones. Return how many, or -1. */
static int64_t list_timers(bool cancel)
{
	struct twheel_listed listed[LIST_AT_ONCE], *at;
	uint64_t cursor = 0;
	int64_t count = 0;
	ssize_t n;

	while ((n = twheel_list_timers(wheel.fd, &cursor, listed, LIST_AT_ONCE)) > 0) {
		for (at = listed; at < listed + n; at++) {
			struct timer *timer = timer_find(at->data);

			if (timer && !cancel)
				print_timer(timer, at->state, at->deadline_ns, at->interval_ns);
			else if (timer && timer->periodic)
				run_cancel(&(struct request){ .timer = timer });
		}
		count += n;
	}
	if (n < 0)
		refuse("cannot list the timers: %s", explain(wheel.fd, errno, 0));
	return n < 0 ? -1 : count;
}

static void run_list(const struct request *what)
{
	int64_t count = list_timers(false);

	if (count < 0)
		return;
	record_begin("listed");
	put_number("count", (uint64_t)count);
	record_end();
}

static void run_info(const struct request *what)
{
	print_info();
}

static void run_quit(const struct request *what)
{
	quit = true;
}

static void print_commands(const struct request *what);

/* The commands; @args says what @execute gets. */
static const struct command {
	const char *name;
	const char *args;
	const char *help;
	void (*execute)(const struct request *what);
} commands[] = {
	{ "add", "DURATION LABEL", "expire once, after DURATION", run_add },
	{ "every", "DURATION LABEL", "expire every DURATION", run_add },
	{ "cancel", "ID", "never expire", run_cancel },
	{ "modify", "ID DURATION", "expire DURATION from now instead", run_modify },
	{ "query", "ID", "show how much time is left", run_query },
	{ "list", "", "show all timers", run_list },
	{ "info", "", "show parameters and counters of the wheel", run_info },
	{ "help", "", "list the commands", print_commands },
	{ "quit", "", "end at once", run_quit },
};

/* List the commands, for people. */
void run_help(FILE *stream)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(commands); i++)
		fprintf(stream, "  %-6s %-16s%s\n", commands[i].name, commands[i].args,
			commands[i].help);
}

static void print_commands(const struct request *what)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(commands); i++)
		say("help", "%s%s%s - %s", commands[i].name, *commands[i].args ? " " : "",
		    commands[i].args, commands[i].help);
}

/* Read the arguments of a command, and execute it. */
static void execute(const struct command *command, char *rest)
{
	bool id = strstr(command->args, "ID"), duration = strstr(command->args, "DURATION");
	bool label = strstr(command->args, "LABEL");
	const char *id_word = id ? take_word(&rest) : "-";
	const char *duration_word = duration ? take_word(&rest) : "0", *reason;
	struct request what = { 0 };

	if (!*id_word || !*duration_word || !*rest == label) {
		refuse(*command->args ? "write it like this: %s %s" : "%s takes no arguments",
		       command->name, command->args);
		return;
	}
	if (id)
		what.timer = find_timer(id_word);
	if (id && !what.timer)
		return;
	what.label = rest;
	what.periodic = !strcmp(command->name, "every");
	reason = duration_parse(duration_word, &what.ns);
	if (reason)
		refuse("%.64s %s", duration_word, reason);
	else
		command->execute(&what);
}

/* Execute a line of @len bytes. Blank ones, and comments that begin with #, are ignored. */
static void execute_line(char *line, size_t len)
{
	char *rest = line;
	const char *name;
	size_t i = 0;

	if (strlen(line) != len) {
		refuse("the line holds a null byte");
		return;
	}
	name = take_word(&rest);
	if (!*name || *name == '#')
		return;
	while (i < ARRAY_SIZE(commands) && strcmp(commands[i].name, name))
		i++;
	if (i < ARRAY_SIZE(commands))
		execute(&commands[i], rest);
	else
		refuse("%.64s is not a command: help lists them", name);
}

/*
 * Read once, and execute the lines that are complete; at the end of the input, also the last
 * one, which needs no line end. Return false then.
 */
static bool read_input(bool terminal)
{
	static char text[LINE_SIZE + 1];
	static size_t len;
	static bool skip;
	char *line = text, *end;
	ssize_t n = read(STDIN_FILENO, text + len, LINE_SIZE - len);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return true;
	if (n < 0)
		err(STATUS_ERROR, "cannot read standard input");
	if (!n && terminal)
		putchar('\n');
	if (!n || memchr(text + len, '\n', (size_t)n))
		prompted = false;
	len += (size_t)n;
	if (!n && len)
		text[len++] = '\n';
	while (!quit && (end = memchr(line, '\n', len))) {
		*end = '\0';
		if (!skip)
			execute_line(line, (size_t)(end - line));
		skip = false;
		len -= (size_t)(end + 1 - line);
		line = end + 1;
	}
	if (len == LINE_SIZE) {
		if (!skip)
			refuse("the line is longer than %d bytes", LINE_SIZE - 1);
		skip = true;
		len = 0;
	}
	memmove(text, line, len);
	return n;
}

/*
 * Execute commands from standard input and print what expires. A terminal gets a prompt. At the
 * end of the input, waits for the timers that expire once.
 */
void run(char **args)
{
	bool open = true, terminal = isatty(STDIN_FILENO) && isatty(STDOUT_FILENO);

	wheel_open();
	while (!quit && (open || wheel.timers)) {
		if (open && terminal)
			prompt("twheel> ");
		if (!wait_for_timers(open ? STDIN_FILENO : -1))
			continue;
		open = read_input(terminal);
		/* No command can cancel them any more. */
		if (!open && !quit)
			list_timers(true);
	}
}
