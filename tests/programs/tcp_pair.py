"""A TCP server and its client, as programs that know nothing of RDMA; librspreload leads them there.

  tcp_pair.py blocking|polling server|client ADDRESS PORT

The C library's functions are called by name: Python's own socket() and accept() ask for more than librspreload takes
(SOCK_CLOEXEC, accept4). The server gives every message back, reversed; the client compares.
"""
import ctypes
import select
import socket
import struct
import sys

MESSAGES = 50
LIBC = ctypes.CDLL(None, use_errno=True)


class TcpSocket:
    """A descriptor that librspreload may have made an rsocket of."""

    def __init__(self, descriptor=None, polls=False):
        self.descriptor = LIBC.socket(socket.AF_INET, socket.SOCK_STREAM, 0) if descriptor is None else self._checked(descriptor)
        self.polls = polls

    @staticmethod
    def _checked(result):
        if result < 0:
            raise OSError(ctypes.get_errno(), "a call on the socket failed")
        return result

    @staticmethod
    def _name(address, port):
        return struct.pack("=H", socket.AF_INET) + struct.pack("!H", port) + socket.inet_aton(address) + bytes(8)

    def listen(self, address, port):
        self._checked(LIBC.bind(self.descriptor, self._name(address, port), 16))
        self._checked(LIBC.listen(self.descriptor, 5))

    def accept(self):
        return TcpSocket(LIBC.accept(self.descriptor, None, None), self.polls)

    def connect(self, address, port):
        self._checked(LIBC.connect(self.descriptor, self._name(address, port), 16))

    def send(self, octets):
        while octets:
            octets = octets[self._checked(LIBC.send(self.descriptor, octets, len(octets), 0)):]

    def receive(self, count):
        """Exactly so many octets; fewer when the peer has ended."""
        got = b""
        while len(got) < count:
            if self.polls:
                entry = (ctypes.c_byte * 8).from_buffer_copy(struct.pack("=ihh", self.descriptor, select.POLLIN, 0))
                self._checked(LIBC.poll(entry, ctypes.c_ulong(1), 20000))
            room = ctypes.create_string_buffer(count - len(got))
            taken = self._checked(LIBC.recv(self.descriptor, room, len(room), 0))
            if taken == 0:
                break
            got += room.raw[:taken]
        return got

    def close(self):
        LIBC.shutdown(self.descriptor, socket.SHUT_RDWR)
        self._checked(LIBC.close(self.descriptor))


def message(number):
    return bytes((number + place) % 256 for place in range(1 + number * 97 % 9000))


def serve(polls, address, port):
    listener = TcpSocket(polls=polls)
    listener.listen(address, port)
    connection = listener.accept()
    while len(head := connection.receive(4)) == 4:
        body = connection.receive(struct.unpack("!I", head)[0])
        connection.send(head + body[::-1])
    connection.close()
    listener.close()


def ask(polls, address, port):
    connection = TcpSocket(polls=polls)
    connection.connect(address, port)
    right = 0
    for number in range(MESSAGES):
        body = message(number)
        connection.send(struct.pack("!I", len(body)) + body)
        size = struct.unpack("!I", connection.receive(4))[0]
        right += connection.receive(size) == body[::-1]
    connection.close()
    print(f"all {right} answers are right" if right == MESSAGES else f"{right} of {MESSAGES} answers are right")


def main():
    manner, role, address, port = sys.argv[1:]
    {"server": serve, "client": ask}[role](manner == "polling", address, int(port))


if __name__ == "__main__":
    main()
