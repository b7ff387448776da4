// SPDX-License-Identifier: GPL-2.0-only
/*
 * All short sequences of operations: a bounded model check of the core
 *
 * Runs all sequences of a few operations from a small alphabet, and compares the wheel with
 * the model, and its structure with itself, after each of them. The wheels are tiny, and so
 * are the core's thresholds (SMALL_FLAGS in tools/Makefile): two timers are sorted by
 * insertion; three are a crowd, or sorted by digits of one bit.
 *
 * The sequences are a tree. A state is the wheel, its levels and the model; it is copied
 * before an operation, and copied back when all continuations have been tried. A state
 * that has been seen before, with as many operations left, is not tried again.
 */
#include <linux/bits.h>
#include <linux/kernel.h>
#include <linux/slab.h>
#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include "kunit/model.h"
#include "options.h"
#include "kunit/structure.h"

#define MAX_DEPTH	12
#define LEVELS		6
#define FAR		64
/* States that are remembered. */
#define SEEN_BITS	22

/**
 * struct state - all that an operation can change, except the levels
 * @model: the wheel and its model.
 * @slot: the timers; an idle one is all zero.
 * @last: the tick of the timer that was added last.
 */
struct state {
	struct model model;
	struct slot slot[MAX_DEPTH];
	u64 last;
};

/* A copy of a state, followed by its levels. */
static char *copies[MAX_DEPTH];
static struct state state;
static size_t level_bytes[LEVELS];
static u32 *buckets_seen[TWHEEL_MAX_LEVELS];

static struct {
	u64 hash;
	u64 left;
} *seen;

static unsigned int path[MAX_DEPTH];
static unsigned int depth, at;
static unsigned int budget;
static u64 sequences, operations;

static void add(u64 tick)
{
	struct slot *s = state.slot;

	while (s->timer.state != MODEL_IDLE)
		s++;
	s->level = U8_MAX;
	state.last = tick;
	model_add(&state.model, &s->timer, tick);
}

static void leave(struct model_timer *t)
{
	memset(slot_of(t), 0, sizeof(struct slot));
}

static void cancel(struct model_timer *t)
{
	model_cancel(&state.model, t);
	leave(t);
}

static bool add_near(void)
{
	add(state.model.wheel.now + 2);
	return true;
}

static bool add_far(void)
{
	add(state.model.wheel.now + 5 * state.model.size);
	return true;
}

static bool add_to_the_same_tick(void)
{
	if (state.last)
		add(state.last);
	return state.last;
}

static bool cancel_first(void)
{
	struct model_timer *first = model_first(&state.model);

	if (first)
		cancel(first);
	return first;
}

static struct model_timer *last_timer(void)
{
	struct model_timer *t, *last = NULL;

	for (t = model_first(&state.model); t; t = model_next(t))
		last = t;
	return last;
}

static bool cancel_last(void)
{
	struct model_timer *last = last_timer();

	if (last)
		cancel(last);
	return last;
}

/* The last timer moves between near and far ones. */
static bool modify(void)
{
	struct model_timer *last = last_timer();

	if (!last)
		return false;
	cancel(last);
	add(state.model.wheel.now + 2 * state.model.size + 1);
	return true;
}

static bool advance_by_1(void)
{
	model_advance(&state.model, max(state.model.now, state.model.wheel.now + 1), budget);
	return true;
}

static bool advance_by_a_lot(void)
{
	model_advance(&state.model, state.model.wheel.now + FAR, budget);
	return true;
}

static bool pop(void)
{
	struct model_timer *t = model_pop(&state.model);

	if (t)
		leave(t);
	return t;
}

static const struct {
	const char *name;
	/* Returns false if there was nothing to do. */
	bool (*run)(void);
} operation[] = {
	{ "add near", add_near },
	{ "add far", add_far },
	{ "add to the same tick", add_to_the_same_tick },
	{ "cancel first", cancel_first },
	{ "cancel last", cancel_last },
	{ "modify", modify },
	{ "advance by 1", advance_by_1 },
	{ "advance by a lot", advance_by_a_lot },
	{ "pop", pop },
};

static void wrong(const struct model *m, const char *file, int line, const char *what)
{
	unsigned int i;

	fprintf(stderr, "%s:%d: not so: %s\nsize %u, budget %u:", file, line, what, m->size,
		budget);
	for (i = 0; i <= at; i++)
		fprintf(stderr, "%s %s", i ? "," : "", operation[path[i]].name);
	fputc('\n', stderr);
	abort();
}

static void save(char *copy)
{
	unsigned int i;

	memcpy(copy, &state, sizeof(state));
	copy += sizeof(state);
	for (i = 0; i < LEVELS; copy += level_bytes[i++])
		memcpy(copy, state.model.wheel.level[i], level_bytes[i]);
}

static void restore(const char *copy)
{
	unsigned int i;

	memcpy(&state, copy, sizeof(state));
	copy += sizeof(state);
	for (i = 0; i < LEVELS; copy += level_bytes[i++])
		memcpy(state.model.wheel.level[i], copy, level_bytes[i]);
}

static u64 hash(const char *copy, size_t bytes)
{
	u64 hash = bytes, word;

	for (; bytes >= sizeof(word); bytes -= sizeof(word), copy += sizeof(word)) {
		memcpy(&word, copy, sizeof(word));
		hash = (hash ^ word) * 0x9e3779b97f4a7c15ULL;
		hash ^= hash >> 32;
	}
	return hash;
}

static size_t copy_bytes(void)
{
	size_t bytes = sizeof(state);
	unsigned int i;

	for (i = 0; i < LEVELS; i++)
		bytes += level_bytes[i];
	return bytes;
}

/* Return whether all continuations of this state have been tried; otherwise they are now. */
static bool is_known(const char *copy, unsigned int left)
{
	u64 h = hash(copy, copy_bytes());
	u64 place = h >> (64 - SEEN_BITS);

	if (seen[place].hash == h && seen[place].left >= left)
		return true;
	seen[place].hash = h;
	seen[place].left = left;
	return false;
}

static void try_all(void)
{
	char *copy = copies[at];
	unsigned int i;

	save(copy);
	if (is_known(copy, depth - at))
		return;
	for (i = 0; i < ARRAY_SIZE(operation); i++) {
		path[at] = i;
		if (!operation[i].run())
			continue;
		operations++;
		model_compare(&state.model);
		check_structure(&state.model, buckets_seen);
		if (++at < depth)
			try_all();
		else
			sequences++;
		at--;
		restore(copy);
	}
}

static void check_wheel(u32 size)
{
	struct twheel *w = &state.model.wheel;
	unsigned int i;

	memset(&state, 0, sizeof(state));
	memset(seen, 0, sizeof(*seen) << SEEN_BITS);
	model_init(&state.model, 1, size, 1, wrong);
	for (i = 0; i < LEVELS; i++) {
		level_bytes[i] = twheel_level_bytes(w, i);
		twheel_level_install(w, twheel_level_alloc(w, i, GFP_KERNEL));
		buckets_seen[i] = calloc(size, sizeof(u32));
	}
	for (i = 0; i < depth; i++)
		copies[i] = malloc(copy_bytes());
	at = 0;
	try_all();
	for (i = 0; i < depth; i++)
		free(copies[i]);
	for (i = 0; i < LEVELS; i++)
		free(buckets_seen[i]);
	twheel_destroy(w);
}

int main(int argc, char **argv)
{
	static const u32 sizes[] = { 2, 3 };
	static const unsigned int budgets[] = { 1, 64 };
	unsigned int i, j;

	if (argc > 2) {
		fprintf(stderr, "Usage: fuzz-short [DEPTH]\n");
		return 2;
	}
	depth = argc > 1 ? number_or_exit("DEPTH", argv[1], 1, MAX_DEPTH) : 8;
	seen = calloc(1UL << SEEN_BITS, sizeof(*seen));
	if (!seen)
		abort();
	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		for (j = 0; j < ARRAY_SIZE(budgets); j++) {
			budget = budgets[j];
			check_wheel(sizes[i]);
		}
	}
	printf("sequences: %llu\noperations: %llu\n", (unsigned long long)sequences,
	       (unsigned long long)operations);
	free(seen);
	return 0;
}
