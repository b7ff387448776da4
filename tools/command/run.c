// SPDX-License-Identifier: MIT
/*
 * `twheel run`: a wheel driven by lines of standard input
 *
 * Every command is answered with one record on standard output (`help` and `list`
 * with several), in the order of the commands; expiries come between the answers.
 * An error is an answer, too, and does not end the program.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "duration.h"
#include "helpers.h"
#include "libtwheel.h"
#include "messages.h"
#include "output.h"
#include "run.h"

#define LINE_MAX_BYTES	65536
#define BLANKS		" \t"

/* Timers listed with one call of the kernel. */
#define LIST_AT_ONCE	256

/**
 * struct input - standard input that was read and not yet processed
 * @text: the bytes, with room for a null byte after the longest line.
 * @len: how many.
 * @prompt: people type it.
 * @skip: the line is too long, and its rest is being skipped.
 * @quit: no more commands are executed.
 */
struct input {
	char text[LINE_MAX_BYTES + 1];
	size_t len;
	bool prompt;
	bool skip;
	bool quit;
};

struct command {
	const char *name;
	const char *args;
	const char *help;
	void (*execute)(struct session *session, char *args);
};

static __printf(1, 2) void refuse(const char *format, ...)
{
	char message[256];
	va_list args;

	va_start(args, format);
	vsnprintf(message, sizeof(message), format, args);
	va_end(args);
	output_begin("error");
	output_message(message);
	output_end();
}

/* Cut the first word off @rest. An empty word means that there is none. */
static char *take_word(char **rest)
{
	char *word = *rest + strspn(*rest, BLANKS);
	char *end = word + strcspn(word, BLANKS);

	*rest = end + strspn(end, BLANKS);
	*end = '\0';
	return word;
}

static bool parse_duration(const char *text, uint64_t *ns)
{
	switch (duration_parse(text, ns)) {
	case 0:
		return true;
	case -ERANGE:
		refuse("%.64s is too long: at most 292 years", text);
		return false;
	default:
		refuse("%.64s is not a duration: write it like 150us, 1.5s, 30m or 2h30m",
		       text);
		return false;
	}
}

static struct timer *parse_timer(const struct session *session,
				 const char *text)
{
	struct timer *timer;
	uint64_t number;
	char *end;

	errno = 0;
	number = strtoull(text, &end, 10);
	if (*text < '0' || *text > '9' || *end || errno) {
		refuse("%.64s is not a timer: use the number that it was added with",
		       text);
		return NULL;
	}
	timer = timer_table_find(&session->timers, number);
	if (!timer)
		refuse("there is no timer %ju: it has expired, was cancelled or never existed",
		       (uintmax_t)number);
	return timer;
}

static void refuse_timer(const struct session *session)
{
	char reason[REASON_TEXT];

	refuse("%s", session_explain(session, errno, reason));
}

static void add_timer(struct session *session, char *args, bool periodic)
{
	struct session_timer what = { .periodic = periodic };
	const char *duration = take_word(&args);
	struct timer *timer;

	if (!*args) {
		refuse("a duration and a label are needed: %s 1.5s LABEL",
		       periodic ? "every" : "add");
		return;
	}
	what.label = args;
	if (!parse_duration(duration, &what.delay_ns))
		return;
	if (twheel_now(session->clock_id, &what.from_ns)) {
		refuse("cannot read the wheel's clock: %s", strerror(errno));
		return;
	}
	timer = session_add(session, &what);
	if (!timer) {
		refuse_timer(session);
		return;
	}
	output_begin("added");
	output_id(timer->number);
	output_label(timer->label);
	output_end();
}

static void run_add(struct session *session, char *args)
{
	add_timer(session, args, false);
}

static void run_every(struct session *session, char *args)
{
	add_timer(session, args, true);
}

static void print_timer(const char *what, uint64_t number)
{
	output_begin(what);
	output_id(number);
	output_end();
}

static void cancel_timer(struct session *session, struct timer *timer)
{
	uint64_t number = timer->number;

	if (session_cancel(session, timer))
		refuse_timer(session);
	else
		print_timer("cancelled", number);
}

static void run_cancel(struct session *session, char *args)
{
	const char *number = take_word(&args);
	struct timer *timer;

	if (!*number || *args) {
		refuse("the number of one timer is needed: cancel ID");
		return;
	}
	timer = parse_timer(session, number);
	if (timer)
		cancel_timer(session, timer);
}

static void run_modify(struct session *session, char *args)
{
	const char *number = take_word(&args);
	const char *duration = take_word(&args);
	struct timer *timer;
	uint64_t ns;

	if (!*duration || *args) {
		refuse("the number of one timer and a duration are needed: modify ID 5s");
		return;
	}
	timer = parse_timer(session, number);
	if (!timer || !parse_duration(duration, &ns))
		return;
	if (session_modify(session, timer, ns))
		refuse_timer(session);
	else
		print_timer("modified", timer->number);
}

static void print_details(const struct timer *timer, const struct twheel_listed *what,
			  uint64_t now_ns)
{
	uint64_t left = what->deadline_ns > now_ns ? what->deadline_ns - now_ns : 0;

	output_begin(what->state == TWHEEL_EXPIRED ? "due" : "pending");
	output_id(timer->number);
	output_label(timer->label);
	output_deadline(what->deadline_ns);
	output_duration("left", (int64_t)left);
	output_duration("period", (int64_t)what->interval_ns);
	output_end();
}

static void run_query(struct session *session, char *args)
{
	const char *number = take_word(&args);
	struct twheel_query query;
	struct timer *timer;

	if (!*number || *args) {
		refuse("the number of one timer is needed: query ID");
		return;
	}
	timer = parse_timer(session, number);
	if (!timer)
		return;
	if (twheel_query_timer(session->fd, timer->id, &query)) {
		refuse_timer(session);
		return;
	}
	print_details(timer, &(struct twheel_listed) {
			.deadline_ns = query.deadline_ns,
			.interval_ns = query.interval_ns,
			.state = query.state,
		}, query.deadline_ns - query.remaining_ns);
}

/* Print a record for each timer, and one with their number. */
static void run_list(struct session *session, char *args)
{
	struct twheel_listed listed[LIST_AT_ONCE];
	uint64_t cursor = 0, count = 0, now_ns = 0;
	ssize_t n, i;

	if (*args) {
		refuse("list takes no arguments");
		return;
	}
	do {
		if (twheel_now(session->clock_id, &now_ns))
			n = -1;
		else
			n = twheel_list_timers(session->fd, &cursor, listed, LIST_AT_ONCE);
		for (i = 0; i < n; i++) {
			struct timer *timer = timer_table_find(&session->timers, listed[i].data);

			if (timer)
				print_details(timer, &listed[i], now_ns);
			count++;
		}
	} while (n > 0);
	if (n < 0) {
		refuse("cannot list the timers: %s", errno == ENOTTY ?
		       "the module is too old" : strerror(errno));
		return;
	}
	output_begin("listed");
	output_number("count", count);
	output_end();
}

static void run_info(struct session *session, char *args)
{
	if (*args)
		refuse("info takes no arguments");
	else if (session_print_info(session))
		refuse("cannot query the wheel: %s", strerror(errno));
}

static void print_commands(struct session *session, char *args);

static const struct command commands[] = {
	{ "add", "DURATION LABEL", "expire once, after DURATION", run_add },
	{ "every", "DURATION LABEL", "expire every DURATION", run_every },
	{ "cancel", "ID", "never expire", run_cancel },
	{ "modify", "ID DURATION", "expire DURATION from now instead",
	  run_modify },
	{ "query", "ID", "show how much time is left", run_query },
	{ "list", "", "show all timers", run_list },
	{ "info", "", "show parameters and counters of the wheel", run_info },
	{ "help", "", "list the commands", print_commands },
	{ "quit", "", "end at once", NULL },
};

/**
 * run_help() - list the commands, for people
 * @stream: where to.
 */
void run_help(FILE *stream)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(commands); i++)
		fprintf(stream, "  %-6s %-16s%s\n", commands[i].name,
			commands[i].args, commands[i].help);
}

static void print_commands(struct session *session, char *args)
{
	char message[128];
	size_t i;

	(void)session;
	if (*args) {
		refuse("help takes no arguments");
		return;
	}
	for (i = 0; i < ARRAY_SIZE(commands); i++) {
		snprintf(message, sizeof(message), "%s%s%s - %s",
			 commands[i].name, *commands[i].args ? " " : "",
			 commands[i].args, commands[i].help);
		output_begin("help");
		output_message(message);
		output_end();
	}
}

/* Execute a line. Blank ones, and comments that begin with #, are ignored. */
static void execute_line(struct session *session, struct input *input,
			 char *line, size_t len)
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
	if (i == ARRAY_SIZE(commands))
		refuse("%.64s is not a command: help lists them", name);
	else if (commands[i].execute)
		commands[i].execute(session, rest);
	else if (*rest)
		refuse("%s takes no arguments", name);
	else
		input->quit = true;
}

/* Execute the complete lines; keep the beginning of the next. */
static void execute_lines(struct session *session, struct input *input)
{
	char *line = input->text, *end;
	size_t left = input->len;

	while (!input->quit) {
		end = memchr(line, '\n', left);
		if (!end)
			break;
		*end = '\0';
		if (!input->skip)
			execute_line(session, input, line,
				     (size_t)(end - line));
		input->skip = false;
		left -= (size_t)(end + 1 - line);
		line = end + 1;
	}
	if (left == LINE_MAX_BYTES) {
		if (!input->skip)
			refuse("the line is longer than %d bytes",
			       LINE_MAX_BYTES - 1);
		input->skip = true;
		left = 0;
	}
	memmove(input->text, line, left);
	input->len = left;
}

/* Execute the last line, which needs no line end, and cancel periodic timers. */
static void end_input(struct session *session, struct input *input)
{
	struct timer *timer, *next;

	if (input->len && !input->skip) {
		input->text[input->len] = '\0';
		execute_line(session, input, input->text, input->len);
	}
	/* No command can cancel them any more. */
	timer = timer_table_next(&session->timers, NULL);
	for (; timer && !input->quit; timer = next) {
		next = timer_table_next(&session->timers, timer);
		if (timer->periodic)
			cancel_timer(session, timer);
	}
}

/* Read once; @open is cleared at the end of the input. */
static int read_input(struct session *session, struct input *input, bool *open)
{
	ssize_t n = read(STDIN_FILENO, input->text + input->len,
			 LINE_MAX_BYTES - input->len);

	if (n < 0) {
		if (errno == EAGAIN || errno == EINTR)
			return STATUS_OK;
		complain("cannot read standard input: %s", strerror(errno));
		return STATUS_ERROR;
	}
	if (memchr(input->text + input->len, '\n', (size_t)n))
		output_answered();
	if (n) {
		input->len += (size_t)n;
		execute_lines(session, input);
	} else {
		*open = false;
		if (input->prompt)
			putchar('\n');
		output_answered();
		end_input(session, input);
	}
	return STATUS_OK;
}

/**
 * run() - execute commands from standard input and print what expires
 * @session: the session.
 *
 * A terminal gets a prompt. At the end of the input, waits for the timers that expire once.
 *
 * Return: an exit status.
 */
int run(struct session *session)
{
	static struct input input;
	bool open = true, ready = false;
	int status = STATUS_OK;

	input.prompt = isatty(STDIN_FILENO) && isatty(STDOUT_FILENO);
	while (status == STATUS_OK && !input.quit &&
	       (open || session->timers.count)) {
		if (open && input.prompt)
			output_prompt("twheel> ");
		status = session_wait(session, open ? STDIN_FILENO : -1,
				      &ready);
		if (status == STATUS_OK && ready)
			status = read_input(session, &input, &open);
	}
	return status;
}
