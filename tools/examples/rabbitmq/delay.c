// SPDX-License-Identifier: MIT
/*
 * Delayed messages over RabbitMQ: the brokers keep the messages, each node is an alarm clock
 *
 * A shard is a quorum queue with a single active consumer. Its messages stay unacknowledged,
 * and for each the node only keeps a timer with the delivery tag. When the timer expires,
 * the node rejects the message, and the broker dead-letters it to its target, at least once.
 * When a node dies, the broker hands its shards with all their messages to other nodes.
 *
 *	cc -O2 delay.c queues.c mq.c -o delay $(pkg-config --cflags --libs libtwheel librabbitmq)
 *
 * documentation/delayed-messages.md describes the queues and the promises.
 */
#include <err.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <libtwheel.h>
#include "mq.h"
#include "queues.h"

#define PREFETCH	65535
/* With this many messages, only those due within the short hold are kept. */
#define CROWDED		(PREFETCH / 2)
/* Messages that may be on their way to a waiting queue. */
#define MOVES_MAX	1000
#define PUT_BACK_MS	1000
#define SPARE_SECONDS	2
#define READS_PER_TURN	512
/* When the wall clock drifts by this much from the monotonic one, all deadlines are moved. */
#define DRIFT_NS	(5 * MQ_NS_PER_MS)
/* Milliseconds since 1970 have 13 digits, which excludes seconds and microseconds. */
#define EARLIEST_MS	1000000000000LL
#define LATEST_MS	9999999999999LL
#define REPORT_SECONDS	10
#define FIRST_CHANNEL	2

/* A message. While it is held, @timer runs; once it is moved, the broker confirms @seq. */
struct held {
	struct twheel_handle timer;
	struct shard *shard;
	struct held *next, **link;
	uint64_t tag, seq;
	int64_t due_ns;
	uint16_t channel;
	bool put_back;
};

struct shard {
	uint16_t channel;
	bool active;
	unsigned int count;
	struct held *first;
};

static struct shard shards[SHARDS_MAX];
static int nr_shards = 8, hold_seconds = 600;
static uint16_t next_channel;

/* A broker that is short of disk stops reading from publishing connections, hence two. */
static amqp_connection_state_t conn, out;
static struct twheel_loop *loop;
static struct held *moves;
static uint64_t last_seq, nr_moves;
static int64_t wall_minus_monotonic;
static bool failed, verbose;

static struct {
	uint64_t received, again, fired, parked, invalid, returned;
} total;

/* ---- Messages ---- */

static void unlink_held(struct held *held)
{
	if (held->next)
		held->next->link = held->link;
	*held->link = held->next;
}

static void link_held(struct held *held, struct held **first)
{
	held->link = first;
	held->next = *first;
	if (held->next)
		held->next->link = &held->next;
	*first = held;
}

static void drop(struct held *held)
{
	unlink_held(held);
	held->shard->count--;
	twheel_stop(&held->timer);
	free(held);
}

/* How long a message is held instead of waiting in a queue for @seconds. */
static int64_t longest_hold(int seconds)
{
	return (seconds + seconds / 10 + SPARE_SECONDS) * MQ_NS_PER_SEC;
}

static void hold(struct held *held, int64_t left)
{
	held->put_back = left > longest_hold(hold_seconds);
	if (held->put_back)
		left = PUT_BACK_MS * MQ_NS_PER_MS;
	if (twheel_start(loop, &held->timer, left > 0 ? left : 0))
		err(1, "twheel_start");
}

/* Return a message: to its target if it is due, else to its shard. */
static void on_due(struct twheel_loop *unused, struct twheel_handle *timer)
{
	struct held *held = (struct held *)timer;
	int64_t left = held->due_ns - mq_wall_ns();

	(void)unused;
	if (failed)
		return;	/* the broker has it, and will hand it out again */
	if (left > 0 && !held->put_back) {	/* the clock is slow, or was set back */
		hold(held, left);
		return;
	}
	failed = mq_check_status(amqp_basic_reject(conn, held->channel, held->tag, left > 0),
				 "reject");
	total.fired += left <= 0;
	total.returned += left > 0;
	drop(held);
}

/* Publish a copy to another queue; the broker's confirm lets the original go. */
static void move(struct held *held, const amqp_message_t *message, const char *exchange,
		 amqp_bytes_t key)
{
	amqp_basic_properties_t properties = message->properties;

	/* The broker checks that the publisher is this user. */
	properties._flags &= ~AMQP_BASIC_USER_ID_FLAG;
	properties._flags |= AMQP_BASIC_DELIVERY_MODE_FLAG;
	properties.delivery_mode = AMQP_DELIVERY_PERSISTENT;
	if (mq_check_status(amqp_basic_publish(out, 1, mq_bytes(exchange), key, 1, 0, &properties,
					       message->body), "publish"))
		failed = true;
	unlink_held(held);
	held->seq = ++last_seq;
	nr_moves++;
	link_held(held, &moves);
}

/* Release the messages that the broker has confirmed. */
static void on_confirm(const amqp_basic_ack_t *ack)
{
	struct held *held, *next;

	for (held = moves; held; held = next) {
		next = held->next;
		if (ack->multiple ? held->seq > ack->delivery_tag : held->seq != ack->delivery_tag)
			continue;
		/* If the shard has gone to another node, that one moves the message, too. */
		if (held->shard->channel == held->channel &&
		    mq_check_status(amqp_basic_ack(conn, held->channel, held->tag, 0),
				    "acknowledge"))
			failed = true;
		nr_moves--;
		drop(held);
	}
}

/* Find the deadline in the headers. */
static bool deadline_of(const amqp_basic_properties_t *properties, int64_t *due_ns)
{
	const amqp_field_value_t *field = NULL;

	if (properties->_flags & AMQP_BASIC_HEADERS_FLAG)
		field = mq_find(&properties->headers, MQ_DELIVER_AT);
	if (!field || field->kind != AMQP_FIELD_KIND_I64 ||
	    field->value.i64 < EARLIEST_MS || field->value.i64 > LATEST_MS)
		return false;
	*due_ns = field->value.i64 * MQ_NS_PER_MS;
	return true;
}

/*
 * Choose the seconds for which a message waits in a queue. It comes back early enough that the
 * way through the broker does not make it late.
 */
static int wait_for(int64_t left, bool crowded)
{
	int shorter = queues_short_hold(hold_seconds);

	if (left > longest_hold(hold_seconds))
		return hold_seconds;
	return crowded && left > longest_hold(shorter) ? shorter : 0;
}

/* Hold a message until it is due, or have it wait in a queue if it is due much later. */
static void place(struct held *held, const amqp_envelope_t *envelope)
{
	const amqp_message_t *message = &envelope->message;
	bool valid = deadline_of(&message->properties, &held->due_ns);
	int64_t left = held->due_ns - mq_wall_ns();
	bool crowded = held->shard->count > CROWDED;
	char name[QUEUE_NAME_BYTES];
	int i = held->shard - shards;
	int wait = wait_for(left, crowded);

	if (nr_moves >= MOVES_MAX) {
		hold(held, left);
	} else if (!valid) {
		total.invalid++;
		move(held, message, QUEUE_INVALID, envelope->routing_key);
	} else if (wait) {
		total.parked++;
		move(held, message, queue_wait(name, i, wait), envelope->routing_key);
	} else {
		hold(held, left);
	}
}

static void on_delivery(const amqp_envelope_t *envelope)
{
	struct shard *shard;
	struct held *held;

	for (shard = shards; shard < shards + nr_shards; shard++)
		if (shard->channel == envelope->channel)
			break;
	if (shard == shards + nr_shards)
		return;	/* its channel was closed: the broker hands it to another node */
	held = calloc(1, sizeof(*held));
	if (!held)
		err(1, "calloc");
	if (!shard->active && verbose)
		fprintf(stderr, "delay: has shard %d\n", (int)(shard - shards));
	shard->active = true;
	shard->count++;
	total.received++;
	total.again += envelope->redelivered;
	held->shard = shard;
	held->channel = envelope->channel;
	held->tag = envelope->delivery_tag;
	held->due_ns = INT64_MAX;
	twheel_handle_init(&held->timer, on_due, NULL);
	link_held(held, &shard->first);
	place(held, envelope);
}

/* ---- Shards ---- */

static int take(struct shard *shard)
{
	char name[QUEUE_NAME_BYTES];

	if (next_channel < FIRST_CHANNEL || next_channel > MQ_CHANNELS)
		next_channel = FIRST_CHANNEL;
	shard->channel = next_channel++;
	amqp_channel_open(conn, shard->channel);
	if (mq_check(amqp_get_rpc_reply(conn), "channel"))
		return -1;
	return mq_consume(conn, shard->channel, queue_shard(name, shard - shards), PREFETCH);
}

static void forget(struct shard *shard)
{
	while (shard->first)
		drop(shard->first);
	shard->active = false;
	shard->channel = 0;
}

/* Ask for a queue's consumers and messages. */
static amqp_queue_declare_ok_t *look(const char *name)
{
	amqp_queue_declare_ok_t *ok;

	ok = amqp_queue_declare(conn, 1, mq_bytes(name), 1, 1, 0, 0, amqp_empty_table);
	if (mq_check(amqp_get_rpc_reply(conn), name))
		failed = true;
	return failed ? NULL : ok;
}

/* Give up a shard if this node has more than its share: queue last for it. */
static void share(void)
{
	const amqp_queue_declare_ok_t *ok = look(QUEUE_NODES);
	int active = 0, nodes = ok && ok->consumer_count ? ok->consumer_count : 1;
	static unsigned int turn;
	struct shard *shard;

	for (int i = 0; i < nr_shards; i++)
		active += shards[i].active;
	if (failed || active <= (nr_shards + nodes - 1) / nodes)
		return;
	do
		shard = &shards[turn++ % nr_shards];
	while (!shard->active);
	if (verbose)
		fprintf(stderr, "delay: gives shard %d away\n", (int)(shard - shards));
	failed = mq_check(amqp_channel_close(conn, shard->channel, AMQP_REPLY_SUCCESS), "close");
	forget(shard);
	if (!failed)
		failed = take(shard);
}

/* ---- The node ---- */

/* Adjust all timers to a wall clock that was set, or runs at another speed. */
static void follow_clock(void)
{
	int64_t now = mq_wall_ns(), offset = now - mq_monotonic_ns();

	if (llabs(offset - wall_minus_monotonic) < DRIFT_NS)
		return;
	wall_minus_monotonic = offset;
	for (int i = 0; i < nr_shards; i++)
		for (struct held *held = shards[i].first; held; held = held->next)
			if (!held->put_back && twheel_is_running(&held->timer))
				twheel_again(&held->timer,
					     held->due_ns > now ? held->due_ns - now : 0);
}

/* Report statistics, and problems that need attention. */
static void report(void)
{
	const amqp_queue_declare_ok_t *nowhere = look(QUEUE_NOWHERE);
	unsigned int held = 0, mine = 0;

	for (int i = 0; i < nr_shards; i++) {
		held += shards[i].count;
		mine += shards[i].active;
	}
	fprintf(stderr, "delay: shards %u held %u received %lu again %lu fired %lu ", mine, held,
		total.received, total.again, total.fired);
	fprintf(stderr, "parked %lu returned %lu invalid %lu\n", total.parked, total.returned,
		total.invalid);
	if (total.invalid)
		fprintf(stderr, "delay: %lu without a valid " MQ_DELIVER_AT " moved to "
			QUEUE_INVALID "\n", total.invalid);
	if (nowhere && nowhere->message_count)
		fprintf(stderr, "delay: %u in " QUEUE_NOWHERE ": no queue is bound to " MQ_DUE
			" with their routing key\n", nowhere->message_count);
}

/* Once a second. */
static void housekeeping(void)
{
	static unsigned int seconds;

	follow_clock();
	share();
	if (!failed && (verbose || ++seconds % REPORT_SECONDS == 0))
		report();
}

/* Read messages, but no more at a time than timers can wait for. */
static void read_all(amqp_connection_state_t from)
{
	enum mq_event event = MQ_OTHER;
	amqp_envelope_t envelope;
	amqp_basic_ack_t ack;

	for (int i = 0; i < READS_PER_TURN && event != MQ_NOTHING && !failed; i++) {
		event = mq_read(from, &envelope, &ack, 0);
		failed |= event == MQ_FAILED;
		if (event == MQ_CONFIRM)
			on_confirm(&ack);
		if (event == MQ_DELIVERY) {
			on_delivery(&envelope);
			amqp_destroy_envelope(&envelope);
		}
	}
}

static void serve(void)
{
	int64_t next = 0;

	while (!failed && !mq_stopping()) {
		struct pollfd fds[] = {
			{ .fd = twheel_loop_fd(loop), .events = POLLIN },
			{ .fd = amqp_get_sockfd(conn), .events = POLLIN },
			{ .fd = amqp_get_sockfd(out), .events = POLLIN },
		};

		if (mq_monotonic_ns() >= next) {
			housekeeping();
			next = mq_monotonic_ns() + MQ_NS_PER_SEC;
		}
		if (twheel_loop_flush(loop))
			err(1, "twheel_loop_flush");
		if (!failed &&
		    poll(fds, 3, mq_has_input(conn) || mq_has_input(out) ? 0 : 1000) < 0 &&
		    errno != EINTR)
			err(1, "poll");
		if (twheel_loop_dispatch(loop) < 0)
			err(1, "twheel_loop_dispatch");
		read_all(conn);
		read_all(out);
	}
}

/* Connect, and queue for all shards. Nodes are counted by the consumers of delay.nodes. */
static int join(char *const urls[], int nr_urls, int *first)
{
	conn = mq_connect_any(urls, nr_urls, first);
	out = conn ? mq_connect(urls[(*first + nr_urls - 1) % nr_urls]) : NULL;
	if (!out || mq_confirms(out) || mq_consume(conn, 1, QUEUE_NODES, 1))
		return -1;
	for (int i = 0; i < nr_shards; i++)
		if (take(&shards[i]))
			return -1;
	return 0;
}

/* Drop all held messages: without the connection, the broker takes them back. */
static void leave(void)
{
	while (moves)
		drop(moves);
	for (int i = 0; i < nr_shards; i++)
		forget(&shards[i]);
	nr_moves = 0;
	last_seq = 0;
	next_channel = FIRST_CHANNEL;
	mq_free(conn);
	mq_free(out);
	conn = NULL;
	out = NULL;
}

static void node(char *const urls[], int nr_urls)
{
	const struct twheel_loop_config config = { .flags = TWHEEL_LOOP_BY_HAND };
	unsigned int pause = 0;
	int first = 0;

	loop = twheel_loop_new(&config);
	if (!loop)
		err(1, "twheel_loop_new");
	while (!mq_stopping()) {
		failed = join(urls, nr_urls, &first);
		if (!failed) {
			fprintf(stderr, "delay: connected\n");
			serve();
			pause = 0;
		}
		leave();
		if (!mq_stopping())
			mq_backoff(&pause);
	}
	twheel_loop_free(loop);
}

static void reject_options(void)
{
	errx(2, "usage: delay [-s SHARDS] [-h SECONDS] [-v] setup|node amqp://...");
}

int main(int argc, char *argv[])
{
	int opt, first = 0;

	while ((opt = getopt(argc, argv, "s:h:v")) != -1) {
		if (opt == 's')
			nr_shards = atoi(optarg);
		else if (opt == 'h')
			hold_seconds = atoi(optarg);
		else if (opt == 'v')
			verbose = true;
		else
			reject_options();
	}
	if (argc - optind < 2 || nr_shards < 1 || nr_shards > SHARDS_MAX || hold_seconds < 1)
		reject_options();
	mq_catch_signals();
	srandom(getpid());
	if (!strcmp(argv[optind], "node")) {
		node(argv + optind + 1, argc - optind - 1);
		return 0;
	}
	if (strcmp(argv[optind], "setup"))
		reject_options();
	conn = mq_connect_any(argv + optind + 1, argc - optind - 1, &first);
	return !conn || queues_setup(conn, nr_shards, hold_seconds) ? 1 : 0;
}
