/* SPDX-License-Identifier: MIT */
/*
 * All schedules of a scenario with a bounded number of preemptions
 */
#ifndef INTERLEAVE_EXPLORE_H
#define INTERLEAVE_EXPLORE_H

#include "scenario.h"

/* The results of exploring a scenario */
struct findings {
	unsigned long schedules;	/* how many were explored */
	unsigned long states;	/* the number of different states with more than one option */
	unsigned int bound;	/* all schedules with up to this many preemptions were explored */
	const char *rule;	/* the rule that was broken, or NULL */
	unsigned int preemptions;	/* with how many preemptions */
	const char *schedule;	/* and in which schedule, as explore_replay() reads it */
};

/*
 * Explore with 0, 1, 2... up to @bound preemptions, until something is broken. One preemption
 * more is tried only if there were at most @limit schedules with one less.
 */
struct findings explore(const struct scenario *scenario, unsigned int bound, unsigned long limit);

/*
 * Print the steps of one schedule: "first", or the steps that do not take the first option,
 * such as 12.1,30.2. Return false if there is no such schedule; set @rule to the rule that it
 * breaks, or NULL.
 */
bool explore_replay(const struct scenario *scenario, const char *schedule, const char **rule);

#endif /* INTERLEAVE_EXPLORE_H */
