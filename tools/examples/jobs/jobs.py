#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Jobs on time: PostgreSQL keeps them, and a wheel for each host wakes the workers.

    jobs.py setup DSN                       make the table, if there is none
    jobs.py host DSN [-w N] [-m MODULE]     run a feeder and N workers, until killed
    jobs.py --memory                        show a host that keeps its jobs in its wheel alone

DSN is a connection string of libpq: "host=a,b target_session_attrs=read-write dbname=shop".
MODULE has a function run(connection, id, run_at, queue, payload), which is called in the
transaction that marks the job done. documentation/jobs.md describes what is promised.
"""

import argparse
import ctypes
import fcntl
import importlib
import json
import mmap
import os
import select
import signal
import struct
import sys
import time

sys.dont_write_bytecode = True
from wheel import Wheel

if "--memory" not in sys.argv:
    import psycopg

# A feeder claims what is due within the horizon. A claimed job belongs to its host until the
# lease ends, counted from when it is due. All in seconds.
HORIZON, LEASE = 10, 5
HUNG = 0.9 * LEASE
# A job that fails is tried again after 1, 2, 4, ... seconds, and is dead after so many attempts.
ATTEMPTS, LONGEST_BACKOFF = 10, 600
BATCH = 500
# From one claim to the next, if no job is new.
PAUSE = 0.5
FOREVER = 86400
# The data of the feeder's own timer: no job has this number.
TICK = 0

SCHEMA = """
create table if not exists job (
    id bigint generated always as identity primary key,
    run_at timestamptz not null default now() check (isfinite(run_at)),
    queue text not null default 'default',
    payload jsonb not null default '{}',
    state text not null default 'waiting'
        check (state in ('waiting', 'done', 'cancelled', 'dead')),
    attempts int not null default 0,
    lease timestamptz);
create index if not exists job_free on job (run_at) where state = 'waiting' and lease is null;
create index if not exists job_leased on job (lease)
    where state = 'waiting' and lease is not null;

create or replace function job_placed() returns trigger language plpgsql as $$ begin
    perform pg_notify('job', '0 ' || extract(epoch from min(run_at))) from new_jobs
        having count(*) > 0;
    return null;
end $$;
create or replace trigger job_placed after insert on job referencing new table as new_jobs
    for each statement execute function job_placed();

create or replace function job_moved() returns trigger language plpgsql as $$ begin
    new.lease := null;
    perform pg_notify('job', new.id || ' ' || case when new.state = 'waiting'
        then extract(epoch from new.run_at) else 'infinity' end);
    return new;
end $$;
create or replace trigger job_moved before update of run_at, state on job for each row
    when (new.state = 'cancelled' or new.run_at <> old.run_at) execute function job_moved();
"""

CLAIM = """
with free as (
    select id from job where state = 'waiting' and lease is null
        and run_at < now() + %(horizon)s * interval '1 s'
    order by run_at limit %(batch)s for update skip locked),
over as (
    select id from job where state = 'waiting' and lease <= now()
    order by lease limit %(batch)s for update skip locked)
update job set lease = greatest(run_at, now()) + %(lease)s * interval '1 s'
where id in (select id from free union all select id from over)
returning id, extract(epoch from lease)::float8"""

# When a feeder has to look next: for a job that is free, and for a lease that ends.
NEXT = """
select (select extract(epoch from min(run_at))::float8 from job
        where state = 'waiting' and lease is null),
       (select extract(epoch from min(lease))::float8 from job
        where state = 'waiting' and lease is not null)"""

TAKE = """
select queue, payload, extract(epoch from run_at)::float8,
       extract(epoch from run_at - clock_timestamp())::float8
from job where id = %s and state = 'waiting' for update skip locked"""

DONE = "update job set state = 'done', lease = null where id = %s"

FAILED = """
update job set attempts = attempts + 1, lease = null,
    state = case when attempts + 1 >= %(attempts)s then 'dead' else 'waiting' end,
    run_at = clock_timestamp() + least(%(longest)s, 2 ^ least(attempts, 20)) * interval '1 s'
where id = %(id)s and state = 'waiting' returning state, attempts"""


def say(text):
    print("jobs[%d]: %s" % (os.getpid(), text), file=sys.stderr, flush=True)


def nanoseconds(seconds):
    return max(0, int(seconds * 1e9))


def die_with_parent():
    """Ask the kernel for SIGKILL when the parent ends."""
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)


def connect(dsn):
    """Connect, however long it takes. The server ends a transaction that hangs."""
    pause, last = 0.1, None
    while True:
        try:
            return psycopg.connect(
                dsn, autocommit=True, connect_timeout=5, fallback_application_name="jobs", keepalives_idle=10,
                keepalives_interval=5, keepalives_count=3, tcp_user_timeout=20000,
                options="-c idle_in_transaction_session_timeout=%ds" % LEASE)
        except psycopg.OperationalError as error:
            if str(error) != last:
                say("waiting for the database: " + str(error).strip().replace("\n", "; "))
            last = str(error)
            time.sleep(pause)
            pause = min(2 * pause, 2)


class Feeder:
    """Claims jobs, and has a timer for each in the wheel."""

    def __init__(self, host):
        self.wheel, self.host, self.notes = host.wheel, host, []
        self.tick, self.timers, self.connection = None, {}, None

    def adopt(self):
        """Find the timers that are in the wheel, also those of a feeder that has died."""
        self.timers = {data: timer for timer, data in self.wheel.list()}
        self.tick = self.timers.pop(TICK, None)
        self.sweep_above = 2 * len(self.timers) + 1000

    def run(self):
        fcntl.lockf(self.host.lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        self.adopt()
        if self.timers:
            say("feeder: adopted %d timers" % len(self.timers))
        while True:
            self.connection = connect(self.host.dsn)
            try:
                with self.connection:
                    self.connection.add_notify_handler(
                        lambda note: self.notes.append(note.payload))
                    self.connection.execute("listen job")
                    self.serve()
            except psycopg.Error as error:
                say("feeder: " + str(error).strip())
            time.sleep(PAUSE)

    def serve(self):
        pgconn, wake = self.connection.pgconn, 0
        while True:
            now = time.time()
            for note in self.notes:
                wake = min(wake, self.note(note))
            self.notes.clear()
            if wake <= now:
                wake = self.claim()
                continue
            self.arm(wake)
            ready, _, _ = select.select([pgconn.socket, self.host.ticks], [], [])
            if self.host.ticks in ready:
                os.eventfd_read(self.host.ticks)
                wake = min(wake, time.time())
            if pgconn.socket in ready:
                pgconn.consume_input()
                while note := pgconn.notifies():
                    self.notes.append(note.extra.decode())

    def note(self, note):
        """Return when to claim a job that is new, or was moved; cancel its timer."""
        job, run_at = note.split()
        timer = self.timers.pop(int(job), None)
        if timer:
            self.wheel.cancel(timer)
        return float(run_at) - HORIZON / 2

    def claim(self):
        """Claim jobs; return when to claim again."""
        jobs = self.connection.execute(CLAIM, {
            "horizon": HORIZON, "batch": BATCH, "lease": LEASE}, prepare=True).fetchall()
        if len(self.timers) > self.sweep_above:
            self.adopt()
        for job, _ in jobs:
            self.wheel.cancel(self.timers.pop(job, 0))
        ids = self.wheel.add([(nanoseconds(lease - LEASE), LEASE * 10 ** 9, job)
                              for job, lease in jobs])
        self.timers.update(zip((job for job, _ in jobs), ids))
        if len(ids) < len(jobs):
            say("feeder: the wheel is full; %d jobs wait for %d s" % (len(jobs) - len(ids), LEASE))
        if len(jobs) >= BATCH:
            return 0
        free, lease = self.connection.execute(NEXT, prepare=True).fetchone()
        now = time.time()
        return max(now + PAUSE, min(now + FOREVER if free is None else free - HORIZON / 2,
                                    now + FOREVER if lease is None else lease))

    def arm(self, wake):
        """Set the timer that wakes this feeder, by the worker that reads it.

        It comes again if that worker dies before it passes it on.
        """
        wake = nanoseconds(min(wake, time.time() + FOREVER))
        if self.tick is None or not self.wheel.modify(self.tick, wake):
            self.tick = self.wheel.add([(wake, LEASE * 10 ** 9, TICK)])[0]


class Worker:
    """Waits for a job in the wheel, and does it."""

    def __init__(self, host, number):
        self.host, self.wheel, self.number = host, host.wheel, number
        self.connection = None

    def run(self):
        _, job, _ = self.host.slot(self.number)
        self.host.set_slot(self.number, os.getpid(), 0)
        while True:
            try:
                if self.connection is None or self.connection.closed:
                    self.connection = connect(self.host.dsn)
                if job:
                    self.failed(job, "its worker died or hung")
                    job = 0
                    continue
                timer, data, _, _ = self.wheel.read()
                if data == TICK:
                    os.eventfd_write(self.host.ticks, 1)
                else:
                    self.take(timer, data)
            except psycopg.Error as error:
                # The timer of the job comes again. The server ends a transaction that hangs.
                say("worker: " + str(error).strip())
                self.connection.close()
                _, job, since = self.host.slot(self.number)
                if time.monotonic() - since < HUNG:
                    job = 0
            self.host.set_slot(self.number, os.getpid(), 0)

    def take(self, timer, job):
        """Do the job, unless it is not due, or done, or another worker does it."""
        if self.host.end_hung(job):
            return
        try:
            with self.connection.transaction():
                row = self.connection.execute(TAKE, [job], prepare=True).fetchone()
                if row and row[3] <= 0:
                    queue, payload, run_at, _ = row
                    self.host.set_slot(self.number, os.getpid(), job)
                    self.host.run_job(self.connection, job, run_at, queue, payload)
                    self.connection.execute(DONE, [job], prepare=True)
        except (psycopg.OperationalError, psycopg.InterfaceError, psycopg.InternalError):
            raise
        except Exception as error: # whatever the job raises
            self.failed(job, repr(error))
            row = None
        if row and 0 < row[3] < HORIZON:
            self.wheel.modify(timer, nanoseconds(time.time() + row[3]))
        elif row or not self.is_waiting(job):
            self.wheel.cancel(timer)

    def is_waiting(self, job):
        """Return whether another worker does this job: its row is locked."""
        return self.connection.execute(
            "select 1 from job where id = %s and state = 'waiting' and run_at <= now()",
            [job], prepare=True).fetchone() is not None

    def failed(self, job, why):
        row = self.connection.execute(FAILED, {
            "id": job, "attempts": ATTEMPTS, "longest": LONGEST_BACKOFF}).fetchone()
        if row:
            say("job %d: %s; %s after %d attempts" % (job, why, row[0], row[1]))


class Host:
    """A wheel, a feeder and workers that share it by inheritance. Restarts those that die."""

    SLOT = struct.Struct("=qqd")

    def __init__(self, dsn, run_job, workers=8):
        self.dsn, self.run_job, self.workers = dsn, run_job, workers
        self.wheel = Wheel()
        self.ticks = os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC)
        self.lock = os.memfd_create("feeder")
        # For each worker: its process, its job, and since when. A worker that replaces one that
        # has died reports that job as failed.
        self.slots = mmap.mmap(-1, workers * self.SLOT.size)

    def slot(self, number):
        return self.SLOT.unpack_from(self.slots, number * self.SLOT.size)

    def set_slot(self, number, pid, job):
        self.SLOT.pack_into(self.slots, number * self.SLOT.size, pid, job, time.monotonic())

    def end_hung(self, job):
        """Kill the worker that has had this job for longer than the lease, if there is one."""
        for number in range(self.workers):
            pid, at, since = self.slot(number)
            if at == job and time.monotonic() - since > HUNG:
                say("worker %d hangs in job %d, and is killed" % (pid, job))
                os.kill(pid, signal.SIGKILL)
                return True
        return False

    def start(self, role):
        pid = os.fork()
        if pid:
            return pid
        try:
            die_with_parent()
            # The name that ps shows with -o comm.
            with open("/proc/self/comm", "w", encoding="ascii") as file:
                file.write("worker" if role is not None else "feeder")
            (Feeder(self) if role is None else Worker(self, role)).run()
        except BlockingIOError:
            say("feeder: another one serves this wheel already")
        except KeyboardInterrupt:
            pass
        except BaseException as error: # a child must not return into its parent's code
            say("%s: %r" % ("feeder" if role is None else "worker", error))
        finally:
            os._exit(1)

    def run(self):
        roles = {self.start(role): role for role in [None, *range(self.workers)]}
        while True:
            pid, _ = os.wait()
            if pid in roles:
                role = roles.pop(pid)
                time.sleep(0.1) # one that dies at once must not keep a CPU busy
                roles[self.start(role)] = role


def memory(jobs=40, workers=4, lease=0.5):
    """Show what the wheel alone does: at least once, without polling, while the host lives.

    The job is the timer's data. The timer comes again after each lease until it is cancelled,
    so a job whose worker dies is read by another one.
    """
    wheel, total = Wheel(), 0
    done = mmap.mmap(-1, jobs + 1)
    begin = time.time_ns()
    wheel.add([(begin + job * 50_000_000, nanoseconds(lease), job) for job in range(1, jobs + 1)])

    def work():
        die_with_parent()
        while True:
            timer, job, deadline, _ = wheel.read()
            if job % 10 == 0 and deadline < begin + job * 50_000_000 + nanoseconds(lease):
                os.kill(os.getpid(), signal.SIGKILL) # the first try of each tenth job
            print("job %d, %.3f s late" % (job, (time.time_ns() - begin) / 1e9 - job * 0.05),
                  flush=True)
            wheel.cancel(timer) # the acknowledgement
            done[job] = 1

    pids = set()
    kills = 0
    while True:
        while len(pids) < workers:
            pid = os.fork()
            if pid == 0:
                work()
            pids.add(pid)
        if sum(done[:]) == jobs:
            break
        pid, _ = os.waitpid(-1, os.WNOHANG)
        if pid:
            pids.discard(pid)
            kills += 1
        else:
            time.sleep(0.1)
    for pid in pids:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
    print("memory: in=%d done=%d kills=%d left=%d" % (jobs, sum(done[:]), kills, len(wheel.list())))


def show(_, job, run_at, queue, payload):
    print("job %d of %s, %.3f s late: %s" % (job, queue, time.time() - run_at,
                                             json.dumps(payload)), flush=True)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--memory", action="store_true")
    parser.add_argument("command", nargs="?", choices=["setup", "host"])
    parser.add_argument("dsn", nargs="?")
    parser.add_argument("-w", "--workers", type=int, default=8)
    parser.add_argument("-m", "--module")
    args = parser.parse_args()
    if args.memory:
        memory()
    elif not args.command or args.dsn is None:
        parser.error("setup or host, and a DSN, or --memory")
    elif args.command == "setup":
        connect(args.dsn).execute(SCHEMA)
    else:
        sys.path.insert(0, os.getcwd())
        job = importlib.import_module(args.module).run if args.module else show
        Host(args.dsn, job, args.workers).run()


if __name__ == "__main__":
    main()
