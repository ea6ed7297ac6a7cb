"""The wire between Verbena and the guest: a veth pair in a network namespace of this process, and recordings of what it carries.

Verbena's links stand on INTERFACE, which has addresses; the other end has none, and a packet socket from which relay.py carries
frames to the guest's network card and back. Needs no device node and no bridge, only CAP_NET_ADMIN and CAP_NET_RAW in the
namespace, which a user namespace gives where the kernel lets everybody make one.
"""
import array
import contextlib
import fcntl
import os
import socket
import struct
import subprocess
import sys

import harness

INTERFACE, CARD = "lab0", "card0"
PREFIX_V4, PREFIX_V6 = "10.77.0", "fd77:"
OURS, GUESTS = 1, 2   # last part of the addresses
MTU_MAX = 9000
PACKETS_ALL = 0x0003  # ETH_P_ALL
SOL_PACKET, PACKET_IGNORE_OUTGOING, SO_RCVBUFFORCE = 263, 23, 33  # not named by this Python
SIOCETHTOOL, ETHTOOL_STXCSUM, ETHTOOL_SGSO, ETHTOOL_SGRO = 0x8946, 0x17, 0x24, 0x2C
RECEIVE_BUFFER = 8 << 20
CONTROL_S = 30


def address(family, place):
    return f"{PREFIX_V4}.{place}" if family == "ipv4" else f"{PREFIX_V6}:{place}"


def octets_of_addresses(place):
    return (socket.inet_aton(address("ipv4", place)), socket.inet_pton(socket.AF_INET6, address("ipv6", place)))


def enter_namespace(argv):
    """Starts this program once more, in a network namespace of its own; does not return."""
    words = ["unshare", "--net", *([] if os.geteuid() == 0 else ["--user", "--map-root-user"]), "--"]
    tried = subprocess.run([*words, "true"], capture_output=True, text=True, timeout=20, check=False)
    if tried.returncode != 0:
        raise harness.Failure(f"no network namespace ({tried.stderr.strip()}): this needs root, or a kernel that lets users make them")
    os.execvp(words[0], [*words, sys.executable, "-B", *argv])


def ip(command):
    done = subprocess.run(["ip", *command.split()], capture_output=True, text=True, timeout=20, check=False)
    if done.returncode != 0:
        raise harness.Failure(f"ip {command}: {done.stderr.strip()}: this needs CAP_NET_ADMIN in the network namespace")


def set_feature(interface, command, value):
    """What ethtool(8) -K does, by its ioctl."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as end:
        words = array.array("I", [command, value])
        fcntl.ioctl(end, SIOCETHTOOL, struct.pack("16sP8x", interface.encode(), words.buffer_info()[0]))


def set_up():
    ip("link set lo up")
    ip(f"link add {INTERFACE} mtu {MTU_MAX} type veth peer name {CARD} mtu {MTU_MAX}")
    # Checksums are computed and datagrams cut before they reach the card, as they are on a wire.
    for interface in (INTERFACE, CARD):
        for command in (ETHTOOL_STXCSUM, ETHTOOL_SGSO, ETHTOOL_SGRO):
            set_feature(interface, command, 0)
    with open(f"/proc/sys/net/ipv6/conf/{CARD}/disable_ipv6", "w", encoding="ascii") as file:
        file.write("1")  # nobody speaks there but the guest
    ip(f"addr add {address('ipv4', OURS)}/24 dev {INTERFACE}")
    ip(f"addr add {address('ipv6', OURS)}/64 dev {INTERFACE} nodad")
    ip(f"link set {INTERFACE} up")
    ip(f"link set {CARD} up")
    ip(f"route add 224.0.0.0/4 dev {INTERFACE}")


def packet_socket():
    """It takes what arrives at the far end and sends what the guest sends."""
    end = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
    end.setsockopt(SOL_PACKET, PACKET_IGNORE_OUTGOING, 1)
    for option in (socket.SO_RCVBUF, SO_RCVBUFFORCE):
        try:
            end.setsockopt(socket.SOL_SOCKET, option, RECEIVE_BUFFER)
        except PermissionError:
            pass  # only root of the machine may go beyond its limit
    end.bind((CARD, PACKETS_ALL))
    return end


class Card:
    """The guest's network card: `socket` is QEMU's, and what it carries can be recorded. `with` ends the relay."""

    def __enter__(self):
        far, (near, self.socket), (theirs, self.control) = packet_socket(), datagrams(), datagrams()
        inherited = [far, near, theirs]
        words = [sys.executable, "-B", os.path.join(os.path.dirname(os.path.abspath(__file__)), "relay.py")]
        self.process = subprocess.Popen([*words, *(str(end.fileno()) for end in inherited)], stdin=subprocess.DEVNULL,
                                        pass_fds=[end.fileno() for end in inherited], start_new_session=True,
                                        preexec_fn=harness.die_with_parent)
        for end in inherited:
            end.close()
        self.control.settimeout(CONTROL_S)
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()

    @contextlib.contextmanager
    def recording(self, path):
        """What both sides put on the wire meanwhile is in this pcap file afterwards, whole."""
        self._tell(path)
        try:
            yield
        finally:
            self._tell("-")

    def _tell(self, words):
        self.control.send(words.encode())
        self.control.recv(16)


def datagrams():
    return socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)


def set_mtu(mtu):
    ip(f"link set {INTERFACE} mtu {mtu}")
    ip(f"link set {CARD} mtu {mtu}")
