/* SPDX-License-Identifier: MIT */
/*
 * The queues that delayed messages pass through
 *
 * Shard I is a queue with a fanout exchange of the same name: delay.I. A message that is
 * due much later waits in delay.I.waitS for S seconds, and comes back. A due message goes
 * to delay.due, by the routing key with which it was published.
 */
#ifndef QUEUES_H
#define QUEUES_H

#include <amqp.h>

#define SHARDS_MAX		256
#define QUEUE_NAME_BYTES	64

/* An exchange: bind queues to it. */
#define MQ_DUE			"delay.due"
/* Due messages for which no queue was bound. */
#define QUEUE_NOWHERE		"delay.nowhere"
/* Messages without a valid deadline. */
#define QUEUE_INVALID		"delay.invalid"
/* Each node consumes it, so that nodes can be counted. */
#define QUEUE_NODES		"delay.nodes"

const char *queue_shard(char *buf, int shard);
const char *queue_wait(char *buf, int shard, int seconds);

/* The time of the shorter of the two waiting queues. */
int queues_short_hold(int hold_seconds);

/* Declare all of them; those that exist must be the same. */
int queues_setup(amqp_connection_state_t conn, int nr_shards, int hold_seconds);

#endif
