// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * bench-native - the core of the wheel in user space, in nanoseconds
 *
 *	bench-native [PENDING...]
 *
 * Timers are armed at random times over the next 30 minutes; then either all are cancelled in
 * random order, or the clock moves from tick to tick until all have expired. Each figure is the
 * least of several rounds, in CPU time. Memory is populated before, and in huge pages, as the
 * kernel maps its own.
 */
#include <err.h>
#include <linux/gfp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "chance.h"
#include "twheel.h"

#define TICK_NS		1000000ULL
#define SPAN_NS		(1800000 * TICK_NS)
#define START_NS	86412345678901ULL
#define WHEEL_SIZE	256
#define LEVELS		4
/* Steps at a time, as in the driver. */
#define BUDGET		64
#define HUGE_PAGE	(2UL << 20)
/* Rounds of a number of timers: as many as have this many timers together, and three. */
#define ALL_TIMERS	3000000
#define MAX_PENDING	100000000

/* As large as a timer of the driver. */
struct entry {
	struct twheel_timer timer;
	u64 data;
	u64 interval;
};

static u32 n;
static struct twheel wheel;
static struct entry *entries;
static u64 *delay;
static u32 *order;
static struct chance chance;

static void *new_memory(size_t size)
{
	size_t length = (n * size + HUGE_PAGE - 1) & ~(HUGE_PAGE - 1);
	void *p = aligned_alloc(HUGE_PAGE, length);

	if (!p)
		err(1, "%zu bytes of memory", length);
	/* It may fail. */
	madvise(p, length, MADV_HUGEPAGE);
	return memset(p, 0, length);
}

static double cpu_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
	return ts.tv_sec * 1e9 + ts.tv_nsec;
}

static void new_wheel(void)
{
	u8 nr;

	twheel_init(&wheel, TICK_NS, WHEEL_SIZE, START_NS / TICK_NS);
	for (nr = 0; nr < LEVELS; nr++) {
		struct twheel_level *level = twheel_level_alloc(&wheel, nr, GFP_KERNEL);

		if (!level)
			err(1, "a level");
		twheel_level_install(&wheel, level);
	}
}

static void add_all(void)
{
	u32 i;

	for (i = 0; i < n; i++) {
		struct entry *entry = &entries[i];

		entry->timer.deadline = START_NS + delay[i];
		entry->data = i;
		entry->interval = 0;
		if (!twheel_add(&wheel, &entry->timer))
			errx(1, "the wheel has too few levels");
	}
}

static void cancel_all(void)
{
	u32 i;

	for (i = 0; i < n; i++)
		twheel_cancel(&wheel, &entries[order[i]].timer);
	if (wheel.nr_pending)
		errx(1, "timers are left after cancelling all");
}

/* Move from tick to tick, and look at each timer as the reader of its event would. */
static void expire_all(void)
{
	u64 count = 0, sum = 0, wrong = 0, tick;
	struct twheel_timer *timer;

	while (twheel_next(&wheel, &tick)) {
		while (twheel_advance(&wheel, tick, BUDGET))
			;
		twheel_advance(&wheel, tick, 0);
		while ((timer = twheel_pop(&wheel))) {
			wrong += twheel_tick(&wheel, timer->deadline) != tick;
			sum += container_of(timer, struct entry, timer)->data;
			count++;
		}
	}
	if (count != n || sum != (u64)n * (n - 1) / 2 || wrong)
		errx(1, "of %u timers %llu expired, %llu at the wrong time", n,
		     (unsigned long long)count, (unsigned long long)wrong);
}

/* Time @work, and keep the least time. */
static void measure(double *least, void (*work)(void))
{
	double begin = cpu_ns(), ns;

	work();
	ns = cpu_ns() - begin;
	if (!*least || ns < *least)
		*least = ns;
}

static void bench(void)
{
	double add = 0, cancel = 0, expire = 0;
	unsigned int round;
	u32 i;

	entries = new_memory(sizeof(*entries));
	delay = new_memory(sizeof(*delay));
	order = new_memory(sizeof(*order));
	for (i = 0; i < n; i++) {
		u32 other = chance_below(&chance, i + 1);

		order[i] = order[other];
		order[other] = i;
	}
	for (round = 0; round < 3 + ALL_TIMERS / n; round++) {
		for (i = 0; i < n; i++)
			delay[i] = 1 + chance_below(&chance, SPAN_NS);
		new_wheel();
		measure(&add, add_all);
		measure(&cancel, cancel_all);
		twheel_destroy(&wheel);
		new_wheel();
		measure(&add, add_all);
		measure(&expire, expire_all);
		twheel_destroy(&wheel);
	}
	printf("%12u%10.1f%10.1f%10.1f\n", n, add / n, cancel / n, expire / n);
	fflush(stdout);
	free(order);
	free(delay);
	free(entries);
}

int main(int argc, char **argv)
{
	static const char *const usual[] = {
		"1000", "10000", "100000", "1000000", "10000000", NULL
	};
	const char *const *size;
	char *end;

	chance_init(&chance, 1, 0);
	printf("The core: nanoseconds for each timer\n");
	printf("%12s%10s%10s%10s\n", "pending", "add", "cancel", "expire");
	for (size = argc > 1 ? (const char *const *)argv + 1 : usual; *size; size++) {
		unsigned long number = strtoul(*size, &end, 10);

		if (*end || !number || number > MAX_PENDING)
			errx(2, "%s is not a number of timers", *size);
		n = number;
		bench();
	}
	return 0;
}
