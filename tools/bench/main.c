// SPDX-License-Identifier: MIT
/*
 * twheel-bench - the same work for every facility that has timers
 *
 * Runs in the icount VM, where a nanosecond is an instruction, with the bench
 * module loaded; tools/bench/run starts it there. Prints a line for each result:
 *
 *	FACILITY OP PENDING BATCH VALUE UNIT [STOPPED]
 *
 * An operation may name another shape of wheel, and so do its results:
 *
 *	OP:BUCKETSxTICK[,DEADLINES]
 *
 * where TICK is in microseconds. STOPPED is the number of timers that were done when an
 * operation reached the limit: the value is the cost of those. The value "-" means that
 * the operation could not be done at all.
 */
#include <err.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench.h"
#include "chance.h"
#include "machine.h"

/* Long enough for background work of the kernel that a run has caused. */
#define SETTLE_NS	(2 * SEC)
/* The share of orders that are paid, so that their timers are cancelled. */
#define MIX_PERCENT	95

FACILITY(core, "core", NULL, NULL, .kernel = TWHEEL_BENCH_CORE);
FACILITY(hrtimer, "hrtimer", NULL, NULL, .kernel = TWHEEL_BENCH_HRTIMER);
FACILITY(timer_list, "timer_list", NULL, NULL, .kernel = TWHEEL_BENCH_TIMER_LIST);

struct work work;

/* The same timers in every run. */
static struct chance chance = { .state = 88172645463325252ULL };

static void shuffle(void)
{
	size_t i;

	for (i = work.pending; i-- > 1;) {
		size_t other = chance_below(&chance, i + 1);
		uint32_t tmp = work.order[i];

		work.order[i] = work.order[other];
		work.order[other] = tmp;
	}
}

static uint64_t delay(size_t i)
{
	switch (work.deadlines) {
	case DEADLINES_PAST:
		/* A time on the clock that has long passed: booting takes longer. */
		return chance_below(&chance, SEC);
	case DEADLINES_NEAR:
		return (1 + chance_below(&chance, BENCH_NEAR_TICKS)) * work.tick_ns;
	case DEADLINES_FALLING:
		return BENCH_SPAN_NS / work.pending * (work.pending - i);
	default:
		return chance_below(&chance, BENCH_SPAN_NS);
	}
}

static void plan(const struct operation *op)
{
	size_t i;

	work.timeout_ns = BENCH_SPAN_NS;
	work.clock = op->boottime ? CLOCK_BOOTTIME : CLOCK_MONOTONIC;
	work.rearm = op->rearm;
	work.delay_ns = bench_array(work.pending, sizeof(*work.delay_ns));
	work.order = bench_array(work.pending, sizeof(*work.order));
	for (i = 0; i < work.pending; i++) {
		work.delay_ns[i] = delay(i);
		work.order[i] = i;
	}
	shuffle();
}

static void run_cancel(void)
{
	struct cost cost;
	bool full = bench_fill("cancel", &cost);

	bench_report("add", cost);
	if (full)
		bench_report("cancel", bench_measure(BENCH_CANCEL, work.pending));
}

static void run_modify(void)
{
	struct cost cost;

	if (bench_fill("modify", &cost))
		bench_report("modify", bench_measure(BENCH_MODIFY, work.pending));
}

/* Deliver @n timers that are all due at once, but stop at the limit. */
static struct cost expire(size_t n)
{
	const struct facility *f = work.facility;
	struct cost cost = { };
	uint64_t began, sum = 0;

	if (f->loop) {
		sleep_for(BENCH_SPAN_NS);
		began = now_ns();
	} else {
		began = now_ns();
		kernel_jump(BENCH_SPAN_NS);
	}
	while (cost.done < n && cost.ns < work.limit_ns) {
		size_t target = n - cost.done < STRIDE ? n : cost.done + STRIDE;

		while (cost.done < target)
			cost.done += f->deliver(work.batch, true, &sum);
		cost.ns = now_ns() - began;
	}
	if (cost.done == work.pending && sum != cost.done * (cost.done - 1) / 2)
		errx(1, "%s: delivered %zu timers, but not the right ones",
		     f->name, cost.done);
	return cost;
}

static void run_expire(void)
{
	struct cost cost;

	if (bench_fill("expire", &cost))
		bench_report("expire", expire(work.pending));
}

static void run_mix(void)
{
	size_t paid = work.pending * MIX_PERCENT / 100;
	struct cost add, cancel, rest;

	if (!bench_fill("mix", &add))
		return;
	cancel = bench_measure(BENCH_CANCEL, paid);
	if (cancel.done < paid) {
		bench_report("mix", (struct cost){ });
		return;
	}
	rest = expire(work.pending - paid);
	add.ns += cancel.ns + rest.ns;
	bench_report("mix", add);
}

/* Arm and cancel each timer from @first on before the next one. */
static struct cost churn(uint32_t first)
{
	struct cost cost = { .done = work.pending - first };
	uint64_t began = now_ns();
	uint32_t i;

	if (work.facility->churn)
		work.facility->churn(first, cost.done);
	for (i = first; i < work.pending && !work.facility->churn; i++) {
		work.facility->add(i, 1);
		work.facility->cancel(&i, 1);
	}
	cost.ns = now_ns() - began;
	return cost;
}

/* In a wheel that is empty otherwise, and in one that holds half of the timers. */
static void run_churn(void)
{
	size_t half = work.pending / 2;
	struct cost empty = churn(half), full;

	bench_measure(BENCH_ADD, half);
	full = churn(half);
	bench_say("churn_empty", (double)empty.ns / empty.done, "insn");
	bench_say("churn_full", (double)full.ns / full.done, "insn");
}

OPERATION(op_cancel) = { "cancel", run_cancel, .kernel = TWHEEL_BENCH_CANCEL };
OPERATION(op_modify) = { "modify", run_modify, .kernel = TWHEEL_BENCH_MODIFY };
OPERATION(op_expire) = {
	"expire", run_expire, .kernel = TWHEEL_BENCH_EXPIRE, .boottime = true,
};

OPERATION(op_mix) = { "mix", run_mix, .boottime = true };
OPERATION(op_churn) = { "churn", run_churn, .boottime = true };

static void in_kernel(const struct operation *op)
{
	struct twheel_bench_run kernel = {
		.facility = work.facility->kernel,
		.op = op->kernel,
		.pending = work.pending,
		.span_ns = BENCH_SPAN_NS,
	};

	kernel_request(TWHEEL_BENCH_RUN, &kernel);
	if (op->run == run_cancel)
		bench_report("add", (struct cost){ kernel.add_ns, work.pending });
	bench_report(op->name, (struct cost){ kernel.op_ns, work.pending });
}

/* Run in a separate process, so that nothing is left for the next run; false if it failed. */
static bool in_child(const struct operation *op)
{
	int status;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (pid < 0)
		err(1, "fork");
	if (pid) {
		if (waitpid(pid, &status, 0) == pid && !status)
			return true;
		warnx("%s: %s of %zu timers failed", work.facility->name, op->name,
		      work.pending);
		return false;
	}
	plan(op);
	if (!op->opens)
		work.facility->open();
	/* Let khugepaged make large pages of the arrays before a cost is measured. */
	sleep_for(SETTLE_NS);
	op->run();
	exit(0);
}

static void raise_limit(int resource, rlim_t limit)
{
	struct rlimit rlimit = { .rlim_cur = limit, .rlim_max = limit };

	if (setrlimit(resource, &rlimit))
		err(1, "setrlimit");
}

static void raise_limits(void)
{
	static const char *const files[] = { "nr_open", "file-max", "epoll/max_user_watches" };
	char path[64];
	size_t i;

	for (i = 0; i < ARRAY_SIZE(files); i++) {
		snprintf(path, sizeof(path), "/proc/sys/fs/%s", files[i]);
		if (!write_line(path, "16777216"))
			err(1, "%s", path);
	}
	raise_limit(RLIMIT_NOFILE, 16777216);
	raise_limit(RLIMIT_SIGPENDING, RLIM_INFINITY);
	raise_limit(RLIMIT_MEMLOCK, RLIM_INFINITY);
}

/* The facilities, the operations and the names of deadlines: each begins with its name. */
static const void *by_name(const char *name, const void *first, const void *end, size_t size)
{
	const char *entry;

	for (entry = first; entry < (const char *)end; entry += size)
		if (!strcmp(*(const char *const *)entry, name))
			return entry;
	errx(2, "there is no '%s'", name);
}

/* Parse the shape after the operation's name: BUCKETSxTICK[,DEADLINES], or nothing. */
static void parse_shape(const char *shape)
{
	static const char *const names[] = {
		[DEADLINES_UNIFORM] = "",
		[DEADLINES_PERIODIC] = "periodic",
		[DEADLINES_PAST] = "past",
		[DEADLINES_NEAR] = "near",
		[DEADLINES_FALLING] = "falling",
		[DEADLINES_ABSOLUTE] = "absolute",
	};
	unsigned long tick_us = TWHEEL_TICK_DEFAULT_NS / 1000;
	unsigned int size = TWHEEL_SIZE_DEFAULT;
	const char *const *found;
	char deadlines[16] = "";

	if (shape && sscanf(shape, "%ux%lu,%15s", &size, &tick_us, deadlines) < 2)
		errx(2, "no shape is called %s", shape);
	found = by_name(deadlines, names, names + ARRAY_SIZE(names), sizeof(*names));
	work.shape = shape;
	work.wheel_size = size;
	work.tick_ns = 1000 * tick_us;
	work.deadlines = found - names;
}

int main(int argc, char **argv)
{
	bool ok = true;
	int i;

	if (argc == 1 || argc % 5 != 1)
		errx(2, "usage: twheel-bench {FACILITY OPERATION[:SHAPE] PENDING BATCH LIMIT}...");
	raise_limits();
	for (i = 1; i < argc; i += 5) {
		char *shape = argv[i + 1];
		const struct operation *op = by_name(strsep(&shape, ":"), __start_operations,
						     __stop_operations, sizeof(*op));

		work.facility = by_name(argv[i], __start_facilities, __stop_facilities,
					sizeof(*work.facility));
		work.pending = strtoul(argv[i + 2], NULL, 10);
		work.batch = strtoul(argv[i + 3], NULL, 10);
		work.limit_ns = strtoul(argv[i + 4], NULL, 10);
		parse_shape(shape);
		if (work.facility->kernel)
			in_kernel(op);
		else
			ok &= in_child(op);
		sleep_for(SETTLE_NS);
	}
	return !ok;
}
