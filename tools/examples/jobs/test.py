#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Tests the jobs of this directory: bad input, and the demo. Prints TAP."""

import os
import re
import signal
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
import psycopg

import demo
import jobs
from cluster import Cluster, cpu
from guest import HERE, run_here_or_in_guest
from wheel import Wheel

# An operation of a second may take this many on a loaded machine.
PATIENCE = 60
DEMO = ["--seconds", "14", "--rate", "20", "--workers", "2", "--seed", "5"]
KO = "/lib/modules/twheel.ko"
TWO_FEEDERS = """
import jobs, time
host = jobs.Host("", None)
for _ in range(2):
    host.start(None)
    time.sleep(1)
"""
# Where a disk can be filled, the clock set and the module unloaded.
OWN_MACHINE = os.path.exists("/etc/ports")


class Tap:
    count = failed = 0

    def ok(self, good, name):
        self.count += 1
        self.failed += not good
        print("%sok %d - %s" % ("" if good else "not ", self.count, name), flush=True)
        return good


def do(payload):
    """Do the job that a test has placed."""
    if payload == "fail":
        raise ValueError("bad payload")
    if payload == "hang":
        time.sleep(1000)
    if payload == "die":
        os.kill(os.getpid(), signal.SIGKILL)


class Bench:
    """A database, and a host with its jobs."""

    def __init__(self, cluster):
        self.cluster = cluster
        self.connection = jobs.connect(cluster.dsn())
        self.host = self.start_host(0)

    def start_host(self, number):
        return demo.Host(number, self.cluster.dsn(), self.cluster.folder, 4, do)

    def sql(self, text, *values):
        cursor = self.connection.execute(text, values)
        return cursor.fetchall() if cursor.description else None

    def place(self, seconds, payload="ok"):
        return self.sql("insert into job (run_at, payload) values (now() + %s * interval '1 s',"
                        " to_jsonb(%s::text)) returning id", seconds, payload)[0][0]

    def state(self, job):
        return self.sql("select state, attempts from job where id = %s", job)[0]

    def becomes(self, job, state, seconds=PATIENCE):
        return wait(lambda: self.state(job)[0] == state, seconds)

    def says(self, pattern, number=0):
        def look():
            return re.search(pattern, demo.logs(self.cluster.folder, "host.log%d" % number))
        return wait(look)

    def starts(self, job):
        return demo.ledger(self.cluster.folder)[job]


def wait(condition, seconds=PATIENCE):
    """Return whether the condition holds in time."""
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(0.1)
    return True


def output(*words):
    done = subprocess.run(["timeout", "400", *words], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, check=False)
    return done.returncode, done.stdout


def refused(bench, error, run_at):
    try:
        bench.sql("insert into job (run_at) values (%s)", run_at)
    except error:
        return True
    return False


def test_times(tap, bench):
    tap.ok(bench.becomes(bench.place(-86400), "done"), "a job that is past due is done at once")
    far = bench.sql("insert into job (run_at) values ('2286-11-20') returning id")[0][0]
    tap.ok(refused(bench, psycopg.errors.NotNullViolation, None), "run_at NULL is refused")
    tap.ok(refused(bench, psycopg.errors.CheckViolation, "infinity"), "an infinite run_at, too")
    moved, cancelled = bench.place(3), bench.place(3)
    bench.sql("update job set run_at = run_at + interval '4 s' where id = %s", moved)
    bench.sql("update job set state = 'cancelled' where id = %s", cancelled)
    tap.ok(bench.becomes(moved, "done") and all(at >= due for at, due in bench.starts(moved)),
           "a job that is postponed waits for its new time")
    tap.ok(not bench.starts(cancelled), "a job that is cancelled does not run")
    bench.sql("update job set run_at = now() where id = %s", bench.place(600))
    tap.ok(wait(lambda: not bench.sql("select 1 from job where state = 'waiting' and id <> %s",
                                      far)), "a job that is brought forward runs")
    time.sleep(jobs.LEASE + 1)
    before = cpu(bench.host.pid)
    time.sleep(20)
    active = bench.sql("select count(*) from pg_stat_activity where query_start > now() -"
                       " interval '19 s' and pid <> pg_backend_pid() and application_name = 'jobs'")
    tap.ok(active == [(0,)] and cpu(bench.host.pid) - before < 0.05,
           "a host with a job of the year 2286 sends no queries")
    tap.ok(bench.state(far)[0] == "waiting", "that job waits")


def test_failures(tap, bench):
    names = "fail", "die", "hang"
    placed = [bench.place(0, name) for name in names]
    for name, job in zip(names, placed):
        tap.ok(bench.becomes(job, "dead", 2 * PATIENCE)
               and bench.state(job)[1] == len(bench.starts(job)) == jobs.ATTEMPTS,
               "a job that will always %s is dead after %d attempts" % (name, jobs.ATTEMPTS))
    tap.ok(bench.says("bad payload.*dead") and bench.says("died or hung.*dead")
           and bench.says("hangs in job"), "each is reported")
    tap.ok(bench.becomes(bench.place(0), "done"), "the next job is done")


def test_feeder(tap, bench):
    job = bench.place(4)
    time.sleep(1)
    bench.host.kill_child(min, True)
    tap.ok(bench.says("adopted [1-9]"), "a new feeder adopts the timers")
    tap.ok(bench.becomes(job, "done") and len(bench.starts(job)) == 1, "each job runs once")
    text = output("env", "PYTHONPATH=" + HERE, sys.executable, "-Bc", TWO_FEEDERS)[1]
    tap.ok("another one serves this wheel" in text, "a second feeder is refused")


def test_clock(tap, bench):
    def move(seconds):
        time.clock_settime(time.CLOCK_REALTIME, time.time() + seconds)
    ahead, behind = bench.place(900), bench.place(5)
    time.sleep(1)
    move(-600)
    time.sleep(10)
    tap.ok(bench.state(behind)[0] == "waiting", "a clock that is set back: nothing is early")
    move(600)
    tap.ok(bench.becomes(behind, "done"), "the job is done when its time has come")
    move(900)
    tap.ok(bench.becomes(ahead, "done"), "a clock that is set forward: what is due is done")


def test_disk(tap, bench):
    placed = [bench.place(5) for _ in range(20)]
    filler = bench.cluster.folder + "/filler"
    with open(filler, "wb", buffering=0) as file:
        try:
            while True:
                file.write(bytes(65536))
        except OSError:
            pass
    error = ""
    try:
        for _ in range(100):
            placed += [row for row, in bench.sql(
                "insert into job (run_at, payload) select now() + interval '5 s', to_jsonb("
                "repeat(md5(random()::text), 100)) from generate_series(1, 100) returning id")]
    except psycopg.Error as refused:
        error = str(refused)
    tap.ok(error, "a full disk refuses jobs")
    print("# " + error.strip().replace("\n", "\n# "))
    before = cpu(bench.host.pid)
    time.sleep(10)
    tap.ok(cpu(bench.host.pid) - before < 5, "the host does not spin")
    os.unlink(filler)
    if bench.cluster.primary.process.poll() is not None:
        bench.cluster.primary.start()
    bench.connection = jobs.connect(bench.cluster.dsn())
    tap.ok(wait(lambda: bench.sql("select count(*) from job where state = 'done' and id = any(%s)",
                                  placed) == [(len(placed),)], 3 * PATIENCE),
           "with room again, all confirmed jobs are done")


def test_database(tap, bench):
    job = bench.place(4)
    time.sleep(1)
    bench.cluster.primary.kill()
    other = bench.start_host(1)
    tap.ok(bench.says("waiting for the database", 1), "a host without a database says so")
    bench.cluster.primary.start()
    bench.connection = jobs.connect(bench.cluster.dsn())
    tap.ok(bench.becomes(job, "done"), "a database that comes back finds its hosts")
    bench.host.kill()
    job = bench.place(1)
    tap.ok(bench.becomes(job, "done"), "the other host does the jobs of one that has died")
    other.kill()


def test_module(tap, bench):
    if not OWN_MACHINE:
        return
    wheel = Wheel()
    tap.ok(output("rmmod", "twheel")[0] != 0, "the module stays while there are wheels")
    os.close(wheel.fd)
    # The descriptors of killed processes close a little later.
    tap.ok(wait(lambda: output("rmmod", "twheel")[0] == 0), "it goes when there are none")
    status, text = output(os.path.join(HERE, "jobs.py"), "host", bench.cluster.dsn())
    tap.ok(status != 0 and "modprobe twheel" in text, "a host without the module says so")
    tap.ok(output("insmod", KO)[0] == 0, "the module is loaded again")


def test_bad_input(tap):
    if OWN_MACHINE:
        tempfile.tempdir = "/disk"
        os.mkdir("/disk")
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=120m", "disk", "/disk"], check=True)
    jobs.ATTEMPTS = 3
    with Cluster() as cluster:
        jobs.connect(cluster.dsn()).execute(jobs.SCHEMA)
        bench = Bench(cluster)
        failed = tap.failed
        test_times(tap, bench)
        test_failures(tap, bench)
        test_feeder(tap, bench)
        if OWN_MACHINE:
            test_clock(tap, bench)
            test_disk(tap, bench)
        test_database(tap, bench)
        test_module(tap, bench)
        if tap.failed > failed:
            print("# " + demo.logs(cluster.folder).replace("\n", "\n# "))
    tempfile.tempdir = None


def main():
    run_here_or_in_guest(limit=900)
    print("TAP version 13", flush=True)
    tap = Tap()
    status, text = output(os.path.join(HERE, "jobs.py"), "--memory")
    if not tap.ok(re.search(r"^memory: in=40 done=40 kills=4 left=0\n\Z", text, re.M),
                  "a wheel alone does each job, though workers are killed"):
        print("# " + text.replace("\n", "\n# "), flush=True)
    test_bad_input(tap)
    status, text = output(os.path.join(HERE, "demo.py"), *DEMO)
    print("# " + text.rstrip().replace("\n", "\n# "), flush=True)
    match = re.search(r"^jobs: in=(\d+) done=(\d+) lost=0 early=0 kills=(\d+) twice=\d+\n\Z", text,
                      re.M)
    tap.ok(status == 0 and match and match[1] == match[2] and int(match[3]) >= 2,
           "the demo loses nothing, and nothing is early")
    print("1..%d" % tap.count)
    return 1 if tap.failed else 0


if __name__ == "__main__":
    sys.exit(main())
