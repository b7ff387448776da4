// SPDX-License-Identifier: MIT
#include <stdio.h>
#include "mq.h"
#include "queues.h"

#define QUORUM		mq_text("x-queue-type", "quorum")
#define AT_LEAST_ONCE	mq_text("x-dead-letter-strategy", "at-least-once")
#define NEVER_DROP	mq_text("x-overflow", "reject-publish")
#define SHORTER		10

const char *queue_shard(char *buf, int shard)
{
	snprintf(buf, QUEUE_NAME_BYTES, "delay.%d", shard);
	return buf;
}

const char *queue_wait(char *buf, int shard, int seconds)
{
	snprintf(buf, QUEUE_NAME_BYTES, "delay.%d.wait%d", shard, seconds);
	return buf;
}

int queues_short_hold(int hold_seconds)
{
	return hold_seconds > SHORTER ? hold_seconds / SHORTER : 1;
}

/* An exchange and a queue for all of its messages: the routing key stays the target's. */
static int declare_pair(amqp_connection_state_t conn, const char *name, amqp_table_entry_t *args,
			int nr)
{
	if (mq_exchange(conn, name, "fanout", NULL) || mq_queue(conn, name, args, nr))
		return -1;
	return mq_bind(conn, name, name, "");
}

static int declare_wait(amqp_connection_state_t conn, int i, int seconds)
{
	char name[QUEUE_NAME_BYTES], back[QUEUE_NAME_BYTES];
	amqp_table_entry_t args[] = {
		QUORUM, AT_LEAST_ONCE, NEVER_DROP,
		mq_text("x-dead-letter-exchange", queue_shard(back, i)),
		mq_number("x-message-ttl", seconds * 1000LL),
	};

	return declare_pair(conn, queue_wait(name, i, seconds), args, 5);
}

static int declare_shard(amqp_connection_state_t conn, int i)
{
	char name[QUEUE_NAME_BYTES];
	amqp_table_entry_t args[] = {
		QUORUM, AT_LEAST_ONCE, NEVER_DROP,
		mq_text("x-dead-letter-exchange", MQ_DUE),
		mq_true("x-single-active-consumer"),
	};

	return declare_pair(conn, queue_shard(name, i), args, 5);
}

int queues_setup(amqp_connection_state_t conn, int nr_shards, int hold_seconds)
{
	int shorter = queues_short_hold(hold_seconds);
	amqp_table_entry_t quorum[] = { QUORUM };

	if (declare_pair(conn, QUEUE_NOWHERE, quorum, 1) ||
	    declare_pair(conn, QUEUE_INVALID, quorum, 1) ||
	    mq_exchange(conn, MQ_DUE, "direct", QUEUE_NOWHERE) ||
	    mq_queue(conn, QUEUE_NODES, quorum, 1))
		return -1;
	for (int i = 0; i < nr_shards; i++)
		if (declare_shard(conn, i) || declare_wait(conn, i, hold_seconds) ||
		    (shorter != hold_seconds && declare_wait(conn, i, shorter)))
			return -1;
	return 0;
}
