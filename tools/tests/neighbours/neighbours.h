/* SPDX-License-Identifier: MIT */
/*
 * What the files of twheel-neighbours share: attacks, and those who suffer them
 */
#ifndef NEIGHBOURS_H
#define NEIGHBOURS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "clock.h"

/* What the victims ask for: so much time. */
#define VICTIM_PERIOD	MSEC

/* How many events a wheel is asked for at a time. */
#define EVENTS		1024

struct attacker;
struct facility;
struct twheel_add;
struct twheel_modify;

/**
 * struct attack - what a user without privileges does to the others
 * @name: what it is called.
 * @about: what happens, in so many words.
 * @wheels: how many wheels he has...
 * @timers: ... with so many timers each; against as many timerfds as that is timers.
 * @size: buckets in a level.
 * @dups: how often each descriptor is in his epoll.
 * @ahead: for attacks that arm timers again and again: how far ahead.
 * @step: how much later each timer is due than the one before.
 * @interval: the period of the timers, or 0.
 * @window: how long the others are watched.
 * @kernel: for how long the kernel cannot be preempted while it does what he asks for,
 *	whoever asks.
 * @preparation: how long before its begin the attack is prepared; 0 is as usual.
 * @align: the first timer is due at a multiple of this; 0 is as usual.
 * @once: it is made once, as preparing it takes long.
 * @nests: the victim that sleeps adds a descriptor to a nested epoll when it wakes up.
 * @act: what he does meanwhile; NULL when he sleeps.
 */
struct attack {
	const char *name;
	const char *about;
	unsigned int wheels;
	unsigned int timers;
	unsigned int size;
	unsigned int dups;
	uint64_t ahead;
	uint64_t step;
	uint64_t interval;
	uint64_t window;
	uint64_t kernel;
	uint64_t preparation;
	uint64_t align;
	bool once;
	bool nests;
	void (*act)(struct attacker *a);
};

/**
 * struct attacker - the process that makes an attack
 * @attack: the attack.
 * @with: what with.
 * @timers: how many of them there are for each descriptor.
 * @nr_fds: how many descriptors.
 * @fd: those.
 * @epoll: has all of them, for attacks that need it.
 * @when: for each timer of all descriptors, when it is due...
 * @id: ... and its id, if it is in a wheel.
 * @add: for the timers of one wheel; so is @modify.
 * @modify: see @add.
 * @end: when nobody looks any more.
 */
struct attacker {
	const struct attack *attack;
	const struct facility *with;
	unsigned int timers;
	unsigned int nr_fds;
	int *fd;
	int epoll;
	uint64_t *when;
	uint64_t *id;
	struct twheel_add *add;
	struct twheel_modify *modify;
	uint64_t end;
};

/**
 * struct facility - a kind of timers to attack with
 * @name: what it is called.
 * @many: a wheel has many timers, a timerfd has one.
 * @open: open a descriptor, nonblocking.
 * @arm: set all timers of a descriptor to the times in @when of the attacker.
 * @disarm: stop them.
 * @drain: read what has expired.
 */
struct facility {
	const char *name;
	bool many;
	int (*open)(const struct attack *attack);
	void (*arm)(struct attacker *a, unsigned int nr);
	void (*disarm)(struct attacker *a, unsigned int nr);
	void (*drain)(int fd);
};

extern const struct facility timerfds;
extern const struct facility wheels;

/* What he does, for the table of attacks. */
void act_spin(struct attacker *a);
void act_poll(struct attacker *a);
void act_read(struct attacker *a);
void act_read_then_poll(struct attacker *a);
void act_rearm(struct attacker *a);
void act_rearm_far(struct attacker *a);
void act_rearm_and_disarm(struct attacker *a);
void act_arm_and_read(struct attacker *a);
void act_open_and_close(struct attacker *a);
void act_exit(struct attacker *a);
void act_loop(struct attacker *a);
void act_nest(struct attacker *a);

/* An attack that has been prepared, and begins later: see start_attack(). */
struct ongoing {
	pid_t pid;
	uint64_t begin;
};

uint64_t loop_late(void);
struct ongoing start_attack(const struct attack *attack, const struct facility *with,
			    uint64_t phase);
void end_attack(const struct ongoing *ongoing);

/**
 * struct suffering - what others had to bear during an attack, in nanoseconds
 * @sleeper_late: how late a task of real-time priority that sleeps was at most.
 * @reader_late: how late one was that reads a wheel of its own.
 * @gap: the longest time for which a normal task that wants the CPU did not have it.
 * @taken: how long altogether it did not have it.
 * @paid: what of that the attacker's own account shows.
 * @watched: how long the attack was watched.
 */
struct suffering {
	uint64_t sleeper_late;
	uint64_t reader_late;
	uint64_t gap;
	uint64_t taken;
	uint64_t paid;
	uint64_t watched;
};

struct suffering watch_attack(const struct ongoing *ongoing, uint64_t window, bool nests);

#endif /* NEIGHBOURS_H */
