// SPDX-License-Identifier: MIT
/*
 * Publishes delayed messages, or reads the delivered ones, and records each
 *
 * "put" publishes with confirms, and republishes messages that no broker has confirmed: message N
 * goes to shard N % SHARDS. A line for each: its number, when it is due, when it was confirmed
 * (0: never), how often it was published. "take" reads and acknowledges. A line for each
 * delivery: the message's number, when it came, and whether the broker called it redelivered.
 * Times are microseconds since 1970.
 */
#include <err.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "mq.h"
#include "queues.h"

#define TARGET		"load"
#define WINDOW		2000
#define PREFETCH	2000
#define PATIENCE_MS	20
/* A broker that confirms nothing for this long is replaced by another one. */
#define CONFIRM_SECONDS	15
#define LINGER_SECONDS	3
#define BODY_BYTES	100

struct message {
	int64_t due_us, confirmed_us;
	unsigned int published;
};

static struct options {
	int shards, count, rate, first_ms, last_ms, seconds;
	bool plain, no_header;
	long header;
	const char *books, *key, *queue;
} options = {
	.shards = 8, .count = 1000, .rate = 100, .last_ms = 1000, .seconds = 60, .key = TARGET,
};

static struct message *messages;
static amqp_connection_state_t conn;
static int64_t deadline_ns;

static int64_t now_us(void)
{
	return mq_wall_ns() / 1000;
}

static bool time_is_left(void)
{
	return !mq_stopping() && mq_monotonic_ns() < deadline_ns;
}

static FILE *open_books(void)
{
	FILE *books = options.books ? fopen(options.books, "w") : stdout;

	if (!books)
		err(1, "%s", options.books);
	return books;
}

static void close_books(FILE *books)
{
	if (fflush(books) || ferror(books))
		err(1, "%s", options.books);
}

/* ---- Publishing ---- */

/* The messages published on this connection, by the broker's count. */
static int *numbers, nr_numbers, oldest, confirmed, unanswered;

static void confirm(int tag)
{
	struct message *message;

	if (tag < 1 || tag > nr_numbers || numbers[tag - 1] < 0)
		return;
	message = &messages[numbers[tag - 1]];
	numbers[tag - 1] = -1;
	unanswered--;
	if (!message->confirmed_us) {
		message->confirmed_us = now_us();
		confirmed++;
	}
}

static void on_ack(const amqp_basic_ack_t *ack)
{
	int tag = ack->delivery_tag;

	for (int i = ack->multiple ? oldest : tag; i <= tag; i++)
		confirm(i);
	while (oldest <= nr_numbers && numbers[oldest - 1] < 0)
		oldest++;
}

static int publish(int number)
{
	struct message *message = &messages[number];
	char shard[QUEUE_NAME_BYTES], id[16], body[BODY_BYTES] = "";
	amqp_table_entry_t header = mq_number(MQ_DELIVER_AT, options.header ? options.header :
					      message->due_us / 1000);
	amqp_basic_properties_t properties = {
		._flags = AMQP_BASIC_DELIVERY_MODE_FLAG | AMQP_BASIC_MESSAGE_ID_FLAG |
			AMQP_BASIC_HEADERS_FLAG,
		.delivery_mode = AMQP_DELIVERY_PERSISTENT,
		.headers = { .num_entries = !options.no_header, .entries = &header },
	};
	const char *exchange = options.plain ? MQ_DUE :
		queue_shard(shard, number % options.shards);

	snprintf(id, sizeof(id), "%d", number);
	properties.message_id = mq_bytes(id);
	numbers[nr_numbers++] = number;
	unanswered++;
	message->published++;
	return mq_check_status(amqp_basic_publish(conn, 1, mq_bytes(exchange),
						  mq_bytes(options.key), 1, 0, &properties,
						  (amqp_bytes_t){ sizeof(body), body }),
			       "publish");
}

/* Publish from the first unconfirmed message on, at the rate, until the broker is lost. */
static void put_on_connection(int64_t began_ns)
{
	int64_t heard_ns = mq_monotonic_ns();
	enum mq_event event = MQ_OTHER;
	amqp_envelope_t envelope;
	amqp_basic_ack_t ack;
	int next = 0;

	while (confirmed < options.count && time_is_left()) {
		int64_t now = mq_monotonic_ns();
		int due = options.rate ? (now - began_ns) / MQ_NS_PER_MS * options.rate / 1000 :
			options.count;

		while (next < options.count && next < due && unanswered < WINDOW) {
			struct message *message = &messages[next];

			if (!message->due_us)
				message->due_us = now_us() / 1000 * 1000 + 1000LL *
					(options.first_ms + random() %
					 (options.last_ms - options.first_ms + 1));
			if (!message->confirmed_us && publish(next))
				return;
			next++;
		}
		event = mq_read(conn, &envelope, &ack,
				next < due && unanswered < WINDOW ? 0 : PATIENCE_MS);
		if (event == MQ_CONFIRM)
			on_ack(&ack);
		if (event == MQ_CONFIRM || !unanswered)
			heard_ns = now;
		if (event == MQ_FAILED || now - heard_ns > CONFIRM_SECONDS * MQ_NS_PER_SEC)
			return;
	}
}

static int put_all(char *const urls[], int nr_urls)
{
	int64_t began_ns = mq_monotonic_ns();
	unsigned int pause = 0;
	int first = 0;
	FILE *books = open_books();

	messages = calloc(options.count, sizeof(*messages));
	numbers = calloc(options.count, sizeof(*numbers));
	if (!messages || !numbers)
		err(1, "calloc");
	while (confirmed < options.count && time_is_left()) {
		conn = mq_connect_any(urls, nr_urls, &first);
		nr_numbers = 0;
		oldest = 1;
		unanswered = 0;
		if (conn && !mq_confirms(conn)) {
			pause = 0;
			put_on_connection(began_ns);
		}
		mq_free(conn);
		if (confirmed < options.count)
			mq_backoff(&pause);
	}
	for (int i = 0; i < options.count; i++)
		fprintf(books, "%d %ld %ld %u\n", i, messages[i].due_us, messages[i].confirmed_us,
			messages[i].published);
	close_books(books);
	fprintf(stderr, "put: %d of %d confirmed in %.3f s\n", confirmed, options.count,
		(mq_monotonic_ns() - began_ns) / 1e9);
	return confirmed < options.count;
}

/* ---- Reading ---- */

static int nr_seen;
static unsigned char *seen;

static int declare_target(void)
{
	amqp_table_entry_t quorum = mq_text("x-queue-type", "quorum");

	if (options.queue)
		return mq_consume(conn, 1, options.queue, PREFETCH);
	if (mq_queue(conn, TARGET, &quorum, 1) || mq_bind(conn, TARGET, MQ_DUE, TARGET))
		return -1;
	return mq_consume(conn, 1, TARGET, PREFETCH);
}

static int on_delivery(const amqp_envelope_t *envelope, FILE *books)
{
	const amqp_bytes_t id = envelope->message.properties.message_id;
	char text[16];
	int number;

	snprintf(text, sizeof(text), "%.*s", (int)id.len, (const char *)id.bytes);
	number = atoi(text);
	fprintf(books, "%d %ld %d\n", number, now_us(), envelope->redelivered);
	if (number >= 0 && number < options.count && !seen[number]) {
		seen[number] = 1;
		nr_seen++;
	}
	return mq_check_status(amqp_basic_ack(conn, 1, envelope->delivery_tag, 0), "acknowledge");
}

static void take_on_connection(FILE *books)
{
	enum mq_event event = MQ_OTHER;
	amqp_envelope_t envelope;
	amqp_basic_ack_t ack;

	while (event != MQ_FAILED && time_is_left()) {
		event = mq_read(conn, &envelope, &ack, PATIENCE_MS);
		if (event != MQ_DELIVERY)
			continue;
		if (on_delivery(&envelope, books))
			event = MQ_FAILED;
		amqp_destroy_envelope(&envelope);
		/* A message that comes twice comes late. */
		if (nr_seen == options.count &&
		    deadline_ns > mq_monotonic_ns() + LINGER_SECONDS * MQ_NS_PER_SEC)
			deadline_ns = mq_monotonic_ns() + LINGER_SECONDS * MQ_NS_PER_SEC;
	}
}

static int take_all(char *const urls[], int nr_urls)
{
	FILE *books = open_books();
	unsigned int pause = 0;
	int first = 0;

	seen = calloc(options.count, 1);
	if (!seen)
		err(1, "calloc");
	while (time_is_left()) {
		conn = mq_connect_any(urls, nr_urls, &first);
		if (conn && !declare_target()) {
			fprintf(stderr, "take: connected\n");
			pause = 0;
			take_on_connection(books);
		}
		mq_free(conn);
		if (time_is_left())
			mq_backoff(&pause);
	}
	close_books(books);
	fprintf(stderr, "take: %d of %d\n", nr_seen, options.count);
	return nr_seen < options.count;
}

/* ---- The command line ---- */

static void reject_options(void)
{
	errx(2, "usage: load [OPTION...] put|take URL...\n"
	     "-n COUNT     messages\n"
	     "-t SECONDS   the longest time it may take\n"
	     "-o FILE      where it is written down\n"
	     "take:\n"
	     "-q QUEUE     read this one\n"
	     "put:\n"
	     "-s SHARDS    how many there are\n"
	     "-r RATE      messages per second; 0: as fast as it goes\n"
	     "-a MS -b MS  the shortest and the longest delay\n"
	     "-S SEED      of the delays\n"
	     "-p           plain: not delayed\n"
	     "-k KEY       the routing key\n"
	     "-A NUMBER    what " MQ_DELIVER_AT " is, whatever that means\n"
	     "-N           no such header");
}

static void parse(int argc, char *argv[])
{
	int opt, *numbers[128] = {
		['n'] = &options.count, ['t'] = &options.seconds, ['s'] = &options.shards,
		['r'] = &options.rate, ['a'] = &options.first_ms, ['b'] = &options.last_ms,
	};

	while ((opt = getopt(argc, argv, "n:t:o:s:r:a:b:S:pk:q:A:N")) != -1) {
		if (opt == 'o')
			options.books = optarg;
		else if (opt == 'p')
			options.plain = true;
		else if (opt == 'k')
			options.key = optarg;
		else if (opt == 'q')
			options.queue = optarg;
		else if (opt == 'A')
			options.header = atol(optarg);
		else if (opt == 'N')
			options.no_header = true;
		else if (opt == 'S')
			srandom(atoi(optarg));
		else if (opt > 0 && opt < 128 && numbers[opt])
			*numbers[opt] = atoi(optarg);
		else
			reject_options();
	}
	if (argc - optind < 2 || options.count < 1 || options.shards < 1 ||
	    options.shards > SHARDS_MAX || options.rate < 0 ||
	    options.last_ms < options.first_ms)
		reject_options();
}

int main(int argc, char *argv[])
{
	parse(argc, argv);
	mq_catch_signals();
	deadline_ns = mq_monotonic_ns() + options.seconds * MQ_NS_PER_SEC;
	if (!strcmp(argv[optind], "put"))
		return put_all(argv + optind + 1, argc - optind - 1);
	if (!strcmp(argv[optind], "take"))
		return take_all(argv + optind + 1, argc - optind - 1);
	reject_options();
}
