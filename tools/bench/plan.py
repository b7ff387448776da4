# SPDX-License-Identifier: MIT
"""All possible measurements, and the choice of them: the part that all others use."""

import collections
import os

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(__file__))))
BUILD = os.path.join(ROOT, "build")

# batches: the numbers of timers that are added, cancelled and modified at a call.
# kernel: it exists only inside the kernel. weight: instructions per timer of an
# operation, roughly, to show the progress of a run. limit: an operation on all timers is
# stopped after so many instructions.
Facility = collections.namedtuple("Facility", "batches kernel weight limit",
                                  defaults=[10**10])
FACILITIES = {
    "twheel": Facility((1, 16, 128, 1024), False, 500),
    "twheel-epoll": Facility((1024,), False, 500),
    "twheel-ring": Facility((1024,), False, 500),
    "twheel-uring": Facility((64,), False, 1500),
    "twheel-uring-quiet": Facility((64,), False, 1500),
    "twheel-uring-batch": Facility((1024,), False, 500),
    "libtwheel": Facility((1024,), False, 300),
    "libtwheel-user": Facility((1024,), False, 300),
    "libtwheel-woken": Facility((1024,), False, 300),
    "timerfd": Facility((1,), False, 12000),
    "timerfd-close": Facility((1,), False, 12000),
    "timerfd-heap": Facility((1,), False, 1000),
    "posix": Facility((1,), False, 8000),
    "io_uring": Facility((1, 1024), False, 30000, 10**9),
    "io_uring-link": Facility((1024,), False, 30000, 10**9),
    "libevent": Facility((1,), False, 1000),
    "libev": Facility((1,), False, 500),
    "core": Facility((1,), True, 400),
    "hrtimer": Facility((1,), True, 800),
    "timer_list": Facility((1,), True, 500),
}

SIZES = (10**3, 10**4, 10**5, 10**6)
TWHEEL_SIZES = SIZES + (10**7,)
# Not even begun: the next smaller size predicts the result.
TOO_LONG = {(name, op, 10**6)
            for name, ops in {"posix": ("add", "cancel", "modify", "expire", "mix"),
                              "io_uring": ("cancel", "modify", "mix"),
                              "io_uring-link": ("cancel", "mix")}.items()
            for op in ops}
DELIVER_BATCH = 1024
# Short measurements are repeated; the median is shown.
REPEAT_UP_TO, REPEAT = 10**4, 5

# The operations of twheel-bench, and the results of each.
GIVES = {
    "cancel": ("add", "cancel"),
    "first": ("first_add",),
    "modify": ("modify",),
    "expire": ("expire",),
    "mix": ("mix",),
    "live": ("live",),
    "rearm": ("rearm",),
    "bytes": ("bytes", "given_back"),
    "lateness": ("lateness_p50", "lateness_p99", "lateness_p999",
                 "lateness_max", "reads"),
    "fires": ("fires", "ticks"),
    "shapes": ("shape_add", "shape_expire"),
    "ways": ("way_add", "way_modify"),
    "churn": ("churn_empty", "churn_full"),
    "lock_hold": ("lock_hold", "irqs_off", "lock_hold_65536"),
    "wakeups": ("wakeups",),
    "null": ("null_syscall", "null_ioctl"),
    "idle": ("idle",),
    "list": ("list", "list_sparse", "adopt"),
    "threads": ("threads_two_fds", "threads_one_fd", "threads_two_loops",
                "threads_two_user_loops"),
}
# The promised maximum of each, however low the measurement. The probes on locks are less
# exact than the rest.
PROMISES = {
    "lock_hold": 20000,
    "irqs_off": 4000,
    "lateness_p999": 50000,
    "lateness_max": 250000,
    "wakeups": 0,
    "list": 45,
    "list_sparse": 800,
    "fires_ratio": 1.01,
    "shape_add_ratio": 1.3,
    "shape_expire_ratio": 1.5,
    "way_add_ratio": 1.3,
    "way_modify_ratio": 1.1,
    "churn_empty_ratio": 1.3,
}
# The shapes of wheels for an operation, if not only the default:
# BUCKETSxTICK[,DEADLINES], the tick in microseconds. Names of operations and results are
# OP:SHAPE.
USUAL = "256x1000"
SHAPES = {
    "fires": ("3x1000", "60x1000", USUAL),
    "shapes": (USUAL, "3x1000", "10x1000", "20x1000", "60x1000", "1000x1000",
               "65536x1000", "256x1", "256x10", "256x100", "256x10000", "3x1",
               USUAL + ",periodic", USUAL + ",past", "256x1,near"),
    "ways": (USUAL, USUAL + ",falling", USUAL + ",absolute"),
}
DEADLINES = {"periodic": "periodic", "past": "deadlines past", "near": "in 1 to 16 ticks",
             "falling": "falling deadlines", "absolute": "absolute modifies"}
COSTS = ("add", "cancel", "modify", "expire", "mix", "live", "rearm", "idle", "churn_full", "adopt")
# Measurements of timers that expire one by one.
ONE_BY_ONE = ("live", "rearm")
LOOPS = ("libtwheel", "libtwheel-user")
# Their timers come from caches of the kernel's allocator, and adding them costs less in a machine
# that has had a million before, as in a whole run, than in one that has just booted.
CACHED = ("timerfd", "posix", "io_uring")
# Other ways to wait for timers, each with its own row.
WAITING = ("twheel-epoll", "twheel-ring", "timerfd-close", "timerfd-heap")
# The facilities for the idle timeouts of a server.
SERVERS = ("twheel", *LOOPS, "libtwheel-woken", "timerfd", "libevent", "libev")

Cell = collections.namedtuple("Cell", "facility op pending batch")
Result = collections.namedtuple(
    "Result", "facility op pending batch value unit done")


class Error(Exception):
    """The benchmark cannot continue."""


def plain(op):
    """An operation without its shape."""
    return op.partition(":")[0]


def shape(op):
    return op.partition(":")[2]


def sizes_of(name, op):
    """The numbers of pending timers that an operation is measured with."""
    if op in ("wakeups", "null"):
        return (0,) if name == "twheel" else ()
    if op in ("lateness", "lock_hold", "threads"):
        return (10**6,) if name == "twheel" else ()
    if op == "fires":
        return SIZES[:3] if name == "twheel" else ()
    if op == "idle":
        return (10**4,) if name in SERVERS else ()
    if op == "first":
        return (10**5,) if name in ("twheel", *CACHED) else ()
    # Its wake-ups matter in no other operation.
    if name == "libtwheel-woken":
        return ()
    if op == "churn" and name in LOOPS:
        return (10**5,)
    if op in ("shapes", "ways", "churn", "list"):
        return (10**5,) if name == "twheel" else ()
    if FACILITIES[name].kernel and op in (*ONE_BY_ONE, "bytes"):
        return ()
    if op in ONE_BY_ONE and (name, op) != ("timerfd-close", "rearm"):
        return SIZES[:3]
    # These differ only in how they wait.
    if name in WAITING and (name, op) != ("twheel-ring", "expire"):
        return ()
    if op == "bytes":
        return TWHEEL_SIZES[2:] if name == "twheel" else (10**5,)
    sizes = TWHEEL_SIZES if name in ("twheel", *LOOPS) else SIZES
    if op == "expire" and name == "twheel":
        sizes += (3 * 10**5,)
    return [size for size in sizes if (name, op, size) not in TOO_LONG]


def batches_of(name, op, pending, chosen):
    """All can deliver in batches, so expiry is measured in batches."""
    if op in ("wakeups", "null", "churn"):
        return (1,)
    if op == "idle":
        return (64,)
    if op in ("shapes", "ways"):
        return chosen or (1, DELIVER_BATCH)
    if op in (*ONE_BY_ONE, "bytes", "lateness", "fires", "lock_hold", "threads", "list"):
        return (DELIVER_BATCH,)
    batches = FACILITIES[name].batches
    if op == "first":
        return batches[-1:]
    if batches == (1,):
        deliver = op == "expire" and not FACILITIES[name].kernel
        return (DELIVER_BATCH,) if deliver else (1,)
    # Single calls for this many would take long, and show nothing new.
    if pending > (10**6 if name == "twheel" else 10**4):
        batches = batches[-1:]
    return chosen or batches


def repetitions(name, op, pending):
    if name == "timer_list" and op in ("expire", "mix"):
        return 1
    up_to = 10 * REPEAT_UP_TO if name in LOOPS or op in ONE_BY_ONE else REPEAT_UP_TO
    return REPEAT if pending <= up_to and op in COSTS and op != "idle" else 1


def forms(op, name):
    """An operation's name, or that of a result, in each of the operation's shapes."""
    return ["%s:%s" % (name, form) for form in SHAPES[op]] if op in SHAPES else [name]


def cells_for(args):
    """The choice that the arguments make."""
    cells = []
    # One table shows both.
    chosen = set(args.op) | ({"churn"} if "shapes" in args.op else set())
    for name in args.facility or FACILITIES:
        for op, gives in GIVES.items():
            if chosen and not {op, *gives} & chosen:
                continue
            usual = sizes_of(name, op)
            sizes = args.pending if args.pending and any(usual) else usual
            for pending in sizes if usual else ():
                times = repetitions(name, op, pending)
                for batch in batches_of(name, op, pending, args.batch):
                    for form in forms(op, op):
                        cells += [Cell(name, form, pending, batch)] * times
    return cells


def weight(cell):
    """Its instructions, roughly."""
    facility = FACILITIES[cell.facility]
    each = facility.weight
    if len(facility.batches) > 1:
        each += 2500 // cell.batch
    each += {"live": 12000, "rearm": 13000, "lateness": 15000, "fires": 20000,
             "lock_hold": 3000}.get(plain(cell.op), 0)
    # Half an hour of ticks.
    doze = cell.facility == "timer_list" and cell.op in ("expire", "mix")
    return (min(cell.pending * each, 2 * facility.limit) + 10**6 +
            (2 * 10**9 if doze else 0))
