// SPDX-License-Identifier: GPL-2.0-only
/*
 * Fuzzing the core of the wheel, against a model that is obviously right
 *
 * The bytes of an input are decoded into a wheel (size, tick, time of start) and
 * operations on it. The model is an array of the pending timers sorted by tick,
 * and an array of the expired ones in the order in which they expired. After
 * every operation both must agree on what is pending, what has expired and in
 * which order; and the wheel's levels, buckets and what is due first must be sound.
 * Every timer is an allocation of its own that is freed when the timer has left
 * the wheel, so that AddressSanitizer sees a wheel that still looks at it.
 *
 * With libFuzzer the inputs come from there. Without it, main() makes them from
 * a seed.
 */
#include <linux/bits.h>
#include <linux/limits.h>
#include <linux/overflow.h>
#include <linux/slab.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "twheel.h"
#include "fuzz-core.h"

#define MAX_TIMERS	512

enum state {
	IDLE,
	PENDING,
	EXPIRED,
};

/**
 * struct slot - a timer, and what the model knows of it
 * @timer: the wheel's; NULL while @state is IDLE.
 * @tick: when it is due.
 * @turn: when it expired. Timers of one tick that expire in the wheel have the
 *	same turn, for among them any order is right.
 * @level: the level it was last seen at: it must never rise.
 * @state: what it is doing.
 */
struct slot {
	struct twheel_timer *timer;
	u64 tick;
	u64 turn;
	u8 level;
	enum state state;
};

/**
 * struct row - the numbers of some slots, in an order
 * @count: number of them.
 * @slot: their numbers.
 */
struct row {
	unsigned int count;
	u16 slot[MAX_TIMERS];
};

/**
 * struct model - one input at work
 * @data: what is left of the input.
 * @left: how many bytes that is.
 * @wheel: the wheel under test.
 * @size: its size.
 * @unit: the length of its tick.
 * @end: its last tick, that of the latest deadline.
 * @now: where the wheel's clock was last told to go.
 * @more: the wheel said that it has not got there yet, or has other work.
 * @focus: a tick near which many timers are due.
 * @pending: the pending timers, ordered by tick.
 * @expired: the expired timers, oldest first.
 * @turn: the last turn that was given to an expired timer.
 * @last: the last tick that expired in the wheel.
 * @turn_open: the next timer that expires at @last has turn @turn too.
 * @seen: for each level and bucket, how many timers have been found in it.
 * @slot: all timers.
 */
struct model {
	const uint8_t *data;
	size_t left;

	struct twheel wheel;
	u32 size;
	u64 unit;
	u64 end;
	u64 now;
	bool more;
	u64 focus;

	struct row pending;
	struct row expired;
	u64 turn;
	u64 last;
	bool turn_open;
	u32 *seen[TWHEEL_MAX_LEVELS];
	struct slot slot[MAX_TIMERS];
};

unsigned long long fuzz_operations;
bool fuzz_verbose;

/* What to say if a check fails; with fuzz_verbose every operation is told. */
static void __attribute__((__format__(printf, 2, 3))) tell(const struct model *m,
							   const char *format, ...)
{
	va_list args;

	fuzz_operations++;
	if (!fuzz_verbose)
		return;
	fprintf(stderr, "clock %lu, %u pending, %u expired: ", m->wheel.now,
		m->pending.count, m->expired.count);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
}

static void failed(const struct model *m, int line, const char *check)
{
	fprintf(stderr, "%s:%d: not so: %s\n"
		"size %u, tick %lu, clock %lu, told to go to %lu, %s\n",
		__FILE__, line, check, m->size, m->unit, m->wheel.now, m->now,
		m->more ? "more to do" : "nothing to do");
	fuzz_failed();
}

#define CHECK(m, condition) \
	((condition) ? (void)0 : failed(m, __LINE__, #condition))

/* Numbers from the input; when it has ended they are all zero. */

static u8 byte(struct model *m)
{
	if (!m->left)
		return 0;
	m->left--;
	return *m->data++;
}

static u32 below(struct model *m, u32 limit)
{
	u32 high = limit > 256 ? byte(m) : 0;

	return (high << 8 | byte(m)) % limit;
}

static u64 word(struct model *m)
{
	u64 n = 0;
	int i;

	for (i = 0; i < 8; i++)
		n = n << 8 | byte(m);
	return n;
}

/* A number of any order of magnitude, most often near a power of two. */
static u64 magnitude(struct model *m)
{
	u8 kind = byte(m);
	u64 n = BIT_ULL(kind & 63);

	switch (kind >> 6) {
	case 0:
		return n - 1;
	case 1:
		return n + below(m, 4);
	case 2:
		return n + (n >> 8) * byte(m);
	default:
		return word(m) >> (kind & 63);
	}
}

static u64 plus(const struct model *m, u64 tick, u64 delay)
{
	u64 sum;

	return check_add_overflow(tick, delay, &sum) ? m->end : min(sum, m->end);
}

static u64 minus(u64 tick, u64 delay)
{
	return tick - min(tick, delay);
}

/* The edge of a bucket of any level, some buckets ahead, or next to it. */
static u64 edge(struct model *m)
{
	unsigned int nr = m->wheel.nr_levels ? below(m, m->wheel.nr_levels) : 0;
	u64 length = 1;
	u64 tick;

	while (nr-- && length <= m->end / m->size)
		length *= m->size;
	tick = plus(m, m->now / length * length, min(below(m, 2 * m->size) * length, m->end));
	return minus(plus(m, tick, below(m, 3)), 1);
}

/* Where the next bucket is opened, or next to it. */
static u64 next_opening(struct model *m)
{
	u64 tick = m->now;

	twheel_next(&m->wheel, &tick);
	return minus(plus(m, tick, below(m, 3)), 1);
}

static u64 some_tick(struct model *m)
{
	switch (byte(m) % 9) {
	case 0:
		return minus(m->now, magnitude(m));
	case 1:
		return minus(m->end, magnitude(m));
	case 2:
		m->focus = plus(m, m->now, magnitude(m));
		return m->focus;
	case 3:
	case 4:
		return plus(m, m->focus, byte(m));
	case 5:
		return edge(m);
	case 6:
		return plus(m, m->now, byte(m));
	case 7:
		return next_opening(m);
	default:
		return plus(m, m->now, magnitude(m));
	}
}

/* A deadline that expires at @tick: on it, or anywhere after the tick before. */
static u64 some_deadline(struct model *m, u64 tick)
{
	u64 deadline = tick * m->unit;

	if (!tick)
		return 0;
	switch (byte(m) % 4) {
	case 0:
		return deadline - (m->unit - 1);
	case 1:
		return deadline - word(m) % m->unit;
	default:
		return deadline;
	}
}

/* The model */

static void insert(struct row *row, unsigned int place, u16 nr)
{
	memmove(&row->slot[place + 1], &row->slot[place],
		(row->count++ - place) * sizeof(row->slot[0]));
	row->slot[place] = nr;
}

static void delete(struct row *row, unsigned int place)
{
	memmove(&row->slot[place], &row->slot[place + 1],
		(--row->count - place) * sizeof(row->slot[0]));
}

static unsigned int find(struct model *m, const struct row *row, u16 nr)
{
	unsigned int place = 0;

	while (place < row->count && row->slot[place] != nr)
		place++;
	CHECK(m, place < row->count);
	return place;
}

static void model_expire(struct model *m, u16 nr)
{
	m->slot[nr].state = EXPIRED;
	m->slot[nr].turn = m->turn;
	insert(&m->expired, m->expired.count, nr);
}

/* Expired on the spot: its turn is its own. */
static void model_expire_at_once(struct model *m, u16 nr)
{
	m->turn++;
	m->turn_open = false;
	model_expire(m, nr);
}

/* Expired in the wheel: never after a later tick. */
static void model_expire_in_wheel(struct model *m, unsigned int place)
{
	u16 nr = m->pending.slot[place];
	u64 tick = m->slot[nr].tick;

	CHECK(m, tick >= m->last);
	if (tick != m->last || !m->turn_open)
		m->turn++;
	m->turn_open = true;
	m->last = tick;
	delete(&m->pending, place);
	model_expire(m, nr);
}

static void model_add(struct model *m, u16 nr, u64 tick)
{
	unsigned int place = m->pending.count;

	m->slot[nr].tick = tick;
	if (tick <= m->wheel.now) {
		model_expire_at_once(m, nr);
		return;
	}
	m->slot[nr].state = PENDING;
	m->slot[nr].level = U8_MAX;
	while (place && m->slot[m->pending.slot[place - 1]].tick > tick)
		place--;
	insert(&m->pending, place, nr);
}

static void model_remove(struct model *m, u16 nr)
{
	struct row *row = m->slot[nr].state == PENDING ? &m->pending : &m->expired;

	delete(row, find(m, row, nr));
	m->slot[nr].state = IDLE;
}

/*
 * Follow the wheel's clock. Whatever it has passed has expired; only as long as
 * there is more work may timers that are due at this very tick be waiting.
 */
static void model_follow(struct model *m)
{
	unsigned int place = 0;

	while (place < m->pending.count) {
		const struct slot *s = &m->slot[m->pending.slot[place]];
		bool expired = twheel_expired(&m->wheel, s->timer);

		if (s->tick > m->wheel.now)
			return;
		if (expired) {
			model_expire_in_wheel(m, place);
			continue;
		}
		CHECK(m, m->more && s->tick == m->wheel.now);
		place++;
	}
}

/* What must be so at any time */

static void check_counters(struct model *m)
{
	u64 tick = 0, first;
	bool next = twheel_next(&m->wheel, &tick);

	CHECK(m, m->wheel.nr_pending == m->pending.count);
	CHECK(m, m->wheel.nr_expired == m->expired.count);
	if (!m->pending.count) {
		CHECK(m, !next);
	} else if (!m->more) {
		first = m->slot[m->pending.slot[0]].tick;
		CHECK(m, next && tick <= first);
	}
}

/* A pending timer is in the bucket of its tick, on a level no higher than before. */
static struct twheel_bucket *check_timer(struct model *m, struct slot *s)
{
	const struct twheel_timer *t = s->timer;
	struct twheel_level *level;

	CHECK(m, t->level < m->wheel.nr_levels && t->level <= s->level);
	s->level = t->level;
	level = m->wheel.level[t->level];
	CHECK(m, level->nr == t->level);
	CHECK(m, t->bucket == s->tick / level->length.divisor % m->size);
	return &level->bucket[t->bucket];
}

static u32 length_of(const struct list_head *list)
{
	const struct list_head *node;
	u32 n = 0;

	for (node = list->next; node != list; node = node->next)
		n++;
	return n;
}

/* A bucket that holds timers: what it knows of them is so. */
static void check_bucket(struct model *m, const struct twheel_bucket *b, const struct slot *s)
{
	u8 nr = s->timer->level;
	const struct twheel_level *level = m->wheel.level[nr];
	u64 number = s->tick / level->length.divisor;
	bool opened = m->wheel.opened & BIT_ULL(nr) && b == &level->bucket[level->first];
	u32 todo = opened ? length_of(&level->todo) : 0;
	unsigned int i;

	for (i = m->wheel.heap; opened && m->wheel.sorting == level && i < TWHEEL_HEAPS; i++)
		todo += length_of(&m->wheel.heaps[i]);

	CHECK(m, b->count == length_of(&b->timers) + todo);
	CHECK(m, opened || list_empty(&level->todo) || m->wheel.opened & BIT_ULL(nr));
	CHECK(m, b->count == m->seen[nr][s->timer->bucket]);
	CHECK(m, number - m->wheel.now / level->length.divisor < m->size);
	CHECK(m, test_bit(s->timer->bucket, level->busy));
	CHECK(m, level->bound <= s->timer->deadline);
	if (!opened)
		CHECK(m, b->earliest <= s->timer->deadline);
	/* Opened in time, and before all those after it in the ring. */
	CHECK(m, (u64)level->node.expires <= s->tick);
	CHECK(m, (level->first + m->size - level->clock) % m->size <=
		 (s->timer->bucket + m->size - level->clock) % m->size);
}

static u32 count_busy(const struct twheel_level *level)
{
	u32 n = 0, i;

	for (i = 0; i < level->size; i++)
		n += !!test_bit(i, level->busy);
	return n;
}

/* The levels with timers are in the queue, in order, and no others. */
static void check_queue(struct model *m)
{
	struct timerqueue_node *node = timerqueue_getnext(&m->wheel.queue);
	u64 queued = 0, busy = 0, last = 0;
	unsigned int i;

	for (i = 0; i < m->pending.count; i++)
		busy |= BIT_ULL(m->slot[m->pending.slot[i]].timer->level);
	for (; node; node = timerqueue_iterate_next(node)) {
		const struct twheel_level *level = container_of(node, struct twheel_level, node);

		CHECK(m, (u64)node->expires >= last);
		last = node->expires;
		queued |= BIT_ULL(level->nr);
		CHECK(m, level->nr_busy == count_busy(level));
	}
	CHECK(m, queued == busy);
	CHECK(m, !(m->wheel.opened & ~busy));
}

/* All timers are in their buckets, and buckets hold nothing else. */
static void check_structure(struct model *m)
{
	unsigned int i;

	for (i = 0; i < m->pending.count; i++) {
		struct slot *s = &m->slot[m->pending.slot[i]];

		check_timer(m, s);
		m->seen[s->timer->level][s->timer->bucket]++;
	}
	for (i = 0; i < m->pending.count; i++) {
		struct slot *s = &m->slot[m->pending.slot[i]];

		if (m->seen[s->timer->level][s->timer->bucket])
			check_bucket(m, check_timer(m, s), s);
		m->seen[s->timer->level][s->timer->bucket] = 0;
	}
	CHECK(m, length_of(&m->wheel.expired) == m->expired.count);
	check_queue(m);
}

/* Operations, on the wheel and on the model */

static void install_level(struct model *m)
{
	struct twheel *w = &m->wheel;
	struct twheel_level *level = twheel_level_alloc(w, w->nr_levels, GFP_KERNEL);

	m->seen[w->nr_levels] = calloc(m->size, sizeof(u32));
	if (!level || !m->seen[w->nr_levels])
		abort();
	twheel_level_install(w, level);
}

/* Arm a timer; where levels are missing it must fail first, and change nothing. */
static void arm(struct model *m, u16 nr, u64 deadline, u64 tick)
{
	struct twheel *w = &m->wheel;
	u8 need = twheel_levels_for(w, w->now, deadline);

	m->slot[nr].timer->deadline = deadline;
	CHECK(m, twheel_tick(w, deadline) == tick);
	CHECK(m, need >= 1 && need <= TWHEEL_MAX_LEVELS);
	while (!twheel_covers(w, deadline)) {
		CHECK(m, w->nr_levels < need);
		CHECK(m, !twheel_add(w, m->slot[nr].timer));
		install_level(m);
	}
	CHECK(m, w->nr_levels >= need || tick <= w->now);
	CHECK(m, twheel_add(w, m->slot[nr].timer));
	model_add(m, nr, tick);
	CHECK(m, twheel_expired(w, m->slot[nr].timer) == (m->slot[nr].state == EXPIRED));
}

static void new_timer(struct model *m, u16 nr)
{
	/* What the memory held before must not matter. */
	m->slot[nr].timer = malloc(sizeof(*m->slot[nr].timer));
	if (!m->slot[nr].timer)
		abort();
	memset(m->slot[nr].timer, 0xa5, sizeof(*m->slot[nr].timer));
}

static void free_timer(struct model *m, u16 nr)
{
	free(m->slot[nr].timer);
	m->slot[nr].timer = NULL;
}

static void cancel(struct model *m, u16 nr)
{
	const struct slot *s = &m->slot[nr];

	CHECK(m, twheel_expired(&m->wheel, s->timer) == (s->state == EXPIRED));
	twheel_cancel(&m->wheel, s->timer);
	model_remove(m, nr);
	free_timer(m, nr);
}

/* Add a timer, or give one that is in the wheel a new deadline. */
static void add(struct model *m, u16 nr, u64 tick)
{
	u64 deadline = some_deadline(m, tick);

	tell(m, "%s %u: deadline %lu, tick %lu",
	     m->slot[nr].state ? "modify" : "add", nr, deadline, tick);
	if (m->slot[nr].state)
		cancel(m, nr);
	new_timer(m, nr);
	arm(m, nr, deadline, tick);
}

static void do_add(struct model *m)
{
	u16 nr = below(m, MAX_TIMERS);

	add(m, nr, some_tick(m));
}

/* Many timers near each other: enough of them get a bucket opened early. */
static void do_add_crowd(struct model *m)
{
	u16 nr = below(m, MAX_TIMERS);
	unsigned int n = byte(m);
	u64 tick = some_tick(m);
	u64 stride = magnitude(m);

	m->focus = tick;
	while (n--) {
		add(m, nr++ % MAX_TIMERS, tick);
		tick = n % 8 ? tick : plus(m, tick, stride);
	}
}

static void do_cancel(struct model *m)
{
	u16 nr = below(m, MAX_TIMERS);

	tell(m, "cancel %u", nr);
	if (m->slot[nr].state)
		cancel(m, nr);
}

static void do_cancel_many(struct model *m)
{
	unsigned int nr = below(m, MAX_TIMERS), step = 1 + below(m, 8), n = byte(m);

	tell(m, "cancel %u from %u, every %u", n, nr, step);
	for (; n--; nr += step) {
		fuzz_operations++;
		if (m->slot[nr % MAX_TIMERS].state)
			cancel(m, nr % MAX_TIMERS);
	}
}

/* The first, the last or any timer that is pending: where counts get to zero. */
static void do_cancel_pending(struct model *m)
{
	u8 which = byte(m);
	unsigned int n = m->pending.count;

	tell(m, "cancel pending, %u", which);
	if (n)
		cancel(m, m->pending.slot[which < 64 ? 0 : which < 128 ? n - 1 : which % n]);
}

static void do_expire(struct model *m)
{
	u16 nr = below(m, MAX_TIMERS);

	tell(m, "expire %u", nr);
	if (m->slot[nr].state)
		cancel(m, nr);
	new_timer(m, nr);
	/* As far as the wheel is concerned, its deadline means nothing. */
	m->slot[nr].timer->deadline = word(m);
	twheel_expire(&m->wheel, m->slot[nr].timer);
	model_expire_at_once(m, nr);
}

static void pop(struct model *m)
{
	struct twheel_timer *timer = twheel_pop(&m->wheel);
	unsigned int place = 0;
	u16 nr;

	CHECK(m, !timer == !m->expired.count);
	if (!timer)
		return;
	while (m->slot[m->expired.slot[place]].timer != timer) {
		place++;
		CHECK(m, place < m->expired.count);
	}
	nr = m->expired.slot[place];
	CHECK(m, m->slot[nr].turn == m->slot[m->expired.slot[0]].turn);
	model_remove(m, nr);
	free_timer(m, nr);
}

static void do_pop(struct model *m)
{
	unsigned int n = byte(m);

	tell(m, "pop %u", n + 1);
	do {
		fuzz_operations++;
		pop(m);
	} while (n--);
}

static void move_clock(struct model *m, u64 now, unsigned int budget)
{
	u64 before = m->wheel.now, tick;

	tell(m, "advance to %lu, budget %u", now, budget);
	m->now = max(m->now, now);
	m->more = twheel_advance(&m->wheel, now, budget);
	CHECK(m, m->wheel.now >= before);
	CHECK(m, m->wheel.now <= m->now);
	/* What is left to do is due, or cascades ahead of its time. */
	if (m->more)
		CHECK(m, m->wheel.opened || (twheel_next(&m->wheel, &tick) && tick <= m->now));
	else
		CHECK(m, m->wheel.now == max(before, now));
	model_follow(m);
}

static unsigned int some_budget(struct model *m)
{
	static const unsigned int budgets[] = { 0, 1, 2, 3, 10, 64, 1000, UINT_MAX };

	return budgets[below(m, ARRAY_SIZE(budgets))];
}

static void do_advance(struct model *m)
{
	unsigned int budget = some_budget(m);

	move_clock(m, some_tick(m), budget);
}

static void do_advance_next(struct model *m)
{
	unsigned int budget = some_budget(m);

	move_clock(m, next_opening(m), budget);
}

/* On with what is left to do, of which there is no more than so much. */
static void do_continue(struct model *m)
{
	unsigned int budget = 1 + byte(m);
	unsigned int most = (m->pending.count + 2) * 2 * (m->wheel.nr_levels + 1);
	unsigned int calls = 0;

	while (m->more) {
		move_clock(m, m->now, budget);
		CHECK(m, calls++ < most);
	}
}

static void do_forward(struct model *m)
{
	u64 now = some_tick(m), before = m->wheel.now;

	tell(m, "forward to %lu", now);
	twheel_forward(&m->wheel, now);
	m->now = max(m->now, m->wheel.now);
	CHECK(m, m->wheel.now == before || (m->wheel.now > before && m->wheel.now <= now));
	/* Whatever is due stays to be expired by twheel_advance(). */
	model_follow(m);
	if (m->pending.count && !m->more)
		CHECK(m, m->slot[m->pending.slot[0]].tick > m->wheel.now);
}

/* What only asks: divisions, and levels. */
static void do_ask(struct model *m)
{
	struct twheel *w = &m->wheel;
	u64 time = magnitude(m);
	u64 tick, delay;

	time = byte(m) & 1 ? time / 2 : S64_MAX - time / 2;
	tell(m, "ask about %lu", time);
	CHECK(m, twheel_floor(w, time) == time / m->unit);
	CHECK(m, twheel_tick(w, time) == time / m->unit + !!(time % m->unit));

	delay = magnitude(m) / 2;
	tick = plus(m, w->now, delay);
	CHECK(m, twheel_levels_within(w, delay) <= TWHEEL_MAX_LEVELS);
	if (w->nr_levels >= twheel_levels_within(w, delay))
		CHECK(m, twheel_covers(w, tick * m->unit));
	CHECK(m, twheel_levels_for(w, w->now, tick * m->unit) <=
		 twheel_levels_within(w, delay));
}

static void one_operation(struct model *m)
{
	static void (* const operation[])(struct model *m) = {
		do_add, do_add, do_add, do_add, do_add_crowd, do_cancel,
		do_cancel_many, do_cancel_pending, do_expire, do_pop, do_advance,
		do_advance, do_advance_next, do_advance_next, do_continue,
		do_forward, do_ask,
	};

	operation[below(m, ARRAY_SIZE(operation))](m);
}

/* From the first byte of an input to the last */

static void begin(struct model *m)
{
	static const u32 sizes[] = { 2, 3, 4, 10, 20, 60, 256, 65536 };
	static const u64 units[] = { 1, 2, 3, 7, 1000, 1000000, 3600000000000ULL };
	u8 size = byte(m), unit = byte(m);
	u64 start;

	m->size = size < 128 ? sizes[size % ARRAY_SIZE(sizes)] : 2 + below(m, 1000);
	m->unit = unit < 192 ? units[unit % ARRAY_SIZE(units)] : max(magnitude(m) / 2, 1UL);
	m->end = S64_MAX / m->unit;
	start = byte(m) & 1 ? minus(m->end, magnitude(m)) : min(magnitude(m), m->end);
	m->now = start;
	m->focus = start;
	twheel_init(&m->wheel, m->unit, m->size, start);
	tell(m, "wheel of size %u, tick %lu", m->size, m->unit);
}

/* Nothing is lost: in a last jump all that the wheel holds expires. */
static void drain(struct model *m)
{
	move_clock(m, m->end, UINT_MAX);
	CHECK(m, !m->more && !m->pending.count);
	while (m->expired.count)
		pop(m);
	CHECK(m, !twheel_pop(&m->wheel));
	check_counters(m);
	check_structure(m);
}

static void end(struct model *m)
{
	u8 nr;

	for (nr = 0; nr < m->wheel.nr_levels; nr++)
		free(m->seen[nr]);
	twheel_destroy(&m->wheel);
}

void fuzz_one(const uint8_t *data, size_t length)
{
	static struct model model;
	struct model *m = &model;
	unsigned int n = 0;

	memset(m, 0, sizeof(*m));
	m->data = data;
	m->left = length;
	begin(m);
	while (m->left) {
		one_operation(m);
		check_counters(m);
		/* The more there is to look at, the more seldom. */
		if (n++ % (1 + m->pending.count / 32) == 0)
			check_structure(m);
	}
	drain(m);
	end(m);
}
