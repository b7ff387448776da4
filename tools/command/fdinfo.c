// SPDX-License-Identifier: MIT
/*
 * Parsing /proc/PID/fdinfo/FD of a wheel; see twheel(4)
 */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "helpers.h"
#include "wheels.h"

#define PREFIX		"twheel-"
#define LEVEL		"level-"

/* A name, and the place of its number, which has 64 bits, or 32 if it is small. */
struct field {
	const char *name;
	size_t offset;
	bool is_small;
};

#define AT(member)	offsetof(struct wheel, member)

static const struct field fields[] = {
	{ "id", AT(id), false },
	{ "tick-ns", AT(info.tick_ns), false },
	{ "wheel-size", AT(info.wheel_size), true },
	{ "clock-id", AT(info.clock_id), true },
	{ "max-timers", AT(info.max_timers), false },
	{ "levels", AT(info.levels), true },
	{ "now-ns", AT(info.now_ns), false },
	{ "pending", AT(info.pending), false },
	{ "expired", AT(info.expired), false },
	{ "added", AT(info.added), false },
	{ "modified", AT(info.modified), false },
	{ "cancelled", AT(info.cancelled), false },
	{ "delivered", AT(info.delivered), false },
	{ "cascaded", AT(info.cascaded), false },
	{ "fires", AT(info.fires), false },
	{ "memory", AT(info.memory), false },
	{ "user-id", AT(user_id), true },
	{ "user-memory", AT(user_memory), false },
	{ "user-limit", AT(user_limit), false },
};

/* Set a field; one of 32 bits stays as it is if the number is larger. */
static void set_field(struct wheel *wheel, const struct field *field, uint64_t value)
{
	uint32_t small = (uint32_t)value;

	if (!field->is_small)
		memcpy((char *)wheel + field->offset, &value, sizeof(value));
	else if (small == value)
		memcpy((char *)wheel + field->offset, &small, sizeof(small));
}

static bool parse_u64(const char *text, char **end, uint64_t *number)
{
	errno = 0;
	*number = strtoull(text, end, 10);
	return isdigit((unsigned char)*text) && !errno;
}

/* Set "level-N-timers" or "level-N-busy"; @name is the part after "level-". */
static void set_level(struct wheel *wheel, const char *name, uint64_t value)
{
	uint64_t nr;
	char *rest;

	if (!parse_u64(name, &rest, &nr) || nr >= WHEEL_LEVELS)
		return;
	if (!strncmp(rest, "-timers:", strlen("-timers:")))
		wheel->level[nr].timers = value;
	else if (!strncmp(rest, "-busy:", strlen("-busy:")) && value <= UINT32_MAX)
		wheel->level[nr].busy = (uint32_t)value;
	else
		return;
	if (wheel->nr_levels <= nr)
		wheel->nr_levels = (unsigned int)nr + 1;
}

/* Parse a line, which begins after the prefix; unknown names are ignored. */
static void parse_line(const char *line, struct wheel *wheel)
{
	size_t len = strcspn(line, ":\n"), i;
	uint64_t value;
	char *end;

	if (line[len] != ':' || line[len + 1] != '\t' ||
	    !parse_u64(line + len + 2, &end, &value) || *end != '\n')
		return;
	if (!strncmp(line, LEVEL, strlen(LEVEL))) {
		set_level(wheel, line + strlen(LEVEL), value);
		return;
	}
	for (i = 0; i < ARRAY_SIZE(fields); i++) {
		if (strlen(fields[i].name) == len && !memcmp(fields[i].name, line, len))
			set_field(wheel, &fields[i], value);
	}
}

/**
 * fdinfo_parse() - read the fdinfo of a wheel
 * @text: the contents of the file.
 * @wheel: empty; fields that the file has are set.
 *
 * Return: whether it is a wheel's.
 */
bool fdinfo_parse(const char *text, struct wheel *wheel)
{
	const char *line = text;

	while (line) {
		if (!strncmp(line, PREFIX, strlen(PREFIX)))
			parse_line(line + strlen(PREFIX), wheel);
		line = strchr(line, '\n');
		line += !!line;
	}
	return wheel->info.tick_ns && wheel->info.wheel_size;
}
