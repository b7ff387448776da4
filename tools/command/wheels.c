// SPDX-License-Identifier: MIT
/*
 * The wheels of the machine
 *
 * A descriptor is recognized by its fdinfo alone: the device may have any name, and another one
 * in a container. Processes and descriptors come and go during a search; those that have gone
 * are left out.
 */
#include <dirent.h>
#include <err.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "helpers.h"
#include "twheel.h"

/* Read the name of a process in /proc, or of a descriptor. Return its number; -1 if it has none. */
static int number_of(const char *name)
{
	int number, end = 0;

	return sscanf(name, "%10d%n", &number, &end) == 1 && !name[end] ? number : -1;
}

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
	char path[4200];

	snprintf(path, sizeof(path), "%s/%d/%s", options.proc, pid, name);
	return fopen(path, "re");
}

/* Append the wheels among the descriptors of a process; return 0 or an errno. */
static int scan_process(struct wheels *wheels, pid_t pid)
{
	struct dirent *entry;
	struct wheel wheel;
	char path[4200], line[280];
	int error = 0;
	FILE *file;
	DIR *dir;

	snprintf(path, sizeof(path), "%s/%d/fdinfo", options.proc, pid);
	dir = opendir(path);
	if (!dir)
		return errno == ENOENT ? ESRCH : errno == EPERM ? EACCES : errno;
	while ((entry = readdir(dir))) {
		wheel = (struct wheel){ .pid = pid, .fd = number_of(entry->d_name),
					.descriptors = 1, .processes = 1 };
		snprintf(line, sizeof(line), "fdinfo/%s", entry->d_name);
		file = wheel.fd < 0 ? NULL : open_file(pid, line);
		while (file && fgets(line, sizeof(line), file))
			parse_line(line, &wheel);
		if (file)
			fclose(file);
		if (!wheel.info.tick_ns || !wheel.info.wheel_size)
			continue;
		if (!wheel.id) {
			error = EPROTO;
			break;
		}
		file = open_file(pid, "comm");
		if (file && fgets(wheel.comm, sizeof(wheel.comm), file))
			wheel.comm[strcspn(wheel.comm, "\n")] = '\0';
		if (file)
			fclose(file);
		wheels->wheel = reallocarray(wheels->wheel, wheels->count + 1, sizeof(wheel));
		if (!wheels->wheel)
			err(STATUS_ERROR, "cannot store the wheels");
		wheels->wheel[wheels->count++] = wheel;
	}
	closedir(dir);
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

static int scan_all(struct wheels *wheels)
{
	DIR *dir = opendir(options.proc);
	struct dirent *entry;
	int error = 0;
	pid_t pid;

	if (!dir)
		return errno;
	while (!error && (entry = readdir(dir))) {
		pid = number_of(entry->d_name);
		error = pid < 0 ? 0 : scan_process(wheels, pid);
		wheels->hidden += error == EACCES;
		if (error == EACCES || error == ESRCH)
			error = 0;
	}
	closedir(dir);
	return error;
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
	wheels->hidden = 0;
	error = !only ? scan_all(wheels) : has_ended(only) ? ESRCH : scan_process(wheels, only);
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
