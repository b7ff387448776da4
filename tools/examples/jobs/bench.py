#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Measures jobs over the wheel against workers that ask the database themselves.

The ways: "wheel", a feeder and a wheel; "poll0.1" and "poll1", workers that ask for a job that
is due every 0.1 s and every second; "notify", workers that sleep until the next job is due, or
one is placed. Prints a table of queries per second while idle, and, at several rates and for jobs
due at one moment, of lateness in ms (p50 / p99 / p99.9) and CPU time per job in ms (database +
workers). Jobs of a rate that needs more CPU time than there is are seconds late.
"""

import argparse
import itertools
import os
import select
import signal
import sys
import time

sys.dont_write_bytecode = True
import demo
import jobs
from cluster import Cluster, cpu
from guest import run_here_or_in_guest

# Seconds; and at most so many jobs, as an emulated CPU needs minutes for a thousand.
IDLE, BUSY, MOST = 20, 5, 2000
PATIENCE = 300
# As TAKE, for a worker that does not know which job is due.
TAKE_ANY = """
select id, extract(epoch from run_at)::float8 from job
where state = 'waiting' and lease is null and run_at <= now()
order by run_at limit 1 for update skip locked"""


def work(connection, starts, pause):
    """Do jobs that are due; then wait for some seconds or, without them, for the next job."""
    if pause is None:
        connection.execute("listen job")
    while True:
        with connection.transaction():
            row = connection.execute(TAKE_ANY, prepare=True).fetchone()
            if row:
                os.write(starts, b"%d %.6f %.6f\n" % (row[0], time.time(), row[1]))
                connection.execute(jobs.DONE, [row[0]], prepare=True)
        if row:
            continue
        if pause is not None:
            time.sleep(pause)
            continue
        run_at, _ = connection.execute(jobs.NEXT, prepare=True).fetchone()
        select.select([connection.pgconn.socket], [], [],
                      None if run_at is None else max(0, run_at - time.time()))
        connection.pgconn.consume_input()
        while connection.pgconn.notifies():
            pass


class Poller(demo.Host):
    """Workers without a wheel."""

    pause = None

    def serve(self, dsn, starts, workers, _):
        for _ in range(workers):
            if os.fork() == 0:
                jobs.die_with_parent()
                work(jobs.connect(dsn), starts, self.pause)
        signal.pause()


def ways():
    return {"wheel": demo.Host, "notify": Poller, **{
        "poll%g" % pause: type("Poller", (Poller,), {"pause": pause}) for pause in (0.1, 1)}}


class Bench:
    def __init__(self, cluster, way, workers):
        self.cluster = cluster
        for name in "starts0", "host.log0":
            if os.path.exists(os.path.join(cluster.folder, name)):
                os.unlink(os.path.join(cluster.folder, name))
        self.sql = jobs.connect(cluster.dsn()).execute
        self.sql("truncate job")
        self.host = ways()[way](0, cluster.dsn(), cluster.folder, workers)
        time.sleep(1 + 0.3 * workers) # they connect

    def queries(self):
        return self.sql("select xact_commit from pg_stat_database"
                        " where datname = 'postgres'").fetchone()[0]

    def idle(self):
        time.sleep(12) # statistics come late
        before = self.queries()
        time.sleep(IDLE)
        # Its own query, and that of the autovacuum launcher.
        return "%.1f" % max(0, (self.queries() - before - 2) / IDLE)

    def cpu(self):
        return cpu(self.cluster.primary.process.pid), cpu(self.host.pid)

    def run(self, number, rate):
        """Place jobs that are due at this rate, or at one moment; return a cell."""
        before = self.cpu()
        self.sql("insert into job (run_at) select now() + interval '3 s' + %s * n * interval '1 s'"
                 " from generate_series(1, %s) n", [1 / rate if rate else 0, number])
        end = time.monotonic() + PATIENCE
        while self.sql("select 1 from job where state = 'waiting' limit 1").fetchone():
            if time.monotonic() > end:
                self.sql("delete from job")
                return "not done in %d s" % PATIENCE
            time.sleep(0.5)
        each = [1000 * (after - then) / number for after, then in zip(self.cpu(), before)]
        times = [max(times) for times in demo.ledger(self.cluster.folder).values()]
        os.truncate(self.cluster.folder + "/starts0", 0)
        late = demo.milliseconds(sorted(at - due for at, due in times), 0.5, 0.99, 0.999)
        return "%.1f / %.1f / %.1f; %.2f + %.2f" % (*late, *each)


def words(text):
    return text.split(",")


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ways", type=words, default=list(ways()))
    parser.add_argument("--workers", type=words, default=["8", "128"])
    parser.add_argument("--rates", type=words, default=["50", "500", "2000"])
    parser.add_argument("--burst", type=int, default=MOST, help="jobs due at one moment")
    args = parser.parse_args()
    run_here_or_in_guest(limit=10800)
    rates = [int(rate) for rate in args.rates if rate]
    heads = ["workers", "way", "queries/s, idle", *("%d/s" % rate for rate in rates)]
    heads.append("%d at once" % args.burst)
    print("| %s |\n|%s" % (" | ".join(heads), "---|" * len(heads)), flush=True)
    with Cluster() as cluster:
        jobs.connect(cluster.dsn()).execute(jobs.SCHEMA)
        for workers, way in itertools.product(map(int, args.workers), args.ways):
            bench = Bench(cluster, way, workers)
            print("| %d | %s | %s" % (workers, way, bench.idle()), end="", flush=True)
            for rate in rates:
                print(" | " + bench.run(min(rate * BUSY, MOST), rate), end="", flush=True)
            # Last, as the database tidies up after so many jobs.
            print(" | %s |" % bench.run(args.burst, 0), flush=True)
            bench.host.kill()
    return 0


if __name__ == "__main__":
    sys.exit(main())
