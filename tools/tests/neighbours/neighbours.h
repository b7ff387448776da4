/* SPDX-License-Identifier: MIT */
/*
 * The declarations that the files of twheel-neighbours share: attacks, and their victims
 */
#ifndef NEIGHBOURS_H
#define NEIGHBOURS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "clock.h"

/* How long the victims sleep at a time. */
#define VICTIM_PERIOD	MSEC

/* How many events to read from a wheel at a time. */
#define EVENTS		20000

struct attacker;
struct facility;
struct twheel_add;
struct twheel_modify;

/**
 * struct attack - an attack by an unprivileged user on others
 * @name: its name.
 * @about: one line about it.
 * @wheels: number of wheels.
 * @timers: number of timers in each wheel; there is a timerfd for each timer of all wheels.
 * @size: buckets in a level.
 * @slots: how many slots the ring of the only wheel has; 0 stands for no ring.
 * @dups: how often each descriptor is in the attacker's epoll.
 * @ahead: for attacks that arm timers again and again: how far ahead.
 * @step: how much later each timer is due than the one before.
 * @interval: the period of the timers, or 0.
 * @window: how long the others are watched.
 * @kernel: how long the kernel's own work for these calls cannot be preempted.
 * @most: a real-time task may not be later, whatever timerfds do; 0 stands for no such limit.
 * @preparation: how long before its start the attack is prepared; 0 stands for the default.
 * @align: the first timer is due at a multiple of this; 0 stands for the default.
 * @aio: each descriptor has a poll of aio, and there is one timerfd for each wheel.
 * @once: it runs only once, as preparing it takes long, or as only interrupts run: the whole of
 *	them delays the victims, whatever the phase.
 * @nests: the victim that sleeps adds a descriptor to a nested epoll when it wakes up.
 * @act: the attacker's work during the attack; NULL when it sleeps.
 */
struct attack {
	const char *name;
	const char *about;
	unsigned int wheels;
	unsigned int timers;
	unsigned int size;
	unsigned int slots;
	unsigned int dups;
	uint64_t ahead;
	uint64_t step;
	uint64_t interval;
	uint64_t window;
	uint64_t kernel;
	uint64_t most;
	uint64_t preparation;
	uint64_t align;
	bool aio;
	bool once;
	bool nests;
	void (*act)(struct attacker *a);
};

/**
 * struct attacker - the process that makes an attack
 * @attack: the attack.
 * @with: timerfds or wheels.
 * @timers: how many timers each descriptor has.
 * @nr_fds: how many descriptors.
 * @fd: those.
 * @epoll: an epoll with all of them, for attacks that need it.
 * @when: for each timer of all descriptors, when it is due...
 * @id: ... and its id, if it is in a wheel.
 * @add: arguments for the timers of one wheel; so is @modify.
 * @modify: see @add.
 * @end: when watching ends.
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
 * struct facility - a kind of timer to attack with
 * @name: its name.
 * @many: a wheel has many timers, a timerfd has one.
 * @open: open a descriptor, nonblocking.
 * @arm: set all timers of a descriptor to the times in @when of the attacker.
 * @disarm: stop them.
 * @drain: read what has expired.
 * @spoil: write garbage to the ring, or NULL.
 */
struct facility {
	const char *name;
	bool many;
	int (*open)(const struct attack *attack);
	void (*arm)(struct attacker *a, unsigned int nr);
	void (*disarm)(struct attacker *a, unsigned int nr);
	void (*drain)(int fd);
	void (*spoil)(void);
};

extern const struct facility timerfds;
extern const struct facility wheels;

/* The acts, for the table of attacks. */
void act_spin(struct attacker *a);
void act_poll(struct attacker *a);
void act_spoil(struct attacker *a);
void act_read(struct attacker *a);
void act_read_then_poll(struct attacker *a);
void act_rearm(struct attacker *a);
void act_rearm_far(struct attacker *a);
void act_rearm_and_disarm(struct attacker *a);
void act_arm_and_read(struct attacker *a);
void act_open_and_close(struct attacker *a);
void act_close(struct attacker *a);
void act_exit(struct attacker *a);
void act_loop(struct attacker *a);
void act_nest(struct attacker *a);

/* A prepared attack that begins later: see start_attack(). */
struct ongoing {
	pid_t pid;
	uint64_t begin;
};

uint64_t loop_late(void);
struct ongoing start_attack(const struct attack *attack, const struct facility *with,
			    uint64_t phase);
void end_attack(const struct ongoing *ongoing);

/**
 * struct suffering - the impact of an attack on others, in nanoseconds
 * @sleeper_late: the maximum lateness of a real-time task that sleeps.
 * @reader_late: that of one that reads its own wheel.
 * @gap: the longest time that a normal task waited for the CPU.
 * @taken: the total time that it waited.
 * @paid: the part of that on the attacker's account.
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
