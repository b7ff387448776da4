// SPDX-License-Identifier: MIT
/*
 * The wheel against a heap and std::multimap, in user space
 *
 * All do the same work in the same run: n timers are armed at random times over
 * the next 30 minutes; then either all are cancelled in random order, or the
 * clock moves on until all have expired. The facilities take turns, so that other work of
 * the machine affects all of them; each figure is the median of many such turns, in CPU
 * time.
 */
#include <err.h>
#include <linux/perf_event.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "chance.h"
#include "helpers.h"
#include "native.h"
#include "options.h"

#define SPAN_NS		1800000000000ULL
#define MAX_SIZES	16
#define MAX_TURNS	2000
/* About the minimum of a turn, and the total for a size. */
#define TURN_TIMERS	100000
#define SIZE_TIMERS	6000000
#define MIN_ROUNDS	1
#define MAX_ROUNDS	20
/* The memory of all facilities together, generously. */
#define BYTES_PER_TIMER	200

enum op {
	ADD,
	CANCEL,
	EXPIRE,
	NR_OPS,
};

static const char * const op_name[] = { "add", "cancel", "expire" };
static const char * const op_about[] = {
	"add: arm a timer at a random time over the next 30 minutes",
	"cancel, in random order",
	"expire: 30 minutes pass; all cascades, and looking at the timer, included",
};

static const struct facility * const facilities[] = {
	&bench_core, &bench_store, &bench_heap, &bench_multimap,
};

#define NR_FACILITIES ARRAY_SIZE(facilities)

/* The cost of one operation per timer. */
struct cost {
	double ns;
	double cycles;
};

struct samples {
	size_t count;
	struct cost cost[2 * MAX_TURNS];
};

struct options {
	uint32_t size[MAX_SIZES];
	size_t nr_sizes;
	bool skip[NR_FACILITIES];
	const char *json;
	uint64_t seed;
};

static struct options options = {
	.size = { 1000, 10000, 100000, 1000000, 10000000 },
	.nr_sizes = 5,
	.seed = 1,
};

static struct samples samples[NR_FACILITIES][NR_OPS];
static struct cost result[MAX_SIZES][NR_FACILITIES][NR_OPS];

/* Chance */

static struct chance chance;

static void random_delays(uint64_t *delay, uint32_t n)
{
	uint32_t i;

	for (i = 0; i < n; i++)
		delay[i] = 1 + chance_below(&chance, SPAN_NS);
}

static void random_order(uint32_t *order, uint32_t n)
{
	uint32_t i;

	for (i = 0; i < n; i++) {
		uint32_t j = chance_below(&chance, i + 1);

		order[i] = order[j];
		order[j] = i;
	}
}

/* Time */

static int cycles_fd = -1;

static void open_cycles(void)
{
	struct perf_event_attr attr = {
		.size = sizeof(attr),
		.type = PERF_TYPE_HARDWARE,
		.config = PERF_COUNT_HW_CPU_CYCLES,
		.exclude_kernel = 1,
		.exclude_hv = 1,
	};

	cycles_fd = syscall(SYS_perf_event_open, &attr, 0, -1, -1, 0UL);
}

static double cpu_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
	return ts.tv_sec * 1e9 + ts.tv_nsec;
}

/* The compiler must neither omit it nor merge two of them. */
static inline void chain_step(uint64_t *x, uint64_t *y)
{
	*x ^= *y;
	__asm__ volatile("" : "+r"(*x), "+r"(*y));
}

/*
 * Estimate cycles per nanosecond without a counter: in a chain of exclusive-ors each
 * takes a cycle.
 */
static double clock_rate(void)
{
	const unsigned int steps = 1 << 18;
	uint64_t x = 1, y = chance_next(&chance);
	double begin = cpu_ns();
	unsigned int i;

	for (i = 0; i < steps; i += 4) {
		chain_step(&x, &y);
		chain_step(&x, &y);
		chain_step(&x, &y);
		chain_step(&x, &y);
	}
	return steps / (cpu_ns() - begin);
}

struct stopwatch {
	double ns;
	uint64_t cycles;
};

static uint64_t read_cycles(void)
{
	uint64_t cycles = 0;

	if (cycles_fd >= 0 && read(cycles_fd, &cycles, sizeof(cycles)) != sizeof(cycles))
		err(1, "cannot read the cycle counter");
	return cycles;
}

static struct stopwatch start(void)
{
	return (struct stopwatch){ .cycles = read_cycles(), .ns = cpu_ns() };
}

static void stop(struct stopwatch begin, struct samples *s, uint32_t n, double rate)
{
	double ns = cpu_ns() - begin.ns;
	double cycles = ns * rate;

	if (cycles_fd >= 0)
		cycles = read_cycles() - begin.cycles;

	s->cost[s->count++] = (struct cost){ ns / n, cycles / n };
}

/* Work */

static void must_have_expired(const struct facility *f, const struct outcome *o, uint32_t n)
{
	uint64_t sum = (uint64_t)n * (n - 1) / 2;

	if (o->count == n && o->sum == sum && !o->wrong)
		return;
	errx(1, "%s: of %u timers %llu expired, %llu at the wrong time", f->name, n,
	     (unsigned long long)o->count, (unsigned long long)o->wrong);
}

static void turn(size_t nr, uint32_t n, const uint64_t *delay, const uint32_t *order, double rate)
{
	const struct facility *f = facilities[nr];
	struct samples *s = samples[nr];
	struct outcome outcome = {};
	struct stopwatch begin;
	void *self;

	self = f->create(n);
	begin = start();
	f->add(self, delay, n);
	stop(begin, &s[ADD], n, rate);
	begin = start();
	f->cancel(self, order, n);
	stop(begin, &s[CANCEL], n, rate);
	f->destroy(self);

	self = f->create(n);
	begin = start();
	f->add(self, delay, n);
	stop(begin, &s[ADD], n, rate);
	begin = start();
	f->expire(self, &outcome);
	stop(begin, &s[EXPIRE], n, rate);
	f->destroy(self);
	must_have_expired(f, &outcome, n);
}

static void progress(uint32_t n, unsigned int round, unsigned int rounds, const char *name)
{
	static time_t began;

	if (!began)
		began = time(NULL);
	fprintf(stderr, "%s[%3ld s] %u timers, round %u of %u: %-12s%s",
		isatty(2) ? "\r" : "", (long)(time(NULL) - began), n, round, rounds,
		name, isatty(2) ? "" : "\n");
}

static int by_ns(const void *a, const void *b)
{
	double x = ((const struct cost *)a)->ns, y = ((const struct cost *)b)->ns;

	return (x > y) - (x < y);
}

static struct cost median(struct samples *s)
{
	qsort(s->cost, s->count, sizeof(s->cost[0]), by_ns);
	return s->cost[s->count / 2];
}

static unsigned int rounds_of(uint32_t n, unsigned int turns)
{
	unsigned int rounds = SIZE_TIMERS / (n * turns);

	if (rounds < MIN_ROUNDS)
		return MIN_ROUNDS;
	return rounds > MAX_ROUNDS ? MAX_ROUNDS : rounds;
}

static void measure(uint32_t n, struct cost (*into)[NR_OPS])
{
	unsigned int turns = n < TURN_TIMERS ? TURN_TIMERS / n : 1;
	unsigned int rounds, round, i;
	uint64_t *delay = bench_alloc(n * sizeof(*delay));
	uint32_t *order = bench_alloc(n * sizeof(*order));
	size_t nr, op;

	if (turns > MAX_TURNS / MAX_ROUNDS)
		turns = MAX_TURNS / MAX_ROUNDS;
	rounds = rounds_of(n, turns);
	memset(samples, 0, sizeof(samples));
	random_order(order, n);
	for (round = 1; round <= rounds; round++) {
		random_delays(delay, n);
		for (nr = 0; nr < NR_FACILITIES; nr++) {
			double rate = clock_rate();

			if (options.skip[nr])
				continue;
			if (isatty(2) || round == 1)
				progress(n, round, rounds, facilities[nr]->name);
			for (i = 0; i < turns; i++)
				turn(nr, n, delay, order, rate);
		}
	}
	for (nr = 0; nr < NR_FACILITIES; nr++)
		for (op = 0; op < NR_OPS && !options.skip[nr]; op++)
			into[nr][op] = median(&samples[nr][op]);
	bench_free(delay, n * sizeof(*delay));
	bench_free(order, n * sizeof(*order));
}

/* Results */

static void print_table(enum op op)
{
	size_t i, nr;

	printf("\n%s\n%12s", op_about[op], "pending");
	for (nr = 0; nr < NR_FACILITIES; nr++)
		if (!options.skip[nr])
			printf("%16s", facilities[nr]->name);
	printf("\n");
	for (i = 0; i < options.nr_sizes; i++) {
		printf("%12u", options.size[i]);
		for (nr = 0; nr < NR_FACILITIES; nr++) {
			struct cost c = result[i][nr][op];

			if (!options.skip[nr])
				printf("%8.1f%8.0f", c.ns, c.cycles);
		}
		printf("\n");
	}
}

static void print_results(void)
{
	enum op op;
	size_t nr;

	printf("\nPer timer: nanoseconds, and cycles of the core's clock, %s.\n",
	       cycles_fd >= 0 ? "counted" :
	       "estimated (no counter here):\nits rate is measured with a chain of dependent instructions");
	for (nr = 0; nr < NR_FACILITIES; nr++)
		if (!options.skip[nr])
			printf("  %-12s%s\n", facilities[nr]->name, facilities[nr]->about);
	for (op = 0; op < NR_OPS; op++)
		print_table(op);
}

/* A goal: an operation and its limit in nanoseconds. */
static void print_goal(double ns, double goal, const char *than)
{
	printf("  %s %.1f, %s %.1f", ns < goal ? "yes" : "NO ", ns, than, goal);
}

static double cost_of(size_t i, size_t nr, enum op first, enum op last)
{
	double ns = result[i][nr][first].ns;

	return first == last ? ns : ns + result[i][nr][last].ns;
}

/* The wheel ahead of the others: in each operation, and in a timer's whole life. */
static void print_ahead(const char *what, enum op first, enum op last)
{
	size_t i, nr;

	for (i = 0; i < options.nr_sizes; i++) {
		if (options.size[i] < 10000)
			continue;
		printf("%-16s%10u", what, options.size[i]);
		for (nr = 2; nr < NR_FACILITIES; nr++)
			print_goal(cost_of(i, 0, first, last), cost_of(i, nr, first, last),
				   facilities[nr]->name);
		printf("\n");
	}
}

static void print_goals(void)
{
	static const double goal[NR_OPS] = { 20, 60, 150 };
	size_t i, nr;
	enum op op;

	for (nr = 0; nr < NR_FACILITIES; nr++)
		if (options.skip[nr])
			return;
	printf("\nHas the core reached, in nanoseconds:\n");
	for (i = 0; i < options.nr_sizes; i++)
		for (op = 0; op < NR_OPS && options.size[i] == 1000000; op++) {
			printf("%-16s%10u", op_name[op], options.size[i]);
			print_goal(result[i][0][op].ns, goal[op], "goal");
			printf("\n");
		}
	printf("\nIs the core ahead, in nanoseconds:\n");
	for (op = 0; op < NR_OPS; op++)
		print_ahead(op_name[op], op, op);
	print_ahead("add and cancel", ADD, CANCEL);
	print_ahead("add and expire", ADD, EXPIRE);
}

static void write_figure(FILE *f, size_t i, size_t nr, enum op op, double value, const char *unit)
{
	static bool follows;

	fprintf(f, "%s\n{\"facility\": \"%s\", \"op\": \"%s\", \"pending\": %u, ",
		follows ? "," : "", facilities[nr]->name, op_name[op], options.size[i]);
	fprintf(f, "\"batch\": 1, \"value\": %.2f, \"unit\": \"%s\"}", value, unit);
	follows = true;
}

static void write_json(const char *name)
{
	FILE *f = fopen(name, "w");
	size_t i, nr, op;

	if (!f)
		err(1, "cannot write %s", name);
	fprintf(f, "[");
	for (i = 0; i < options.nr_sizes; i++)
		for (nr = 0; nr < NR_FACILITIES; nr++)
			for (op = 0; op < NR_OPS && !options.skip[nr]; op++) {
				struct cost c = result[i][nr][op];

				write_figure(f, i, nr, op, c.ns, "ns");
				write_figure(f, i, nr, op, c.cycles, "cycles");
			}
	fprintf(f, "\n]\n");
	if (fclose(f))
		err(1, "cannot write %s", name);
}

/* Options */

static uint64_t parse_number(const char *text, char **end, uint64_t max)
{
	uint64_t n = strtoull(text, end, 10);

	if (*end == text || !n || n > max)
		errx(2, "%s: not a number from 1 to %llu", text, (unsigned long long)max);
	return n;
}

static void parse_sizes(const char *text)
{
	char *end;

	for (options.nr_sizes = 0; ; text = end + 1) {
		if (options.nr_sizes == MAX_SIZES)
			errx(2, "more than %d numbers of timers", MAX_SIZES);
		options.size[options.nr_sizes++] = parse_number(text, &end, 100000000);
		if (!*end)
			return;
		if (*end != ',')
			errx(2, "%s: separate numbers by commas", text);
	}
}

static void parse_facilities(const char *text)
{
	size_t nr, length;

	for (nr = 0; nr < NR_FACILITIES; nr++)
		options.skip[nr] = true;
	for (;; text += length + 1) {
		length = strcspn(text, ",");
		for (nr = 0; nr < NR_FACILITIES; nr++)
			if (strlen(facilities[nr]->name) == length &&
			    !strncmp(facilities[nr]->name, text, length))
				break;
		if (nr == NR_FACILITIES)
			errx(2, "%s: no such facility; there are core, core+store, heap, multimap",
			     text);
		options.skip[nr] = false;
		if (!text[length])
			return;
	}
}

/* Skip sizes for which there is not enough memory, and print that. */
static void drop_large_sizes(void)
{
	uint64_t bytes = (uint64_t)sysconf(_SC_AVPHYS_PAGES) * sysconf(_SC_PAGESIZE);
	size_t i, kept = 0;

	for (i = 0; i < options.nr_sizes; i++) {
		if (options.size[i] <= bytes / BYTES_PER_TIMER)
			options.size[kept++] = options.size[i];
		else
			fprintf(stderr, "not enough memory for %u timers: left out\n",
				options.size[i]);
	}
	options.nr_sizes = kept;
}

int main(int argc, char **argv)
{
	const char *names = NULL, *sizes = NULL;
	const struct program_option list[] = {
		{ "facility", "NAME,...", "core, core+store, heap, multimap; all by default",
		  .text = &names },
		{ "pending", "N,...", "numbers of timers; 1000,10000,...,10000000 by default",
		  .text = &sizes },
		{ "json", "FILE", "also write the figures to FILE", .text = &options.json },
		{ "seed", "N", "of the random times and order; 1 by default",
		  .number = &options.seed, .max = UINT64_MAX },
		{ }
	};
	size_t i;

	words_or_exit(argc, argv, &(const struct command_line) {
		"Usage: bench-native [OPTIONS]\n"
		"Compares the core of the wheel with a binary heap and std::multimap, in time.\n",
		.options = list,
	});
	if (names)
		parse_facilities(names);
	if (sizes)
		parse_sizes(sizes);
	chance_init(&chance, options.seed, 0);
	open_cycles();
	drop_large_sizes();
	for (i = 0; i < options.nr_sizes; i++)
		measure(options.size[i], result[i]);
	if (isatty(2))
		fprintf(stderr, "\r%79s\r", "");
	print_results();
	print_goals();
	if (options.json)
		write_json(options.json);
	return 0;
}
