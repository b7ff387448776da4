// SPDX-License-Identifier: MIT
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>
#include <amqp_tcp_socket.h>
#include "mq.h"

/* How long a broker's answer may take: an election among its peers takes seconds. */
#define ANSWER_SECONDS	20
#define CONNECT_SECONDS	5
/* A silent broker is abandoned after twice this time. */
#define HEARTBEAT_SECONDS	5
#define FRAME_BYTES	131072
#define BACKOFF_FIRST_MS	100
#define BACKOFF_LAST_MS	5000

static int stopping;

static void on_signal(int number)
{
	(void)number;
	__atomic_store_n(&stopping, 1, __ATOMIC_RELAXED);
}

void mq_catch_signals(void)
{
	const struct sigaction act = { .sa_handler = on_signal };

	sigaction(SIGTERM, &act, NULL);
	sigaction(SIGINT, &act, NULL);
}

bool mq_stopping(void)
{
	return __atomic_load_n(&stopping, __ATOMIC_RELAXED);
}

static int64_t clock_ns(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return now.tv_sec * MQ_NS_PER_SEC + now.tv_nsec;
}

int64_t mq_wall_ns(void)
{
	return clock_ns(CLOCK_REALTIME);
}

int64_t mq_monotonic_ns(void)
{
	return clock_ns(CLOCK_MONOTONIC);
}

amqp_bytes_t mq_bytes(const char *text)
{
	return amqp_cstring_bytes(text);
}

/* Print the reason in a frame that ends a channel, a connection or a consumer. */
static void report_method(const amqp_method_t *method)
{
	amqp_bytes_t text = { 0 };
	int code = 0;

	if (method->id == AMQP_CHANNEL_CLOSE_METHOD) {
		const amqp_channel_close_t *close = method->decoded;

		text = close->reply_text;
		code = close->reply_code;
	} else if (method->id == AMQP_CONNECTION_CLOSE_METHOD) {
		const amqp_connection_close_t *close = method->decoded;

		text = close->reply_text;
		code = close->reply_code;
	} else if (method->id == AMQP_BASIC_RETURN_METHOD) {
		const amqp_basic_return_t *ret = method->decoded;

		text = ret->exchange;
		code = ret->reply_code;
	} else if (method->id == AMQP_BASIC_CANCEL_METHOD) {
		text = mq_bytes("the queue is gone");
	} else {
		text = mq_bytes(amqp_method_name(method->id));
	}
	fprintf(stderr, "%d %.*s\n", code, (int)text.len, (const char *)text.bytes);
}

int mq_check_status(int status, const char *what)
{
	if (status >= 0)
		return 0;
	fprintf(stderr, "%s: %s\n", what, amqp_error_string2(status));
	return -1;
}

int mq_check(amqp_rpc_reply_t reply, const char *what)
{
	if (reply.reply_type == AMQP_RESPONSE_NORMAL)
		return 0;
	if (reply.reply_type == AMQP_RESPONSE_LIBRARY_EXCEPTION)
		return mq_check_status(reply.library_error, what);
	fprintf(stderr, "%s: ", what);
	if (reply.reply_type == AMQP_RESPONSE_SERVER_EXCEPTION)
		report_method(&reply.reply);
	else
		fprintf(stderr, "no answer\n");
	return -1;
}

void mq_free(amqp_connection_state_t conn)
{
	if (conn)
		amqp_destroy_connection(conn);
}

static int log_in(amqp_connection_state_t conn, const struct amqp_connection_info *info)
{
	const struct timeval answer = { .tv_sec = ANSWER_SECONDS };
	struct timeval connect = { .tv_sec = CONNECT_SECONDS };
	amqp_socket_t *socket = amqp_tcp_socket_new(conn);
	char where[300];

	snprintf(where, sizeof(where), "%.200s:%d", info->host, info->port);
	if (!socket)
		return mq_check_status(AMQP_STATUS_NO_MEMORY, where);
	amqp_set_handshake_timeout(conn, &answer);
	amqp_set_rpc_timeout(conn, &answer);
	if (mq_check_status(amqp_socket_open_noblock(socket, info->host, info->port, &connect),
			    where))
		return -1;
	if (mq_check(amqp_login(conn, info->vhost, MQ_CHANNELS, FRAME_BYTES, HEARTBEAT_SECONDS,
				AMQP_SASL_METHOD_PLAIN, info->user, info->password), where))
		return -1;
	amqp_channel_open(conn, 1);
	return mq_check(amqp_get_rpc_reply(conn), where);
}

amqp_connection_state_t mq_connect(const char *url)
{
	struct amqp_connection_info info;
	amqp_connection_state_t conn;
	char *copy = strdup(url);	/* the parser writes to it */

	if (!copy || amqp_parse_url(copy, &info)) {
		fprintf(stderr, "this is no amqp://USER:PASSWORD@HOST:PORT/VHOST\n");
		free(copy);
		return NULL;
	}
	conn = amqp_new_connection();
	if (conn && log_in(conn, &info)) {
		mq_free(conn);
		conn = NULL;
	}
	free(copy);
	return conn;
}

amqp_connection_state_t mq_connect_any(char *const urls[], int nr_urls, int *first)
{
	for (int i = 0; i < nr_urls; i++) {
		amqp_connection_state_t conn = mq_connect(urls[*first]);

		*first = (*first + 1) % nr_urls;
		if (conn)
			return conn;
	}
	return NULL;
}

/* Half of the time is random, as all clients of a broker that died come back at once. */
void mq_backoff(unsigned int *delay_ms)
{
	struct timespec pause;
	unsigned int ms;

	if (!*delay_ms)
		*delay_ms = BACKOFF_FIRST_MS;
	ms = *delay_ms / 2 + random() % (*delay_ms / 2 + 1);
	pause.tv_sec = ms / 1000;
	pause.tv_nsec = ms % 1000 * MQ_NS_PER_MS;
	nanosleep(&pause, NULL);
	*delay_ms = *delay_ms * 2 < BACKOFF_LAST_MS ? *delay_ms * 2 : BACKOFF_LAST_MS;
}

amqp_table_entry_t mq_text(const char *key, const char *value)
{
	return (amqp_table_entry_t){
		.key = mq_bytes(key),
		.value = { .kind = AMQP_FIELD_KIND_UTF8, .value.bytes = mq_bytes(value) },
	};
}

amqp_table_entry_t mq_number(const char *key, int64_t value)
{
	return (amqp_table_entry_t){
		.key = mq_bytes(key),
		.value = { .kind = AMQP_FIELD_KIND_I64, .value.i64 = value },
	};
}

amqp_table_entry_t mq_true(const char *key)
{
	return (amqp_table_entry_t){
		.key = mq_bytes(key),
		.value = { .kind = AMQP_FIELD_KIND_BOOLEAN, .value.boolean = 1 },
	};
}

int mq_queue(amqp_connection_state_t conn, const char *name, amqp_table_entry_t *args, int nr)
{
	amqp_table_t table = { .num_entries = nr, .entries = args };

	amqp_queue_declare(conn, 1, mq_bytes(name), 0, 1, 0, 0, table);
	return mq_check(amqp_get_rpc_reply(conn), name);
}

int mq_exchange(amqp_connection_state_t conn, const char *name, const char *type,
		const char *alternate)
{
	amqp_table_entry_t entry = mq_text("alternate-exchange", alternate ? alternate : "");
	amqp_table_t table = { .num_entries = alternate ? 1 : 0, .entries = &entry };

	amqp_exchange_declare(conn, 1, mq_bytes(name), mq_bytes(type), 0, 1, 0, 0, table);
	return mq_check(amqp_get_rpc_reply(conn), name);
}

int mq_bind(amqp_connection_state_t conn, const char *queue, const char *exchange,
	    const char *key)
{
	amqp_queue_bind(conn, 1, mq_bytes(queue), mq_bytes(exchange), mq_bytes(key),
			amqp_empty_table);
	return mq_check(amqp_get_rpc_reply(conn), queue);
}

int mq_consume(amqp_connection_state_t conn, uint16_t channel, const char *queue,
	       uint16_t prefetch)
{
	amqp_basic_qos(conn, channel, 0, prefetch, 0);
	if (mq_check(amqp_get_rpc_reply(conn), queue))
		return -1;
	amqp_basic_consume(conn, channel, mq_bytes(queue), amqp_empty_bytes, 0, 0, 0,
			   amqp_empty_table);
	return mq_check(amqp_get_rpc_reply(conn), queue);
}

int mq_confirms(amqp_connection_state_t conn)
{
	amqp_confirm_select(conn, 1);
	return mq_check(amqp_get_rpc_reply(conn), "confirms");
}

/* Read a frame that is not a delivery. */
static enum mq_event read_other(amqp_connection_state_t conn, amqp_basic_ack_t *ack)
{
	struct timeval zero = { 0 };
	amqp_frame_t frame;
	int status = amqp_simple_wait_frame_noblock(conn, &frame, &zero);

	if (status == AMQP_STATUS_TIMEOUT)
		return MQ_NOTHING;
	if (mq_check_status(status, "read"))
		return MQ_FAILED;
	if (frame.frame_type != AMQP_FRAME_METHOD)
		return MQ_OTHER;
	if (frame.payload.method.id == AMQP_BASIC_ACK_METHOD) {
		*ack = *(amqp_basic_ack_t *)frame.payload.method.decoded;
		return MQ_CONFIRM;
	}
	fprintf(stderr, "the broker ends it: ");
	report_method(&frame.payload.method);
	return MQ_FAILED;
}

enum mq_event mq_read(amqp_connection_state_t conn, amqp_envelope_t *envelope,
		      amqp_basic_ack_t *ack, int timeout_ms)
{
	struct timeval timeout = {
		.tv_sec = timeout_ms / 1000,
		.tv_usec = timeout_ms % 1000 * 1000,
	};
	amqp_rpc_reply_t reply;

	amqp_maybe_release_buffers(conn);
	reply = amqp_consume_message(conn, envelope, &timeout, 0);
	if (reply.reply_type == AMQP_RESPONSE_LIBRARY_EXCEPTION) {
		if (reply.library_error == AMQP_STATUS_TIMEOUT)
			return MQ_NOTHING;
		if (reply.library_error == AMQP_STATUS_UNEXPECTED_STATE)
			return read_other(conn, ack);
	}
	return mq_check(reply, "read") ? MQ_FAILED : MQ_DELIVERY;
}

bool mq_has_input(amqp_connection_state_t conn)
{
	return amqp_frames_enqueued(conn) || amqp_data_in_buffer(conn);
}

const amqp_field_value_t *mq_find(const amqp_table_t *table, const char *key)
{
	size_t len = strlen(key);

	for (int i = 0; i < table->num_entries; i++) {
		const amqp_table_entry_t *entry = &table->entries[i];

		if (entry->key.len == len && !memcmp(entry->key.bytes, key, len))
			return &entry->value;
	}
	return NULL;
}
