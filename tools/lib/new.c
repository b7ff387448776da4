// SPDX-License-Identifier: MIT
/*
 * Making loops: checking the configuration, and choosing the backend
 */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "loop.h"

static bool is_valid(const struct twheel_setup *setup)
{
	return setup->tick_ns >= TWHEEL_TICK_MIN_NS && setup->tick_ns <= TWHEEL_TICK_MAX_NS &&
	       setup->wheel_size >= TWHEEL_SIZE_MIN && setup->wheel_size <= TWHEEL_SIZE_MAX &&
	       (setup->clock_id == CLOCK_MONOTONIC || setup->clock_id == CLOCK_BOOTTIME ||
		setup->clock_id == CLOCK_REALTIME || setup->clock_id == CLOCK_TAI);
}

/* Derive the parameters of the wheel; returns false for an invalid config. */
static bool read_config(const struct twheel_loop_config *config, struct twheel_setup *setup)
{
	static const struct twheel_loop_config zero;

	*setup = (struct twheel_setup) {
		.tick_ns = config->tick_ns ?: TWHEEL_TICK_DEFAULT_NS,
		.max_timers = config->max_timers,
		.wheel_size = config->wheel_size ?: TWHEEL_SIZE_DEFAULT,
		/* Less than that underflows, and is not valid. */
		.clock_id = (config->clock ?: TWHEEL_CLOCK_MONOTONIC) - TWHEEL_CLOCK_REALTIME,
	};
	return is_valid(setup) && config->backend <= TWHEEL_BACKEND_USER &&
	       !(config->resolve && config->backend == TWHEEL_BACKEND_USER) &&
	       !(config->flags & ~TWHEEL_LOOP_KERNEL) &&
	       !memcmp(config->reserved, zero.reserved, sizeof(zero.reserved));
}

/* Return the backend that the config or the environment names; -1 if the latter is invalid. */
static int chosen_backend(const struct twheel_loop_config *config)
{
	const char *name = secure_getenv("TWHEEL_BACKEND");

	if (config->resolve)
		return TWHEEL_BACKEND_DEVICE;
	if (config->backend != TWHEEL_BACKEND_ANY || !name || !*name)
		return config->backend;
	if (!strcmp(name, "device"))
		return TWHEEL_BACKEND_DEVICE;
	return strcmp(name, "user") ? -1 : TWHEEL_BACKEND_USER;
}

/* User space is cheaper for a loop; the device is used on request. */
static struct twheel_loop *new_loop(int backend, uint32_t flags,
				    const struct twheel_setup *setup)
{
	struct twheel_loop *loop;

	if (backend == TWHEEL_BACKEND_USER ||
	    (backend == TWHEEL_BACKEND_ANY && !(flags & TWHEEL_LOOP_KERNEL)))
		return twheel_user_new(setup);
	loop = twheel_device_new(setup);
	if (loop || backend == TWHEEL_BACKEND_DEVICE || errno == ENOSPC || errno == ENOMEM)
		return loop;
	return twheel_user_new(setup);
}

struct twheel_loop *twheel_loop_new(const struct twheel_loop_config *config)
{
	static const struct twheel_loop_config usual;
	uint32_t token = twheel_process_token_new();
	struct twheel_setup setup;
	int backend;

	if (!config)
		config = &usual;
	backend = chosen_backend(config);
	if (!token || backend < 0 || !read_config(config, &setup))
		return fail(token ? EINVAL : ENOMEM), NULL;
	return twheel_loop_init(new_loop(backend, config->flags, &setup), config);
}

struct twheel_loop *twheel_loop_adopt(int fd, const struct twheel_loop_config *config)
{
	uint32_t token = twheel_process_token_new();
	struct twheel_setup setup;
	struct twheel_loop *loop;
	int error;

	if (!config || !config->resolve || config->tick_ns || config->max_timers ||
	    config->wheel_size || config->clock || !read_config(config, &setup) || !token)
		return fail(token ? EINVAL : ENOMEM), NULL;
	loop = twheel_loop_init(twheel_device_over(fd, NULL), config);
	if (!loop)
		return NULL;
	/* Reads must not wait, and the descriptor must not leak through exec(). */
	if (!fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK) &&
	    !fcntl(fd, F_SETFD, FD_CLOEXEC) && !twheel_device_adopt(loop))
		return loop;
	error = errno == ENOTTY ? EOPNOTSUPP : errno;
	/* The descriptor is still the caller's. */
	loop->fd = -1;
	twheel_loop_free(loop);
	errno = error;
	return NULL;
}
