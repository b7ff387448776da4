/* SPDX-License-Identifier: MIT */
/* All there is of a tracepoint is in linux/tracepoint.h. */
