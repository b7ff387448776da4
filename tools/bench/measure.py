# SPDX-License-Identifier: MIT
"""Has twheel-bench measure cells in virtual machines, and reads what it prints."""

import collections
import os
import queue
import statistics
import subprocess
import threading

from plan import (BUILD, FACILITIES, GIVES, ONE_BY_ONE, ROOT, USUAL, Error, Result, forms,
                  plain, shape, weight)

# Instructions of a boot, roughly.
BOOT_WEIGHT = 10**9
GUEST_FILES = ("stock/twheel.ko", "stock/twheel_bench.ko", "bin/twheel-bench")


def check_built():
    for name in GUEST_FILES:
        if not os.path.exists(os.path.join(BUILD, name)):
            raise Error("build/%s is missing; run make bench" % name)


class Machine:
    """One boot of the virtual machine, and the cells that it runs."""

    def __init__(self, cells, counting=True):
        self.cells = cells
        self.counting = counting
        self.process = None

    def command(self):
        command = [os.path.join(ROOT, "tools/vm/vm"), "--mem", "2048",
                   "--timeout", "3000",
                   "--module", os.path.join(BUILD, GUEST_FILES[0]),
                   "--file", os.path.join(BUILD, GUEST_FILES[2])]
        if self.counting:
            # The bottom half of timer_list is held back for half an hour: no stall.
            command += ["--counting", "--cx16",
                        "--append", "rcupdate.rcu_cpu_stall_suppress=1",
                        "--module", os.path.join(BUILD, GUEST_FILES[1])]
        runs = ["%s %s %d %d %d" % (cell + (FACILITIES[cell.facility].limit,))
                for cell in self.cells]
        return command + ["--", "twheel-bench"] + runs

    def run(self, take):
        """Passes what the machine prints to take(); returns its exit status."""
        self.process = subprocess.Popen(self.command(), stdin=subprocess.DEVNULL,
                                        stdout=subprocess.PIPE,
                                        stderr=subprocess.STDOUT, text=True,
                                        errors="replace")
        for line in self.process.stdout:
            take(line.rstrip("\r\n"))
        return self.process.wait()

    def stop(self):
        if self.process and self.process.poll() is None:
            self.process.terminate()
            self.process.wait()


def share_out(cells, jobs):
    """Machines of about the same length, but one for all timers that expire as they fall due,
    and one for each cell that has to be the first of a machine."""
    live = [cell for cell in cells if cell.op in ONE_BY_ONE]
    first = [cell for cell in cells if cell.op == "first"]
    rest = [cell for cell in cells if cell.op not in (*ONE_BY_ONE, "first")]
    return (([Machine(take_turns(live))] if live else []) + spread_out(rest, jobs) +
            [Machine([cell]) for cell in first])


def take_turns(cells):
    """The phase of the kernel's ticks is worth 3% of such a timer. It differs from boot to
    boot, and changes during one, so the facilities are measured in turns, several times."""
    times = collections.Counter()
    turns = []
    for cell in cells:
        turns.append((cell.pending, times[cell], cell))
        times[cell] += 1
    return [cell for _, _, cell in sorted(turns, key=lambda turn: turn[:2])]


def spread_out(cells, jobs):
    if not cells:
        return []
    total = sum(map(weight, cells))
    count = max(1, min(3 * jobs, total // (4 * BOOT_WEIGHT)))
    groups = [[] for _ in range(count)]
    load = [0] * count
    for cell in sorted(cells, key=weight, reverse=True):
        lightest = load.index(min(load))
        groups[lightest].append(cell)
        load[lightest] += weight(cell)
    return [Machine(group[::-1]) for group in groups if group]


def parse_result(line):
    fields = line.split()
    if len(fields) < 6 or fields[0] not in FACILITIES:
        return None
    pending = int(fields[2])
    value = None if fields[4] == "-" else float(fields[4])
    done = pending
    if fields[-1].isdigit() and len(fields) > 6:
        done = int(fields.pop())
    return Result(fields[0], fields[1], pending, int(fields[3]), value,
                  " ".join(fields[5:]), done)


class Run:
    """Runs all machines, several at a time."""

    def __init__(self, show):
        self.show = show
        self.events = queue.Queue()
        self.results = collections.defaultdict(list)
        self.late = []
        self.troubles = []

    def work(self, waiting):
        while True:
            try:
                machine = waiting.get_nowait()
            except queue.Empty:
                self.events.put(None)
                return
            output = collections.deque(maxlen=30)

            def take(line, output=output):
                output.append(line)
                self.events.put(line)

            try:
                status = machine.run(take)
            except OSError as error:
                self.troubles.append("no virtual machine: %s" % error)
                continue
            if status:
                self.troubles.append("the virtual machine ended with %d:\n  %s" %
                                     (status, "\n  ".join(output)))

    def take(self, line):
        result = parse_result(line)
        if result:
            self.results[result[:4]].append(result)
            self.show(result)
        elif line.startswith("# late "):
            self.late.append([float(word) for word in line.split()[2:]])

    def all(self, machines, jobs):
        waiting = queue.Queue()
        for machine in machines:
            waiting.put(machine)
        running = min(jobs, len(machines))
        for _ in range(running):
            threading.Thread(target=self.work, args=(waiting,),
                             daemon=True).start()
        try:
            while running:
                line = self.events.get()
                if line is None:
                    running -= 1
                else:
                    self.take(line)
        finally:
            waiting.queue.clear()
            for machine in machines:
                machine.stop()

    def check(self):
        """Failures are reported after all results."""
        if self.troubles:
            raise Error("\n".join(self.troubles))

    def medians(self):
        found = [median(results) for results in self.results.values()]
        order = list(FACILITIES)
        ops = [form for op, gives in GIVES.items() for name in gives
               for form in forms(op, name)]
        return with_spreads(self.results, with_ratios(sorted(found, key=lambda r: (
            order.index(r.facility), ops.index(r.op), r.batch, r.pending))))


def median(results):
    """The result whose value is in the middle."""
    measured = [r for r in results if r.value is not None]
    if not measured:
        return results[0]
    value = statistics.median_low(r.value for r in measured)
    return next(r for r in measured if r.value == value)


def ratio_of(op):
    """The label of the ratio between a result and the one it is compared with."""
    return op.replace(plain(op), plain(op) + "_ratio")


def compared_with(op):
    """The result that this one is compared with, or None."""
    if plain(op) == "fires":
        return "ticks:" + shape(op)
    if plain(op) in GIVES["shapes"] + GIVES["ways"] and shape(op) != USUAL:
        return plain(op) + ":" + USUAL
    return "churn_full" if op == "churn_empty" else None


def with_ratios(results):
    """A result that is compared with another is followed by their ratio."""
    by_key = {r[:4]: r for r in results}
    found = []
    for r in results:
        found.append(r)
        base = by_key.get((r.facility, compared_with(r.op)) + r[2:4])
        if base and None not in (base.value, r.value):
            found.append(r._replace(op=ratio_of(r.op), value=r.value / base.value,
                                    unit="ratio"))
    return found


def with_spreads(measured, results):
    """A result of timers that expire one by one is followed by the spread of its repetitions."""
    found = []
    for r in results:
        found.append(r)
        values = [other.value for other in measured.get(r[:4], []) if other.value is not None]
        if r.op in ONE_BY_ONE and len(values) > 1:
            spread = 100 * (max(values) - min(values)) / r.value
            found.append(r._replace(op=r.op + "_spread", value=spread, unit="percent"))
    return found


def measure(cells, jobs, show):
    """Threads need all CPUs, so they come last."""
    run = Run(show)
    counted = [cell for cell in cells if cell.op != "threads"]
    threads = [cell for cell in cells if cell.op == "threads"]
    run.all(share_out(counted, jobs) if counted else [], jobs)
    if threads:
        run.all([Machine(threads, counting=False)], 1)
    return run
