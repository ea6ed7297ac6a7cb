"""The sockets that programs have beside RDMA, in a fabric that a fabric process serves: cut with the cable, whole with it."""
import os
import signal
import tempfile
import time

import harness
import served
import waiting
from harness import Failure

SOON = 15  # seconds within which something is certain to happen
SILENCE = "0.7"  # seconds in which something that happens would have
END = os.path.join(os.path.dirname(os.path.abspath(__file__)), "socket_end.py")
SILENT, REFUSED = "TimeoutError", "ConnectionRefusedError"  # Python's words: nothing came within the time given; RST


class End:
    """One end of sockets, a program on a node."""

    def __init__(self, fabric, node, port):
        self.address = node.address
        self._commands = tempfile.NamedTemporaryFile("a")
        self._asked = 0
        # The distribution's Python, not one behind a wrapper.
        self.program = fabric.start(node, ["/usr/bin/python3", "-B", END, self._commands.name, str(port)], f"end at {node.address}")

    def begin(self, *words):
        """Returns what waits for the result."""
        number, self._asked = self._asked, self._asked + 1
        self._commands.write(" ".join(str(word) for word in words) + "\n")
        self._commands.flush()
        mark = f"{number} "
        def result():
            return next((line[len(mark):] for line in self.program.out.split("\n")[:-1] if line.startswith(mark)), None)
        def wait():
            harness.wait_until(lambda: result() is not None, time.monotonic() + 60, f"{words} is done", [self.program])
            return result()
        return wait

    def ask(self, *words, want=None):
        said = self.begin(*words)()
        if want is not None and said != want:
            raise Failure(f"{self.address}, {words}: '{said}' instead of '{want}'\n{self.program.describe()}")
        return said


class Ends(served.Served):
    """A server at node 2 and a client at node 1, which can talk; node 3 stands by."""

    def __enter__(self):
        super().__enter__()
        port = harness.free_port()
        self.client, self.listener = End(self, self.nodes[0], port), End(self, self.nodes[1], port)
        self.listener.ask("listen", want="listens")
        return self

    def connected(self):
        self.client.ask("connect", self.listener.address, SOON, want=self.client.address)
        self.listener.ask("accept", SOON, want=self.client.address)
        self.talk("before")
        return self

    def talk(self, text):
        """Both ways."""
        for one, other in ((self.client, self.listener), (self.listener, self.client)):
            one.ask("write", text, want="written")
            other.ask("read", len(text), SOON, want=text)

    def datagram(self, arrives):
        self.client.ask("send", self.listener.address, "hello", want="sent")
        self.listener.ask("receive", SOON if arrives else SILENCE,
                        want=f"hello from {self.client.address}" if arrives else SILENT)


CUTS = ((("link-down", "n1-s1"), ("link-up", "n1-s1")),
        (("link-down", "all"), ("link-up", "all")),
        (("port-error", "n2"), ("port-active", "n2")),
        (("switch-crash", "s1"), ("switch-restart", "s1")),
        (("partition", "n1", "n2"), ("heal",)))


def stall_and_go_on(context, cut, mend):
    with Ends(context) as ends:
        ends.connected().datagram(True)
        ends.fault(*cut)
        ends.client.ask("write", "late", want="written")
        ends.listener.ask("read", 4, SILENCE, want=SILENT)
        ends.datagram(False)
        # Neither made nor refused, whether somebody listens there or not.
        ends.client.ask("refused", ends.listener.address, SILENCE, want=SILENT)
        ends.fault(*mend)
        ends.listener.ask("read", 4, SOON, want="late")
        ends.talk("after")
        ends.datagram(True)
        ends.client.ask("refused", ends.listener.address, SOON, want=REFUSED)
        for end in (ends.client, ends.listener):
            end.ask("filters", want="0")


def connect_while_cut(context, family):
    """The kernel's own repetitions make the connection when the cable is back."""
    with Ends(context) as ends:
        ends.fault("link-down", "n2-s1")
        ends.client.ask("connect", ends.listener.address, SILENCE, family, want=SILENT)
        made = ends.client.begin("connect", ends.listener.address, 60, family)
        ends.listener.ask("accept", SILENCE, want=SILENT)
        ends.fault("link-up", "n2-s1")
        if not made().endswith(ends.client.address):
            raise Failure(f"it did not connect\n{ends.client.program.describe()}")
        ends.listener.ask("accept", SOON, want=ends.client.address)
        ends.talk("after")


def one_way(context):
    with Ends(context) as ends:
        ends.connected()
        ends.fault("partition", "n1", "n2", "one-way")
        ends.datagram(False)
        ends.client.ask("refused", ends.listener.address, SILENCE, want=SILENT)
        ends.listener.ask("write", "heard", want="written")
        ends.client.ask("read", 5, SOON, want="heard")
        ends.client.ask("write", "unheard", want="written")
        ends.listener.ask("read", 7, SILENCE, want=SILENT)
        ends.fault("heal")
        ends.listener.ask("read", 7, SOON, want="unheard")


def only_the_pair(context):
    """Who is not cut off goes on, and so do sockets of a node to itself and to the machine's own address."""
    with Ends(context) as ends:
        ends.fault("partition", "n1", "n2")
        third = End(ends, ends.nodes[2], ends.listener.program.argv[-1])
        third.ask("connect", ends.listener.address, SOON, want=third.address)
        ends.listener.ask("accept", SOON, want=third.address)
        ends.fault("link-down", "n2-s1")
        third.ask("connect", ends.listener.address, SILENCE, want=SILENT)
        ends.listener.ask("connect", ends.listener.address, SOON, want=ends.listener.address)
        third.ask("listen", want="listens")  # on the port that the listener's node has, too
        third.ask("connect", "127.0.0.1", SOON, want="127.0.0.1")
        third.ask("accept", SOON, want="127.0.0.1")


def data_intact(context):
    """What waits in a connection while its cable is dead, in a child of the program that made it, arrives as it was."""
    octets = 20_000_000
    with Ends(context) as ends:
        ends.connected()
        ends.client.ask("flood", octets, want="flooding")
        drained = ends.listener.begin("drain", octets, 55)
        for _ in range(3):
            ends.fault("link-down", "n1-s1")
            waiting.let_time_pass(0.05)
            ends.fault("link-up", "n1-s1")
        result = drained()
        if result != f"{octets} octets, 0 wrong lines":
            raise Failure(f"{result}\n{ends.listener.program.describe()}")


def child_is_cut(context):
    """Only the receiving end loses anything, and that is the child."""
    with Ends(context) as ends:
        ends.connected()
        ends.listener.ask("read_in_child", 4, want="reading")
        waiting.let_time_pass(float(SILENCE))  # what the child's own thread does at its beginning, nobody is told
        ends.fault("partition", "n1", "n2", "one-way")
        ends.client.ask("write", "late", want="written")
        waiting.let_time_pass(float(SILENCE))
        if "child read" in ends.listener.program.out:
            raise Failure(f"the child of a forking server hears a dead cable\n{ends.listener.program.describe()}")
        ends.fault("heal")
        harness.wait_until(lambda: "child read late\n" in ends.listener.program.out, time.monotonic() + SOON, "it hears again",
                           [ends.listener.program])


def fails_after_its_time(context):
    with Ends(context, "star", "--sockets", "1s") as ends:
        ends.connected()
        ends.fault("link-down", "n1-s1")
        ends.client.ask("write", "lost", want="written")
        ends.client.ask("read", 1, 1000, want=SILENT)  # ETIMEDOUT, long before its own time is over
        ends.fault("link-up", "n1-s1")
        ends.connected()


def uncut(context):
    with Ends(context, "star", "--sockets", "uncut") as ends:
        ends.connected()
        ends.fault("link-down", "all")
        ends.talk("during")
        ends.datagram(True)
        ends.client.ask("filters", want="0")


def fabric_ends(context):
    """With the process that emulates it, the network ends, and with it what it had cut."""
    with Ends(context) as ends:
        ends.connected()
        ends.fault("link-down", "all")
        ends.client.ask("write", "late", want="written")
        ends.listener.ask("read", 4, SILENCE, want=SILENT)
        ends.server.signal_group(signal.SIGKILL)
        ends.listener.ask("read", 4, SOON, want="late")
        ends.talk("after")


def without_faults(context):
    with Ends(context) as ends:
        ends.connected().datagram(True)
        for end in (ends.client, ends.listener):
            end.ask("filters", want="0")


def tests(context):
    found = [(f"{' '.join(cut)}: connections stall, {' '.join(mend)}: they go on", lambda cut=cut, mend=mend: stall_and_go_on(context, cut, mend))
             for cut, mend in CUTS]
    found += [(f"a connect over IPv{family} while the cable is dead is silent, and succeeds later",
               lambda family=family: connect_while_cut(context, family)) for family in "46"]
    return found + [("one direction may be cut", lambda: one_way(context)),
                    ("only the pair is cut", lambda: only_the_pair(context)),
                    ("what waits arrives intact, in a forked child too", lambda: data_intact(context)),
                    ("a forked child is cut that has its parent's connection", lambda: child_is_cut(context)),
                    ("a connection fails after the time that was asked for", lambda: fails_after_its_time(context)),
                    ("nothing is cut if nothing is to be", lambda: uncut(context)),
                    ("the fabric process is killed: all is whole", lambda: fabric_ends(context)),
                    ("no fault, no filter", lambda: without_faults(context))]
