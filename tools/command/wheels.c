// SPDX-License-Identifier: MIT
/*
 * The wheels of the machine
 *
 * The proc file system is the working directory. A descriptor is recognized by its fdinfo alone:
 * the device may have any name, and another one in a container. Processes and descriptors come and
 * go during a search; those that have gone are left out.
 */
#include <err.h>
#include <errno.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "helpers.h"
#include "twheel.h"

/* Store the number of a line "twheel-NAME:\tNUMBER"; unknown names are ignored. */
static void parse_line(const char *line, struct wheel *wheel)
{
	unsigned int level;
	uintmax_t value;
	char name[32];
	size_t i;

	if (sscanf(line, "twheel-%31[a-z0-9-]:\t%ju", name, &value) != 2)
		return;
	for (i = 0; i < nr_info_fields; i++) {
		void *at = (char *)&wheel->info + info_fields[i].offset;

		if (strcmp(info_fields[i].fdinfo, name))
			continue;
		if (info_fields[i].size == 4)
			*(uint32_t *)at = (uint32_t)value;
		else
			*(uint64_t *)at = value;
	}
	if (!strcmp(name, "id"))
		wheel->id = value;
	if (!strcmp(name, "user-id"))
		wheel->user_id = value;
	if (!strcmp(name, "user-memory"))
		wheel->user_memory = value;
	if (!strcmp(name, "user-limit"))
		wheel->user_limit = value;
	if (sscanf(name, "level-%2u", &level) == 1 && level < WHEEL_LEVELS) {
		*(strstr(name, "-busy") ? &wheel->level[level].busy :
		  &wheel->level[level].timers) = value;
		if (wheel->nr_levels <= level)
			wheel->nr_levels = level + 1;
	}
}

/* Open PID/NAME of the proc file system. */
static FILE *open_file(pid_t pid, const char *name)
{
	char path[64];

	snprintf(path, sizeof(path), "%d/%s", pid, name);
	return fopen(path, "re");
}

/* Why the last directory could not be read, and how many the caller may not inspect. */
static int failure;
static unsigned int hidden;

static int note_failure(const char *path, int error)
{
	failure = error == EPERM ? EACCES : error == ENOENT ? ESRCH : error;
	hidden += failure == EACCES;
	return failure != EACCES && failure != ESRCH;
}

/* Append the wheels of a process, or of all; return 0 or an errno. */
static int scan(struct wheels *wheels, pid_t only)
{
	char pattern[64], line[256];
	struct wheel wheel;
	glob_t found;
	int error, end;
	FILE *file;
	size_t i;

	failure = 0;
	hidden = 0;
	snprintf(pattern, sizeof(pattern), only ? "%d/fdinfo/*" : "[0-9]*/fdinfo/*", only);
	error = glob(pattern, GLOB_NOSORT, note_failure, &found);
	error = error == GLOB_NOSPACE ? ENOMEM : only || error == GLOB_ABORTED ? failure : 0;
	wheels->hidden = hidden;
	for (i = 0; i < found.gl_pathc && !error; i++) {
		wheel = (struct wheel){ .descriptors = 1, .processes = 1 };
		if (sscanf(found.gl_pathv[i], "%10d/fdinfo/%10d%n", &wheel.pid, &wheel.fd,
			   &end) < 2 || found.gl_pathv[i][end])
			continue;
		file = fopen(found.gl_pathv[i], "re");
		while (file && fgets(line, sizeof(line), file))
			parse_line(line, &wheel);
		if (file)
			fclose(file);
		if (!wheel.info.tick_ns || !wheel.info.wheel_size)
			continue;
		if (!wheel.id)
			error = EPROTO;
		file = open_file(wheel.pid, "comm");
		if (file && fgets(wheel.comm, sizeof(wheel.comm), file))
			wheel.comm[strcspn(wheel.comm, "\n")] = '\0';
		if (file)
			fclose(file);
		wheels->wheel = reallocarray(wheels->wheel, wheels->count + 1, sizeof(wheel));
		if (!wheels->wheel)
			err(STATUS_ERROR, "cannot store the wheels");
		wheels->wheel[wheels->count++] = wheel;
	}
	globfree(&found);
	return error;
}

/* Return true for a zombie, which still has a directory. */
static bool has_ended(pid_t pid)
{
	FILE *file = open_file(pid, "status");
	bool ended = false;
	char line[256];

	while (file && fgets(line, sizeof(line), file))
		ended |= !strncmp(line, "State:\tZ", strlen("State:\tZ"));
	if (file)
		fclose(file);
	return ended;
}

static int compare(const void *a, const void *b)
{
	const struct wheel *left = a, *right = b;

	if (left->id != right->id)
		return left->id < right->id ? -1 : 1;
	return left->pid != right->pid ? left->pid - right->pid : left->fd - right->fd;
}

/*
 * Look for wheels. Return 0; or an errno: ESRCH if there is no such process, EACCES if it may not
 * be inspected, EPROTO if the module is too old.
 */
int wheels_scan(struct wheels *wheels, pid_t only)
{
	struct wheel *last = NULL, *wheel;
	size_t i, count = 0;
	pid_t pid = 0;
	int error;

	wheels->count = 0;
	error = only && has_ended(only) ? ESRCH : scan(wheels, only);
	if (wheels->count)
		qsort(wheels->wheel, wheels->count, sizeof(*wheels->wheel), compare);
	for (i = 0; i < wheels->count; i++) {
		wheel = &wheels->wheel[i];
		if (last && last->id == wheel->id) {
			last->descriptors++;
			last->processes += wheel->pid != pid;
		} else {
			last = &wheels->wheel[count++];
			*last = *wheel;
		}
		pid = wheel->pid;
	}
	wheels->count = count;
	return error;
}

/* Find a wheel. Return the wheel, or NULL. */
struct wheel *wheels_find(const struct wheels *wheels, uint64_t id)
{
	struct wheel *wheel;

	for (wheel = wheels->wheel; wheel < wheels->wheel + wheels->count; wheel++) {
		if (wheel->id == id)
			return wheel;
	}
	return NULL;
}

/*
 * Work out rates. A new wheel has no rates. Expired timers were read, or wait to be; cancelling
 * an unread one lowers their number, which is not a rate.
 */
void wheels_compare(struct wheels *wheels, const struct wheels *before)
{
	const struct wheel *old = before->wheel, *end = old + before->count;
	struct wheel *wheel;
	int rate;

	for (wheel = wheels->wheel; wheel < wheels->wheel + wheels->count; wheel++) {
		const struct twheel_info *now = &wheel->info, *then;
		double seconds;

		while (old < end && old->id < wheel->id)
			old++;
		if (old == end || old->id != wheel->id)
			continue;
		then = &old->info;
		seconds = (double)(int64_t)(now->now_ns - then->now_ns) / 1e9;
		const int64_t changes[] = {
			[RATE_ADD] = (int64_t)(now->added - then->added),
			[RATE_CANCEL] = (int64_t)(now->cancelled - then->cancelled),
			[RATE_EXPIRE] = (int64_t)(now->delivered + now->expired -
						  then->delivered - then->expired),
			[RATE_FIRES] = (int64_t)(now->fires - then->fires),
		};

		for (rate = 0; rate < NR_RATES; rate++) {
			memcpy(wheel->history[rate], old->history[rate] + 1,
			       (WHEEL_HISTORY - 1) * sizeof(float));
			wheel->history[rate][WHEEL_HISTORY - 1] = seconds > 0 && changes[rate] > 0 ?
				(float)((double)changes[rate] / seconds) : 0;
		}
		wheel->nr_samples = old->nr_samples + (old->nr_samples < WHEEL_HISTORY);
	}
}
