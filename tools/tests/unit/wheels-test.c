// SPDX-License-Identifier: MIT
/*
 * TAP test of wheels.c: in a directory that looks like /proc
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "helpers.h"
#include "tap.h"
#include "wheels.h"

static const char *proc;
static void ok(bool passed, const char *name)
{
	tap_result(passed, "%s", name);
}

static __printf(2, 3) void put(const char *name, const char *format, ...)
{
	va_list args;
	FILE *file = fopen(name, "w");

	if (!file)
		bail_out("%s", name);
	va_start(args, format);
	vfprintf(file, format, args);
	va_end(args);
	fclose(file);
}

static void put_process(int pid, const char *comm, char state)
{
	char name[64];

	snprintf(name, sizeof(name), "%d", pid);
	mkdir(name, 0755);
	snprintf(name, sizeof(name), "%d/fdinfo", pid);
	mkdir(name, 0755);
	snprintf(name, sizeof(name), "%d/comm", pid);
	put(name, "%s\n", comm);
	snprintf(name, sizeof(name), "%d/stat", pid);
	put(name, "%d (%s) %c 1 2 3\n", pid, comm, state);
}

static void put_wheel(int pid, int fd, unsigned int id, unsigned int seconds,
		      unsigned int added)
{
	char name[64];

	snprintf(name, sizeof(name), "%d/fdinfo/%d", pid, fd);
	put(name, "pos:\t0\ntwheel-id:\t%u\ntwheel-tick-ns:\t1000\ntwheel-wheel-size:\t2\n"
	    "twheel-now-ns:\t%u000000000\ntwheel-added:\t%u\ntwheel-cancelled:\t%u\n"
	    "twheel-expired:\t%u\ntwheel-delivered:\t%u\ntwheel-fires:\t5\n",
	    id, seconds, added, added / 2, added % 7, added / 3 - added % 7);
}

static struct wheels found;

static void test_scan(void)
{
	put_process(100, "server", 'S');
	put_wheel(100, 7, 2, 1, 100);
	put_wheel(100, 3, 1, 1, 100);
	put("100/fdinfo/4", "pos:\t0\n");
	put_process(200, "worker", 'S');
	put_wheel(200, 5, 1, 1, 100);
	put_wheel(200, 6, 1, 1, 100);
	put_process(300, "idle", 'S');
	put("uptime", "1 2\n");

	ok(!wheels_scan(&found, proc, 0), "all processes are looked at");
	ok(found.count == 2, "each wheel is there once");
	ok(found.wheel[0].id == 1 && found.wheel[1].id == 2, "in the order of numbers");
	ok(found.wheel[0].pid == 100 && found.wheel[0].fd == 3 &&
	   !strcmp(found.wheel[0].comm, "server"), "the process with the lowest number");
	ok(found.wheel[0].descriptors == 3 && found.wheel[0].processes == 2,
	   "its descriptors and processes are counted");
	ok(found.wheel[1].descriptors == 1 && found.wheel[1].processes == 1,
	   "and those of the other one");
	ok(wheels_find(&found, 2) == &found.wheel[1], "a wheel is found");
	ok(!wheels_find(&found, 0) && !wheels_find(&found, 3), "or is not there");
	ok(!wheels_scan(&found, proc, 200) && found.count == 1 &&
	   found.wheel[0].pid == 200, "one process alone");
	ok(!wheels_scan(&found, proc, 300) && found.count == 0, "one without a wheel");
	ok(!wheels_find(&found, 1), "nothing is found in nothing");
}

static void test_missing(void)
{
	struct wheels none = { 0 };

	ok(wheels_scan(&none, "/nowhere/at/all", 0) == -ENOENT, "no /proc");
	ok(wheels_scan(&none, proc, 400) == -ESRCH, "no such process");
	put_process(500, "a) R (b", 'Z');
	ok(wheels_scan(&none, proc, 500) == -ESRCH, "a process that has ended");
	put_process(500, "a) Z (b", 'R');
	ok(!wheels_scan(&none, proc, 500), "one that is only called so");
	put("300/fdinfo/1", "twheel-tick-ns:\t1000\ntwheel-wheel-size:\t2\n");
	ok(!wheels_scan(&none, proc, 300) && none.outdated && !none.count,
	   "a module that is too old");
	unlink("300/fdinfo/1");
	ok(!wheels_scan(&none, proc, 0) && !none.outdated, "and a new one again");
	wheels_free(&none);
}

/* Root may read everything, so this needs another user. */
static void test_hidden(void)
{
	struct wheels seen = { 0 };

	chmod("100/fdinfo", 0);
	chmod(proc, 0755);
	if (!geteuid() && seteuid(65534))
		bail_out("seteuid");
	ok(!wheels_scan(&seen, proc, 0) && seen.hidden == 1 && seen.count == 1,
	   "what may not be looked at is left out and counted");
	ok(wheels_scan(&seen, proc, 100) == -EACCES, "or refused, if it was asked for");
	if (!getuid() && seteuid(0))
		bail_out("seteuid");
	chmod("100/fdinfo", 0755);
	wheels_free(&seen);
}

static int is(double value, double expected)
{
	return value > expected - 0.001 && value < expected + 0.001;
}

static void test_rates(void)
{
	struct wheels before = { 0 }, now = { 0 }, spare;
	int i;

	wheels_scan(&before, proc, 0);
	ok(before.wheel[0].nr_samples == 0, "one sample makes no rates");
	put_wheel(100, 3, 1, 3, 700);
	put_wheel(200, 5, 1, 3, 700);
	put_wheel(200, 6, 1, 3, 700);
	put_wheel(300, 9, 9, 3, 700);
	wheels_scan(&now, proc, 0);
	wheels_compare(&now, &before);
	ok(now.wheel[0].nr_samples == 1 && is(wheel_rate(&now.wheel[0], RATE_ADD), 300),
	   "what was added in two seconds, by second");
	ok(is(wheel_rate(&now.wheel[0], RATE_CANCEL), 150), "cancelled");
	ok(is(wheel_rate(&now.wheel[0], RATE_EXPIRE), 100), "expired, read or unread");
	ok(is(wheel_rate(&now.wheel[0], RATE_FIRES), 0), "fires");
	ok(is(wheel_rate(&now.wheel[1], RATE_ADD), 0), "no time has passed: no rate");
	ok(now.wheel[2].id == 9 && now.wheel[2].nr_samples == 0,
	   "a wheel that is new has no rates");

	for (i = 0; i < 70; i++) {
		spare = before;
		before = now;
		now = spare;
		put_wheel(300, 9, 9, 4 + i, 700 + 10 * i);
		wheels_scan(&now, proc, 0);
		wheels_compare(&now, &before);
	}
	ok(now.wheel[2].nr_samples == WHEEL_HISTORY &&
	   is(now.wheel[2].history[RATE_ADD][0], 10) && is(wheel_rate(&now.wheel[2], RATE_ADD), 10),
	   "the last samples are kept");
	put_wheel(300, 9, 9, 5, 1);
	wheels_scan(&before, proc, 0);
	wheels_compare(&before, &now);
	ok(is(wheel_rate(&before.wheel[2], RATE_ADD), 0), "what goes back is no rate");
	wheels_free(&before);
	wheels_free(&now);
}

static void remove_all(void)
{
	char command[64];

	snprintf(command, sizeof(command), "rm -rf %s", proc);
	if (system(command))
		tap_note("%s is left", proc);
}

int main(void)
{
	char dir[] = "/tmp/wheels-test.XXXXXX";

	proc = mkdtemp(dir);
	if (!proc || chdir(proc))
		bail_out("%s", dir);
	puts("TAP version 13");
	test_scan();
	test_missing();
	test_hidden();
	test_rates();
	wheels_free(&found);
	if (!chdir("/"))
		remove_all();
	return tap_done();
}
