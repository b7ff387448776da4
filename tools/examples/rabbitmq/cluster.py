# SPDX-License-Identifier: MIT
"""Brokers of RabbitMQ, and other processes, for as long as a test takes.

Everything is below a temporary folder and on free loopback ports, the Erlang port mapper
included. The system's own broker is not used, started or changed. Every process dies with
the one that started it, however that ends.
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

SERVER = "/usr/lib/rabbitmq/bin/rabbitmq-server"
CONTROL = "/usr/lib/rabbitmq/bin/rabbitmqctl"
# One scheduler thread each, which sleeps when idle.
ERLANG = "+S 1:1 +sbwt none +sbwtdcpu none +sbwtdio none -kernel inet_dist_use_interface {127,0,0,1}"
# A start takes 5 s on an idle machine.
START_SECONDS = 120
# Messages that are dead-lettered to a queue whose broker dies are sent again after this time.
# The default is 3 minutes.
RETRY_MS = 5000
STOP_SECONDS = 5


def free_ports(number):
    """Free ports of the loopback."""
    sockets = [socket.socket() for _ in range(number)]
    for one in sockets:
        one.bind(("127.0.0.1", 0))
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return ports


class Processes:
    """Starts processes in a temporary folder, and ends each of them.

    Use it in a with statement.
    """

    def __init__(self):
        self.folder = tempfile.mkdtemp(prefix="twheel-delayed-")
        self.processes = []
        self.number = 0

    def __enter__(self):
        for end in signal.SIGTERM, signal.SIGINT, signal.SIGHUP:
            signal.signal(end, lambda number, _: sys.exit(128 + number))
        return self

    def __exit__(self, *_):
        for end in signal.SIGTERM, signal.SIGINT, signal.SIGHUP:
            signal.signal(end, signal.SIG_IGN)
        for process in self.processes:
            self.kill(process)
        shutil.rmtree(self.folder, ignore_errors=True)

    def path(self, name):
        return os.path.join(self.folder, name)

    def start(self, name, command, **env):
        """Start a command whose output goes to a file, process.log."""
        self.number += 1
        log = self.path("%d-%s.log" % (self.number, name))
        with open(log, "w", encoding="utf-8") as output:
            process = subprocess.Popen(
                ["setpriv", "--pdeathsig", "KILL", "--", *command],
                env={**os.environ, **env}, stdin=subprocess.DEVNULL, stdout=output,
                stderr=output, cwd=self.folder, start_new_session=True)
        process.log = log
        process.name = "%s %d" % (name, self.number)
        self.processes.append(process)
        return process

    @staticmethod
    def kill(process):
        """Kill a process and its children."""
        if process.poll() is None:
            try:
                os.killpg(process.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        process.wait()

    def stop(self, process):
        """Ask a process to end; returns its exit status."""
        process.terminate()
        try:
            return process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self.kill(process)
            return None

    @staticmethod
    def output(process):
        with open(process.log, encoding="utf-8", errors="replace") as log:
            return log.read()


class Broker:
    """One broker, which can be killed and started again."""

    def __init__(self, number, port, distribution_port):
        self.name = "twheel%d-%d@localhost" % (os.getpid(), number)
        self.number = number
        self.port = port
        self.distribution_port = distribution_port
        self.url = "amqp://guest:guest@127.0.0.1:%d/%%2f" % port
        self.process = None
        self.since = 0.0

    def listens(self):
        with socket.socket() as one:
            one.settimeout(2)
            return one.connect_ex(("127.0.0.1", self.port)) == 0

    def runs(self):
        return self.process is not None and self.process.poll() is None


class Cluster:
    """A cluster of brokers."""

    def __init__(self, processes, number, settings=()):
        ports = free_ports(2 * number + 1)
        self.processes = processes
        self.epmd_port = ports.pop()
        self.settings = list(settings)
        self.brokers = [Broker(i + 1, ports[2 * i], ports[2 * i + 1]) for i in range(number)]
        self.env = {"ERL_EPMD_PORT": str(self.epmd_port), "ERL_EPMD_ADDRESS": "127.0.0.1"}
        processes.start("epmd", ["epmd"], **self.env)

    def urls(self, first=0):
        """The addresses of all, beginning with one of them."""
        urls = [broker.url for broker in self.brokers]
        return urls[first % len(urls):] + urls[:first % len(urls)]

    def configuration(self, broker):
        """The terms of rabbitmq.config, which is read faster than a rabbitmq.conf."""
        # Each joins the first one, which joins none: it would search the others for 5 s.
        names = ", ".join("'%s'" % one.name for one in (self.brokers[0], broker))
        settings = ['{tcp_listeners, [{"127.0.0.1", %d}]}' % broker.port,
                    "{log, [{console, [{enabled, false}]}, {file, [{level, warning}]}]}",
                    "{disk_free_limit, 50000000}",
                    "{dead_letter_worker_publisher_confirm_timeout, %d}" % RETRY_MS,
                    "{cluster_nodes, {[%s], disc}}" % names] + self.settings
        return "[{rabbit, [%s]}].\n" % ", ".join(settings)

    def folder(self, broker):
        return self.processes.path("broker%d" % broker.number)

    def environment(self, broker):
        """Variables with which the server's script reads nothing below /etc or /var."""
        folder = self.folder(broker)
        return {
            **self.env,
            "HOME": folder,
            "RABBITMQ_ALLOW_INPUT": "1",  # the script becomes the server
            "RABBITMQ_NODENAME": broker.name,
            "RABBITMQ_NODE_IP_ADDRESS": "127.0.0.1",
            "RABBITMQ_NODE_PORT": str(broker.port),
            "RABBITMQ_DIST_PORT": str(broker.distribution_port),
            "RABBITMQ_CONF_ENV_FILE": "/dev/null",
            "RABBITMQ_CONFIG_FILE": folder + "/rabbitmq",
            "RABBITMQ_ADVANCED_CONFIG_FILE": folder + "/none.config",
            "RABBITMQ_ENABLED_PLUGINS_FILE": folder + "/plugins",
            "RABBITMQ_MNESIA_BASE": folder + "/data",
            "RABBITMQ_LOG_BASE": folder + "/log",
            "RABBITMQ_PID_FILE": folder + "/pid",
            "RABBITMQ_GENERATED_CONFIG_DIR": folder + "/generated",
            "RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS": ERLANG,
        }

    def write_files(self, broker):
        folder = self.folder(broker)
        os.makedirs(folder + "/log", exist_ok=True)
        files = {"rabbitmq.config": self.configuration(broker), "plugins": "[].",
                 ".erlang.cookie": "TWHEEL%d" % os.getpid()}
        for name, text in files.items():
            path = os.path.join(folder, name)
            if not os.path.exists(path):
                with open(path, "w", encoding="utf-8") as file:
                    file.write(text)
                os.chmod(path, 0o400)

    def start(self, broker):
        self.write_files(broker)
        broker.process = self.processes.start("broker", [SERVER, "-noinput"], **self.environment(broker))
        broker.since = time.monotonic()

    def kill(self, broker):
        self.processes.kill(broker.process)
        broker.since = time.monotonic()

    def control(self, broker, *words):
        """Run rabbitmqctl for a broker; returns whether it succeeded."""
        process = self.processes.start("control", [CONTROL, "-n", broker.name, *words],
                                       **self.environment(broker))
        return process.wait(START_SECONDS) == 0

    def await_start(self, broker):
        end = time.monotonic() + START_SECONDS
        while not broker.listens():
            if not broker.runs():
                sys.exit("a broker has not started:\n" + self.logs(broker))
            if time.monotonic() > end:
                sys.exit("a broker has not started in %d s:\n%s"
                         % (START_SECONDS, self.logs(broker)))
            time.sleep(0.1)

    def start_all(self):
        """The others join the first one."""
        for brokers in self.brokers[:1], self.brokers[1:]:
            for broker in brokers:
                self.start(broker)
            for broker in brokers:
                self.await_start(broker)
        # The first one knows all that have joined it.
        with open(self.database() + "/cluster_nodes.config", encoding="ascii") as file:
            members = file.read()
        if not all(broker.name in members for broker in self.brokers):
            sys.exit("these brokers have not joined: " + members)

    def database(self):
        return glob.glob(self.folder(self.brokers[0]) + "/data/twheel*@localhost")[0]

    def logs(self, broker):
        text = Processes.output(broker.process)
        for path in glob.glob(self.folder(broker) + "/log/*"):
            with open(path, encoding="utf-8", errors="replace") as log:
                text += log.read()
        return text[-4000:]

    def memory(self):
        """The bytes of memory of all brokers."""
        total = 0
        for broker in self.brokers:
            with open("/proc/%d/smaps_rollup" % broker.process.pid, encoding="ascii") as file:
                total += sum(int(line.split()[1]) * 1024 for line in file
                             if line.startswith("Pss:"))
        return total
