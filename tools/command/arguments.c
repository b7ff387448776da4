// SPDX-License-Identifier: MIT
/*
 * The options of the command line; see arguments.h
 */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "arguments.h"
#include "duration.h"
#include "helpers.h"
#include "libtwheel.h"
#include "messages.h"

/* A screen that changes more often cannot be read. */
#define INTERVAL_MIN_NS		10000000
#define INTERVAL_MAX_NS		3600000000000

enum {
	OPTION_FD = 256,
	OPTION_MAX_TIMERS,
	OPTION_ONCE,
	OPTION_PID,
	OPTION_PROC,
	OPTION_SORT,
};

/* The colon makes getopt_long() print no messages, and return ':' for a missing value. */
static const char short_options[] = ":c:d:hi:jn:t:Vw:";

static const struct option long_options[] = {
	{ "clock", required_argument, NULL, 'c' },
	{ "device", required_argument, NULL, 'd' },
	{ "interval", required_argument, NULL, 'i' },
	{ "json", no_argument, NULL, 'j' },
	{ "count", required_argument, NULL, 'n' },
	{ "tick", required_argument, NULL, 't' },
	{ "wheel-size", required_argument, NULL, 'w' },
	{ "fd", required_argument, NULL, OPTION_FD },
	{ "pid", required_argument, NULL, OPTION_PID },
	{ "max-timers", required_argument, NULL, OPTION_MAX_TIMERS },
	{ "once", no_argument, NULL, OPTION_ONCE },
	{ "proc", required_argument, NULL, OPTION_PROC },
	{ "sort", required_argument, NULL, OPTION_SORT },
	{ "help", no_argument, NULL, 'h' },
	{ "version", no_argument, NULL, 'V' },
	{ }
};

/**
 * usage_hint() - point to the help
 *
 * Return: the exit status for wrong usage.
 */
int usage_hint(void)
{
	fputs("Try 'twheel help'.\n", stderr);
	return STATUS_USAGE;
}

/**
 * parse_duration() - read a duration, or complain
 * @what: its name in messages.
 * @text: the duration.
 * @ns: set to it.
 *
 * Return: an exit status.
 */
int parse_duration(const char *what, const char *text, uint64_t *ns)
{
	switch (duration_parse(text, ns)) {
	case 0:
		return STATUS_OK;
	case -ERANGE:
		complain("%s '%s' is too long: at most 292 years", what, text);
		return STATUS_USAGE;
	default:
		complain("%s '%s' is not a duration: write it like 150us, 1.5s, 30m or 2h30m",
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

/**
 * parse_number() - read a number, or complain
 * @what: its name in messages.
 * @text: the number.
 * @min: the least it may be.
 * @max: the most it may be.
 * @number: set to it.
 *
 * Return: an exit status.
 */
int parse_number(const char *what, const char *text, uint64_t min, uint64_t max,
		 uint64_t *number)
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
	complain("--clock '%s' must be monotonic, boottime, realtime or tai", text);
	return STATUS_USAGE;
}

static int parse_interval(const char *text, uint64_t *interval_ns)
{
	if (parse_duration("--interval", text, interval_ns))
		return STATUS_USAGE;
	if (*interval_ns < INTERVAL_MIN_NS || *interval_ns > INTERVAL_MAX_NS) {
		complain("--interval '%s' must be between 10ms and 1h", text);
		return STATUS_USAGE;
	}
	return STATUS_OK;
}

/* Read an option of `top`. */
static int parse_top_option(int option, struct arguments *what)
{
	what->for_top = true;
	switch (option) {
	case 'i':
		return parse_interval(optarg, &what->top.interval_ns);
	case OPTION_ONCE:
		what->top.once = true;
		return STATUS_OK;
	case OPTION_PROC:
		what->top.proc = optarg;
		return STATUS_OK;
	default:
		return top_sort_by(optarg, &what->top);
	}
}

/* Read an option of `save` and `load`: where their wheel is. */
static int parse_snapshot_option(int option, struct arguments *what)
{
	uint64_t number;
	int status;

	what->for_snapshot = true;
	if (option == OPTION_FD) {
		status = parse_number("--fd", optarg, 0, INT32_MAX, &number);
		what->snapshot.fd = (int)number;
	} else {
		status = parse_number("--pid", optarg, 1, INT32_MAX, &number);
		what->snapshot.pid = (pid_t)number;
	}
	return status;
}

/* Read an option with a parameter of a new wheel. */
static int parse_wheel_option(int option, struct arguments *what)
{
	uint64_t number;

	what->for_wheel = true;
	switch (option) {
	case 'c':
		return parse_clock(optarg, &what->session);
	case 'd':
		what->session.device = optarg;
		return STATUS_OK;
	case 't':
		return parse_tick(optarg, &what->session.tick_ns);
	case 'w':
		if (parse_number("--wheel-size", optarg, TWHEEL_SIZE_MIN,
				 TWHEEL_SIZE_MAX, &number))
			return STATUS_USAGE;
		what->session.wheel_size = (uint32_t)number;
		return STATUS_OK;
	default:
		return parse_number("--max-timers", optarg, 1, UINT64_MAX,
				    &what->session.max_timers);
	}
}

/* Explain why getopt_long() refused a word; @next is the one after it. */
static int refuse_option(int option, char **next)
{
	const char *word = next[-1];

	/* getopt_long() stays at a word of several short options until the last of them. */
	if (*next && **next == '-' && (*next)[1] == optopt)
		word = *next;
	if (option == ':')
		complain("%s needs a value", word);
	else if (optopt >= '0' && optopt <= '9')
		complain("'%s' is not a duration: it must not be negative", word);
	else if (word[0] == '-' && word[1] == '-')
		complain("there is no option %s, or it takes no value", word);
	else
		complain("there is no option -%c", optopt);
	return usage_hint();
}

static int parse_option(int option, char **next, struct arguments *what)
{
	switch (option) {
	case 'h':
		what->help = true;
		return STATUS_OK;
	case 'V':
		what->version = true;
		return STATUS_OK;
	case 'j':
		what->json = true;
		return STATUS_OK;
	case 'n':
		return parse_number("--count", optarg, 1, UINT64_MAX, &what->times);
	case 'i':
	case OPTION_ONCE:
	case OPTION_PROC:
	case OPTION_SORT:
		return parse_top_option(option, what);
	case OPTION_FD:
	case OPTION_PID:
		return parse_snapshot_option(option, what);
	case '?':
	case ':':
		return refuse_option(option, next);
	default:
		return parse_wheel_option(option, what);
	}
}

/**
 * parse_options() - read the command line
 * @argc: how many words it has.
 * @argv: the words; options come first afterwards.
 * @what: with defaults; filled in.
 *
 * Return: an exit status.
 */
int parse_options(int argc, char **argv, struct arguments *what)
{
	int option, status = STATUS_OK;

	opterr = 0;
	while (status == STATUS_OK && !what->version) {
		option = getopt_long(argc, argv, short_options, long_options, NULL);
		if (option < 0)
			break;
		status = parse_option(option, argv + optind, what);
	}
	what->args = argv + optind;
	what->nr_args = argc - optind;
	return status;
}
