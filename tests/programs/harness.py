"""Starts real programs on emulated nodes and sees to it that nothing of them is left.

Owns: process groups, node numbers, ports, deadlines. Knows nothing of what a program does (matrix.py) or of what is right
(the families in run.py).

A node number is reserved by a bound TCP socket on its address, so that tests of several processes never share one; the
reservation ends with the process that holds it.
"""
import ctypes
import os
import random
import re
import signal
import socket
import subprocess
import tempfile
import time

import waiting

RESERVATION_PORT = 4790
# Those below are people's, those above belong to tests that have nodes of their own (tests/host, tests/shim). Over UDP a node is
# its address, whatever the fabric.
NODE_NUMBERS = range(10, 200)
PORTS = range(20000, 32000)
LOSS = ("drop 1%", "reorder by=3 1%")
# The ibv examples, ib_write_lat and ib_send_lat end without a word to each other. Whoever has all its answers leaves, and if its last
# acknowledgement was lost, the other one finds nobody there and fails, on hardware too. So a QP's first acknowledgements may be
# lost, its last not.
PINGPONG_LOSS = ("drop 1% opcode=data", "drop 2% opcode=ack psn=0-19", "reorder by=3 1%")
# perftest's -u: 4.096 us x 2^n, eight times in a row until a connection fails: a second, so that a process that a loaded
# machine leaves without a processor does not end it. Half of it under loss, where each lost tail costs that time.
ACK_TIMEOUT, ACK_TIMEOUT_UNDER_LOSS = 15, 14
LINKS = ("shm", "udp")
PATIENCE_AFTER_FAILURE_S = 5


class Failure(Exception):
    """A test failed; the text says how, with the outputs that explain it."""


def die_with_parent():
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG


class Mark:
    """An environment variable by which all processes of a program are found, in whatever group or session: fio's jobs have their own."""
    NAME = "VERBENA_TEST_PROGRAM"
    made = 0

    def __init__(self):
        Mark.made += 1
        self.value = f"{os.getpid()}.{Mark.made}.{time.monotonic_ns()}"

    def wearers(self):
        found = []
        for process in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{process}/environ", "rb") as file:
                    if f"{self.NAME}={self.value}".encode() in file.read().split(b"\0"):
                        found.append(int(process))
            except OSError:
                continue
        return found

    def kill_wearers(self):
        while wearers := self.wearers():
            for process in wearers:
                try:
                    os.kill(process, signal.SIGKILL)
                except ProcessLookupError:
                    pass
            waiting.let_time_pass(0.001)


class Program:
    """One running program, in a process group of its own."""

    def __init__(self, argv, name):
        self.argv, self.name = [str(word) for word in argv], name
        self._out, self._err = tempfile.TemporaryFile(), tempfile.TemporaryFile()
        self.started = time.monotonic()
        self._mark = Mark()
        self.process = subprocess.Popen(self.argv, stdin=subprocess.DEVNULL, stdout=self._out, stderr=self._err,
                                        start_new_session=True, preexec_fn=die_with_parent,
                                        env={**os.environ, Mark.NAME: self._mark.value})

    @staticmethod
    def _text(file):
        return os.pread(file.fileno(), 1 << 20, 0).decode(errors="replace")

    @property
    def out(self):
        return self._text(self._out)

    @property
    def err(self):
        return self._text(self._err)

    @property
    def status(self):
        return self.process.poll()

    def wait(self, deadline):
        """The exit status, or None when the deadline (of time.monotonic) passes."""
        try:
            return self.process.wait(max(0.0, deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            return None

    def signal_group(self, number):
        try:
            os.killpg(self.process.pid, number)
        except ProcessLookupError:
            pass

    def close(self):
        """Ends whatever is left of the program and of all that it has started."""
        self.signal_group(signal.SIGKILL)
        self.process.wait()
        self._mark.kill_wearers()
        self._out.close()
        self._err.close()

    def counters(self):
        """What `verbena exec --stats` printed: name value, one a line, on stderr."""
        return {name: int(value) for name, value in re.findall(r"^ *([a-z][a-z0-9_]*) +(\d+)$", self.err, re.M)}

    def describe(self):
        def indent(text):
            return "".join(f"    | {line}\n" for line in text.splitlines()[-40:])
        status = "still running" if self.status is None else f"exit status {self.status}"
        return f"  {self.name}: {' '.join(self.argv)}\n    {status}\n{indent(self.out)}{indent(self.err)}"


class Node:
    """One emulated node that this test has for itself."""

    def __init__(self, fabric, number, reservation):
        self.fabric, self.number, self.reservation = fabric, number, reservation
        self.address = f"127.47.91.{number}"
        self.unix_sockets = "/proc/net/unix"  # the table of those that its programs can have


class Fabric:
    """A fabric of its own name with some nodes; everything started through it ends with it (use `with`)."""

    def __init__(self, verbena, link, nodes=2, prefer=()):
        """`prefer`: node numbers to take if they are free."""
        self.verbena, self.link = verbena, link
        self.name = f"test-{os.getpid()}-{random.randrange(1 << 32):08x}"
        self.nodes, self.programs = [], []
        numbers = random.sample(NODE_NUMBERS, len(NODE_NUMBERS)) + list(reversed(prefer))
        while len(self.nodes) < nodes and numbers:
            number = numbers.pop()
            reservation = socket.socket()
            try:
                reservation.bind((f"127.47.91.{number}", RESERVATION_PORT))
                self.nodes.append(Node(self, number, reservation))
            except OSError:
                reservation.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for program in self.programs:
            program.close()
        for node in self.nodes:
            node.reservation.close()

    def exec_argv(self, node, argv, *, faults=(), seed=1, capture=None, stats=False, extra=(), prefix=()):
        words = [*prefix, self.verbena, "exec", "--fabric", self.name, "--node", str(node.number), "--link", self.link,
                 "--seed", str(seed)]
        for fault in faults:
            words += ["--fault", fault]
        if capture:
            words += ["--pcap", capture]
        if stats:
            words += ["--stats"]
        return words + list(extra) + ["--"] + [str(word) for word in argv]

    def start(self, node, argv, name="program", **options):
        program = Program(self.exec_argv(node, argv, **options), name)
        self.programs.append(program)
        return program

    def run(self, node, argv, timeout=30, **options):
        """Runs one program to its end and requires exit status 0."""
        program = self.start(node, argv, **options)
        if program.wait(time.monotonic() + timeout) != 0:
            raise Failure(f"did not end with 0 within {timeout} s\n{program.describe()}")
        return program


_port_reservations = []


def free_port():
    """A TCP port that is free, and that no other process with this harness gets as long as this one lives."""
    for port in random.sample(PORTS, 200):
        reservation = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        with socket.socket(socket.AF_INET6) as probe:
            try:
                reservation.bind(f"\0verbena-test-port/{port}")
                probe.bind(("::", port))
            except OSError:
                reservation.close()
                continue
        _port_reservations.append(reservation)
        return port
    raise Failure("no free TCP port")


def listens(port):
    suffix = f":{port:04X}"
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        with open(table, encoding="ascii") as file:
            for line in file:
                fields = line.split()
                if len(fields) > 3 and fields[1].endswith(suffix) and fields[3] == "0A":
                    return True
    return False


def wait_until(condition, deadline, what, programs=()):
    """Polls a condition; a program that ends meanwhile or the deadline is a failure."""
    while not condition():
        ended = [program for program in programs if program.status is not None]
        if ended or time.monotonic() > deadline:
            why = "ended too soon" if ended else "timed out"
            raise Failure(f"{why} while waiting until {what}\n" + "".join(p.describe() for p in programs))
        waiting.let_time_pass(0.005)


def ends_without_a_word(tool):
    return tool.endswith("_pingpong") or tool in ("ib_write_lat", "ib_send_lat")


def survivable(faults, argv):
    """The fault plan under which this program can do what it does."""
    return PINGPONG_LOSS if faults == LOSS and ends_without_a_word(argv[0]) else faults


def fill(argv, port, address, options):
    timeout = ACK_TIMEOUT_UNDER_LOSS if options.get("faults") else ACK_TIMEOUT
    return [str(word).format(port=port, server=address, timeout=timeout) for word in argv]


class Pair:
    """A server and a client program with a TCP side channel, as all of perftest, the ibv examples and qperf have one."""

    def __init__(self, fabric, server_argv, client_argv, nodes=None, server_options=None, client_options=None):
        self.fabric = fabric
        self.nodes = nodes or fabric.nodes[:2]
        self.port = free_port()
        options, address = [server_options or {}, client_options or {}], self.nodes[0].address
        self.server = fabric.start(self.nodes[0], fill(server_argv, self.port, address, options[0]), "server", **options[0])
        wait_until(lambda: listens(self.port), time.monotonic() + 20, "the server listens", [self.server])
        self.client = fabric.start(self.nodes[1], fill(client_argv, self.port, address, options[1]), "client", **options[1])

    def describe(self):
        return self.server.describe() + self.client.describe()

    def finish(self, timeout, server_status=0, client_status=0):
        """Both must end in time with these exit statuses (None: any). When one has failed, the other is not waited for long."""
        deadline = time.monotonic() + timeout
        wanted = {self.client: client_status, self.server: server_status}

        def failed():
            return [status for program, status in wanted.items() if status is not None and program.status not in (None, status)]
        while None in (self.client.status, self.server.status) and time.monotonic() < deadline:
            if failed():
                deadline = min(deadline, time.monotonic() + PATIENCE_AFTER_FAILURE_S)
                self.client.wait(deadline)
                self.server.wait(deadline)
            waiting.let_time_pass(0.01)
        if failed():
            raise Failure(f"an exit status is not {failed()[0]}\n{self.describe()}")
        if None in (self.client.status, self.server.status):
            raise Failure(f"not finished after {timeout} s\n{self.describe()}")
        return self


def pair(fabric, server_argv, client_argv, *, faults=(), seed=1, captures=(None, None), stats=False, timeout=60, nodes=None,
         extra=()):
    """Runs a server and a client to their ends and requires exit status 0 of both. `extra`: options of `verbena exec` for both."""
    faults = survivable(faults, server_argv)
    options = [{"faults": faults, "seed": seed + end, "capture": captures[end], "stats": stats, "extra": extra}
               for end in (0, 1)]
    return Pair(fabric, server_argv, client_argv, nodes, *options).finish(timeout)
