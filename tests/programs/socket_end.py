"""One end of the sockets that a program has beside RDMA. Reads commands from a file that grows, says what came of each.

  socket_end.py COMMANDS PORT

Python's socket module is the C library's calls, without a word of its own. Each command is a line, and so is each result:
`N result`, N counted from 0. A node is its address.
"""
import ctypes
import os
import signal
import socket
import sys

import waiting

FOREVER = float("inf")  # whoever has started it ends it
SO_GET_FILTER = 26
LIBC = ctypes.CDLL(None, use_errno=True)
PORT = int(sys.argv[2])


class End:
    def __init__(self):
        self.listener = self.stream = None
        self.datagrams = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)

    def listen(self, address=""):
        self.listener = socket.socket()
        self.listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.listener.bind((address, PORT))
        self.listener.listen()
        self.datagrams.bind((address, PORT))
        return "listens"

    def accept(self, seconds):
        self.listener.settimeout(float(seconds))
        self.stream, name = self.listener.accept()
        return name[0]

    def connect(self, address, seconds, family="4"):
        self.stream = socket.socket(socket.AF_INET6 if family == "6" else socket.AF_INET)
        self.stream.settimeout(float(seconds))
        self.stream.connect((("::ffff:" if family == "6" else "") + address, PORT))
        return self.stream.getsockname()[0]

    def refused(self, address, seconds):
        """Where nobody listens."""
        with socket.socket() as stream:
            stream.settimeout(float(seconds))
            stream.connect((address, 1))

    def write(self, text):
        self.stream.sendall(text.encode())
        return "written"

    def read(self, count, seconds):
        self.stream.settimeout(float(seconds))
        got = b""
        while len(got) < int(count):
            more = self.stream.recv(int(count) - len(got))
            if not more:
                return f"end after {got.decode()}"
            got += more
        return got.decode()

    def flood(self, count):
        """So many octets, in the background of a child that has nothing but the connection."""
        if os.fork() == 0:
            signal.alarm(60)
            self.stream.settimeout(None)
            for i in range(int(count) // 1000):
                self.stream.sendall(f"{i:999}\n".encode())
            os._exit(0)
        self.stream.close()
        return "flooding"

    def read_in_child(self, count):
        """A forking server's: the child has the connection, calls nothing but read, and says what it has read."""
        if os.fork() == 0:
            signal.alarm(60)
            print("child read", self.read(count, 60), flush=True)
            os._exit(0)
        self.stream.close()
        return "reading"

    def drain(self, count, seconds):
        """Reads what flood() sends, and looks at every octet."""
        text = self.read(count, seconds)
        wrong = [i for i, line in enumerate(text.splitlines()) if line != f"{i:999}"]
        return f"{len(text)} octets, {len(wrong)} wrong lines"

    def send(self, address, text):
        self.datagrams.sendto(text.encode(), (address, PORT))
        return "sent"

    def receive(self, seconds):
        self.datagrams.settimeout(float(seconds))
        text, name = self.datagrams.recvfrom(1000)
        return f"{text.decode()} from {name[0]}"

    def filters(self):
        """How many of its sockets have a filter (SO_GET_FILTER)."""
        return str(sum(has_filter(one) for one in (self.listener, self.stream, self.datagrams) if one is not None))


def has_filter(one):
    steps = ctypes.c_uint(0)  # without room, the kernel says how many there are
    if LIBC.getsockopt(one.fileno(), socket.SOL_SOCKET, SO_GET_FILTER, None, ctypes.byref(steps)) != 0:
        raise OSError(ctypes.get_errno(), "the socket does not say what filter it has")
    return steps.value != 0


def commands_from(first):
    with open(sys.argv[1], encoding="ascii") as file:
        return file.read().split("\n")[first:-1]


def main():
    end, done = End(), 0
    while True:
        for line in waiting.until(lambda: commands_from(done), FOREVER, "a command"):
            name, *words = line.split()
            try:
                result = getattr(end, name)(*words)
            except OSError as error:
                result = type(error).__name__
            print(done, result, flush=True)
            done += 1


main()
