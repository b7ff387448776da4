// SPDX-License-Identifier: MIT
/*
 * `twheel save` and `twheel load`: the timers of a wheel as lines of text
 *
 *	twheel 1 tick_ns=1000000 wheel_size=256 clock=monotonic
 *	data=4711 wall_ns=1800000000000000000 interval_ns=0
 *	timers=1
 *
 * A line is valid if it is, byte for byte, what `save` would write for its values.
 */
#include <err.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "helpers.h"
#include "libtwheel-device.h"
#include "twheel.h"

#define VERSION		1
#define HEADER		"twheel %u tick_ns=%ju wheel_size=%u clock=%s\n"
#define HEADER_SCAN	"twheel %u tick_ns=%ju wheel_size=%u clock=%15s"
#define TIMER		"data=%ju wall_ns=%ju interval_ns=%ju\n"
#define END		"timers=%ju\n"

/* Longer than any line. */
#define LINE_SIZE	256

/* Timers listed or added with one call of the kernel. */
#define BATCH		1024

/* How often to try to read two clocks together: an interrupt in between spoils a try. */
#define TRIES		8

#define PROGRESS_FIRST_NS	2000000000
#define PROGRESS_NEXT_NS	250000000

static char buffer[1 << 16];

/* Duplicate a descriptor of another process. */
static int take_descriptor(pid_t pid, int fd)
{
	int process = (int)syscall(SYS_pidfd_open, pid, 0), copy = -1;

	if (process >= 0)
		copy = (int)syscall(SYS_pidfd_getfd, process, fd, 0);
	if (copy < 0)
		errx(STATUS_ERROR, "cannot get descriptor %d of process %d: %s%s", fd, pid,
		     strerror(errno), errno == EPERM || errno == EACCES ? ": use sudo" :
		     errno == EBADF ? ": twheel top shows those of wheels" : "");
	close(process);
	return copy;
}

/* Return the descriptor of the wheel that the options name. */
static int find_wheel(struct twheel_info *info)
{
	int fd = (int)options.fd;

	if (options.pid)
		fd = take_descriptor((pid_t)options.pid, fd);
	if (!twheel_get_info(fd, info))
		return fd;
	if (errno == EBADF)
		errx(STATUS_ERROR, "descriptor %d is not open: a shell opens a wheel with exec %d<>"
		     TWHEEL_DEVICE, fd, fd);
	errx(STATUS_ERROR, "descriptor %d is not a wheel", (int)options.fd);
}

/*
 * Read a wheel's clock and the wall clock together. In a time namespace, the program does not have
 * the first one.
 */
static struct moment read_clocks(int fd)
{
	struct moment best = { 0 }, now;
	int i;

	for (i = 0; i < TRIES; i++) {
		now.before_ns = query_wheel(fd).now_ns;
		now.wall_ns = now_on(CLOCK_REALTIME);
		now.after_ns = query_wheel(fd).now_ns;
		if (!i || now.after_ns - now.before_ns < best.after_ns - best.before_ns)
			best = now;
	}
	return best;
}

/* Return the sum, or the end of time if that is earlier. */
static int64_t saturated_sum(uint64_t time_ns, int64_t offset_ns)
{
	int64_t sum;

	return __builtin_add_overflow((int64_t)time_ns, offset_ns, &sum) ? INT64_MAX : sum;
}

/*
 * Convert a deadline to the wall clock. Return it in nanoseconds since 1970; 0 for anything before.
 * Errors of @now make it later, never earlier. The end of time stays the end of time; 0 stays 0.
 */
uint64_t to_wall(const struct moment *now, uint64_t deadline_ns, uint64_t interval_ns)
{
	int64_t wall_ns = saturated_sum(deadline_ns, (int64_t)(now->wall_ns - now->before_ns));

	if (deadline_ns >= TWHEEL_TIME_MAX_NS)
		return TWHEEL_TIME_MAX_NS;
	if (!deadline_ns && !interval_ns)
		return 0;
	return wall_ns > 0 ? (uint64_t)wall_ns : 0;
}

/*
 * Convert a deadline to a wheel's clock. Return the deadline; 1 for anything before the wheel's
 * clock began. Errors of @now make it later, never earlier. The end of time stays the end of time.
 * 0 stays 0, and nothing else becomes it: a loop drops such timers, which only wake it.
 */
uint64_t to_wheel(const struct moment *now, uint64_t wall_ns, uint64_t interval_ns)
{
	int64_t deadline_ns = saturated_sum(wall_ns, (int64_t)(now->after_ns - now->wall_ns));

	if (wall_ns >= TWHEEL_TIME_MAX_NS)
		return TWHEEL_TIME_MAX_NS;
	if (!interval_ns && (!wall_ns || deadline_ns <= 0))
		return !!wall_ns;
	if (deadline_ns >= 0)
		return (uint64_t)deadline_ns;
	deadline_ns %= (int64_t)interval_ns;
	return (uint64_t)(deadline_ns ? deadline_ns + (int64_t)interval_ns : 0);
}

/* Show progress on a terminal, after two seconds; clear the line if @what is NULL. */
static void show_progress(const char *what, uint64_t count)
{
	static uint64_t next_ns;
	static bool shown;
	uint64_t now_ns = now_on(CLOCK_MONOTONIC);

	if (!what && shown)
		fputs("\r\033[K", stderr);
	if (!next_ns)
		next_ns = isatty(STDERR_FILENO) ? now_ns + PROGRESS_FIRST_NS : UINT64_MAX;
	if (!what || now_ns < next_ns)
		return;
	fprintf(stderr, "\rtwheel: %ju timers %s\033[K", (uintmax_t)count, what);
	next_ns = now_ns + PROGRESS_NEXT_NS;
	shown = true;
}

/* Write all lines; return the number of timers. */
static uint64_t write_timers(FILE *file, int fd, const struct twheel_info *info)
{
	struct moment now = read_clocks(fd);
	struct twheel_listed timers[BATCH];
	uint64_t cursor = 0, count = 0;
	ssize_t i, n;

	fprintf(file, HEADER, VERSION, (uintmax_t)info->tick_ns, info->wheel_size,
		clock_name(info->clock_id));
	while ((n = twheel_list_timers(fd, &cursor, timers, BATCH)) > 0 && !ferror(file)) {
		for (i = 0; i < n; i++)
			fprintf(file, TIMER, (uintmax_t)timers[i].data,
				(uintmax_t)to_wall(&now, timers[i].deadline_ns,
						   timers[i].interval_ns),
				(uintmax_t)timers[i].interval_ns);
		count += (uint64_t)n;
		show_progress("saved", count);
	}
	show_progress(NULL, 0);
	if (n < 0)
		errx(STATUS_ERROR, "cannot list the timers: %s", explain(fd, errno, 0));
	fprintf(file, END, (uintmax_t)count);
	return count;
}

/* The file that becomes the one that was asked for, when all has been written. */
static char part[4200];

static void remove_part(void)
{
	unlink(part);
}

/* Write the timers of a wheel, which keeps them. */
void save(char **args)
{
	const char *path = *args;
	struct stat old;
	bool exists = path && !stat(path, &old);
	bool replace = path && (!exists || S_ISREG(old.st_mode));
	struct twheel_info info;
	int fd = find_wheel(&info);
	FILE *file = stdout;
	uint64_t count;

	snprintf(part, sizeof(part), "%s.%d", path ? path : "", (int)getpid());
	if (path)
		file = fopen(replace ? part : path, replace ? "wxe" : "we");
	if (file && replace)
		atexit(remove_part);
	if (!file || (replace && exists && fchmod(fileno(file), old.st_mode & 0777)))
		err(STATUS_ERROR, "cannot write %s", path);
	setvbuf(file, buffer, _IOFBF, sizeof(buffer));
	count = write_timers(file, fd, &info);
	if (!path)
		return;
	if (fflush(file) || ferror(file) || (replace && fsync(fileno(file))) || fclose(file) ||
	    (replace && rename(part, path)))
		err(STATUS_ERROR, "cannot write %s", path);
	record_begin("saved");
	put_number("count", count);
	record_end();
}

/* The file that is being loaded. */
static struct {
	int fd;			/* the wheel */
	struct twheel_info info;
	struct moment now;
	FILE *file;
	const char *name;
	uint64_t line;		/* the number of the line that was read last */
	struct twheel_add adds[BATCH]; /* timers of the last lines, not added yet */
	uint32_t nr_adds;
	uint64_t first;		/* the line of the first of them */
	uint64_t loaded;
	uint64_t past;		/* how many were due before they were added */
} loading;

static void flush_adds(void);

/* Refuse the line that was read last, after the timers before it have been added. */
static __printf(1, 2) void refuse_line(const char *format, ...)
{
	char message[256];
	va_list args;

	va_start(args, format);
	vsnprintf(message, sizeof(message), format, args);
	va_end(args);
	flush_adds();
	show_progress(NULL, 0);
	errx(STATUS_ERROR, "%s:%ju: %s; %ju %s", loading.name, (uintmax_t)loading.line, message,
	     (uintmax_t)loading.loaded,
	     loading.loaded == 1 ? "timer was loaded" : "timers were loaded");
}

/* Add the timers that have been collected. */
static void flush_adds(void)
{
	uint32_t done = 0;
	int n;

	while (done < loading.nr_adds) {
		n = twheel_add_batch(loading.fd, loading.adds + done, loading.nr_adds - done);
		if (n < 0) {
			loading.line = loading.first + done;
			loading.nr_adds = 0;
			refuse_line("%s", explain(loading.fd, errno, loading.info.tick_ns));
		}
		done += (uint32_t)n;
		loading.loaded += (uint32_t)n;
	}
	loading.nr_adds = 0;
	show_progress("loaded", loading.loaded);
}

/* Read a line, or as much as fits into a line that is too long; return false at the end. */
static bool read_line(char line[LINE_SIZE])
{
	bool found = fgets(line, LINE_SIZE, loading.file);

	loading.line++;
	if (ferror(loading.file))
		refuse_line("%s", strerror(errno));
	return found;
}

/* Return true if the line is what @format makes of the values. */
static __printf(2, 3) bool is_exactly(const char *line, const char *format, ...)
{
	char again[LINE_SIZE];
	va_list args;

	va_start(args, format);
	vsnprintf(again, sizeof(again), format, args);
	va_end(args);
	return !strcmp(line, again);
}

/* Give the wheel the parameters of the saved one, unless it was set up or had timers. */
static void load_header(void)
{
	struct twheel_setup setup = { 0 };
	unsigned int version = 0;
	char line[LINE_SIZE], clock[16];
	uintmax_t tick_ns;
	int n;

	if (!read_line(line))
		refuse_line("the file ends without its header: it was cut off");
	n = sscanf(line, HEADER_SCAN, &version, &tick_ns, &setup.wheel_size, clock);
	if (n > 0 && version != VERSION)
		refuse_line("the format has version %u: only %d is supported", version, VERSION);
	if (n < 4 || !clock_named(clock, &setup.clock_id) ||
	    !is_exactly(line, HEADER, version, tick_ns, setup.wheel_size, clock))
		refuse_line("no header: twheel save did not write this file");
	setup.tick_ns = tick_ns;
	if (twheel_set_up(loading.fd, &setup) && errno != EBUSY)
		refuse_line("cannot set up the wheel like this: %s", strerror(errno));
	loading.info = query_wheel(loading.fd);
	loading.now = read_clocks(loading.fd);
}

/* Collect the timer of a line; return false if the line has no timer. */
static bool load_timer(const char *line)
{
	uintmax_t data, wall_ns, interval_ns;

	if (sscanf(line, TIMER, &data, &wall_ns, &interval_ns) < 3 ||
	    !is_exactly(line, TIMER, data, wall_ns, interval_ns) ||
	    wall_ns > TWHEEL_TIME_MAX_NS || interval_ns > TWHEEL_TIME_MAX_NS)
		return false;
	if (!loading.nr_adds)
		loading.first = loading.line;
	loading.adds[loading.nr_adds++] = (struct twheel_add){
		.time_ns = to_wheel(&loading.now, wall_ns, interval_ns),
		.interval_ns = interval_ns,
		.data = data,
		.flags = TWHEEL_ABSTIME,
	};
	loading.past += wall_ns <= loading.now.wall_ns;
	return true;
}

/* Add the timers of a file to a wheel. */
void load(char **args)
{
	const char *path = *args;
	char line[LINE_SIZE];
	uintmax_t count;

	loading.name = path ? path : "standard input";
	loading.fd = find_wheel(&loading.info);
	loading.file = path ? fopen(path, "re") : stdin;
	if (!loading.file)
		err(STATUS_ERROR, "cannot read %s", path);
	setvbuf(loading.file, buffer, _IOFBF, sizeof(buffer));
	load_header();
	for (;;) {
		if (!read_line(line))
			refuse_line("the file ends without its last line: it was cut off");
		if (!load_timer(line))
			break;
		if (loading.nr_adds == BATCH)
			flush_adds();
	}
	flush_adds();
	if (sscanf(line, END, &count) < 1 || !is_exactly(line, END, count))
		refuse_line("not a line like data=1 wall_ns=2 interval_ns=0, times up to 2^63-1");
	if (count != loading.loaded)
		refuse_line("the file had %ju timers: lines were removed or added", count);
	if (read_line(line))
		refuse_line("a line after the end");
	show_progress(NULL, 0);
	record_begin("loaded");
	put_number("count", loading.loaded);
	put_number("past", loading.past);
	record_end();
}
