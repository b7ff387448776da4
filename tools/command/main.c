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
	.sort = PENDING,
};

static bool help;

/* Options without a letter. */
enum {
	OPTION_USAGE = 256, OPTION_FD, OPTION_MAX_TIMERS, OPTION_ONCE, OPTION_PID, OPTION_PROC,
	OPTION_SORT
};

/*
 * Sets of options, in the order of the help, which are argp's groups; bitmasks of them are what a
 * command has, and what was given. All commands have the first set and the program's, the last one.
 */
enum { OF_ALL, OF_EVERY, OF_NEW, OF_TOP, OF_OPEN, OF_PROGRAM = -1 };

static const char *const belongs[] = {
	[OF_EVERY] = "--count is for every",
	[OF_NEW] = "options of a wheel are for after, every, run and info",
	[OF_TOP] = "--once, --interval, --sort and --proc are for top",
	[OF_OPEN] = "--fd and --pid are for save and load",
};

/* All options, and a header for each set. */
static const struct argp_option known[] = {
	{ "json", 'j', NULL, 0, "print one JSON object per line", OF_ALL },
	{ NULL, 0, NULL, 0, "For every:", OF_EVERY },
	{ "count", 'n', "N", 0, "exit after N events of each label", OF_EVERY },
	{ NULL, 0, NULL, 0, "For the wheel of after, every, run and info:", OF_NEW },
	{ "tick", 't', "DURATION", 0, "tick, 1us to 1h (default: the module's)", OF_NEW },
	{ "wheel-size", 'w', "N", 0, "buckets per level, 2 to 65536 (default: module's)", OF_NEW },
	{ "clock", 'c', "NAME", 0,
	  "monotonic; boottime (counts suspend); realtime or tai (timers follow a set)", OF_NEW },
	{ "max-timers", OPTION_MAX_TIMERS, "N", 0, "how many timers it may hold at once", OF_NEW },
	{ "device", 'd', "PATH", 0, "the device (default: " TWHEEL_DEVICE ")", OF_NEW },
	{ NULL, 0, NULL, 0, "For top:", OF_TOP },
	{ "once", OPTION_ONCE, NULL, 0, "print one table and exit", OF_TOP },
	{ "interval", 'i', "DURATION", 0, "between two samples, 10ms to 1h (default: 1s)", OF_TOP },
	{ "sort", OPTION_SORT, "COLUMN", 0, COLUMN_NAMES " (default: pending)", OF_TOP },
	{ "proc", OPTION_PROC, "DIR", 0, "where the proc file system is (default: /proc)", OF_TOP },
	{ NULL, 0, NULL, 0, "For save and load:", OF_OPEN },
	{ "fd", OPTION_FD, "N", 0, "the wheel's descriptor in the calling shell", OF_OPEN },
	{ "pid", OPTION_PID, "PID", 0, "it is a descriptor of this process instead", OF_OPEN },
	{ "help", 'h', NULL, 0, "print this help and exit", OF_PROGRAM },
	{ "usage", OPTION_USAGE, NULL, 0, "print a short help and exit", OF_PROGRAM },
	{ "version", 'V', NULL, 0, "print the version and exit", OF_PROGRAM },
	{ }
};

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
		usage_error("%s '%s' must be a number between %ju and %ju", what, text, min, max);
	return value;
}

/* Read a duration; @range names the limits in a message. */
static uint64_t read_duration(const char *what, const char *text, uint64_t min, uint64_t max,
			      const char *range)
{
	uint64_t ns = 0;
	const char *reason = duration_parse(text, &ns);

	if (reason)
		usage_error("%s '%s' %s", what, text, reason);
	if (ns < min || ns > max)
		usage_error("%s '%s' must be between %s", what, text, range);
	return ns;
}

static void show_help(const char *name, unsigned int flags);

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	const struct argp_option *option = known;
	uint32_t clock_id;

	switch (key) {
	case 'h':
		help = true;
		break;
	case OPTION_USAGE:
		show_help(NULL, ARGP_HELP_USAGE);
		exit(0);
	case 'V':
		printf("twheel %s\n", twheel_version());
		flush_output();
		exit(0);
	case 'j':
		style = STYLE_JSON;
		break;
	case 'n':
		options.count = read_number("--count", arg, 1, UINT64_MAX);
		break;
	case 't':
		options.tick_ns = read_duration("--tick", arg, TWHEEL_TICK_MIN_NS,
						TWHEEL_TICK_MAX_NS, "1us and 1h");
		break;
	case 'w':
		options.wheel_size = read_number("--wheel-size", arg, TWHEEL_SIZE_MIN,
						 TWHEEL_SIZE_MAX);
		break;
	case 'c':
		options.clock = arg;
		if (!clock_named(arg, &clock_id))
			usage_error("--clock '%s' must be monotonic, boottime, realtime or tai",
				    arg);
		break;
	case OPTION_MAX_TIMERS:
		options.max_timers = read_number("--max-timers", arg, 1, UINT64_MAX);
		break;
	case 'd':
		options.device = arg;
		break;
	case OPTION_ONCE:
		options.once = true;
		break;
	case 'i':
		options.interval_ns = read_duration("--interval", arg, INTERVAL_MIN_NS,
						    INTERVAL_MAX_NS, "10ms and 1h");
		break;
	case OPTION_SORT:
		options.sort = column_named(arg);
		if (options.sort < 0)
			usage_error("--sort '%s' is not a column: use one of " COLUMN_NAMES, arg);
		break;
	case OPTION_PROC:
		options.proc = arg;
		break;
	case OPTION_FD:
		options.fd = read_number("--fd", arg, 0, INT32_MAX);
		break;
	case OPTION_PID:
		options.pid = read_number("--pid", arg, 1, INT32_MAX);
		break;
	default:
		return ARGP_ERR_UNKNOWN;
	}
	while (option->key != key)
		option++;
	if (option->group > 0)
		given |= 1U << option->group;
	return 0;
}

static uint64_t read_delay(const char *text)
{
	return read_duration("the duration", text, 0, UINT64_MAX, NULL);
}

/*
 * Add the timers of `after` or `every`, which precedes the arguments, and wait for them. All pairs
 * of duration and label are checked before the wheel is opened.
 */
static void add_pairs(char **args)
{
	bool periodic = !strcmp(args[-1], "every");
	uint64_t now_ns;
	char **at;

	for (at = args; *at && at[1]; at += 2)
		read_delay(*at);
	if (at == args || *at)
		usage_error("a duration and a label are needed for each timer");
	wheel_open();
	/* All delays begin at the same moment, no matter how long adding takes. */
	now_ns = wheel_now();
	for (at = args; *at; at += 2) {
		if (!timer_add(at[1], now_ns, read_delay(*at), periodic))
			errx(STATUS_ERROR, "cannot add the timer '%s' of %s: %s", at[1], *at,
			     explain(wheel.fd, errno, wheel.tick_ns));
	}
	while (wheel.timers)
		wait_for_timers(-1);
}

static void do_info(char **args)
{
	wheel_open();
	if (style != STYLE_JSON)
		style = STYLE_TABLE;
	print_info();
}

static void do_top(char **args)
{
	top(*args ? (pid_t)read_number("the process", *args, 1, INT32_MAX) : 0);
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
	{ "after", "DURATION LABEL [DURATION LABEL]...", INT32_MAX, 1 << OF_NEW,
	  "print each LABEL when its DURATION has passed, then exit", add_pairs },
	{ "every", "DURATION LABEL [DURATION LABEL]...", INT32_MAX,
	  1 << OF_NEW | 1 << OF_EVERY, "print each LABEL again and again", add_pairs },
	{ "run", "", 0, 1 << OF_NEW,
	  "take commands from standard input, print what expires", run },
	{ "info", "", 0, 1 << OF_NEW, "show the parameters of a new wheel", do_info },
	{ "top", "[PID]", 1, 1 << OF_TOP,
	  "show all wheels of the machine, or of a process, and their activity", do_top },
	{ "save", "[FILE]", 1, 1 << OF_OPEN,
	  "write the timers of an open wheel, as lines of text", save },
	{ "load", "[FILE]", 1, 1 << OF_OPEN,
	  "add timers that were saved to an open wheel", load },
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
	if (!only || only->sets & (1 << OF_NEW | 1 << OF_TOP))
		fputs("A DURATION is written like 150us, 1.5s, 5min, 2h30m or 0; the units are\n"
		      "w, d, h, m, s, ms, us and ns, and their longer names.\n", text);
	if (!only || only->execute == run) {
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

/* Print the help of a command, or of all. */
static void show_help(const char *name, unsigned int flags)
{
	const struct command *only = name ? find_command(name) : NULL, *command;
	struct argp_option list[ARRAY_SIZE(known)];
	struct argp argp = { .options = list };
	size_t size, nr_options = 0, i;
	char *doc = NULL, *args = NULL;
	FILE *doc_text = open_memstream(&doc, &size), *args_text = open_memstream(&args, &size);

	if (!doc_text || !args_text)
		err(STATUS_ERROR, "cannot show the help");
	for (i = 0; i < ARRAY_SIZE(known); i++) {
		if (!only || known[i].group <= 0 || only->sets & 1U << known[i].group)
			list[nr_options++] = known[i];
	}
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
	close(fd);
}

static void check_options(const struct command *command, int nr_args)
{
	int set;

	for (set = OF_EVERY; set <= OF_OPEN; set++) {
		if (given & ~command->sets & 1U << set)
			usage_error("%s, not for %s", belongs[set], command->name);
	}
	if (command->sets & 1 << OF_OPEN && options.fd == NO_DESCRIPTOR)
		usage_error("%s needs --fd N, the descriptor of a wheel that is open",
			    command->name);
	if (nr_args > command->max_args)
		usage_error("too many arguments: the command is twheel %s %s", command->name,
			    command->args);
	if (command->execute == load && !nr_args && !options.pid && options.fd == STDIN_FILENO)
		usage_error("load cannot have both the wheel and the timers on standard input");
}

int main(int argc, char **argv)
{
	const struct argp all = { .options = known, .parser = parse_option };
	const struct command *command;
	int first, i;

	fill_standard_files();
	argp_err_exit_status = STATUS_USAGE;
	/* A negative duration would be an option, unless it is the value of one. */
	for (i = 1; i < argc && strcmp(argv[i], "--"); i++) {
		if (argv[i][0] == '-' && isdigit((unsigned char)argv[i][1]) &&
		    argv[i - 1][0] != '-')
			usage_error("'%s' is not a duration: it must not be negative", argv[i]);
	}
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
