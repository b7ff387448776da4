// SPDX-License-Identifier: MIT
/*
 * twheel - timers of /dev/twheel on the command line; see twheel(1)
 *
 * The commands, and help on them. Options are read in arguments.c; a wheel with labels is in
 * session.c, `twheel run` in run.c, `twheel top` in top.c; `twheel save` and `twheel load` are in
 * save.c and load.c.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "arguments.h"
#include "duration.h"
#include "helpers.h"
#include "libtwheel.h"
#include "messages.h"
#include "output.h"
#include "run.h"
#include "session.h"
#include "snapshot.h"
#include "top.h"
#include "view.h"

/* For messages: all commands except `help`. */
#define COMMANDS	"after, every, run, info, top, save, load "

/**
 * struct command - a command of the command line
 * @name: the word.
 * @args: what follows it, for people.
 * @about: what it does.
 * @takes_pairs: its arguments are pairs of duration and label.
 * @takes_count: it has the option --count.
 * @style: how it prints.
 * @execute: executes it, with a wheel.
 * @show: executes it, without one.
 */
struct command {
	const char *name;
	const char *args;
	const char *about;
	bool takes_pairs;
	bool takes_count;
	enum output_style style;
	int (*execute)(struct session *session, const struct arguments *what);
	int (*show)(const struct arguments *what);
};

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

/* Check all pairs before the wheel is opened: nothing is begun that cannot be finished. */
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
 * no matter how long adding takes.
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
	complain("cannot query the wheel: %s", strerror(errno));
	return STATUS_ERROR;
}

static int show_top(const struct arguments *what)
{
	struct top_options options = what->top;
	uint64_t pid;

	options.json = what->json;
	if (what->nr_args > 1) {
		complain("top takes the number of one process at most");
		return usage_hint();
	}
	if (what->nr_args) {
		if (parse_number("the process", what->args[0], 1, INT32_MAX, &pid))
			return STATUS_USAGE;
		options.only = (pid_t)pid;
	}
	return top(&options);
}

/* Check the arguments of `save` or `load`. */
static int check_snapshot(const char *command, const struct arguments *what)
{
	if (what->nr_args > 1) {
		complain("%s takes one file at most", command);
		return usage_hint();
	}
	if (what->snapshot.fd == NO_DESCRIPTOR) {
		complain("%s needs --fd N, the descriptor of a wheel that is open", command);
		return usage_hint();
	}
	return STATUS_OK;
}

static int show_save(const struct arguments *what)
{
	int status = check_snapshot("save", what);

	return status ? status : save(&what->snapshot, what->nr_args ? what->args[0] : NULL);
}

static int show_load(const struct arguments *what)
{
	int status = check_snapshot("load", what);

	if (status)
		return status;
	if (!what->nr_args && !what->snapshot.pid && what->snapshot.fd == STDIN_FILENO) {
		complain("load cannot have both the wheel and the timers on standard input");
		return usage_hint();
	}
	return load(&what->snapshot, what->nr_args ? what->args[0] : NULL);
}

static int show_help(const struct arguments *what);

static const struct command commands[] = {
	{
		.name = "after", .args = "DURATION LABEL [DURATION LABEL]...",
		.about = "print each LABEL when its DURATION has passed, then exit",
		.takes_pairs = true, .execute = execute_after,
	}, {
		.name = "every", .args = "DURATION LABEL [DURATION LABEL]...",
		.about = "print each LABEL again and again",
		.takes_pairs = true, .takes_count = true, .execute = execute_every,
	}, {
		.name = "run", .args = "",
		.about = "take commands from standard input, print what expires",
		.execute = execute_run,
	}, {
		.name = "info", .args = "",
		.about = "show the parameters of a new wheel",
		.style = OUTPUT_TABLE, .execute = execute_info,
	}, {
		.name = "top", .args = "[PID]",
		.about = "show all wheels of the machine, or of a process, and their activity",
		.show = show_top,
	}, {
		.name = "save", .args = "[FILE]",
		.about = "write the timers of an open wheel, as lines of JSON",
		.show = show_save,
	}, {
		.name = "load", .args = "[FILE]",
		.about = "add timers that were saved to an open wheel",
		.show = show_load,
	}, {
		.name = "help", .args = "[COMMAND]",
		.about = "explain a command, or list all",
		.show = show_help,
	},
};

/*
 * Help.
 */

static const char options_help[] =
	"  -j, --json           print one JSON object per line\n"
	"  -h, --help           print this help and exit\n"
	"  -V, --version        print the version and exit\n";

static const char count_help[] =
	"  -n, --count N        exit after N events of each label\n";

static const char wheel_help[] =
	"  -t, --tick DURATION  tick of the wheel, 1us to 1h (default: the module's)\n"
	"  -w, --wheel-size N   buckets per level, 2 to 65536 (default: the module's)\n"
	"  -c, --clock NAME     monotonic; boottime, which counts suspend too; realtime or\n"
	"                       tai, which timers follow when they are set\n"
	"      --max-timers N   how many timers the wheel may hold at once\n"
	"  -d, --device PATH    the device (default: " TWHEEL_DEVICE ")\n";

static const char top_help[] =
	"      --once           print one table and exit\n"
	"  -i, --interval DURATION  time between two samples, 10ms to 1h (default: 1s)\n"
	"      --sort COLUMN    pid, command, fd, pending, unread, add, cancel, expire,\n"
	"                       fires, memory or user (default: pending)\n"
	"      --proc DIR       where the proc file system is (default: /proc)\n";

static const char snapshot_help[] =
	"      --fd N           the wheel's descriptor, open in the shell that calls twheel\n"
	"      --pid PID        it is a descriptor of this process instead\n";

static const char duration_help[] =
	"A DURATION is written like 150us, 1.5s, 5min, 2h30m or 0; the units are\n"
	"w, d, h, m, s, ms, us and ns, and their longer names.\n";

static const char keys_help[] =
	"Keys:\n"
	"  up, down, k, j  select a wheel     Enter  open it     Esc  back\n"
	"  p u a c e f m s i n d  sort by pending, unread, add, cancel, expire, fires,\n"
	"                  memory, user, pid, command, fd        r  reverse\n"
	"  q               quit\n";

static void print_help(void)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(commands); i++)
		printf("%s twheel [OPTION]... %s%s%s\n", i ? "      " : "Usage:",
		       commands[i].name, *commands[i].args ? " " : "", commands[i].args);
	puts("\nTimers of the kernel's timing wheel, /dev/twheel.\n");
	for (i = 0; i < ARRAY_SIZE(commands); i++)
		printf("  %-6s %s\n", commands[i].name, commands[i].about);
	printf("\nOptions:\n%s\nFor every:\n%s\nFor the wheel of after, every, run and info:\n%s\n"
	       "For top:\n%s\nFor save and load:\n%s\n%s\nCommands of run, one on a line:\n",
	       options_help, count_help, wheel_help, top_help, snapshot_help, duration_help);
	run_help(stdout);
	puts("\nExit status: 0 all done, 1 something failed, 2 wrong usage. See twheel(1).");
}

static bool is_snapshot(const struct command *command)
{
	return command->show == show_save || command->show == show_load;
}

static void explain(const struct command *command)
{
	printf("Usage: twheel [OPTION]... %s%s%s\n\n  %s\n\nOptions:\n%s", command->name,
	       *command->args ? " " : "", command->args, command->about, options_help);
	if (command->takes_count)
		fputs(count_help, stdout);
	if (command->execute)
		fputs(wheel_help, stdout);
	if (command->show == show_top)
		printf("%s\n%s", top_help, keys_help);
	if (is_snapshot(command))
		fputs(snapshot_help, stdout);
	if (command->execute || command->show == show_top)
		printf("\n%s", duration_help);
	if (command->execute == execute_run) {
		puts("\nCommands, one on a line:");
		run_help(stdout);
	}
}

static const struct command *find_command(const char *name)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(commands); i++) {
		if (name && !strcmp(commands[i].name, name))
			return &commands[i];
	}
	if (name)
		complain("'%s' is not a command: use " COMMANDS "or help", name);
	else
		complain("a command is needed: " COMMANDS "or help");
	usage_hint();
	return NULL;
}

static int show_help(const struct arguments *what)
{
	const struct command *command;

	if (!what->nr_args) {
		print_help();
		return output_finish();
	}
	command = find_command(what->args[0]);
	if (!command)
		return STATUS_USAGE;
	explain(command);
	return output_finish();
}

static int check_arguments(const struct command *command, const struct arguments *what)
{
	if (what->times != NOT_GIVEN && !command->takes_count) {
		complain("--count is for every, not for %s", command->name);
		return usage_hint();
	}
	if (what->for_top && command->show != show_top) {
		complain("--once, --interval, --sort and --proc are for top, not for %s",
			 command->name);
		return usage_hint();
	}
	if (what->for_snapshot && !is_snapshot(command)) {
		complain("--fd and --pid are for save and load, not for %s", command->name);
		return usage_hint();
	}
	if (what->for_wheel && !command->execute) {
		complain("%s opens no wheel: it takes no options of one", command->name);
		return usage_hint();
	}
	if (command->takes_pairs)
		return check_pairs(what);
	if (!what->nr_args || command->show)
		return STATUS_OK;
	complain("%s takes no arguments", command->name);
	return usage_hint();
}

static int execute(const struct command *command, const struct arguments *what)
{
	struct session session;
	int status;

	output_style(what->json ? OUTPUT_JSON : command->style);
	if (command->show)
		return command->show(what);
	status = session_open(&session, &what->session);
	if (status)
		return status;
	status = command->execute(&session, what);
	if (status == STATUS_OK)
		status = output_finish();
	session_close(&session);
	return status;
}

int main(int argc, char **argv)
{
	struct arguments what = {
		.session.device = TWHEEL_DEVICE,
		.snapshot.fd = NO_DESCRIPTOR,
		.top = { .proc = "/proc", .interval_ns = 1000000000 },
	};
	const struct command *command;
	int status;

	fill_standard_files();
	what.top.sort = view_column_named("pending");
	status = parse_options(argc, argv, &what);
	if (status)
		return status;
	if (what.version) {
		printf("twheel %s\n", twheel_version());
		return output_finish();
	}
	if (what.help)
		return show_help(&what);
	command = find_command(what.nr_args ? what.args[0] : NULL);
	if (!command)
		return STATUS_USAGE;
	what.args++;
	what.nr_args--;
	status = check_arguments(command, &what);
	return status ? status : execute(command, &what);
}
