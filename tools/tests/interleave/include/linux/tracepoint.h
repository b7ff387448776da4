/* SPDX-License-Identifier: MIT */
/*
 * Tracepoints that are never enabled
 */
#ifndef _INTERLEAVE_LINUX_TRACEPOINT_H
#define _INTERLEAVE_LINUX_TRACEPOINT_H

#include <stdbool.h>

#define PARAMS(...)			__VA_ARGS__
#define TP_PROTO(...)			__VA_ARGS__
#define TP_ARGS(...)
#define TP_STRUCT__entry(...)
#define TP_fast_assign(...)
#define TP_printk(...)

#define DECLARE_EVENT_CLASS(class, proto, args, fields, assign, print)

#define DEFINE_EVENT(class, name, proto, args)				\
static inline bool trace_##name##_enabled(void)				\
{									\
	return false;							\
}									\
static inline void trace_##name(proto)					\
{									\
}

#define TRACE_EVENT(name, proto, args, fields, assign, print)		\
	DEFINE_EVENT(name, name, PARAMS(proto), PARAMS(args))

#endif /* _INTERLEAVE_LINUX_TRACEPOINT_H */
