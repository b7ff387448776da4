/* SPDX-License-Identifier: MIT */
/*
 * AMQP in short: the part of librabbitmq that the two programs here use
 *
 * A function that fails has printed the reason, and returns NULL or -1. The connection is
 * unusable then: free it, and make another one.
 */
#ifndef MQ_H
#define MQ_H

#include <stdbool.h>
#include <stdint.h>
#include <amqp.h>

#define MQ_CHANNELS	2047
#define MQ_NS_PER_MS	1000000LL
#define MQ_NS_PER_SEC	1000000000LL

/* The header with the deadline of a message, in milliseconds since 1970. */
#define MQ_DELIVER_AT	"x-deliver-at"

/* SIGTERM and SIGINT end waits; a program checks whether one has arrived. */
void mq_catch_signals(void);
bool mq_stopping(void);

int64_t mq_wall_ns(void);
int64_t mq_monotonic_ns(void);

/* Connect to amqp://USER:PASSWORD@HOST:PORT/VHOST, with channel 1 open. */
amqp_connection_state_t mq_connect(const char *url);
void mq_free(amqp_connection_state_t conn);

/* Connect to any of these, beginning with *@first, which is set to the next one to try. */
amqp_connection_state_t mq_connect_any(char *const urls[], int nr_urls, int *first);

/* Wait before retrying, twice as long each time; @delay_ms is 0 after a success. */
void mq_backoff(unsigned int *delay_ms);

/* Print the error in a reply, if there is one. */
int mq_check(amqp_rpc_reply_t reply, const char *what);
int mq_check_status(int status, const char *what);

amqp_bytes_t mq_bytes(const char *text);
amqp_table_entry_t mq_text(const char *key, const char *value);
amqp_table_entry_t mq_number(const char *key, int64_t value);
amqp_table_entry_t mq_true(const char *key);

/* Declare on channel 1; existing queues and exchanges must be the same. */
int mq_queue(amqp_connection_state_t conn, const char *name, amqp_table_entry_t *args, int nr);
int mq_exchange(amqp_connection_state_t conn, const char *name, const char *type,
		const char *alternate);
int mq_bind(amqp_connection_state_t conn, const char *queue, const char *exchange,
	    const char *key);
int mq_consume(amqp_connection_state_t conn, uint16_t channel, const char *queue,
	       uint16_t prefetch);

/* Have channel 1 confirm published messages. */
int mq_confirms(amqp_connection_state_t conn);

/* The results of mq_read(). */
enum mq_event {
	MQ_FAILED = -1,
	MQ_NOTHING,	/* nothing has arrived in time */
	MQ_DELIVERY,	/* @envelope, to be destroyed */
	MQ_CONFIRM,	/* @ack */
	MQ_OTHER,	/* something to be skipped */
};

enum mq_event mq_read(amqp_connection_state_t conn, amqp_envelope_t *envelope,
		      amqp_basic_ack_t *ack, int timeout_ms);

/* Return whether there is buffered data, for which poll() does not wait. */
bool mq_has_input(amqp_connection_state_t conn);

/* The entry of a table, or NULL. */
const amqp_field_value_t *mq_find(const amqp_table_t *table, const char *key);

#endif
