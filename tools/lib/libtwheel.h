/* SPDX-License-Identifier: MIT */
/*
 * libtwheel - the ioctls of /dev/twheel as functions
 *
 * A thin layer: one call of the kernel for each function, the structures of
 * <linux/twheel.h> as they are, no state. Unless said otherwise a function
 * returns 0, or -1 with errno set as twheel(4) lists it. Every function may be
 * called by several threads on one descriptor.
 */
#ifndef LIBTWHEEL_H
#define LIBTWHEEL_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <linux/twheel.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TWHEEL_DEVICE	"/dev/twheel"

const char *twheel_version(void);

int twheel_open(const char *path, int flags);
int twheel_setup(int fd, const struct twheel_setup *setup);

int twheel_add(int fd, struct twheel_add *add);
int twheel_cancel(int fd, uint64_t id);
int twheel_modify(int fd, uint64_t id, uint64_t time_ns, uint32_t flags);

int twheel_query(int fd, uint64_t id, struct twheel_query *query);
int twheel_info(int fd, struct twheel_info *info);

int twheel_add_batch(int fd, struct twheel_add *adds, uint32_t count);
int twheel_cancel_batch(int fd, const uint64_t *ids, uint32_t count);
int twheel_modify_batch(int fd, const struct twheel_modify *mods,
			uint32_t count);

ssize_t twheel_read(int fd, struct twheel_event *events, size_t max);

int twheel_now(uint32_t clock_id, uint64_t *now_ns);
uint64_t twheel_deadline(uint64_t now_ns, uint64_t delay_ns);

#ifdef __cplusplus
}
#endif

#endif /* LIBTWHEEL_H */
