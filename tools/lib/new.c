// SPDX-License-Identifier: MIT
/*
 * Making loops: checking the configuration, and choosing the backend
 */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "loop.h"

/* Derive the parameters of the wheel. Returns 0, or -1 with errno set. */
static int read_config(const struct twheel_loop_config *config, struct twheel_setup *setup)
{
	*setup = (struct twheel_setup) {
		.tick_ns = config->tick_ns ?: TWHEEL_TICK_DEFAULT_NS,
		.max_timers = config->max_timers,
		.wheel_size = config->wheel_size ?: TWHEEL_SIZE_DEFAULT,
		/* Less than that underflows, and is not valid. */
		.clock_id = (config->clock ?: TWHEEL_CLOCK_MONOTONIC) - TWHEEL_CLOCK_REALTIME,
	};
	if (setup->tick_ns < TWHEEL_TICK_MIN_NS || setup->tick_ns > TWHEEL_TICK_MAX_NS ||
	    setup->wheel_size < TWHEEL_SIZE_MIN || setup->wheel_size > TWHEEL_SIZE_MAX ||
	    (setup->clock_id != CLOCK_MONOTONIC && setup->clock_id != CLOCK_BOOTTIME &&
	     setup->clock_id != CLOCK_REALTIME && setup->clock_id != CLOCK_TAI &&
	     setup->clock_id != CLOCK_MANUAL) ||
	    config->backend > TWHEEL_BACKEND_USER ||
	    (config->resolve && config->backend == TWHEEL_BACKEND_USER) ||
	    (config->flags & ~(TWHEEL_LOOP_KERNEL | TWHEEL_LOOP_TIMEOUT)) ||
	    (config->clock == TWHEEL_CLOCK_MANUAL &&
	     (config->backend == TWHEEL_BACKEND_DEVICE || config->resolve ||
	      config->flags & TWHEEL_LOOP_KERNEL)) ||
	    config->reserved[0] || config->reserved[1] || config->reserved[2])
		return fail(EINVAL);
	return twheel_loop_watch_forks();
}

/*
 * Return the backend that the config or the environment names, _ANY for the device if it works;
 * or -1 with errno set. User space is cheaper for a loop.
 */
static int chosen_backend(const struct twheel_loop_config *config)
{
	const char *name = secure_getenv("TWHEEL_BACKEND") ?: "";

	if (config->resolve)
		return TWHEEL_BACKEND_DEVICE;
	if (config->backend != TWHEEL_BACKEND_ANY)
		return config->backend;
	/* Only the descriptor shows timers of the device: the program has to know of that. */
	if (is_timed(config) && !(config->flags & TWHEEL_LOOP_KERNEL))
		return TWHEEL_BACKEND_USER;
	if (!strcmp(name, "device"))
		return TWHEEL_BACKEND_DEVICE;
	if (*name && strcmp(name, "user"))
		return fail(EINVAL);
	return !*name && config->flags & TWHEEL_LOOP_KERNEL ? TWHEEL_BACKEND_ANY :
							      TWHEEL_BACKEND_USER;
}

struct twheel_loop *twheel_loop_new(const struct twheel_loop_config *config)
{
	struct twheel_loop *loop = NULL;
	struct twheel_setup setup;
	int backend;

	config = config ?: &(struct twheel_loop_config){ };
	backend = chosen_backend(config);
	if (backend < 0 || read_config(config, &setup))
		return NULL;
	if (backend != TWHEEL_BACKEND_USER)
		loop = twheel_device_new(&setup, -1);
	if (backend == TWHEEL_BACKEND_USER ||
	    (!loop && backend == TWHEEL_BACKEND_ANY && !is_no_room(errno) && errno != EMFILE &&
	     errno != ENFILE))
		loop = twheel_user_new(&setup);
	return twheel_loop_init(loop, config);
}

struct twheel_loop *twheel_loop_adopt(int fd, const struct twheel_loop_config *config)
{
	struct twheel_setup setup;
	struct twheel_loop *loop;
	int error;

	if (!config || !config->resolve || config->tick_ns || config->max_timers ||
	    config->wheel_size || config->clock)
		return fail(EINVAL), NULL;
	if (read_config(config, &setup))
		return NULL;
	loop = twheel_loop_init(twheel_device_new(NULL, fd), config);
	if (!loop)
		return NULL;
	/* Reads must not wait, and the descriptor must not leak through exec(). */
	if (!twheel_device_adopt(loop) && !fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK) &&
	    !fcntl(fd, F_SETFD, FD_CLOEXEC))
		return loop;
	error = errno == ENOTTY ? EOPNOTSUPP : errno;
	/* The descriptor is still the caller's. */
	loop->fd = -1;
	twheel_loop_free(loop);
	errno = error;
	return NULL;
}
