// SPDX-License-Identifier: MIT
/*
 * An order system that is killed and replaced, while its wheel lives on
 *
 * A keeper, like systemd's descriptor store, holds the wheel and a table of orders, which
 * represents a database. The shop is a separate process: the first one reserves stock for each
 * order with a timer, and sends the wheel to the keeper. Twice, while reservations expire, the
 * keeper kills the shop, waits, and starts another one, which gets the wheel and adopts it.
 */
#include <err.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "demo.h"
#include "libtwheel-device.h"
#include "pass.h"

#define RESTARTS	2
/* The pause between two shops. */
#define PAUSE_NS	(3 * SEC)
/* How late a running shop may be: the tick, and timers that expire before. */
#define LATE_NS		(100 * MSEC)

/* The database's record of an order. */
struct order {
	uint64_t deadline;
	uint64_t expired;	/* when it last expired, or 0 */
	uint32_t times;
};

/* The data that outlive a shop. */
struct database {
	uint64_t placed;
	uint64_t adopted;	/* timers, by the last shop */
	uint64_t adopt_ns;
	uint64_t began[RESTARTS + 1];
	uint64_t gone[RESTARTS];
	struct order order[];
};

static struct database *database;
/* In the memory of a shop, and gone with it. */
static struct twheel_handle *handles;

/* The shop */

static void expire(struct twheel_loop *loop, struct twheel_handle *handle)
{
	struct order *order = &database->order[(uintptr_t)handle->data];

	/* Like a transaction of a database: a shop that was killed before this did nothing. */
	order->expired = now_ns();
	order->times++;
}

/* Return the handle of an order. One that has expired has no callback, which drops its timer. */
static struct twheel_handle *find_handle(struct twheel_loop *loop, uint64_t number)
{
	return &handles[number];
}

static struct twheel_loop *open_shop(int wheel)
{
	const struct twheel_loop_config config = { .resolve = find_handle };
	struct twheel_loop *loop;
	uint64_t i, began;

	handles = allocate(option.count, sizeof(*handles));
	for (i = 0; i < option.count; i++)
		if (!database->order[i].times)
			twheel_handle_init(&handles[i], expire, (void *)(uintptr_t)i);
	began = now_ns();
	loop = wheel < 0 ? twheel_loop_new(&config) : twheel_loop_adopt(wheel, &config);
	if (!loop)
		err(1, "%s", wheel < 0 ? "cannot open " TWHEEL_DEVICE : "cannot adopt the wheel");
	database->adopt_ns = now_ns() - began;
	database->adopted = twheel_loop_count(loop);
	return loop;
}

static void place_orders(struct twheel_loop *loop)
{
	struct chance chance;
	uint64_t i, opening = twheel_loop_now(loop);

	chance_init(&chance, option.seed, 0);
	for (i = 0; i < option.count; i++) {
		database->order[i].deadline = opening + option.hold_ns / 6 +
					      chance_below(&chance, option.hold_ns);
		if (twheel_start_at(loop, &handles[i], database->order[i].deadline))
			err(1, "cannot reserve");
	}
	if (twheel_loop_flush(loop))
		err(1, "cannot reserve");
	database->placed = option.count;
}

/* Start a shop in a process of its own. */
static pid_t start_shop(int socket, unsigned int nr)
{
	struct twheel_loop *loop;
	pid_t shop = fork();

	if (shop < 0)
		err(1, "fork");
	if (shop)
		return shop;
	loop = open_shop(nr ? receive_fd(socket) : -1);
	if (!nr) {
		place_orders(loop);
		if (send_fd(socket, twheel_loop_fd(loop)))
			err(1, "cannot send the wheel");
	}
	database->began[nr] = now_ns();
	if (twheel_loop_run(loop))
		err(1, "the shop");
	twheel_loop_free(loop);
	exit(0);
}

/* The keeper */

/* Wait for the end of a shop, by this signal or 0. */
static void wait_for(pid_t shop, int signal)
{
	int status;

	if (waitpid(shop, &status, 0) != shop || status != signal)
		errx(1, "a shop ended with status %#x, not %#x", status, signal);
}

/* Kill shops and replace them. */
static void run(void)
{
	int sockets[2], wheel;
	unsigned int nr;
	pid_t shop;

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, sockets))
		err(1, "socketpair");
	shop = start_shop(sockets[1], 0);
	wheel = receive_fd(sockets[0]);
	for (nr = 1; nr <= RESTARTS; nr++) {
		sleep_for(option.hold_ns / (RESTARTS + 1));
		database->gone[nr - 1] = now_ns();
		kill(shop, SIGKILL);
		wait_for(shop, SIGKILL);
		sleep_for(PAUSE_NS);
		if (send_fd(sockets[0], wheel))
			err(1, "cannot send the wheel");
		shop = start_shop(sockets[1], nr);
		while (!__atomic_load_n(&database->began[nr], __ATOMIC_ACQUIRE)) {
			if (waitpid(shop, NULL, WNOHANG))
				errx(1, "a shop ended by itself");
			sleep_for(MSEC);
		}
		printf("shop %u was killed; %u adopted %ju reservations: %.1f ns each\n", nr,
		       nr + 1, database->adopted,
		       (double)database->adopt_ns / database->adopted);
	}
	wait_for(shop, 0);
}

/* Return true if it was later than the tick, other timers and a pause explain. */
static bool is_late(const struct order *order)
{
	uint64_t latest = order->deadline + LATE_NS;
	unsigned int nr;

	for (nr = 0; nr < RESTARTS; nr++)
		if (latest >= database->gone[nr] && order->deadline < database->began[nr + 1])
			latest = database->began[nr + 1] + SEC;
	return order->expired > latest;
}

/* Return true if every reservation expired exactly once, none early, lost or late. */
static bool all_well(void)
{
	uint64_t lost = 0, early = 0, twice = 0, late = 0, i;

	for (i = 0; i < option.count; i++) {
		const struct order *order = &database->order[i];

		lost += !order->times;
		twice += order->times > 1;
		early += order->times && order->expired < order->deadline;
		late += order->times && is_late(order);
	}
	printf("%ju were later than a pause explains\n", late);
	printf("restart: placed=%ju restarts=%d lost=%ju early=%ju twice=%ju\n", database->placed,
	       RESTARTS, lost, early, twice);
	return database->placed == option.count && !lost && !early && !twice && !late;
}

bool run_restarts(void)
{
	size_t size = sizeof(*database) + option.count * sizeof(*database->order);

	database = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (database == MAP_FAILED)
		errx(1, "out of memory: try fewer orders with --count");
	setvbuf(stdout, NULL, _IOLBF, 0);
	run();
	return all_well();
}
