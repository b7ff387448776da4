// SPDX-License-Identifier: MIT
/*
 * `twheel save`: write the timers of a wheel to a file; see snapshot.h
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "libtwheel.h"
#include "messages.h"
#include "output.h"
#include "snapshot.h"

/**
 * struct target - where the lines go
 * @stream: the open file.
 * @path: the file to replace when all is written; or NULL for standard output.
 * @part: the file that is written until then; or NULL if @path is written directly.
 */
struct target {
	FILE *stream;
	const char *path;
	char *part;
};

static char buffer[1 << 16];

static int fail_write(const struct target *target)
{
	if (!target->path)
		return output_fail(errno);
	complain("cannot write %s: %s", target->path, strerror(errno));
	return STATUS_ERROR;
}

/* Replace a regular file only as a whole; write anything else, such as a pipe, directly. */
static int target_open(struct target *target, const char *path)
{
	struct stat old = { .st_mode = S_IFREG | 0666 };
	int fd;

	*target = (struct target){ .stream = stdout, .path = path };
	if (path && (stat(path, &old) || S_ISREG(old.st_mode))) {
		if (asprintf(&target->part, "%s.%d", path, (int)getpid()) < 0)
			target->part = NULL;
		if (!target->part)
			return fail_write(target);
		fd = open(target->part, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC,
			  old.st_mode & 0777);
		target->stream = fd < 0 ? NULL : fdopen(fd, "w");
	} else if (path) {
		target->stream = fopen(path, "we");
	}
	if (!target->stream) {
		free(target->part);
		target->part = NULL;
		return fail_write(target);
	}
	setvbuf(target->stream, buffer, _IOFBF, sizeof(buffer));
	return STATUS_OK;
}

/* Write out everything, and put the file in its place if @status is STATUS_OK. */
static int target_close(struct target *target, int status)
{
	bool good = status == STATUS_OK;

	if (target->path && target->stream) {
		good = good && !fflush(target->stream) && !ferror(target->stream) &&
		       (!target->part || !fsync(fileno(target->stream)));
		good = !fclose(target->stream) && good;
		good = good && (!target->part || !rename(target->part, target->path));
	} else if (good) {
		good = !output_flush();
	}
	if (!good && status == STATUS_OK)
		status = fail_write(target);
	if (!good && target->part)
		unlink(target->part);
	free(target->part);
	return status;
}

static void put_header(FILE *stream, const struct twheel_info *info,
		       const struct snapshot_clocks *clocks)
{
	fprintf(stream, "{\"twheel\":%d,\"tick_ns\":%ju,\"wheel_size\":%u,", SNAPSHOT_VERSION,
		(uintmax_t)info->tick_ns, info->wheel_size);
	fprintf(stream, "\"clock\":\"%s\",\"now_ns\":%ju,\"wall_ns\":%ju}\n",
		clock_name(info->clock_id), (uintmax_t)clocks->before_ns,
		(uintmax_t)clocks->wall_ns);
}

/* Data is a string: many programs keep 53 bits of a number. */
static void put_timer(FILE *stream, const struct twheel_listed *timer,
		      const struct snapshot_clocks *clocks)
{
	static const char line[] =
		"{\"data\":\"%ju\",\"wall_ns\":%ju,\"deadline_ns\":%ju,\"interval_ns\":%ju}\n";

	fprintf(stream, line, (uintmax_t)timer->data,
		(uintmax_t)snapshot_to_wall(clocks, timer->deadline_ns),
		(uintmax_t)timer->deadline_ns, (uintmax_t)timer->interval_ns);
}

static int fail_list(void)
{
	if (errno == ENOTTY)
		complain("cannot list the timers: the module is too old");
	else
		complain("cannot list the timers: %s", strerror(errno));
	return STATUS_ERROR;
}

static int put_timers(struct target *target, int fd, const struct snapshot_clocks *clocks,
		      uint64_t *count)
{
	static struct twheel_listed timers[SNAPSHOT_BATCH];
	struct progress progress;
	uint64_t cursor = 0;
	ssize_t i, n;

	progress_begin(&progress, "saved");
	while ((n = twheel_list_timers(fd, &cursor, timers, SNAPSHOT_BATCH)) > 0) {
		for (i = 0; i < n; i++)
			put_timer(target->stream, &timers[i], clocks);
		if (ferror(target->stream))
			return fail_write(target);
		*count += (uint64_t)n;
		progress_show(&progress, *count);
	}
	progress_end(&progress);
	if (n < 0)
		return fail_list();
	fprintf(target->stream, "{\"timers\":%ju}\n", (uintmax_t)*count);
	return STATUS_OK;
}

/**
 * save() - write the timers of a wheel, which keeps them
 * @options: the wheel.
 * @path: the file to write, or NULL for standard output.
 *
 * Return: an exit status.
 */
int save(const struct snapshot_options *options, const char *path)
{
	struct snapshot_clocks clocks;
	struct twheel_info info;
	struct target target;
	uint64_t count = 0;
	int fd, status;

	fd = snapshot_open(options, &info);
	if (fd < 0 || snapshot_clocks(info.clock_id, &clocks))
		return STATUS_ERROR;
	status = target_open(&target, path);
	if (status == STATUS_OK) {
		put_header(target.stream, &info, &clocks);
		status = put_timers(&target, fd, &clocks, &count);
	}
	status = target_close(&target, status);
	if (status != STATUS_OK || !path)
		return status;
	output_begin("saved");
	output_number("count", count);
	output_end();
	return output_finish();
}
