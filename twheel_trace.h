/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Tracepoints of wheels and timers, for trace-cmd, perf and bpftrace
 *
 * Every event has the id of its wheel, and all times are in ns on the wheel's clock.
 * Disabled, each tracepoint costs one nop.
 */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM twheel

#if !defined(_TWHEEL_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define _TWHEEL_TRACE_H

#include <linux/tracepoint.h>

#include "twheel_file.h"

/* Events of one timer. */
#define TWHEEL_TIMER_EVENT(name)						\
	DEFINE_EVENT(twheel_timer, name,					\
		     TP_PROTO(const struct twheel_file *file, const struct twheel_entry *timer), \
		     TP_ARGS(file, timer))

DECLARE_EVENT_CLASS(twheel_timer,
	TP_PROTO(const struct twheel_file *file, const struct twheel_entry *timer),
	TP_ARGS(file, timer),
	TP_STRUCT__entry(__field(u64, wheel) __field(u64, id) __field(u64, deadline)
			 __field(u64, interval) __field(u64, data)),
	TP_fast_assign(__entry->wheel = file->id; __entry->id = twheel_entry_id(timer);
		       __entry->deadline = timer->timer.deadline;
		       __entry->interval = timer->interval; __entry->data = timer->data;),
	TP_printk("wheel=%llu id=%llu deadline=%llu interval=%llu data=%llu", __entry->wheel,
		  __entry->id, __entry->deadline, __entry->interval, __entry->data)
);
TWHEEL_TIMER_EVENT(twheel_add);
TWHEEL_TIMER_EVENT(twheel_modify);
TWHEEL_TIMER_EVENT(twheel_cancel);
TWHEEL_TIMER_EVENT(twheel_deliver);

/* Timers that expired or cascaded: the wheel's time after that, and their number. */
DECLARE_EVENT_CLASS(twheel_advance,
	TP_PROTO(const struct twheel_file *file, u64 count),
	TP_ARGS(file, count),
	TP_STRUCT__entry(__field(u64, wheel) __field(u64, time) __field(u64, count)),
	TP_fast_assign(__entry->wheel = file->id; __entry->time = file->wheel.time;
		       __entry->count = count;),
	TP_printk("wheel=%llu time=%llu count=%llu", __entry->wheel, __entry->time, __entry->count)
);
DEFINE_EVENT(twheel_advance, twheel_expire,
	     TP_PROTO(const struct twheel_file *file, u64 count), TP_ARGS(file, count));
DEFINE_EVENT(twheel_advance, twheel_cascade,
	     TP_PROTO(const struct twheel_file *file, u64 count), TP_ARGS(file, count));

TRACE_EVENT(twheel_arm,
	TP_PROTO(const struct twheel_file *file),
	TP_ARGS(file),
	TP_STRUCT__entry(__field(u64, wheel) __field(u64, time)),
	TP_fast_assign(__entry->wheel = file->id; __entry->time = file->armed;),
	TP_printk("wheel=%llu time=%llu", __entry->wheel, __entry->time)
);

TRACE_EVENT(twheel_set_up,
	TP_PROTO(const struct twheel_file *file),
	TP_ARGS(file),
	TP_STRUCT__entry(__field(u64, wheel) __field(u64, tick) __field(u32, size)
			 __field(u32, clock) __field(u64, max_timers)),
	TP_fast_assign(__entry->wheel = file->id; __entry->tick = file->wheel.tick;
		       __entry->size = file->wheel.size; __entry->clock = file->clock_id;
		       __entry->max_timers = file->max_timers;),
	TP_printk("wheel=%llu tick=%llu size=%u clock=%u max_timers=%llu", __entry->wheel,
		  __entry->tick, __entry->size, __entry->clock, __entry->max_timers)
);

/* A failed ioctl or io_uring command; or a failed open, whose request and wheel are 0. */
TRACE_EVENT(twheel_refuse,
	TP_PROTO(u64 wheel, u32 request, int err),
	TP_ARGS(wheel, request, err),
	TP_STRUCT__entry(__field(u64, wheel) __field(u32, request) __field(int, err)),
	TP_fast_assign(__entry->wheel = wheel; __entry->request = request; __entry->err = err;),
	TP_printk("wheel=%llu request=%#x errno=%d",
		  __entry->wheel, __entry->request, -__entry->err)
);

#endif /* _TWHEEL_TRACE_H */

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH .
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE twheel_trace
#include <trace/define_trace.h>
