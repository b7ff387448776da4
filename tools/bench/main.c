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
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench.h"
#include "chance.h"
#include "kernel.h"

/* Long enough for background work of the kernel that a run has caused. */
#define SETTLE_NS	(2 * SEC)
/* The share of orders that are paid, so that their timers are cancelled. */
#define MIX_PERCENT	95

static const struct facility *const facilities[] = {
	&twheel_facility,
	&twheel_epoll_facility,
	&twheel_ring_facility,
	&twheel_uring_facility,
	&twheel_uring_quiet_facility,
	&twheel_uring_batch_facility,
	&libtwheel_facility,
	&libtwheel_user_facility,
	&libtwheel_woken_facility,
	&timerfd_facility,
	&posix_facility,
	&io_uring_facility,
	&libevent_facility,
	&libev_facility,
	&(const struct facility){ .name = "core", .kernel = TWHEEL_BENCH_CORE },
	&(const struct facility){ .name = "hrtimer", .kernel = TWHEEL_BENCH_HRTIMER },
	&(const struct facility){ .name = "timer_list", .kernel = TWHEEL_BENCH_TIMER_LIST },
};

/* The same timers in every run. */
static struct chance chance = { .state = 88172645463325252ULL };

static void shuffle(struct work *work)
{
	size_t i;

	for (i = work->pending; i-- > 1;) {
		size_t other = chance_below(&chance, i + 1);
		uint32_t tmp = work->order[i];

		work->order[i] = work->order[other];
		work->order[other] = tmp;
	}
}

static uint64_t delay(const struct work *work, size_t i)
{
	switch (work->shape->deadlines) {
	case DEADLINES_PAST:
		/* A time on the clock that has long passed: booting takes longer. */
		return chance_below(&chance, SEC);
	case DEADLINES_NEAR:
		return (1 + chance_below(&chance, BENCH_NEAR_TICKS)) * work->shape->tick_ns;
	case DEADLINES_FALLING:
		return BENCH_SPAN_NS / work->pending * (work->pending - i);
	default:
		return chance_below(&chance, BENCH_SPAN_NS);
	}
}

static void plan(struct work *work, const struct run *run)
{
	size_t i;

	*work = (struct work){
		.shape = &run->shape,
		.pending = run->pending,
		.batch = run->batch,
		.timeout_ns = BENCH_SPAN_NS,
		.clock = CLOCK_BOOTTIME,
	};
	work->delay_ns = bench_array(run->pending, sizeof(*work->delay_ns));
	work->order = bench_array(run->pending, sizeof(*work->order));
	for (i = 0; i < run->pending; i++) {
		work->delay_ns[i] = delay(work, i);
		work->order[i] = i;
	}
	shuffle(work);
}

static void report(const struct run *run, const char *op, struct cost cost)
{
	bench_say(run, op, cost.done ? (double)cost.ns / cost.done : 0, "insn", cost.done);
}

static void run_cancel(const struct run *run, struct work *work)
{
	struct cost cost = bench_measure(run, work, BENCH_ADD, work->pending);

	report(run, "add", cost);
	if (cost.done < work->pending)
		bench_say(run, "cancel", 0, "insn", 0);
	else
		report(run, "cancel", bench_measure(run, work, BENCH_CANCEL, work->pending));
}

static void run_modify(const struct run *run, struct work *work)
{
	struct cost cost;

	if (bench_fill(run, work, "modify", &cost))
		report(run, "modify", bench_measure(run, work, BENCH_MODIFY, work->pending));
}

static void run_expire(const struct run *run, struct work *work)
{
	struct cost cost;

	if (bench_fill(run, work, "expire", &cost))
		report(run, "expire", bench_expire(run, work, work->pending));
}

static void run_mix(const struct run *run, struct work *work)
{
	size_t paid = work->pending * MIX_PERCENT / 100;
	struct cost add, cancel, rest;

	if (!bench_fill(run, work, "mix", &add))
		return;
	cancel = bench_measure(run, work, BENCH_CANCEL, paid);
	if (cancel.done < paid) {
		bench_say(run, "mix", 0, "insn", 0);
		return;
	}
	rest = bench_expire(run, work, work->pending - paid);
	add.ns += cancel.ns + rest.ns;
	report(run, "mix", add);
}

/* Arm and cancel each timer from @first on before the next one. */
static struct cost churn(const struct run *run, const struct work *work, uint32_t first)
{
	struct cost cost = { .done = work->pending - first };
	uint64_t began = now_ns();
	uint32_t i;

	if (run->facility->churn)
		run->facility->churn(first, cost.done);
	for (i = first; i < work->pending && !run->facility->churn; i++) {
		run->facility->add(i, 1);
		run->facility->cancel(&i, 1);
	}
	cost.ns = now_ns() - began;
	return cost;
}

/* In a wheel that is empty otherwise, and in one that holds half of the timers. */
static void run_churn(const struct run *run, struct work *work)
{
	size_t half = work->pending / 2;
	struct cost empty = churn(run, work, half), full;

	bench_measure(run, work, BENCH_ADD, half);
	full = churn(run, work, half);
	bench_say(run, "churn_empty", (double)empty.ns / empty.done, "insn", run->pending);
	bench_say(run, "churn_full", (double)full.ns / full.done, "insn", run->pending);
}

/*
 * The operations. Inside the kernel they are one call, with arguments for how many to
 * cancel and whether to modify.
 */
static const struct op_entry {
	const char *name;
	void (*run)(const struct run *run, struct work *work);
	uint32_t cancel_percent;
	bool modify;
	bool opens;
	bool rearm;
} ops[] = {
	{ "cancel", run_cancel, .cancel_percent = 100 },
	{ "modify", run_modify, .cancel_percent = 100, .modify = true },
	{ "expire", run_expire, .cancel_percent = 0 },
	{ "mix", run_mix, .cancel_percent = MIX_PERCENT },
	{ "churn", run_churn, .cancel_percent = 0 },
	{ "bytes", bench_bytes, .opens = true },
	{ "live", bench_live, .opens = true },
	{ "rearm", bench_live, .opens = true, .rearm = true },
	{ "tail", bench_tail, .opens = true, .rearm = true },
	{ "lateness", bench_lateness, .opens = true },
	{ "lateness_cancel", bench_lateness_cancel, .opens = true },
	{ "fires", bench_fires, .opens = true },
	{ "lock_hold", bench_lock_hold, .opens = true },
	{ "wakeups", bench_wakeups, .opens = true },
	{ "threads", bench_threads, .opens = true },
	{ "null", bench_null, .opens = true },
	{ "idle", bench_idle, .opens = true },
	{ "list", bench_list, .opens = true },
	{ "shared", bench_shared, .opens = true },
};

static void in_kernel(const struct run *run, const struct op_entry *op)
{
	struct twheel_bench_run k = {
		.facility = run->facility->kernel,
		.pending = run->pending,
		.span_ns = BENCH_SPAN_NS,
		.seed = 1,
		.cancel_percent = op->cancel_percent,
		.modify = op->modify,
	};
	struct cost cost = { .done = run->pending };

	kernel_request(TWHEEL_BENCH_RUN, &k);
	if (op->run == run_cancel) {
		cost.ns = k.add_ns;
		report(run, "add", cost);
		cost.ns = k.cancel_ns;
	} else if (op->run == run_modify) {
		cost.ns = k.modify_ns;
	} else if (op->run == run_expire) {
		cost.ns = k.expire_ns;
	} else {
		cost.ns = k.add_ns + k.cancel_ns + k.expire_ns;
	}
	report(run, op->name, cost);
}

/* Run in a separate process, so that nothing is left for the next run; false if it failed. */
static bool in_child(const struct run *run, const struct op_entry *op)
{
	struct work work;
	int status;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (pid < 0)
		err(1, "fork");
	if (pid) {
		if (waitpid(pid, &status, 0) == pid && !status)
			return true;
		warnx("%s: %s of %zu timers failed", run->facility->name, op->name,
		      run->pending);
		return false;
	}
	plan(&work, run);
	work.rearm = op->rearm;
	/* If nothing has to expire, use the clock that most programs use. */
	if (op->run == run_cancel || op->run == run_modify)
		work.clock = CLOCK_MONOTONIC;
	if (!op->opens)
		run->facility->open(&work);
	/* Let khugepaged make large pages of the arrays before a cost is measured. */
	sleep_for(SETTLE_NS);
	op->run(run, &work);
	exit(0);
}

static void raise_limit(int resource, rlim_t limit)
{
	struct rlimit rlimit = { .rlim_cur = limit, .rlim_max = limit };

	if (setrlimit(resource, &rlimit))
		err(1, "setrlimit");
}

static void write_file(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY);

	if (fd < 0 || write(fd, text, strlen(text)) < 0)
		err(1, "%s", path);
	close(fd);
}

static void raise_limits(void)
{
	write_file("/proc/sys/fs/nr_open", "16777216");
	write_file("/proc/sys/fs/file-max", "16777216");
	write_file("/proc/sys/fs/epoll/max_user_watches", "16777216");
	raise_limit(RLIMIT_NOFILE, 16777216);
	raise_limit(RLIMIT_SIGPENDING, RLIM_INFINITY);
	raise_limit(RLIMIT_MEMLOCK, RLIM_INFINITY);
}

static const struct facility *facility_by_name(const char *name)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(facilities); i++)
		if (!strcmp(facilities[i]->name, name))
			return facilities[i];
	errx(2, "no facility %s", name);
}

static const struct op_entry *op_by_name(const char *name)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(ops); i++)
		if (!strcmp(ops[i].name, name))
			return &ops[i];
	errx(2, "no operation %s", name);
}

static enum deadlines deadlines_by_name(const char *name)
{
	static const char *const names[] = {
		[DEADLINES_UNIFORM] = "",
		[DEADLINES_PERIODIC] = "periodic",
		[DEADLINES_PAST] = "past",
		[DEADLINES_NEAR] = "near",
		[DEADLINES_FALLING] = "falling",
		[DEADLINES_ABSOLUTE] = "absolute",
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(names); i++)
		if (!strcmp(names[i], name))
			return i;
	errx(2, "no deadlines are called %s", name);
}

/* Parse the shape after the operation's name: BUCKETSxTICK[,DEADLINES], or nothing. */
static struct shape shape_by_name(const char *name)
{
	unsigned long tick_us = TWHEEL_TICK_DEFAULT_NS / 1000;
	unsigned int size = TWHEEL_SIZE_DEFAULT;
	char deadlines[16] = "";

	if (name && sscanf(name, "%ux%lu,%15s", &size, &tick_us, deadlines) < 2)
		errx(2, "no shape is called %s", name);
	return (struct shape){
		.name = name,
		.wheel_size = size,
		.tick_ns = 1000 * tick_us,
		.deadlines = deadlines_by_name(deadlines),
	};
}

static void usage(void)
{
	printf("Usage: twheel-bench {FACILITY OPERATION[:SHAPE] PENDING BATCH LIMIT}...\n\n"
	       "Measures OPERATION with PENDING timers, BATCH in a call, and stops it\n"
	       "after LIMIT nanoseconds. For the icount VM: see tools/bench/run --help.\n");
}

int main(int argc, char **argv)
{
	bool ok = true;
	int i;

	if (argc == 1 || argc % 5 != 1) {
		usage();
		return argc == 2 && !strcmp(argv[1], "--help") ? 0 : 2;
	}
	raise_limits();
	for (i = 1; i < argc; i += 5) {
		char *shape = argv[i + 1];
		char *op = strsep(&shape, ":");
		struct run run = {
			.facility = facility_by_name(argv[i]),
			.shape = shape_by_name(shape),
			.pending = strtoul(argv[i + 2], NULL, 10),
			.batch = strtoul(argv[i + 3], NULL, 10),
			.limit_ns = strtoul(argv[i + 4], NULL, 10),
		};

		if (run.facility->kernel == NOT_IN_KERNEL)
			ok &= in_child(&run, op_by_name(op));
		else
			in_kernel(&run, op_by_name(op));
		sleep_for(SETTLE_NS);
	}
	return !ok;
}
