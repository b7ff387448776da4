// SPDX-License-Identifier: MIT
/*
 * The cost of idle timeouts for a server, per message, for twheel-bench
 *
 * Each connection is closed after a minute without a message. Messages of random
 * connections come 64 at a time, a thousand times a second, and postpone their timeouts;
 * a hundredth of the connections is replaced every second. In each turn of its loop the
 * server takes expired timers, which costs a system call; and timers that expire while it
 * waits cost interrupts.
 */
#include <err.h>
#include <stdlib.h>

#include "bench.h"

#define TIMEOUT_NS	(60 * SEC)
#define MESSAGES	64
#define TURN_NS		MSEC
/* Time stands still for this many turns, and then passes for all of them. */
#define TURNS		16
/* How often the CPU's work without a server is measured. */
#define BACKGROUND	500
/* Every live connection sends a message long before this. */
#define SOONEST_NS	(30 * SEC)

/* Each of the work's timers is that of a connection. */
struct server {
	uint32_t *message;
	size_t messages;
	size_t next;
	/* Connections to be replaced, in parts of 100,000. */
	size_t replaced;
	uint32_t next_replaced;
};

/* Replace a client that has left. */
static void reconnect(struct server *server)
{
	uint32_t which = server->next_replaced++ % work.pending;

	work.facility->cancel(&which, 1);
	work.facility->add(which, 1);
}

/* Messages, clients that come and go, and the server's work for timeouts. */
static void serve(struct server *server)
{
	uint64_t sum = 0;

	work.facility->modify(server->message + server->next, MESSAGES);
	server->next = (server->next + MESSAGES) % server->messages;
	server->replaced += work.pending;
	for (; server->replaced >= 100000; server->replaced -= 100000)
		reconnect(server);
	if (work.facility->deliver(BENCH_BATCH_MAX, false, &sum))
		errx(1, "%s: a connection that speaks was closed", work.facility->name);
}

/* Measure how long the CPU is busy in some turns, without work or with a server's. */
static uint64_t some_turns(struct server *server)
{
	uint64_t began = kernel_busy();
	size_t turn;

	for (turn = 0; server && turn < TURNS; turn++)
		serve(server);
	sleep_for(TURNS * TURN_NS);
	return kernel_busy() - began;
}

/* For a minute at most. The CPU's work without the server is not counted. */
static struct cost serve_on(struct server *server)
{
	struct cost cost = { };
	uint64_t background = 0;
	size_t i;

	for (i = 0; i < BACKGROUND; i++)
		background += some_turns(NULL);
	for (i = 0; i < TIMEOUT_NS / TURN_NS && cost.ns < work.limit_ns; i += TURNS) {
		cost.ns += some_turns(server) - background / BACKGROUND;
		cost.done += TURNS * MESSAGES;
	}
	return cost;
}

/* The order of messages: each connection sends one in a round, so that none looks dead. */
static void plan_messages(struct server *server)
{
	size_t n = work.pending / MESSAGES * MESSAGES, i;

	server->messages = 2 * n;
	server->message = bench_array(2 * n, sizeof(*server->message));
	for (i = 0; i < n; i++) {
		server->message[i] = work.order[i];
		server->message[n + i] = work.order[work.pending - 1 - i];
	}
}

static void bench_idle(void)
{
	struct server server = { };
	struct cost cost;
	size_t i;

	/* As in a server that has run for long, timeouts are spread over the minute. */
	work.timeout_ns = TIMEOUT_NS;
	for (i = 0; i < work.pending; i++)
		work.delay_ns[i] = SOONEST_NS + work.delay_ns[i] % (TIMEOUT_NS - SOONEST_NS);
	plan_messages(&server);
	work.facility->open();
	for (i = 0; i < work.pending; i++)
		work.facility->add(i, 1);
	for (i = 0; i < work.pending; i++)
		work.delay_ns[i] = TIMEOUT_NS;
	cost = serve_on(&server);
	bench_say("idle", (double)cost.ns / cost.done, "insn");
}

OPERATION(idle) = { "idle", bench_idle, .opens = true, .boottime = true };
