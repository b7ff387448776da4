#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Jobs, while the processes and the database that do them are killed.

Starts PostgreSQL with a synchronous standby, and three hosts: each a feeder and eight workers
with a wheel of their own. Places jobs, and cancels or postpones a tenth of them. In between, it
kills workers, feeders, whole hosts and the primary with SIGKILL, in an order that depends on
the seed; the standby takes over and gets a standby of its own.

The last line is "jobs: in=N done=N lost=0 early=0 kills=K twice=T": jobs whose placing was
confirmed and that were not cancelled, and those done; jobs lost, and started before they were
due; kills; starts of a job that were not its first. The exit status is 0 if nothing was lost
or early, and no job ran whose cancelling was confirmed.
"""

import argparse
import collections
import glob
import os
import random
import signal
import sys
import threading
import time

sys.dont_write_bytecode = True
import psycopg

import jobs
from cluster import Cluster, children
from guest import run_here_or_in_guest

DELAY_MAX = 60
POSTPONED = 10
# Jobs that are placed by one transaction.
GROUP = 10
# The additional time that a loaded machine may take.
PATIENCE = 300
PLACE = """
insert into job (run_at, payload) select to_timestamp(at), to_jsonb(n)
from unnest(%s::int[], %s::float8[]) as new (n, at) returning (payload)::int, id"""
FIND = "select (payload)::int, id from job where (payload)::int = any(%s)"
CANCEL = """update job set state = 'cancelled' where id = any(%s) and state = 'waiting'
and run_at > now() + interval '1 s' returning id"""
POSTPONE = """update job set run_at = run_at + %s * interval '1 s' where id = any(%s)
and state = 'waiting' and run_at > now() + interval '1 s'"""
ALL = "select (payload)::int, id, state, extract(epoch from run_at)::float8 from job"


class Producer(threading.Thread):
    """The application: places jobs, and repeats a transaction whose result is unknown."""

    def __init__(self, dsn, args):
        super().__init__(daemon=True)
        self.dsn, self.args, self.random = dsn, args, random.Random(args.seed)
        self.ids, self.cancelled, self.connection = {}, set(), None
        self.recent = collections.deque(maxlen=2000)

    def run(self):
        begin = time.monotonic()
        for first in range(0, self.args.seconds * self.args.rate, GROUP):
            time.sleep(max(0, begin + first / self.args.rate - time.monotonic()))
            numbers = list(range(first, first + GROUP))
            due = [time.time() + self.random.uniform(0, DELAY_MAX) for _ in numbers]
            changed = [self.ids[self.random.choice(self.recent)]] if self.recent else []
            again = False
            while not self.place(numbers, due, changed, again):
                again = True
            self.recent.extend(numbers)

    def place(self, numbers, due, changed, again):
        try:
            if self.connection is None or self.connection.closed:
                self.connection = jobs.connect(self.dsn)
            with self.connection.transaction():
                rows = self.connection.execute(FIND, [numbers]).fetchall() if again else []
                rows = rows or self.connection.execute(PLACE, [numbers, due]).fetchall()
                cancelled = []
                if self.random.random() < 0.5:
                    cancelled = self.connection.execute(CANCEL, [changed]).fetchall()
                else:
                    self.connection.execute(POSTPONE, [POSTPONED, changed])
        except psycopg.Error:
            if self.connection:
                self.connection.close()
            return False
        self.ids.update(rows)
        self.cancelled.update(job for job, in cancelled)
        return True


class Host:
    """The processes of a host, which die together or one by one."""

    def __init__(self, number, dsn, folder, workers, job=lambda *_: None):
        self.number, self.pid = number, os.fork()
        if self.pid:
            return
        try:
            self.become_host(dsn, folder, workers, job)
        finally:
            os._exit(1)

    def become_host(self, dsn, folder, workers, job):
        os.setsid()
        for end in signal.SIGTERM, signal.SIGINT, signal.SIGHUP:
            signal.signal(end, signal.SIG_DFL)
        jobs.die_with_parent()
        log, starts = (os.open("%s/%s%d" % (folder, name, self.number),
                               os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
                       for name in ("host.log", "starts"))
        os.dup2(log, 1)
        os.dup2(log, 2)
        self.serve(dsn, starts, workers, job)

    def serve(self, dsn, starts, workers, job):
        def run(connection, number, run_at, queue, payload):
            os.write(starts, b"%d %.6f %.6f\n" % (number, time.time(), run_at))
            job(payload)
        jobs.Host(dsn, run, workers).run()

    def kill_child(self, choose, feeder):
        """Kill a worker, or the feeder."""
        found = []
        for pid in children(self.pid):
            with open("/proc/%d/comm" % pid, encoding="ascii") as file:
                if file.read() == ("feeder\n" if feeder else "worker\n"):
                    found.append(pid)
        if found:
            os.kill(choose(found), signal.SIGKILL)
        return bool(found)

    def kill(self):
        os.killpg(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)


class Show:
    def __init__(self, cluster, args):
        self.cluster, self.args, self.random = cluster, args, random.Random(args.seed)
        self.hosts = [self.new_host(number) for number in range(args.hosts)]
        self.kills, self.began, self.returns = collections.Counter(), time.monotonic(), []

    def say(self, text):
        print("%6.1f s  %s" % (time.monotonic() - self.began, text), flush=True)

    def new_host(self, number):
        return Host(number, self.cluster.dsn(), self.cluster.folder, self.args.workers)

    def kill(self, kind):
        if kind == "primary":
            self.cluster.kill_primary()
            self.say("killed: primary; the standby has taken over")
            self.cluster.add_standby()
            self.say("the new primary has a standby")
        else:
            host = self.random.choice(self.hosts)
            if kind == "host":
                self.hosts.remove(host)
                host.kill()
                self.returns.append((time.monotonic() + self.random.uniform(1, 4), host.number))
            elif not host.kill_child(self.random.choice, kind == "feeder"):
                return
            self.say("killed: %s of host %d" % (kind, host.number)
                     if kind != "host" else "killed: host %d" % host.number)
        self.kills[kind] += 1

    def trouble(self, until):
        """Kill something every few seconds: each kind at least once in a short run."""
        first = ["worker", "primary", "feeder", "host"]
        while time.monotonic() < until:
            end = min(until, time.monotonic() + self.random.uniform(2, 6))
            while time.monotonic() < end:
                for item in [item for item in self.returns if item[0] <= time.monotonic()]:
                    self.returns.remove(item)
                    self.hosts.append(self.new_host(item[1]))
                    self.say("started again: host %d" % item[1])
                time.sleep(0.05)
            kinds = ["worker"] * 4 + ["feeder"] * 3 + ["primary"]
            kinds += ["host"] * 2 if len(self.hosts) > 1 else []
            if time.monotonic() < until:
                self.kill(first.pop(0) if first and first[0] in kinds
                          else self.random.choice(kinds))

    def run(self):
        producer = Producer(self.cluster.dsn(), self.args)
        producer.start()
        self.trouble(time.monotonic() + self.args.seconds)
        producer.join(PATIENCE)
        self.say("all are placed")
        end = time.monotonic() + DELAY_MAX + POSTPONED + PATIENCE
        while time.monotonic() < end and self.cluster.primary.sql(
                "select 1 from job where state = 'waiting' limit 1"):
            time.sleep(1)
        self.say("all are done")
        return producer


def ledger(folder):
    """Return the starts of each job: when, and when it was due."""
    starts = collections.defaultdict(list)
    for name in glob.glob(folder + "/starts*"):
        with open(name, encoding="ascii") as file:
            for line in file:
                job, at, due = line.split()
                starts[int(job)].append((float(at), float(due)))
    return starts


def logs(folder, which="*.log*"):
    """Return the last output of each server and host."""
    text = ""
    for name in sorted(glob.glob(os.path.join(folder, which))):
        with open(name, encoding="utf-8", errors="replace") as file:
            text += "%s: %s" % (os.path.basename(name), file.read()[-3000:])
    return text


def milliseconds(late, *parts):
    """Return those parts of sorted times in seconds, such as 0.5 for the median."""
    return tuple(1000 * late[min(len(late) - 1, int(len(late) * part))] for part in parts)


def report(show, producer):
    """Compare what was confirmed with the table and with the starts; return the exit status."""
    starts, rows = ledger(show.cluster.folder), show.cluster.primary.sql(ALL)
    state = {number: state for number, _, state, _ in rows}
    done = {number for number in producer.ids if state.get(number) == "done"}
    lost = [number for number in producer.ids if state.get(number) not in ("done", "cancelled")]
    # A job that is done was started for the deadline that it has in the end.
    lost += [number for number, job, state, run_at in rows if state == "done" and
             not any(abs(due - run_at) < 1e-3 for _, due in starts[job])]
    early = sum(at < due for times in starts.values() for at, due in times)
    void = sum(state == "done" and job in producer.cancelled for _, job, state, _ in rows)
    late = sorted(min(at for at, _ in starts[job]) - run_at for _, job, state, run_at in rows
                  if state == "done" and starts[job])
    if late:
        print("late: p50 %.0f ms, p99 %.0f ms, max %.0f ms" % milliseconds(late, 0.5, 0.99, 1))
    print("killed: " + ", ".join("%d %s" % (n, kind) for kind, n in sorted(show.kills.items())))
    print("cancelled: %d, and done nevertheless: %d" % (len(producer.cancelled), void))
    good = done and not lost and not early and not void and \
        len(producer.ids) == show.args.seconds * show.args.rate
    if not good:
        print(logs(show.cluster.folder))
    placed = sum(state.get(number) != "cancelled" for number in producer.ids)
    print("jobs: in=%d done=%d lost=%d early=%d kills=%d twice=%d" % (
        placed, len(done), len(lost), early, sum(show.kills.values()),
        sum(len(times) - 1 for times in starts.values() if times)))
    return 0 if good else 1


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, usual, text in (
            ("seconds", 120, "how long jobs are placed"), ("rate", 200, "jobs per second"),
            ("seed", None, "of what happens when"), ("hosts", 3, ""), ("workers", 8, "per host")):
        parser.add_argument("--" + name, type=int, default=usual, help=text)
    args = parser.parse_args()
    if args.seed is None:
        args.seed = random.SystemRandom().randrange(1000000)
        sys.argv += ["--seed", str(args.seed)]
    run_here_or_in_guest(limit=3600)
    print("seed: %d" % args.seed, flush=True)
    with Cluster() as cluster:
        cluster.add_standby()
        jobs.connect(cluster.dsn()).execute(jobs.SCHEMA)
        show = Show(cluster, args)
        try:
            return report(show, show.run())
        finally:
            for host in show.hosts:
                host.kill()


if __name__ == "__main__":
    sys.exit(main())
