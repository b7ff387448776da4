// SPDX-License-Identifier: MIT
/*
 * `twheel load`: add the timers of a file to a wheel; see snapshot.h
 *
 * Timers go to the kernel in batches. If a line is wrong in any way, the timers of all lines
 * before it are added, and their number is part of the message.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "duration.h"
#include "helpers.h"
#include "json.h"
#include "libtwheel.h"
#include "lines.h"
#include "messages.h"
#include "output.h"
#include "session.h"
#include "snapshot.h"

/* The members that a line may have. Others are ignored. */
enum field {
	VERSION, TICK, SIZE, CLOCK, NOW, WALL, DATA, DEADLINE, INTERVAL, TIMERS, NR_FIELDS
};

static const struct {
	const char *name;
	uint64_t max;
} fields[NR_FIELDS] = {
	[VERSION] = { "twheel", UINT64_MAX },
	[TICK] = { "tick_ns", TWHEEL_TIME_MAX_NS },
	[SIZE] = { "wheel_size", UINT32_MAX },
	[CLOCK] = { "clock", 0 },
	[NOW] = { "now_ns", TWHEEL_TIME_MAX_NS },
	[WALL] = { "wall_ns", TWHEEL_TIME_MAX_NS },
	[DATA] = { "data", UINT64_MAX },
	[DEADLINE] = { "deadline_ns", TWHEEL_TIME_MAX_NS },
	[INTERVAL] = { "interval_ns", TWHEEL_TIME_MAX_NS },
	[TIMERS] = { "timers", UINT64_MAX },
};

/**
 * struct record - a parsed line
 * @seen: bitmask of the members that it has.
 * @values: their values; 0 for missing ones.
 */
struct record {
	unsigned int seen;
	uint64_t values[NR_FIELDS];
};

/**
 * struct loading - a file that is being loaded
 * @fd: the wheel.
 * @info: its parameters.
 * @clocks: the time, on both clocks.
 * @name: the file, for messages.
 * @lines: the file.
 * @adds: timers that have not been added yet.
 * @numbers: the numbers of their lines.
 * @nr_adds: how many there are.
 * @loaded: how many have been added.
 * @past: how many of them were due before that.
 */
struct loading {
	int fd;
	struct twheel_info info;
	struct snapshot_clocks clocks;
	const char *name;
	struct lines lines;
	struct twheel_add adds[SNAPSHOT_BATCH];
	uint64_t numbers[SNAPSHOT_BATCH];
	uint32_t nr_adds;
	uint64_t loaded;
	uint64_t past;
};

/* Complain about a line, and print how many timers were loaded. */
static void complain_of(const struct loading *loading, uint64_t line, const char *message)
{
	complain("%s:%ju: %s; %ju %s", loading->name, (uintmax_t)line, message,
		 (uintmax_t)loading->loaded,
		 loading->loaded == 1 ? "timer was loaded" : "timers were loaded");
}

static int fail_add(const struct loading *loading, uint64_t line, int err)
{
	const struct session session = { .fd = loading->fd, .tick_ns = loading->info.tick_ns };
	char reason[REASON_TEXT], tick[DURATION_TEXT];

	if (err == EINVAL)
		snprintf(reason, sizeof(reason), "interval_ns is shorter than the wheel's tick, %s",
			 duration_format((int64_t)loading->info.tick_ns, tick));
	else
		session_explain(&session, err, reason);
	complain_of(loading, line, reason);
	return STATUS_ERROR;
}

/* Add the timers that have been collected. */
static int flush(struct loading *loading)
{
	uint32_t done = 0;
	int n;

	while (done < loading->nr_adds) {
		n = twheel_add_batch(loading->fd, loading->adds + done, loading->nr_adds - done);
		if (n < 0)
			return fail_add(loading, loading->numbers[done], errno);
		done += (uint32_t)n;
		loading->loaded += (uint32_t)n;
	}
	loading->nr_adds = 0;
	return STATUS_OK;
}

/* Refuse the line that was read last. The timers before it are added first. */
static __printf(2, 3) int fail_line(struct loading *loading, const char *format, ...)
{
	char message[256];
	va_list args;

	if (flush(loading) != STATUS_OK)
		return STATUS_ERROR;
	va_start(args, format);
	vsnprintf(message, sizeof(message), format, args);
	va_end(args);
	complain_of(loading, loading->lines.number, message);
	return STATUS_ERROR;
}

static enum field find_field(const struct json_text *name)
{
	enum field field = 0;

	while (field < NR_FIELDS && !json_is(name, fields[field].name))
		field++;
	return field;
}

static int take_clock(struct loading *loading, const struct json_member *member,
		      uint64_t *value)
{
	char name[16];
	uint32_t clock_id;

	snprintf(name, sizeof(name), "%.*s", (int)member->value.len, member->value.start);
	if (member->type != JSON_STRING || !clock_by_name(name, &clock_id))
		return fail_line(loading, "clock must be monotonic, boottime, realtime or tai");
	*value = clock_id;
	return STATUS_OK;
}

static int take_member(struct loading *loading, const struct json_member *member,
		       struct record *record)
{
	enum field field = find_field(&member->name);
	uint64_t *value = &record->values[field];
	int err;

	if (field == NR_FIELDS)
		return STATUS_OK;
	if (record->seen & (1U << field))
		return fail_line(loading, "%s appears twice", fields[field].name);
	record->seen |= 1U << field;
	if (field == CLOCK)
		return take_clock(loading, member, value);
	err = json_number(member, value);
	if (err == -EINVAL)
		return fail_line(loading, "%s must be a whole number, not negative",
				 fields[field].name);
	if (err || *value > fields[field].max)
		return fail_line(loading, "%s is too large: at most %ju", fields[field].name,
				 (uintmax_t)fields[field].max);
	return STATUS_OK;
}

/* Read the next line. */
static int next_record(struct loading *loading, struct record *record, const char *missing)
{
	char *line = lines_next(&loading->lines);
	struct json_object object = { .at = line };
	struct json_member member;
	int status = STATUS_OK;

	*record = (struct record){ 0 };
	if (!line && loading->lines.error)
		return fail_line(loading, "%s", loading->lines.error);
	if (!line) {
		loading->lines.number++;
		return fail_line(loading, "the file ends without its %s: it was cut off",
				 missing);
	}
	while (status == STATUS_OK && json_next(&object, &member))
		status = take_member(loading, &member, record);
	if (status == STATUS_OK && object.error)
		status = fail_line(loading, "%s, at byte %zu", object.error,
				   (size_t)(object.at - line) + 1);
	return status;
}

/* Complain if a line lacks one of the needed members. */
static int need(struct loading *loading, const struct record *record, unsigned int needed)
{
	unsigned int missing = needed & ~record->seen;

	if (!missing)
		return STATUS_OK;
	return fail_line(loading, "%s is missing", fields[__builtin_ctz(missing)].name);
}

/* Give the wheel the parameters of the saved one, unless it was set up or had timers. */
static int set_up(struct loading *loading, const struct record *header)
{
	struct twheel_setup setup = {
		.tick_ns = header->values[TICK],
		.wheel_size = (uint32_t)header->values[SIZE],
		.clock_id = (uint32_t)header->values[CLOCK],
	};

	if (twheel_set_up(loading->fd, &setup) && errno != EBUSY)
		return fail_line(loading, "cannot set up the wheel like this: %s",
				 strerror(errno));
	if (twheel_get_info(loading->fd, &loading->info) ||
	    snapshot_clocks(loading->info.clock_id, &loading->clocks))
		return fail_line(loading, "cannot query the wheel");
	return STATUS_OK;
}

static int load_header(struct loading *loading)
{
	struct record header;
	int status = next_record(loading, &header, "header");

	if (status != STATUS_OK)
		return status;
	if (!(header.seen & (1U << VERSION)))
		return fail_line(loading, "no header: twheel save did not write this file");
	if (header.values[VERSION] != SNAPSHOT_VERSION)
		return fail_line(loading, "the format has version %ju: only %d is supported",
				 (uintmax_t)header.values[VERSION], SNAPSHOT_VERSION);
	status = need(loading, &header, 1U << TICK | 1U << SIZE | 1U << CLOCK | 1U << NOW |
		      1U << WALL);
	return status == STATUS_OK ? set_up(loading, &header) : status;
}

static int load_timer(struct loading *loading, const struct record *timer)
{
	struct twheel_add *add = &loading->adds[loading->nr_adds];
	const uint64_t *values = timer->values;

	loading->numbers[loading->nr_adds++] = loading->lines.number;
	*add = (struct twheel_add){
		.time_ns = snapshot_to_wheel(&loading->clocks, values[WALL], values[INTERVAL]),
		.interval_ns = values[INTERVAL],
		.data = values[DATA],
		.flags = TWHEEL_ABSTIME,
	};
	loading->past += values[WALL] <= loading->clocks.wall_ns;
	return loading->nr_adds == SNAPSHOT_BATCH ? flush(loading) : STATUS_OK;
}

/* Check the last line, which counts the timers, and that nothing follows. */
static int load_end(struct loading *loading, const struct record *end)
{
	int status = flush(loading);

	if (status != STATUS_OK)
		return status;
	if (end->values[TIMERS] != loading->loaded)
		return fail_line(loading, "the file had %ju timers: lines were removed or added",
				 (uintmax_t)end->values[TIMERS]);
	if (lines_next(&loading->lines))
		return fail_line(loading, "a line after the end");
	if (loading->lines.error)
		return fail_line(loading, "%s", loading->lines.error);
	return STATUS_OK;
}

static int load_lines(struct loading *loading)
{
	struct progress progress;
	struct record record;
	int status = load_header(loading);

	progress_begin(&progress, "loaded");
	while (status == STATUS_OK) {
		status = next_record(loading, &record, "last line");
		if (status != STATUS_OK || record.seen & (1U << TIMERS))
			break;
		status = need(loading, &record, 1U << DATA | 1U << WALL);
		if (status == STATUS_OK)
			status = load_timer(loading, &record);
		if (!loading->nr_adds)
			progress_show(&progress, loading->loaded);
	}
	progress_end(&progress);
	return status == STATUS_OK ? load_end(loading, &record) : status;
}

/**
 * load() - add the timers of a file to a wheel
 * @options: the wheel.
 * @path: the file, or NULL for standard input.
 *
 * Return: an exit status.
 */
int load(const struct snapshot_options *options, const char *path)
{
	static struct loading loading;
	int status;

	loading.name = path ? path : "standard input";
	loading.fd = snapshot_open(options, &loading.info);
	if (loading.fd < 0)
		return STATUS_ERROR;
	loading.lines.fd = path ? open(path, O_RDONLY | O_CLOEXEC) : STDIN_FILENO;
	if (loading.lines.fd < 0) {
		complain("cannot read %s: %s", path, strerror(errno));
		return STATUS_ERROR;
	}
	status = load_lines(&loading);
	if (status != STATUS_OK)
		return status;
	output_begin("loaded");
	output_number("count", loading.loaded);
	output_number("past", loading.past);
	output_end();
	return output_finish();
}
