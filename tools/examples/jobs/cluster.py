# SPDX-License-Identifier: MIT
"""PostgreSQL for as long as a test takes: a primary, and a synchronous standby.

Everything is below a temporary directory and on free loopback ports. The system's own cluster is
not used, started or changed. Every process dies with the one that started it, however that
ends. As root, the servers run as the user nobody.
"""

import glob
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

import psycopg

from jobs import die_with_parent

# A server's directory that guest.py has made for its virtual machine, where initdb is slow.
TEMPLATE = "/template"
START_SECONDS = 120
SETTINGS = """
listen_addresses = '127.0.0.1'
unix_socket_directories = ''
timezone = 'GMT'
log_timezone = 'GMT'
jit = off
shared_buffers = 32MB
max_connections = 160
max_parallel_workers_per_gather = 0
min_wal_size = 4MB
wal_keep_size = 32MB
log_line_prefix = '%m '
"""


def programs():
    """Return the directory of PostgreSQL's programs."""
    folders = sorted(glob.glob("/usr/lib/postgresql/*/bin"))
    if not folders:
        sys.exit("PostgreSQL is missing; on Debian: apt install postgresql python3-psycopg")
    return folders[-1]


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def children(pid):
    """Return the process ids of the children of a process."""
    with open("/proc/%d/task/%d/children" % (pid, pid), encoding="ascii") as file:
        return sorted(map(int, file.read().split()))


def cpu(parent):
    """Return the CPU seconds of a process and its children."""
    total = 0
    for pid in [parent, *children(parent)]:
        try:
            with open("/proc/%d/schedstat" % pid, encoding="ascii") as file:
                total += int(file.read().split()[0]) / 1e9
        except FileNotFoundError:
            pass
    return total


class Server:
    """A server that can be killed, and started again."""

    def __init__(self, cluster, number):
        self.folder = os.path.join(cluster.folder, "server%d" % number)
        self.number, self.port, self.process = number, free_port(), None
        self.log = self.folder + ".log"
        self.who = {"user": "nobody", "group": "nogroup", "extra_groups": []} \
            if os.getuid() == 0 else {}

    def dsn(self):
        return "host=127.0.0.1 port=%d user=jobs dbname=postgres" % self.port

    def program(self, name, *words):
        with open(self.log, "ab") as log:
            subprocess.run([os.path.join(programs(), name), *words], check=True, stdout=log,
                           stderr=log, cwd="/tmp", **self.who)

    def make(self):
        if os.path.exists(TEMPLATE):
            subprocess.run(["cp", "-a", TEMPLATE, self.folder], check=True)
            return
        self.program("initdb", "-D", self.folder, "-A", "trust", "-U", "jobs", "--no-sync",
                     "-E", "UTF8", "--locale=C", "--wal-segsize=1")
        with open(self.folder + "/postgresql.conf", "a", encoding="ascii") as file:
            file.write(SETTINGS)

    def copy(self, primary):
        """Become a standby of the primary."""
        shutil.rmtree(self.folder, ignore_errors=True)
        self.program("pg_basebackup", "-R", "-D", self.folder, "-c", "fast", "--no-sync",
                     "-d", primary.dsn() + " application_name=standby")

    def start(self):
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen(
                [os.path.join(programs(), "postgres"), "-D", self.folder, "-p", str(self.port)],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd="/tmp",
                preexec_fn=die_with_parent, start_new_session=True, **self.who)
        end = time.monotonic() + START_SECONDS
        while time.monotonic() < end and self.process.poll() is None:
            try:
                psycopg.connect(self.dsn()).close()
                return
            except psycopg.OperationalError:
                time.sleep(0.2)
        with open(self.log, encoding="utf-8", errors="replace") as log:
            sys.exit("PostgreSQL does not start:\n" + log.read()[-2000:])

    def sql(self, text):
        with psycopg.connect(self.dsn(), autocommit=True) as connection:
            cursor = connection.execute(text)
            return cursor.fetchall() if cursor.description else None

    def kill(self):
        """Kill all of its processes at once."""
        for pid in [self.process.pid, *children(self.process.pid)]:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        self.process.wait()

    def stop(self):
        if self.process and self.process.poll() is None:
            self.process.send_signal(signal.SIGQUIT)
            try:
                self.process.wait(10)
            except subprocess.TimeoutExpired:
                self.kill()


class Cluster:
    """A primary and, if asked for, a standby. Use it in a with statement."""

    def __init__(self):
        for end in signal.SIGTERM, signal.SIGINT, signal.SIGHUP:
            signal.signal(end, lambda number, _: sys.exit(128 + number))
        self.folder = tempfile.mkdtemp(prefix="twheel-jobs-")
        os.chmod(self.folder, 0o777)
        self.primary, self.standby = Server(self, 1), Server(self, 2)

    def __enter__(self):
        self.primary.make()
        self.primary.start()
        return self

    def __exit__(self, *_):
        for server in self.primary, self.standby:
            server.stop()
        shutil.rmtree(self.folder, ignore_errors=True)

    def dsn(self):
        """Return a connection string that finds the primary, whichever it is."""
        return "host=127.0.0.1,127.0.0.1 port=%d,%d target_session_attrs=read-write user=jobs " \
            "dbname=postgres" % (self.primary.port, self.standby.port)

    def add_standby(self):
        """Copy the primary. From then on, a commit waits for the copy."""
        self.standby.copy(self.primary)
        self.standby.start()
        self.set_synchronous("standby")

    def set_synchronous(self, names):
        self.primary.sql("alter system set synchronous_standby_names = '%s'" % names)
        self.primary.sql("select pg_reload_conf()")
        end = time.monotonic() + START_SECONDS
        while names and time.monotonic() < end and not self.primary.sql(
                "select 1 from pg_stat_replication where sync_state = 'sync'"):
            time.sleep(0.1)

    def kill_primary(self):
        """Kill the primary; the standby takes over, without a standby of its own."""
        self.primary.kill()
        self.primary, self.standby = self.standby, self.primary
        self.primary.sql("select pg_promote()")
        self.set_synchronous("")
