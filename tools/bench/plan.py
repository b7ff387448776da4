# SPDX-License-Identifier: MIT
"""What can be measured, and what of it is to be: the part that all others know."""

import collections
import os

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(__file__))))
BUILD = os.path.join(ROOT, "build")

# batches: the numbers of timers that are added, cancelled and modified at a call.
# kernel: it exists only inside the kernel. weight: instructions per timer of an
# operation, roughly, to tell how far a run has come. limit: an operation on all
# timers is stopped after so many instructions.
Facility = collections.namedtuple("Facility", "batches kernel weight limit",
                                  defaults=[10**10])
FACILITIES = {
    "twheel": Facility((1, 16, 128, 1024), False, 500),
    "libtwheel": Facility((1024,), False, 300),
    "libtwheel-user": Facility((1024,), False, 300),
    "libtwheel-woken": Facility((1024,), False, 300),
    "timerfd": Facility((1,), False, 12000),
    "posix": Facility((1,), False, 8000),
    "io_uring": Facility((1, 1024), False, 30000, 10**9),
    "libevent": Facility((1,), False, 1000),
    "libev": Facility((1,), False, 500),
    "core": Facility((1,), True, 400),
    "hrtimer": Facility((1,), True, 800),
    "timer_list": Facility((1,), True, 500),
}

SIZES = (10**3, 10**4, 10**5, 10**6)
TWHEEL_SIZES = SIZES + (10**7,)
# Not even begun: the size below says how it would go.
TOO_LONG = {(name, op, 10**6)
            for name, ops in {"posix": ("add", "cancel", "modify", "expire", "mix"),
                              "io_uring": ("cancel", "modify", "mix")}.items()
            for op in ops}
DELIVER_BATCH = 1024
# Short measurements are repeated, and the median counts.
REPEAT_UP_TO, REPEAT = 10**4, 5

# What twheel-bench can be asked for, and what each of these gives.
GIVES = {
    "cancel": ("add", "cancel"),
    "modify": ("modify",),
    "expire": ("expire",),
    "mix": ("mix",),
    "live": ("live",),
    "bytes": ("bytes", "given_back"),
    "lateness": ("lateness_p50", "lateness_p99", "lateness_p999",
                 "lateness_max", "reads"),
    "fires": ("fires", "ticks"),
    "shapes": ("shape_add", "shape_expire"),
    "churn": ("churn_empty", "churn_full"),
    "lock_hold": ("lock_hold", "irqs_off", "lock_hold_65536"),
    "wakeups": ("wakeups",),
    "null": ("null_syscall", "null_ioctl"),
    "idle": ("idle",),
    "threads": ("threads_two_fds", "threads_one_fd", "threads_two_loops",
                "threads_two_user_loops"),
}
# The most that is promised of each, however little was measured. The probes on locks
# are not as exact as the rest.
PROMISES = {
    "lock_hold": 20000,
    "irqs_off": 4000,
    "lateness_p999": 50000,
    "lateness_max": 250000,
    "wakeups": 0,
    "fires_ratio": 1.01,
    "shape_add_ratio": 1.3,
    "shape_expire_ratio": 1.5,
    "churn_empty_ratio": 1.3,
}
# The shapes of wheels that an operation is asked of, if it is not only the usual one:
# BUCKETSxTICK[,DEADLINES], the tick in microseconds. In its name, and in its results':
# OP:SHAPE.
USUAL = "256x1000"
SHAPES = {
    "fires": ("3x1000", "60x1000", USUAL),
    "shapes": (USUAL, "3x1000", "10x1000", "20x1000", "60x1000", "1000x1000",
               "65536x1000", "256x1", "256x10", "256x100", "256x10000", "3x1",
               USUAL + ",periodic", USUAL + ",past", "256x1,near"),
}
DEADLINES = {"periodic": "periodic", "past": "deadlines past", "near": "in 1 to 16 ticks"}
COSTS = ("add", "cancel", "modify", "expire", "mix", "live", "idle", "churn_full")
LOOPS = ("libtwheel", "libtwheel-user")
# Those that the idle timeouts of a server are measured with.
SERVERS = ("twheel", *LOOPS, "libtwheel-woken", "timerfd", "libevent", "libev")

Cell = collections.namedtuple("Cell", "facility op pending batch")
Result = collections.namedtuple(
    "Result", "facility op pending batch value unit done")


class Error(Exception):
    """The benchmark cannot go on."""


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
    # What wakes it shows nowhere else.
    if name == "libtwheel-woken":
        return ()
    if op == "churn" and name in LOOPS:
        return (10**5,)
    if op in ("shapes", "churn"):
        return (10**5,) if name == "twheel" else ()
    if FACILITIES[name].kernel and op in ("live", "bytes"):
        return ()
    if op == "live":
        return SIZES[:3]
    if op == "bytes":
        return TWHEEL_SIZES[2:] if name == "twheel" else (10**5,)
    sizes = TWHEEL_SIZES if name in ("twheel", *LOOPS) else SIZES
    if op == "expire" and name == "twheel":
        sizes += (3 * 10**5,)
    return [size for size in sizes if (name, op, size) not in TOO_LONG]


def batches_of(name, op, pending, chosen):
    """All can deliver in batches, so for expiry that is what they do."""
    if op in ("wakeups", "null", "churn"):
        return (1,)
    if op == "idle":
        return (64,)
    if op == "shapes":
        return chosen or (1, DELIVER_BATCH)
    if op in ("live", "bytes", "lateness", "fires", "lock_hold", "threads"):
        return (DELIVER_BATCH,)
    batches = FACILITIES[name].batches
    if batches == (1,):
        deliver = op == "expire" and not FACILITIES[name].kernel
        return (DELIVER_BATCH,) if deliver else (1,)
    # Single calls to so many would take long, and tell nothing new.
    if pending > (10**6 if name == "twheel" else 10**4):
        batches = batches[-1:]
    return chosen or batches


def repetitions(name, op, pending):
    if name == "timer_list" and op in ("expire", "mix"):
        return 1
    up_to = 10 * REPEAT_UP_TO if name in LOOPS else REPEAT_UP_TO
    return REPEAT if pending <= up_to and op in COSTS and op != "idle" else 1


def forms(op, name):
    """An operation's name, or that of a result, in each of the operation's shapes."""
    return ["%s:%s" % (name, form) for form in SHAPES[op]] if op in SHAPES else [name]


def cells_for(args):
    """What the arguments choose."""
    cells = []
    # One table has both.
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
    """Instructions that it takes, roughly."""
    facility = FACILITIES[cell.facility]
    each = facility.weight
    if len(facility.batches) > 1:
        each += 2500 // cell.batch
    each += {"live": 12000, "lateness": 15000, "fires": 20000,
             "lock_hold": 3000}.get(plain(cell.op), 0)
    # Half an hour of ticks.
    doze = cell.facility == "timer_list" and cell.op in ("expire", "mix")
    return (min(cell.pending * each, 2 * facility.limit) + 10**6 +
            (2 * 10**9 if doze else 0))
