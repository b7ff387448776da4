# SPDX-License-Identifier: MIT
"""Shows results: as they come, as tables, and as a file for programs."""

import collections
import json
import os
import time

from measure import ratio_of
from plan import (BUILD, DEADLINES, GIVES, PROMISES, SIZES, TOO_LONG, Cell, plain, shape,
                  weight)


def grouped(number):
    return "{:,.0f}".format(number)


def shape_text(name):
    """A shape in words."""
    wheel, _, deadlines = name.partition(",")
    buckets, tick = map(int, wheel.split("x"))
    tick = "%d us" % tick if tick < 1000 else "%d ms" % (tick // 1000)
    text = "%s buckets of %s" % (grouped(buckets), tick)
    return text + (", " + DEADLINES[deadlines] if deadlines else "")


def short(value):
    if value >= 100 or value == int(value):
        return grouped(value)
    return "%.1f" % value if value >= 10 else "%.2f" % value


def value_text(result):
    if result is None:
        return ""
    if result.value is None:
        return "stopped"
    return short(result.value) + ("*" if result.done < result.pending else "")


class Progress:
    def __init__(self, cells):
        self.began = time.monotonic()
        self.total = sum(map(weight, cells))
        self.done = 0

    def __call__(self, result):
        for op, gives in GIVES.items():
            if plain(result.op) == gives[-1]:
                self.done += weight(Cell(result.facility, op, *result[2:4]))
        print("%3d%% %4d s  %-15s%-30s%10s pending, batches of %4d: %8s %s" % (
            min(100, 100 * self.done // self.total),
            time.monotonic() - self.began, result.facility, result.op,
            grouped(result.pending), result.batch, value_text(result),
            result.unit), flush=True)


class Results:
    """Looks results up."""

    def __init__(self, results):
        self.all = results
        self.by_key = {r[:4]: r for r in results}

    def of(self, op):
        return [r for r in self.all if r.op == op]

    def get(self, op, pending, batch, facility="twheel"):
        result = self.by_key.get((facility, op, pending, batch))
        return result.value if result else None

    def worst(self, op):
        """The most of an operation in batches, at any number and in any shape."""
        return max((r.value for r in self.all if plain(r.op) == op and r.value is not None
                    and (r.facility, r.batch) == ("twheel", 1024)), default=None)

    def over_sizes(self, op, batch, sizes):
        """The values at these sizes, or an empty list if one is missing."""
        values = [self.get(op, size, batch) for size in sizes]
        return [] if None in values else values


def table(results, op, title):
    """One operation: a line for each facility and batch, a column for each size."""
    chosen = results.of(op)
    if not chosen:
        return []
    sizes = sorted({r.pending for r in chosen})
    rows = list(dict.fromkeys((r.facility, r.batch) for r in chosen))
    lines = ["", title,
             "  %-33s" % "pending timers" +
             "".join("%13s" % grouped(size) for size in sizes)]
    for facility, batch in rows:
        name = facility + (", batches of %d" % batch if batch > 1 else "")
        texts = [value_text(results.by_key.get((facility, op, size, batch))) or
                 ((facility, op, size) in TOO_LONG and "stopped") or ""
                 for size in sizes]
        lines.append("  %-33s" % name + "".join("%13s" % text for text in texts))
    return lines


TITLES = (
    ("add", "add: instructions per timer"),
    ("first_add", "add in a machine that has just booted: instructions per timer"),
    ("cancel", "cancel in a random order: instructions per timer"),
    ("modify", "modify, in a random order: instructions per timer"),
    ("expire", "expire and deliver, all at once: instructions per timer"),
    ("mix", "the order system (add, 95% cancelled, 5% expire): instructions "
     "per order"),
    ("live", "expire and deliver, one here and one there: instructions per "
     "timer"),
    ("live_spread", "the same: from the least to the most of what was measured, in percent"),
    ("rearm", "expire, deliver and arm again, one here and one there: instructions per "
     "timer"),
    ("rearm_spread", "the same: from the least to the most of what was measured, in percent"),
    ("churn_full", "add and cancel, one timer after the other: instructions per timer"),
    ("idle", "idle timeouts of a server: instructions per message"),
    ("bytes", "memory: bytes per pending timer"),
    ("given_back", "memory given back after cancelling all: percent"),
)


def notes(results, shown):
    """Footnotes to the lines that are shown."""
    lines = []
    if any(r.value is not None and r.done < r.pending for r in results.all):
        lines += ["* stopped when it had taken too long: the cost of what was "
                  "done until then"]
    if any("stopped" in line for line in shown):
        lines += ["stopped: to arm or to cancel so many takes too long"]
    null = [results.get("null_syscall", 0, 1), results.get("null_ioctl", 0, 1)]
    if None not in null:
        lines += ["null system call: %s instructions; null ioctl, of which this "
                  "kernel's security" % short(null[0]),
                  "modules take the difference: %s" % short(null[1])]
    return [""] + lines if lines else []


def verdict(result):
    """The promise for a result, and whether it is kept."""
    most = PROMISES[plain(result.op)]
    return "<= %g %s" % (most, "met" if result.value <= most else "NOT MET")


# The rows of the targets: what, the value or values, the target, the unit.
Target = collections.namedtuple("Target", "what value most unit least",
                                defaults=[None])


def cost_targets(results):
    get = results.get
    middle, null = 10**5, results.get("null_ioctl", 0, 1)
    rows = [Target("%s, one per ioctl, above an empty ioctl" % op,
                   get(op, middle, 1) - null, most, "insn")
            for op, most in (("add", 300), ("cancel", 150))
            if None not in (get(op, middle, 1), null)]
    rows += [
        Target("add, batches of 1,024", get("add", middle, 1024), 110, "insn"),
        Target("cancel, batches of 1,024, random order, at any number",
               results.worst("cancel"), 90, "insn"),
        Target("modify, batches of 1,024", get("modify", middle, 1024), 120, "insn"),
        Target("expire and deliver, batches of 1,024, at any number",
               results.worst("expire"), 200, "insn"),
    ]
    rows += [Target("expire one by one, of %s, next to timerfd" % grouped(size),
                    get("live", size, 1024), get("live", size, 1024, "timerfd"), "insn")
             for size in SIZES if get("live", size, 1024, "timerfd")]
    for op, what in (("fires_ratio", "fires of the hrtimer for each due tick"),
                     ("shape_add_ratio", "add in wheels of all shapes: ratio"),
                     ("shape_expire_ratio", "expire in wheels of all shapes: ratio")):
        rows.append(Target(what, results.worst(op), PROMISES[op], ""))
    return rows


def targets(results):
    get = results.get
    million, most = 10**6, 10**7
    ratios = {}
    for op in ("add", "cancel", "modify", "expire"):
        both = results.over_sizes(op, 1024, (10**4, most))
        if both:
            ratios[op] = max(both) / min(both)
    rows = cost_targets(results)
    rows += [Target("%s at 10,000 and at 10,000,000 timers: ratio" % op,
                    ratio, 1.1, "") for op, ratio in ratios.items()]
    rows += [
        Target("memory per pending timer at 1,000,000",
               get("bytes", million, 1024), 56, "bytes"),
        Target("given back after cancelling 10,000,000",
               get("given_back", most, 1024), None, "%", 95),
        Target("longest time with the lock held", get("lock_hold", million, 1024),
               PROMISES["lock_hold"], "insn"),
        Target("longest time with interrupts off", get("irqs_off", million, 1024),
               PROMISES["irqs_off"], "insn"),
        Target("lateness with 1,000,000 pending, p99.9",
               get("lateness_p999", million, 1024), PROMISES["lateness_p999"], "insn"),
        Target("lateness with 1,000,000 pending, maximum",
               get("lateness_max", million, 1024), PROMISES["lateness_max"], "insn"),
        Target("list", get("list", 10**5, 1024), PROMISES["list"], "insn"),
        Target("list, with one timer left in each page",
               get("list_sparse", 10**5, 1024), PROMISES["list_sparse"], "insn"),
        Target("wake-ups of an empty wheel", get("wakeups", 0, 1), PROMISES["wakeups"],
               "per hour"),
    ]
    return [row for row in rows if row.value is not None]


def target_lines(results):
    lines = []
    for row in targets(results):
        if row.least is None:
            met, bound = row.value <= row.most, "<= " + short(row.most)
        else:
            met, bound = row.value >= row.least, ">= " + short(row.least)
        lines.append("  %-56s%9s%12s %-9s%s" % (
            row.what, short(row.value), bound, row.unit,
            "met" if met else "NOT MET"))
    if lines:
        lines = ["", "  %-56s%9s%12s" % (
            "twheel, 100,000 timers pending if not said otherwise", "measured",
            "to reach")] + lines
    return lines


def fires_lines(results):
    """How often wheels of some shapes woke, next to how often they had to."""
    lines = []
    for r in results.all:
        if plain(r.op) == "fires_ratio":
            fires, ticks = (results.get("%s:%s" % (op, shape(r.op)), r.pending, r.batch)
                            for op in ("fires", "ticks"))
            lines.append("  %-26s%13s%13s%13s%13.3f   %s" % (
                shape_text(shape(r.op)), grouped(r.pending), grouped(fires),
                grouped(ticks), r.value, verdict(r)))
    if lines:
        lines = ["", "fires of the hrtimer, and different ticks with timers due",
                 "  %-26s%13s%13s%13s%13s   %s" % (
                     "buckets of a tick", "pending", "fires", "ticks", "ratio",
                     "to reach")] + lines
    return lines


def compared_text(results, r, op):
    """A value, its ratio to the value it is compared with, and the promise for that."""
    cost = results.by_key.get((r.facility, op) + r[2:4])
    ratio = results.by_key.get((r.facility, ratio_of(op)) + r[2:4])
    return "%9s%6s   %-14s" % (value_text(cost), value_text(ratio),
                               verdict(ratio) if ratio else "")


def compared_lines(results, title, chosen, second):
    """A table of adds and of a second operation, relative to the usual ones."""
    lines, last = [], None
    for r in sorted(chosen, key=lambda r: r[2:4]):
        if r[2:4] != last:
            last = r[2:4]
            lines += ["", "%s, %s timers, batches of %d: instructions per timer, and the ratio" %
                      (title, grouped(r.pending), r.batch),
                      "  %-38s%9s%32s" % ("buckets of a tick", "add", second.partition("_")[2])]
        if r.op == "churn_empty":
            lines.append("  %-38s" % "add + cancel: alone, to among others" +
                         compared_text(results, r, r.op))
        else:
            lines.append("  %-38s" % shape_text(shape(r.op)) +
                         compared_text(results, r, r.op) +
                         compared_text(results, r, second + ":" + shape(r.op)))
    return [line.rstrip() for line in lines]


def shapes_lines(results):
    """The cost of a timer in wheels of all shapes, relative to the default one."""
    chosen = [r for r in results.all if r.facility == "twheel" and
              plain(r.op) in ("shape_add", "churn_empty")]
    return compared_lines(results, "wheels of all shapes", chosen, "shape_expire")


def ways_lines(results):
    """The cost of an add in another order, and of a modify with other flags."""
    chosen = [r for r in results.all if plain(r.op) == "way_add"]
    return compared_lines(results, "other ways", chosen, "way_modify")


def other_lines(results):
    """Results that fit no table."""
    lines = []
    for r in results.all:
        if r.op.startswith(("lateness", "threads")) or r.op in ("reads", *GIVES["lock_hold"]):
            lines.append("  %-18s %-16s %12s pending %12s %s" % (
                r.facility, r.op, grouped(r.pending), value_text(r), r.unit))
    return ["", "lateness, locks and threads"] + lines if lines else []


def report(results):
    lines = []
    for op, title in TITLES:
        lines += table(results, op, title)
    lines += fires_lines(results) + shapes_lines(results) + ways_lines(results)
    lines += other_lines(results) + target_lines(results)
    print("\n".join(lines + notes(results, lines)))


def write_json(results):
    keys = ("facility", "op", "pending", "batch", "value", "unit")
    rows = [json.dumps({key: getattr(r, key) for key in keys})
            for r in results.all if r.value is not None]
    path = os.path.join(BUILD, "bench.json")
    with open(path, "w") as file:
        file.write("[\n" + ",\n".join(rows) + "\n]\n")
