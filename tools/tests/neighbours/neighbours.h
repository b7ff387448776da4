/* SPDX-License-Identifier: MIT */
/*
 * The declarations that the files of twheel-neighbours share: attacks, and their victims
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "clock.h"

/* How long the victims sleep at a time. */
#define VICTIM_PERIOD	MSEC

/* Acts that the attacker repeats: any of these, in this order. */
enum act {
	ACT_SPIN	= 1 << 0,	/* use the CPU */
	ACT_CLOSE	= 1 << 1,
	ACT_OPEN	= 1 << 2,
	ACT_ARM		= 1 << 3,	/* or modify, if they are armed */
	ACT_DISARM	= 1 << 4,
	ACT_SPOIL	= 1 << 5,	/* write garbage to the ring */
	ACT_POLL	= 1 << 6,	/* without reading */
	ACT_READ	= 1 << 7,	/* poll, and read what is ready, as servers do */
	ACT_READ_ALL	= 1 << 8,
	ACT_TICK	= 1 << 9,	/* measure how late a timerfd in the same epoll is */
};

/* An attack by an unprivileged user on others */
struct attack {
	const char *name;
	const char *about;	/* one line about it */
	unsigned int wheels;
	unsigned int timers;	/* in each wheel; there is a timerfd for each timer of all wheels */
	unsigned int size;	/* buckets in a level */
	unsigned int slots;	/* of the ring of the only wheel; 0 stands for no ring */
	unsigned int dups;	/* how often each descriptor is in the attacker's epoll */
	uint64_t ahead;		/* how far ahead timers are armed */
	uint64_t step;		/* how much later each timer is due than the one before */
	uint64_t interval;	/* the period of the timers, or 0 */
	uint64_t window;	/* how long the others are watched */
	uint64_t kernel;	/* how long the kernel's own work for it cannot be preempted */
	uint64_t most;		/* real-time tasks may not be later, whatever timerfds do; or 0 */
	uint64_t align;		/* the first timer is due at a multiple of this; or 0 */
	bool aio;		/* polls of aio, and one timerfd for each wheel */
	bool once;		/* it runs only once, as preparing it takes long */
	enum act act;		/* its work during the attack; 0 when it sleeps */
};

/* A prepared attack that begins later: see start_attack(). */
struct ongoing {
	pid_t pid;
	uint64_t begin;
};

struct ongoing start_attack(const struct attack *attack, bool wheels, uint64_t phase);
uint64_t end_attack(const struct ongoing *ongoing);

/*
 * The impact of an attack on others, in microseconds or percent: the maximum lateness of real-time
 * tasks that sleep, and read their own wheels, and of the attacker's own timerfd; the longest time
 * that a normal task waited for the CPU; how much of the time nobody had, and the attacker.
 */
enum { SLEEPER, READER, LOOP, GAP, LOST, PAID, FIGURES };

struct suffering {
	double figure[FIGURES];
};

struct suffering watch_attack(const struct ongoing *ongoing, uint64_t window);
