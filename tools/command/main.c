// SPDX-License-Identifier: MIT
/*
 * twheel - timers of /dev/twheel on the command line; see twheel(1)
 *
 * This file reads the command line and holds the commands that need nothing
 * else. A wheel with labels is in session.c, `twheel run` in run.c.
 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "duration.h"
#include "helpers.h"
#include "libtwheel.h"
#include "output.h"
#include "run.h"
#include "session.h"

/**
 * struct arguments - the command line, read
 * @session: what the wheel is to be like.
 * @times: events until `every` ends, or NOT_GIVEN.
 * @json: print JSON.
 * @args: what follows the command: pairs of duration and label.
 * @nr_args: how many.
 */
struct arguments {
	struct session_options session;
	uint64_t times;
	bool json;
	char **args;
	int nr_args;
};

struct command {
	const char *name;
	bool takes_pairs;
	bool takes_count;
	enum output_style style;
	int (*execute)(struct session *session, const struct arguments *what);
};

enum {
	OPTION_MAX_TIMERS = 256,
};

static const char short_options[] = "c:d:hjn:t:Vw:";

static const struct option long_options[] = {
	{ "clock", required_argument, NULL, 'c' },
	{ "device", required_argument, NULL, 'd' },
	{ "json", no_argument, NULL, 'j' },
	{ "count", required_argument, NULL, 'n' },
	{ "tick", required_argument, NULL, 't' },
	{ "wheel-size", required_argument, NULL, 'w' },
	{ "max-timers", required_argument, NULL, OPTION_MAX_TIMERS },
	{ "help", no_argument, NULL, 'h' },
	{ "version", no_argument, NULL, 'V' },
	{ }
};

static void print_help(void)
{
	fputs("Usage: twheel [OPTION]... after DURATION LABEL [DURATION LABEL]...\n"
	      "       twheel [OPTION]... every DURATION LABEL [DURATION LABEL]...\n"
	      "       twheel [OPTION]... run\n"
	      "       twheel [OPTION]... info\n"
	      "\n"
	      "Timers of the kernel's timing wheel, /dev/twheel.\n"
	      "\n"
	      "  after  print each LABEL when its DURATION has passed, then end\n"
	      "  every  print each LABEL again and again\n"
	      "  run    take commands from standard input, print what expires\n"
	      "  info   show the parameters of a new wheel\n"
	      "\n"
	      "Options:\n"
	      "  -n, --count N        every: end after N events of each label\n"
	      "  -j, --json           print one JSON object per line\n"
	      "  -t, --tick DURATION  tick of the wheel, 1us to 1h (default: the module's)\n"
	      "  -w, --wheel-size N   buckets per level, 2 to 65536 (default: the module's)\n"
	      "  -c, --clock NAME     monotonic, or boottime, which counts suspend too\n"
	      "      --max-timers N   how many timers the wheel may hold at once\n"
	      "  -d, --device PATH    the device (default: " TWHEEL_DEVICE ")\n"
	      "  -h, --help           print this and end\n"
	      "  -V, --version        print the version and end\n"
	      "\n"
	      "A DURATION is written like 150us, 1.5s, 30m, 2h30m or 0; the units are\n"
	      "w, d, h, m, s, ms, us and ns.\n"
	      "\n"
	      "Commands of run, one on a line:\n",
	      stdout);
	run_help(stdout);
	fputs("\n"
	      "Exit status: 0 all done, 1 something failed, 2 wrong usage. See twheel(1).\n",
	      stdout);
}

static int usage_hint(void)
{
	fputs("Try 'twheel --help'.\n", stderr);
	return STATUS_USAGE;
}

/*
 * The wheel would get the number of a standard file that is closed, and text
 * would go there. In its place comes one that reads as empty and takes no text.
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

static int parse_duration(const char *what, const char *text, uint64_t *ns)
{
	switch (duration_parse(text, ns)) {
	case 0:
		return STATUS_OK;
	case -ERANGE:
		complain("%s '%s' is too long: at most 292 years", what, text);
		return STATUS_USAGE;
	default:
		complain("%s '%s' is no duration: write it like 150us, 1.5s, 30m or 2h30m",
			 what, text);
		return STATUS_USAGE;
	}
}

static int parse_tick(const char *text, uint64_t *tick_ns)
{
	if (parse_duration("--tick", text, tick_ns))
		return STATUS_USAGE;
	if (*tick_ns < TWHEEL_TICK_MIN_NS || *tick_ns > TWHEEL_TICK_MAX_NS) {
		complain("--tick '%s' must be between 1us and 1h", text);
		return STATUS_USAGE;
	}
	return STATUS_OK;
}

static int parse_number(const char *what, const char *text, uint64_t min,
			uint64_t max, uint64_t *number)
{
	char *end;

	errno = 0;
	*number = strtoull(text, &end, 10);
	if (*text >= '0' && *text <= '9' && !*end && !errno &&
	    *number >= min && *number <= max)
		return STATUS_OK;
	complain("%s '%s' must be a number between %ju and %ju", what,
		 text, (uintmax_t)min, (uintmax_t)max);
	return STATUS_USAGE;
}

static int parse_clock(const char *text, struct session_options *session)
{
	session->has_clock = true;
	if (clock_by_name(text, &session->clock_id))
		return STATUS_OK;
	complain("--clock '%s' must be monotonic or boottime", text);
	return STATUS_USAGE;
}

static int parse_option(int option, struct arguments *what)
{
	uint64_t number;

	switch (option) {
	case 'c':
		return parse_clock(optarg, &what->session);
	case 'd':
		what->session.device = optarg;
		return STATUS_OK;
	case 'j':
		what->json = true;
		return STATUS_OK;
	case 'n':
		return parse_number("--count", optarg, 1, UINT64_MAX,
				    &what->times);
	case 't':
		return parse_tick(optarg, &what->session.tick_ns);
	case 'w':
		if (parse_number("--wheel-size", optarg, TWHEEL_SIZE_MIN,
				 TWHEEL_SIZE_MAX, &number))
			return STATUS_USAGE;
		what->session.wheel_size = (uint32_t)number;
		return STATUS_OK;
	case OPTION_MAX_TIMERS:
		return parse_number("--max-timers", optarg, 1, UINT64_MAX,
				    &what->session.max_timers);
	default:
		return usage_hint();
	}
}

/* Before the wheel is opened: nothing is begun that cannot be finished. */
static int check_pairs(const struct arguments *what)
{
	uint64_t ns;
	int i;

	if (!what->nr_args || what->nr_args % 2) {
		complain("a duration and a label are needed for each timer");
		return usage_hint();
	}
	for (i = 0; i < what->nr_args; i += 2) {
		if (parse_duration("the duration", what->args[i], &ns))
			return STATUS_USAGE;
	}
	return STATUS_OK;
}

/*
 * Add the timers of the command line. All delays begin at the same moment,
 * however long adding takes.
 */
static int add_pairs(struct session *session, const struct arguments *what,
		     bool periodic)
{
	struct session_timer timer = {
		.periodic = periodic,
		.times = what->times,
	};
	char reason[REASON_TEXT];
	int i;

	if (session_now(session, &timer.from_ns))
		return STATUS_ERROR;
	for (i = 0; i < what->nr_args; i += 2) {
		duration_parse(what->args[i], &timer.delay_ns);
		timer.label = what->args[i + 1];
		if (session_add(session, &timer))
			continue;
		complain("cannot add the timer '%s' of %s: %s", timer.label,
			 what->args[i],
			 session_explain(session, errno, reason));
		return STATUS_ERROR;
	}
	return STATUS_OK;
}

static int wait_for_all(struct session *session)
{
	int status = STATUS_OK;

	while (status == STATUS_OK && session->timers.count)
		status = session_wait(session, -1, NULL);
	return status;
}

static int execute_after(struct session *session, const struct arguments *what)
{
	int status = add_pairs(session, what, false);

	return status == STATUS_OK ? wait_for_all(session) : status;
}

static int execute_every(struct session *session, const struct arguments *what)
{
	int status = add_pairs(session, what, true);

	return status == STATUS_OK ? wait_for_all(session) : status;
}

static int execute_run(struct session *session, const struct arguments *what)
{
	(void)what;
	return run(session);
}

static int execute_info(struct session *session, const struct arguments *what)
{
	(void)what;
	if (!session_print_info(session))
		return STATUS_OK;
	complain("the wheel does not answer: %s", strerror(errno));
	return STATUS_ERROR;
}

static const struct command commands[] = {
	{ "after", true, false, OUTPUT_LINE, execute_after },
	{ "every", true, true, OUTPUT_LINE, execute_every },
	{ "run", false, false, OUTPUT_LINE, execute_run },
	{ "info", false, false, OUTPUT_TABLE, execute_info },
};

static const struct command *find_command(const char *name)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(commands); i++) {
		if (name && !strcmp(commands[i].name, name))
			return &commands[i];
	}
	if (name)
		complain("'%s' is no command: it is one of after, every, run and info",
			 name);
	else
		complain("a command is needed: after, every, run or info");
	usage_hint();
	return NULL;
}

static int check_arguments(const struct command *command,
			   const struct arguments *what)
{
	if (what->times != NOT_GIVEN && !command->takes_count) {
		complain("--count is for every, not for %s", command->name);
		return usage_hint();
	}
	if (command->takes_pairs)
		return check_pairs(what);
	if (!what->nr_args)
		return STATUS_OK;
	complain("%s takes no arguments", command->name);
	return usage_hint();
}

static int execute(const struct command *command, const struct arguments *what)
{
	struct session session;
	int status;

	output_style(what->json ? OUTPUT_JSON : command->style);
	status = session_open(&session, &what->session);
	if (status)
		return status;
	status = command->execute(&session, what);
	if (status == STATUS_OK)
		status = session_finish();
	session_close(&session);
	return status;
}

int main(int argc, char **argv)
{
	struct arguments what = { .session.device = TWHEEL_DEVICE };
	const struct command *command;
	int option, status;

	fill_standard_files();
	for (;;) {
		option = getopt_long(argc, argv, short_options, long_options,
				     NULL);
		if (option < 0)
			break;
		if (option == 'h') {
			print_help();
			return session_finish();
		}
		if (option == 'V') {
			printf("twheel %s\n", twheel_version());
			return session_finish();
		}
		status = parse_option(option, &what);
		if (status)
			return status;
	}
	command = find_command(argv[optind]);
	if (!command)
		return STATUS_USAGE;
	what.args = argv + optind + 1;
	what.nr_args = argc - optind - 1;
	status = check_arguments(command, &what);
	return status ? status : execute(command, &what);
}
