/* SPDX-License-Identifier: MIT */
/*
 * Tracepoints: enabled at times, with all of their arguments read
 */
#pragma once

#include "../../kernel.h"

#define PARAMS(...)			__VA_ARGS__
#define TP_PROTO(...)			__VA_ARGS__
#define TP_ARGS(...)			__VA_ARGS__
#define TP_STRUCT__entry(...)		__VA_ARGS__
#define TP_fast_assign(...)		__VA_ARGS__
#define TP_printk(...)
#define __field(type, name)		type name;

#define DECLARE_EVENT_CLASS(class, proto, args, fields, assign, print)	\
static inline void record_##class(proto)				\
{									\
	struct { fields } entry, *__entry = &entry;			\
									\
	assign								\
	asm volatile("" : : "m" (entry));				\
}

#define DEFINE_EVENT(class, name, proto, args)				\
static inline bool trace_##name##_enabled(void)				\
{									\
	return is_traced();						\
}									\
static inline void trace_##name(proto)					\
{									\
	may_call();							\
	if (trace_##name##_enabled())					\
		record_##class(args);					\
}

#define TRACE_EVENT(name, proto, args, fields, assign, print)		\
	DECLARE_EVENT_CLASS(name, PARAMS(proto), PARAMS(args), PARAMS(fields), \
			    PARAMS(assign), print)			\
	DEFINE_EVENT(name, name, PARAMS(proto), PARAMS(args))
