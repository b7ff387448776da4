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

static struct state state;
/* The state and its levels, and copies of them, one after the other. */
static struct {
	void *at;
	size_t bytes;
} part[1 + LEVELS];
static size_t copy_bytes;
static char *copies[MAX_DEPTH];

static struct {
	u64 hash;
	u64 left;
} *seen;

static unsigned int path[MAX_DEPTH];
static unsigned int depth, at;
static unsigned int budget;
static u64 sequences, operations;

enum operation {
	ADD_NEAR, ADD_FAR, ADD_TO_THE_SAME_TICK, CANCEL_FIRST, CANCEL_LAST, MODIFY, ADVANCE_BY_1,
	ADVANCE_BY_A_LOT, POP, OPERATIONS
};

static const char *const name[OPERATIONS] = {
	"add near", "add far", "add to the same tick", "cancel first", "cancel last", "modify",
	"advance by 1", "advance by a lot", "pop",
};

static bool add(u64 tick)
{
	struct slot *s = state.slot;

	while (s->timer.state != MODEL_IDLE)
		s++;
	s->level = U8_MAX;
	state.last = tick;
	model_add(&state.model, &s->timer, tick);
	return true;
}

static bool leave(struct model_timer *t)
{
	if (t)
		memset(slot_of(t), 0, sizeof(struct slot));
	return t;
}

static bool cancel(struct model_timer *t)
{
	if (t)
		model_cancel(&state.model, t);
	return leave(t);
}

static struct model_timer *last_timer(void)
{
	struct model_timer *t, *last = NULL;

	for (t = model_first(&state.model); t; t = model_next(t))
		last = t;
	return last;
}

/* Return false if there was nothing to do. */
static bool perform(enum operation operation)
{
	struct model *m = &state.model;

	switch (operation) {
	case ADD_NEAR:
		return add(m->wheel.now + 2);
	case ADD_FAR:
		return add(m->wheel.now + 5 * m->size);
	case ADD_TO_THE_SAME_TICK:
		return state.last && add(state.last);
	case CANCEL_FIRST:
		return cancel(model_first(m));
	case CANCEL_LAST:
		return cancel(last_timer());
	case MODIFY: /* the last timer, which moves between near and far ones */
		return cancel(last_timer()) && add(m->wheel.now + 2 * m->size + 1);
	case ADVANCE_BY_1:
		model_advance(m, max(m->now, m->wheel.now + 1), budget);
		return true;
	case ADVANCE_BY_A_LOT:
		model_advance(m, m->wheel.now + FAR, budget);
		return true;
	default:
		return leave(model_pop(m));
	}
}

static void wrong(const struct model *m, const char *file, int line, const char *what)
{
	unsigned int i;

	fprintf(stderr, "%s:%d: not so: %s\nsize %u, budget %u:", file, line, what, m->size,
		budget);
	for (i = 0; i <= at; i++)
		fprintf(stderr, "%s %s", i ? "," : "", name[path[i]]);
	fputc('\n', stderr);
	abort();
}

static void save(char *copy)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(part); copy += part[i++].bytes)
		memcpy(copy, part[i].at, part[i].bytes);
}

static void restore(const char *copy)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(part); copy += part[i++].bytes)
		memcpy(part[i].at, copy, part[i].bytes);
}

static u64 hash(const char *copy)
{
	u64 hash = copy_bytes, word;
	size_t left;

	for (left = copy_bytes; left >= sizeof(word); left -= sizeof(word), copy += sizeof(word)) {
		memcpy(&word, copy, sizeof(word));
		hash = (hash ^ word) * 0x9e3779b97f4a7c15ULL;
		hash ^= hash >> 32;
	}
	return hash;
}

/* Return whether all continuations of this state have been tried; otherwise they are now. */
static bool is_known(const char *copy, unsigned int left)
{
	u64 h = hash(copy);
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
	for (i = 0; i < OPERATIONS; i++) {
		path[at] = i;
		if (!perform(i))
			continue;
		operations++;
		model_compare(&state.model);
		check_structure(&state.model);
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
	part[0].at = &state;
	part[0].bytes = sizeof(state);
	copy_bytes = sizeof(state);
	for (i = 0; i < LEVELS; i++) {
		twheel_level_install(w, twheel_level_alloc(w, i, GFP_KERNEL));
		part[1 + i].at = w->level[i];
		part[1 + i].bytes = twheel_level_bytes(w, i);
		copy_bytes += part[1 + i].bytes;
	}
	for (i = 0; i < depth; i++)
		copies[i] = malloc(copy_bytes);
	at = 0;
	try_all();
	for (i = 0; i < depth; i++)
		free(copies[i]);
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
