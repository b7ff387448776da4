// SPDX-License-Identifier: MIT
/*
 * How long another task waits for the CPU, whatever wheels hold
 */
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "clock.h"
#include "limits.h"
#include "machine.h"
#include "tap.h"

#define CROWD		1000000U
#define LARGEST		50
/* The longest allowed wait of another task for the CPU, in the counting machine. */
#define WAIT_LIMIT	MSEC

static atomic_bool watched;
static atomic_ullong longest_wait;

/*
 * Needs the CPU now and then, and measures how long it waits. Its priority is above all
 * others: it waits only for non-preemptible code.
 */
static void *watch(void *arg)
{
	const struct sched_param priority = { .sched_priority = 50 };

	(void)arg;
	if (sched_setscheduler(0, SCHED_FIFO, &priority))
		bail_out("cannot raise the priority");
	while (watched) {
		uint64_t when = now_ns() + 100 * USEC, late;

		sleep_until(when);
		late = now_ns() - when;
		if (late > longest_wait)
			longest_wait = late;
	}
	return NULL;
}

static void measure(const char *what, void (*act)(int fd), int fd)
{
	uint64_t began;
	pthread_t thread;

	watched = true;
	longest_wait = 0;
	if (pthread_create(&thread, NULL, watch, NULL))
		bail_out("cannot create a thread");
	sleep_for(10 * MSEC);
	began = now_ns();
	act(fd);
	began = now_ns() - began;
	watched = false;
	pthread_join(thread, NULL);
	tap_result(longest_wait < WAIT_LIMIT,
		   "%s: another task waits %llu us at most, of %llu us", what,
		   (unsigned long long)longest_wait / 1000, (unsigned long long)began / 1000);
}

static struct twheel_add *crowd;
static uint64_t *crowd_id;
static struct twheel_modify *crowd_modify;
static struct twheel_event *crowd_event;

/* Otherwise missing pages would be brought in while tasks are measured. */
static void *crowd_memory(size_t size)
{
	void *memory = malloc(size * CROWD);

	if (!memory)
		bail_out("no memory for a million timers");
	return memset(memory, 1, size * CROWD);
}

/* A million timers, whose deadlines differ by up to @spread. */
static int crowded_wheel(uint64_t time_ns, uint64_t spread)
{
	int fd = open_wheel();
	unsigned int i, done = 0;
	int ret;

	for (i = 0; i < CROWD; i++)
		crowd[i] = (struct twheel_add) { .time_ns = time_ns + i * spread };
	while (done < CROWD) {
		ret = twheel_add_batch(fd, crowd + done, CROWD - done);
		if (ret < 0)
			bail_out("cannot add timers");
		done += ret;
	}
	for (i = 0; i < CROWD; i++) {
		crowd_id[i] = crowd[i].id;
		crowd_modify[i] = (struct twheel_modify) {
			.id = crowd[i].id,
			.time_ns = 2 * HOUR + i * USEC,
		};
	}
	return fd;
}

static void act_spin(int fd)
{
	uint64_t end = now_ns() + 200 * MSEC;

	(void)fd;
	while (now_ns() < end)
		;
}

/* Ten thousand files of another kind, each with its own memory. */
static void act_pipes(int fd)
{
	static int end[FDS];
	unsigned int i;

	(void)fd;
	for (i = 0; i < FDS; i += 2) {
		if (pipe2(end + i, O_CLOEXEC))
			bail_out("cannot open a pipe");
	}
	for (i = 0; i < FDS; i++)
		close(end[i]);
}

static void act_add(int fd)
{
	if (twheel_add_batch(fd, crowd, CROWD) != CROWD)
		bail_out("cannot add timers");
}

static void act_cancel(int fd)
{
	if (twheel_cancel_batch(fd, crowd_id, NULL, CROWD) != CROWD)
		bail_out("cannot cancel timers");
}

static void act_modify(int fd)
{
	if (twheel_modify_batch(fd, crowd_modify, NULL, CROWD) != CROWD)
		bail_out("cannot modify timers");
}

static void act_read(int fd)
{
	if (twheel_read(fd, crowd_event, CROWD) != CROWD)
		bail_out("cannot read the events");
}

/* A poll lets all of them expire, without a read. */
static void act_expire(int fd)
{
	uint64_t end = now_ns() + 3 * MINUTE;

	while (info_of(fd).expired < CROWD) {
		if (now_ns() > end)
			bail_out("the timers do not expire");
		sleep_for(MSEC);
	}
}

static void act_close(int fd)
{
	close(fd);
}

static void act_open_many(int fd)
{
	static int wheel[FDS];
	unsigned int i;

	(void)fd;
	for (i = 0; i < FDS; i++) {
		wheel[i] = open_wheel();
		add_timers(wheel[i], 1, HOUR, 0);
	}
	for (i = 0; i < FDS; i++)
		close(wheel[i]);
}

static void act_open_largest(int fd)
{
	struct twheel_setup setup = { .tick_ns = TWHEEL_TICK_MIN_NS,
				      .wheel_size = TWHEEL_SIZE_MAX,
				      .clock_id = CLOCK_MONOTONIC };
	int wheel[LARGEST];
	unsigned int i;

	(void)fd;
	for (i = 0; i < LARGEST; i++) {
		wheel[i] = open_wheel();
		if (twheel_set_up(wheel[i], &setup) ||
		    add_timers(wheel[i], 1, TWHEEL_TIME_MAX_NS, 0) != 1)
			bail_out("cannot add a timer to one of the largest wheels");
	}
	for (i = 0; i < LARGEST; i++)
		close(wheel[i]);
}

static void act_exit(int fd)
{
	pid_t pid = start_child();

	(void)fd;
	if (!pid) {
		unsigned int i;

		for (i = 0; i < FDS; i++)
			add_timers(open_wheel(), 100, HOUR, 0);
		_exit(0);
	}
	if (!child_ended_well(pid))
		bail_out("a process with many wheels did not end well");
}

/* As root, which has no limit: other users can do less. */
void test_cpu(void)
{
	struct rlimit files = { FDS + 100, FDS + 100 };
	int fd;

	setrlimit(RLIMIT_NOFILE, &files);
	keep_few_free_pages();
	crowd = crowd_memory(sizeof(*crowd));
	crowd_id = crowd_memory(sizeof(*crowd_id));
	crowd_modify = crowd_memory(sizeof(*crowd_modify));
	crowd_event = crowd_memory(sizeof(*crowd_event));
	measure("for comparison, a loop in user space", act_spin, -1);
	measure("for comparison, open and close five thousand pipes", act_pipes, -1);

	fd = crowded_wheel(HOUR, USEC);
	measure("modify a million timers", act_modify, fd); /* SECURITY: calls */
	measure("cancel a million timers", act_cancel, fd); /* SECURITY: calls */
	measure("add a million timers", act_add, fd); /* SECURITY: calls */
	measure("close a wheel with a million timers", act_close, fd); /* SECURITY: calls */

	fd = crowded_wheel(2 * SEC, 0);
	measure("a million timers expire at once", act_expire, fd); /* SECURITY: calls */
	measure("read a million events", act_read, fd); /* SECURITY: calls */
	close(fd);
	fd = crowded_wheel(2 * SEC, 6 * USEC);
	measure("a million timers cascade and expire", act_expire, fd); /* SECURITY: calls */
	measure("close a wheel with a million events", act_close, fd);

	measure("open and close ten thousand wheels", act_open_many, -1); /* SECURITY: calls */
	measure("open and close fifty of the largest", act_open_largest, -1);
	measure("exit with ten thousand wheels", act_exit, -1); /* SECURITY: calls */
}
