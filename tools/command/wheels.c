// SPDX-License-Identifier: MIT
/*
 * The wheels of the machine; see wheels.h
 *
 * A descriptor is known by its fdinfo alone: the device may have any name, and another one
 * in a container. Processes and descriptors come and go during a search; those that have gone are
 * left out.
 */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "wheels.h"

/* More than the fdinfo of a wheel with 63 levels. */
#define FILE_TEXT	16384

/* Read all of a file, or as much as fits; returns -1 if there is none. */
static ssize_t read_text(int dir, const char *name, char *text, size_t size)
{
	int fd = openat(dir, name, O_RDONLY | O_CLOEXEC);
	size_t len = 0;
	ssize_t n = 0;

	if (fd < 0)
		return -1;
	while (len < size - 1) {
		n = read(fd, text + len, size - 1 - len);
		if (n <= 0)
			break;
		len += (size_t)n;
	}
	close(fd);
	text[len] = '\0';
	return n < 0 ? -1 : (ssize_t)len;
}

/* Processes in /proc, and descriptors in fdinfo, have numbers for names. */
static bool parse_name(const char *name, int *number)
{
	unsigned long value;
	char *end;

	errno = 0;
	value = strtoul(name, &end, 10);
	*number = (int)value;
	return isdigit((unsigned char)*name) && !*end && !errno && value <= INT32_MAX;
}

static int append(struct wheels *wheels, const struct wheel *wheel)
{
	size_t room = wheels->room ? wheels->room * 2 : 16;
	struct wheel *more;

	if (wheels->count == wheels->room) {
		more = reallocarray(wheels->wheel, room, sizeof(*more));
		if (!more)
			return -ENOMEM;
		wheels->wheel = more;
		wheels->room = room;
	}
	wheels->wheel[wheels->count++] = *wheel;
	return 0;
}

/* Append the wheels among the descriptors of a process. */
static int scan_descriptors(struct wheels *wheels, DIR *dir, const struct wheel *process)
{
	static char text[FILE_TEXT];
	struct dirent *entry;
	struct wheel wheel;
	int err = 0, fd;

	while (!err && (entry = readdir(dir))) {
		if (!parse_name(entry->d_name, &fd) ||
		    read_text(dirfd(dir), entry->d_name, text, sizeof(text)) < 0)
			continue;
		wheel = *process;
		if (!fdinfo_parse(text, &wheel))
			continue;
		wheel.fd = fd;
		if (wheel.id)
			err = append(wheels, &wheel);
		else
			wheels->outdated = true;
	}
	return err;
}

/* Whether a process is a zombie. Its name may hold anything. */
static bool has_ended(int proc, pid_t pid)
{
	char name[64], stat[512];
	const char *state;

	snprintf(name, sizeof(name), "%d/stat", pid);
	if (read_text(proc, name, stat, sizeof(stat)) < 0)
		return false;
	state = strrchr(stat, ')');
	return state && !strncmp(state, ") Z", strlen(") Z"));
}

static int scan_process(struct wheels *wheels, int proc, pid_t pid)
{
	struct wheel process = { .pid = pid, .descriptors = 1, .processes = 1 };
	char name[64];
	DIR *dir;
	int fd, err;

	snprintf(name, sizeof(name), "%d/comm", pid);
	read_text(proc, name, process.comm, sizeof(process.comm));
	process.comm[strcspn(process.comm, "\n")] = '\0';

	snprintf(name, sizeof(name), "%d/fdinfo", pid);
	fd = openat(proc, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	dir = fdopendir(fd);
	if (!dir) {
		err = -errno;
		close(fd);
		return err;
	}
	err = scan_descriptors(wheels, dir, &process);
	closedir(dir);
	return err;
}

static int scan_all(struct wheels *wheels, DIR *dir)
{
	struct dirent *entry;
	int err, pid;

	while ((entry = readdir(dir))) {
		if (!parse_name(entry->d_name, &pid))
			continue;
		err = scan_process(wheels, dirfd(dir), pid);
		if (err == -EACCES || err == -EPERM)
			wheels->hidden++;
		else if (err == -ENOMEM || err == -EMFILE || err == -ENFILE)
			return err;
	}
	return 0;
}

static int compare(const void *a, const void *b)
{
	const struct wheel *left = a, *right = b;

	if (left->id != right->id)
		return left->id < right->id ? -1 : 1;
	if (left->pid != right->pid)
		return left->pid < right->pid ? -1 : 1;
	return left->fd - right->fd;
}

/* Keep one of each wheel, and count its descriptors. */
static void merge(struct wheels *wheels)
{
	struct wheel *last = NULL, *wheel;
	size_t i, count = 0;
	pid_t pid = 0;

	if (wheels->count)
		qsort(wheels->wheel, wheels->count, sizeof(*wheels->wheel), compare);
	for (i = 0; i < wheels->count; i++) {
		wheel = &wheels->wheel[i];
		if (last && last->id == wheel->id) {
			last->descriptors++;
			last->processes += wheel->pid != pid;
			pid = wheel->pid;
			continue;
		}
		pid = wheel->pid;
		last = &wheels->wheel[count++];
		if (last != wheel)
			*last = *wheel;
	}
	wheels->count = count;
}

/**
 * wheels_scan() - look for wheels
 * @wheels: empty or from before; filled in.
 * @proc: where the proc file system is.
 * @only: the process to look at, or 0 for all.
 *
 * Return: 0; or a negative errno: -ESRCH if there is no such process, -EACCES if it may
 * not be looked at.
 */
int wheels_scan(struct wheels *wheels, const char *proc, pid_t only)
{
	DIR *dir = opendir(proc);
	int err;

	wheels->count = 0;
	wheels->hidden = 0;
	wheels->outdated = false;
	if (!dir)
		return -errno;
	if (!only)
		err = scan_all(wheels, dir);
	else if (has_ended(dirfd(dir), only))
		err = -ESRCH;
	else
		err = scan_process(wheels, dirfd(dir), only);
	closedir(dir);
	merge(wheels);
	if (only && err == -ENOENT)
		err = -ESRCH;
	return err == -EPERM ? -EACCES : err;
}

/**
 * wheels_find() - find a wheel
 * @wheels: the list.
 * @id: the number of the wheel.
 *
 * Return: the wheel, or NULL.
 */
const struct wheel *wheels_find(const struct wheels *wheels, uint64_t id)
{
	size_t low = 0, high = wheels->count, middle;

	while (low < high) {
		middle = low + (high - low) / 2;
		if (wheels->wheel[middle].id < id)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == wheels->count || wheels->wheel[low].id != id)
		return NULL;
	return &wheels->wheel[low];
}

/* Expired timers were read, or wait to be. Cancelling an unread one lowers the count. */
static uint64_t count_of(const struct wheel *wheel, enum wheel_rate rate)
{
	switch (rate) {
	case RATE_ADD:
		return wheel->info.added;
	case RATE_CANCEL:
		return wheel->info.cancelled;
	case RATE_EXPIRE:
		return wheel->info.delivered + wheel->info.expired;
	default:
		return wheel->info.fires;
	}
}

static void add_sample(struct wheel *wheel, const struct wheel *before)
{
	double seconds = (double)(int64_t)(wheel->info.now_ns - before->info.now_ns) / 1e9;
	int64_t change;
	int rate;

	for (rate = 0; rate < NR_RATES; rate++) {
		memcpy(wheel->history[rate], before->history[rate] + 1,
		       (WHEEL_HISTORY - 1) * sizeof(float));
		change = (int64_t)(count_of(wheel, rate) - count_of(before, rate));
		wheel->history[rate][WHEEL_HISTORY - 1] =
			seconds > 0 && change > 0 ? (float)((double)change / seconds) : 0;
	}
	wheel->nr_samples = before->nr_samples + 1;
	if (wheel->nr_samples > WHEEL_HISTORY)
		wheel->nr_samples = WHEEL_HISTORY;
}

/**
 * wheels_compare() - work out rates
 * @wheels: the wheels now.
 * @before: the wheels some time ago, with the rates they had then.
 *
 * A wheel that is not in @before has none.
 */
void wheels_compare(struct wheels *wheels, const struct wheels *before)
{
	const struct wheel *old;
	size_t i;

	for (i = 0; i < wheels->count; i++) {
		old = wheels_find(before, wheels->wheel[i].id);
		if (old)
			add_sample(&wheels->wheel[i], old);
	}
}

/**
 * wheels_free() - forget all wheels
 * @wheels: the list; empty afterwards.
 */
void wheels_free(struct wheels *wheels)
{
	free(wheels->wheel);
	*wheels = (struct wheels){ 0 };
}
