// SPDX-License-Identifier: MIT
/*
 * twheel - timers of /dev/twheel on the command line; see twheel(1)
 *
 * The options, the commands, and help on them.
 */
#include <argp.h>
#include <ctype.h>
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "helpers.h"
#include "libtwheel-device.h"
#include "twheel.h"

/* A screen that changes more often cannot be read. */
#define INTERVAL_MIN_NS		10000000
#define INTERVAL_MAX_NS		3600000000000

#define COLUMN_NAMES							\
	"pid, command, fd, pending, unread, add, cancel, expire, fires, memory or user"

struct options options = {
	.device = TWHEEL_DEVICE,
	.fd = NO_DESCRIPTOR,
	.proc = "/proc",
	.interval_ns = 1000000000,
};

static bool help;

enum {
	OPTION_USAGE = 256,
	OPTION_FD,
	OPTION_MAX_TIMERS,
	OPTION_ONCE,
	OPTION_PID,
	OPTION_PROC,
	OPTION_SORT,
};

/* Sets of options; bitmasks of them are what a command has, and what was given. */
enum { SET_COMMON, SET_COUNT, SET_WHEEL, SET_TOP, SET_FD, NR_SETS };

static const struct {
	const char *header;
	const char *belongs;
} sets[NR_SETS] = {
	[SET_COUNT] = { "For every:", "--count is for every" },
	[SET_WHEEL] = { "For the wheel of after, every, run and info:",
			"options of a wheel are for after, every, run and info" },
	[SET_TOP] = { "For top:", "--once, --interval, --sort and --proc are for top" },
	[SET_FD] = { "For save and load:", "--fd and --pid are for save and load" },
};

/* All options. One with a value is a number; or a duration, if the range is a text. */
static const struct known_option {
	int set;
	int key;
	const char *name;
	const char *arg;
	const char *doc;
	uint64_t *value;
	uint64_t min, max;
	const char *range;
} known[] = {
	{ SET_COMMON, 'j', "json", .doc = "print one JSON object per line" },
	{ SET_COMMON, 'h', "help", .doc = "print this help and exit" },
	{ SET_COMMON, OPTION_USAGE, "usage", .doc = "print a short help and exit" },
	{ SET_COMMON, 'V', "version", .doc = "print the version and exit" },
	{ SET_COUNT, 'n', "count", "N", "exit after N events of each label",
	  &options.count, 1, UINT64_MAX, NULL },
	{ SET_WHEEL, 't', "tick", "DURATION", "tick, 1us to 1h (default: the module's)",
	  &options.tick_ns, TWHEEL_TICK_MIN_NS, TWHEEL_TICK_MAX_NS, "1us and 1h" },
	{ SET_WHEEL, 'w', "wheel-size", "N", "buckets per level, 2 to 65536 (default: module's)",
	  &options.wheel_size, TWHEEL_SIZE_MIN, TWHEEL_SIZE_MAX, NULL },
	{ SET_WHEEL, 'c', "clock", "NAME",
	  .doc = "monotonic; boottime (counts suspend); realtime or tai (timers follow a set)" },
	{ SET_WHEEL, OPTION_MAX_TIMERS, "max-timers", "N", "how many timers it may hold at once",
	  &options.max_timers, 1, UINT64_MAX, NULL },
	{ SET_WHEEL, 'd', "device", "PATH", .doc = "the device (default: " TWHEEL_DEVICE ")" },
	{ SET_TOP, OPTION_ONCE, "once", .doc = "print one table and exit" },
	{ SET_TOP, 'i', "interval", "DURATION", "between two samples, 10ms to 1h (default: 1s)",
	  &options.interval_ns, INTERVAL_MIN_NS, INTERVAL_MAX_NS, "10ms and 1h" },
	{ SET_TOP, OPTION_SORT, "sort", "COLUMN", .doc = COLUMN_NAMES " (default: pending)" },
	{ SET_TOP, OPTION_PROC, "proc", "DIR",
	  .doc = "where the proc file system is (default: /proc)" },
	{ SET_FD, OPTION_FD, "fd", "N", "the wheel's descriptor in the calling shell",
	  &options.fd, 0, INT32_MAX, NULL },
	{ SET_FD, OPTION_PID, "pid", "PID", "it is a descriptor of this process instead",
	  &options.pid, 1, INT32_MAX, NULL },
};

/* All options, a header for each set, and the end. */
#define OPTIONS_MAX	(ARRAY_SIZE(known) + NR_SETS + 1)

static unsigned int given;

static __printf(1, 2) __attribute__((noreturn)) void usage_error(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vwarnx(format, args);
	va_end(args);
	fputs("Try `twheel --help' or `twheel --usage' for more information.\n", stderr);
	exit(STATUS_USAGE);
}

static uint64_t read_number(const char *what, const char *text, uint64_t min, uint64_t max)
{
	uint64_t value;
	char *end;

	errno = 0;
	value = strtoull(text, &end, 10);
	if (!isdigit((unsigned char)*text) || *end || errno || value < min || value > max)
		usage_error("%s '%s' must be a number between %ju and %ju", what, text,
			    (uintmax_t)min, (uintmax_t)max);
	return value;
}

static uint64_t read_duration(const char *what, const char *text)
{
	uint64_t ns = 0;
	const char *reason = duration_parse(text, &ns);

	if (reason)
		usage_error("%s '%s' %s", what, text, reason);
	return ns;
}

static void read_value(const struct known_option *option, const char *arg)
{
	char name[32];

	snprintf(name, sizeof(name), "--%s", option->name);
	if (option->range)
		*option->value = read_duration(name, arg);
	else
		*option->value = read_number(name, arg, option->min, option->max);
	if (*option->value < option->min || *option->value > option->max)
		usage_error("%s '%s' must be between %s", name, arg, option->range);
}

static int show_help(const char *name, unsigned int flags);

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	const struct known_option *option = known;
	uint32_t clock_id;

	(void)state;
	while (option < known + ARRAY_SIZE(known) && option->key != key)
		option++;
	if (option == known + ARRAY_SIZE(known))
		return ARGP_ERR_UNKNOWN;
	given |= 1U << option->set;
	switch (key) {
	case 'h':
		help = true;
		break;
	case OPTION_USAGE:
		exit(show_help(NULL, ARGP_HELP_USAGE));
	case 'V':
		printf("twheel %s\n", twheel_version());
		flush_output();
		exit(0);
	case 'j':
		style = STYLE_JSON;
		break;
	case 'c':
		options.clock = arg;
		if (!clock_named(arg, &clock_id))
			usage_error("--clock '%s' must be monotonic, boottime, realtime or tai",
				    arg);
		break;
	case 'd':
		options.device = arg;
		break;
	case OPTION_ONCE:
		options.once = true;
		break;
	case OPTION_SORT:
		options.sort = column_named(arg);
		if (options.sort < 0)
			usage_error("--sort '%s' is not a column: use one of " COLUMN_NAMES, arg);
		break;
	case OPTION_PROC:
		options.proc = arg;
		break;
	default:
		read_value(option, arg);
	}
	return 0;
}

/* Check all pairs of duration and label before the wheel is opened, then add the timers. */
static void add_pairs(char **args, bool periodic)
{
	uint64_t now_ns;
	char **at;

	for (at = args; *at && at[1]; at += 2)
		read_duration("the duration", *at);
	if (at == args || *at)
		usage_error("a duration and a label are needed for each timer");
	wheel_open();
	/* All delays begin at the same moment, no matter how long adding takes. */
	now_ns = now_on(wheel.clock_id);
	for (at = args; *at; at += 2) {
		if (!timer_add(at[1], now_ns, read_duration("the duration", *at), periodic))
			errx(STATUS_ERROR, "cannot add the timer '%s' of %s: %s", at[1], *at,
			     explain(wheel.fd, errno, wheel.tick_ns));
	}
	while (wheel.timers)
		wait_for_timers(-1);
}

static void do_after(char **args)
{
	add_pairs(args, false);
}

static void do_every(char **args)
{
	add_pairs(args, true);
}

static void do_run(char **args)
{
	(void)args;
	wheel_open();
	run();
}

static void do_info(char **args)
{
	struct twheel_info info;

	(void)args;
	wheel_open();
	if (twheel_get_info(wheel.fd, &info))
		err(STATUS_ERROR, "cannot query the wheel");
	if (style != STYLE_JSON)
		style = STYLE_TABLE;
	record_begin("info");
	put_info(&info);
	record_end();
}

static void do_top(char **args)
{
	top(*args ? (pid_t)read_number("the process", *args, 1, INT32_MAX) : 0);
}

static void do_save(char **args)
{
	save(*args);
}

static void do_load(char **args)
{
	if (!*args && !options.pid && options.fd == STDIN_FILENO)
		usage_error("load cannot have both the wheel and the timers on standard input");
	load(*args);
}

static void do_help(char **args)
{
	show_help(*args, ARGP_HELP_SHORT_USAGE | ARGP_HELP_LONG | ARGP_HELP_DOC);
}

/* A command: its name, what follows it, how many arguments it takes, and its sets of options. */
static const struct command {
	const char *name;
	const char *args;
	int max_args;
	unsigned int sets;
	const char *about;
	void (*execute)(char **args);
} commands[] = {
	{ "after", "DURATION LABEL [DURATION LABEL]...", INT32_MAX, 1 << SET_WHEEL,
	  "print each LABEL when its DURATION has passed, then exit", do_after },
	{ "every", "DURATION LABEL [DURATION LABEL]...", INT32_MAX,
	  1 << SET_WHEEL | 1 << SET_COUNT, "print each LABEL again and again", do_every },
	{ "run", "", 0, 1 << SET_WHEEL,
	  "take commands from standard input, print what expires", do_run },
	{ "info", "", 0, 1 << SET_WHEEL, "show the parameters of a new wheel", do_info },
	{ "top", "[PID]", 1, 1 << SET_TOP,
	  "show all wheels of the machine, or of a process, and their activity", do_top },
	{ "save", "[FILE]", 1, 1 << SET_FD,
	  "write the timers of an open wheel, as lines of text", do_save },
	{ "load", "[FILE]", 1, 1 << SET_FD,
	  "add timers that were saved to an open wheel", do_load },
	{ "help", "[COMMAND]", 1, 0, "explain a command, or list all", do_help },
};

static const struct command *find_command(const char *name)
{
	static const char names[] = "after, every, run, info, top, save, load or help";
	size_t i;

	for (i = 0; i < ARRAY_SIZE(commands); i++) {
		if (name && !strcmp(commands[i].name, name))
			return &commands[i];
	}
	if (name)
		usage_error("'%s' is not a command: use %s", name, names);
	usage_error("a command is needed: %s", names);
}

/* Write the part of the help that follows the options; @only is the command, or NULL. */
static void put_rest(FILE *text, const struct command *only)
{
	if (!only || only->sets & (1 << SET_WHEEL | 1 << SET_TOP))
		fputs("A DURATION is written like 150us, 1.5s, 5min, 2h30m or 0; the units are\n"
		      "w, d, h, m, s, ms, us and ns, and their longer names.\n", text);
	if (!only || only->execute == do_run) {
		fputs("\nCommands of run, one on a line:\n", text);
		run_help(text);
	}
	if (only && only->execute == do_top)
		fputs("\nKeys:\n"
		      "  up, down, k, j  select a wheel     Enter  open it     Esc  back\n"
		      "  p u a c e f m s i n d  sort by pending, unread, add, cancel, expire,\n"
		      "                  fires, memory, user, pid, command, fd    r  reverse\n"
		      "  q               quit\n", text);
	fputs("\nExit status: 0 all done, 1 something failed, 2 wrong usage. See twheel(1).", text);
}

/* Choose the options of a command, or all. As usual, those about the program come last. */
static void choose_options(struct argp_option list[OPTIONS_MAX], const struct command *only)
{
	const struct known_option *option;
	int last = SET_COMMON;

	for (option = known; option < known + ARRAY_SIZE(known); option++) {
		if (option->set && only && !(only->sets & 1U << option->set))
			continue;
		if (option->set != last)
			*list++ = (struct argp_option){ .doc = sets[option->set].header,
							.group = option->set + 1 };
		last = option->set;
		*list++ = (struct argp_option){ option->name, option->key, option->arg, 0,
			option->doc, last || option->key == 'j' ? last + 1 : -1 };
	}
	*list = (struct argp_option){ };
}

/* Print the help of a command, or of all. */
static int show_help(const char *name, unsigned int flags)
{
	const struct command *only = name ? find_command(name) : NULL, *command;
	struct argp_option list[OPTIONS_MAX];
	struct argp argp = { .options = list };
	char *doc = NULL, *args = NULL;
	size_t size;
	FILE *doc_text = open_memstream(&doc, &size), *args_text = open_memstream(&args, &size);

	if (!doc_text || !args_text)
		err(STATUS_ERROR, "cannot show the help");
	choose_options(list, only);
	fputs(only ? "\n" : "\nTimers of the kernel's timing wheel, " TWHEEL_DEVICE ".\n\n",
	      doc_text);
	for (command = commands; command < commands + ARRAY_SIZE(commands); command++) {
		if (only && only != command)
			continue;
		fprintf(args_text, "%s%s%s%s", ftell(args_text) ? "\n" : "", command->name,
			*command->args ? " " : "", command->args);
		fprintf(doc_text, "  %-6s %s\n", command->name, command->about);
	}
	fputc('\v', doc_text);
	put_rest(doc_text, only);
	fclose(doc_text);
	fclose(args_text);
	argp.args_doc = args;
	argp.doc = doc;
	argp_help(&argp, stdout, flags, program_invocation_short_name);
	flush_output();
	return 0;
}

/*
 * Replace closed standard files by one that reads as empty and cannot be written.
 * Otherwise the wheel would get the number of one, and output would go there.
 */
static void fill_standard_files(void)
{
	int fd;

	do {
		fd = open("/dev/null", O_RDONLY);
	} while (fd >= 0 && fd <= STDERR_FILENO);
	if (fd >= 0)
		close(fd);
}

static void check_options(const struct command *command, int nr_args)
{
	int set;

	for (set = 1; set < NR_SETS; set++) {
		if (given & ~command->sets & 1U << set)
			usage_error("%s, not for %s", sets[set].belongs, command->name);
	}
	if (command->sets & 1 << SET_FD && options.fd == NO_DESCRIPTOR)
		usage_error("%s needs --fd N, the descriptor of a wheel that is open",
			    command->name);
	if (nr_args > command->max_args)
		usage_error("too many arguments: the command is twheel %s %s", command->name,
			    command->args);
}

int main(int argc, char **argv)
{
	struct argp_option list[OPTIONS_MAX];
	const struct argp all = { .options = list, .parser = parse_option };
	const struct command *command;
	int first, i;

	fill_standard_files();
	argp_err_exit_status = STATUS_USAGE;
	program_invocation_name = "twheel";
	program_invocation_short_name = "twheel";
	argv[0] = "twheel";
	options.sort = column_named("pending");
	/* A negative duration would be an option, unless it is the value of one. */
	for (i = 1; i < argc && strcmp(argv[i], "--"); i++) {
		if (argv[i][0] == '-' && isdigit((unsigned char)argv[i][1]) &&
		    argv[i - 1][0] != '-')
			usage_error("'%s' is not a duration: it must not be negative", argv[i]);
	}
	choose_options(list, NULL);
	first = argc;
	argp_parse(&all, argc, argv, ARGP_NO_HELP, &first, NULL);
	argv += first;
	if (help) {
		do_help(argv);
		return 0;
	}
	command = find_command(*argv);
	check_options(command, argc - first - 1);
	command->execute(argv + 1);
	flush_output();
	return 0;
}
