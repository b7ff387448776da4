/* SPDX-License-Identifier: MIT */
/* The tracepoints are in linux/tracepoint.h. */
