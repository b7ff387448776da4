/* SPDX-License-Identifier: MIT */
/*
 * The functions that the linker replaces by those of calls.c, which are called __wrap_NAME
 */
#ifndef _SELFTEST_REAL_H
#define _SELFTEST_REAL_H

#include <poll.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/uio.h>
#include <time.h>

int __real_clock_gettime(clockid_t clock, struct timespec *ts);
int __real_close(int fd);
int __real_dup(int fd);
int __real_epoll_ctl(int epoll, int op, int fd, struct epoll_event *event);
int __real_epoll_wait(int epoll, struct epoll_event *events, int max, int timeout);
FILE *__real_fopen(const char *path, const char *mode);
int __real_getrusage(int who, struct rusage *usage);
int __real_ioctl(int fd, unsigned long cmd, ...);
void *__real_mmap(void *at, size_t size, int prot, int flags, int fd, off_t offset);
int __real_open(const char *path, int flags, ...);
int __real_poll(struct pollfd *fds, nfds_t count, int timeout);
ssize_t __real_preadv2(int fd, const struct iovec *iov, int count, off_t offset, int flags);
ssize_t __real_read(int fd, void *to, size_t size);
long __real_syscall(long nr, ...);
void __real_task_sleep(void);

#endif /* _SELFTEST_REAL_H */
