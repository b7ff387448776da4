# SPDX-License-Identifier: MIT
"""Compares a short benchmark of everything with tools/bench/budget, and prints TAP."""

import os

from plan import COSTS, LOOPS, PROMISES, REPEAT, ROOT, Cell, forms, plain

BUDGET = os.path.join(ROOT, "tools/bench/budget")
GATE_SLACK = 1.03


def gate_cells():
    """A short benchmark of everything: only short measurements are repeated."""
    few, some, many = 10**4, 10**5, 10**6
    cells = [Cell("twheel", op, few, batch)
             for op in ("cancel", "modify", "expire", "mix") for batch in (1, 1024)]
    cells += [Cell("core", op, few, 1) for op in ("cancel", "modify", "expire")]
    cells += [Cell("twheel", "live", few, 1024), Cell("twheel", "expire", 10**3, 1024)]
    cells *= REPEAT
    cells += [Cell("twheel", op, some, 1024)
              for op in ("cancel", "modify", "expire", "lock_hold", "list",
                         *forms("shapes", "shapes"), *forms("ways", "ways"))]
    cells += [Cell("twheel", op, pending, 1024)
              for op in forms("fires", "fires") for pending in (10**3, few)]
    for name, batch in ("twheel-uring", 64), ("twheel-uring-quiet", 64), ("twheel-uring-batch", 1024):
        cells += [Cell(name, op, some, batch) for op in ("cancel", "modify")]
    for name in LOOPS:
        cells += [Cell(name, op, some, 1024) for op in ("cancel", "modify", "expire")] * REPEAT
        cells += [Cell(name, "churn", some, 1)] * REPEAT + [Cell(name, "idle", few, 64)]
    cells += [Cell(name, "live", few, 1024) for name in ("twheel-ring", "libtwheel")]
    return cells + [Cell("twheel", "expire", 3 * some, 1024), Cell("twheel", "expire", many, 1024),
                    Cell("twheel", "lateness", many, 1024), Cell("twheel", "wakeups", 0, 1)]


def budgeted(results):
    """Costs and promises have a budget; figures that only explain them have none."""
    return [r for r in results if r.op in COSTS or plain(r.op) in PROMISES]


def read_budget():
    budget = {}
    with open(BUDGET) as file:
        for line in file:
            fields = line.split("#")[0].split()
            if fields:
                facility, op, pending, batch, value = fields
                budget[facility, op, int(pending), int(batch)] = float(value)
    return budget


def promise(op):
    """The promise for an operation, or None."""
    return PROMISES.get(plain(op))


def write_budget(results):
    with open(BUDGET) as file:
        head = [line for line in file if line.startswith("#")]
    with open(BUDGET, "w") as file:
        file.writelines(head)
        for result in budgeted(results):
            value = promise(result.op)
            if value is None:
                value = result.value
            file.write("%-8s %-36s %7d %5d %9.*f\n" % (
                result[:4] + (2 if result.unit == "ratio" else 1, value)))


def gate(results):
    """Prints TAP; returns whether all are within their budget."""
    budget = read_budget()
    measured = {r[:4]: r.value for r in results}
    failed = 0
    print("TAP version 13\n1..%d" % len(budget))
    for number, (key, limit) in enumerate(budget.items(), 1):
        value = measured.get(key)
        slack = GATE_SLACK if promise(key[1]) is None else 1
        good = value is not None and value <= limit * slack
        failed += not good
        print("%s %d - %s %s, %d pending, batches of %d" % (
            ("ok" if good else "not ok", number) + key))
        print("# %s measured, %g in tools/bench/budget" % (
            "nothing" if value is None else "%.6g" % value, limit))
    return not failed
