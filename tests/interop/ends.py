"""The two ends of a row: a node of Verbena on this machine, and the kernel's rxe in the guest. Both start programs and know when a
server listens; interop.py does not see which is which.
"""
import re
import time

import guest
import harness
import rows
import wire

DEVICE = "rxe0"
START_S = 30


class Verbena:
    """Our end: a node on one link, with the address that the wire's interface has."""

    def __init__(self, verbena):
        self.verbena, self.fabric = verbena, None

    def use(self, row, place, capture):
        self.address = {family: wire.address(family, wire.OURS) for family in rows.FAMILIES}
        link = f"raw:{wire.INTERFACE}" if place.link == "raw" else place.link
        self.fabric = harness.Fabric(self.verbena, link, nodes=0)
        self.node = Node(self.address[place.family])
        self.gid = 0
        faults = row.faults + (row.our_client_faults if place.ours == "client" else ())
        self.options = {"faults": faults, "capture": capture, "extra": ("--nic", f"timeout={rows.ACK_TIMEOUT}")}

    def start(self, argv, name, _seconds):
        return self.fabric.start(self.node, argv, name, **self.options)

    def await_listener(self, row, port, program):
        def listens():
            if row.listens == "tcp":
                return harness.listens(port)
            if row.listens == "group":
                return "receiving data transfers" in program.out
            return holds("/proc/net/unix", "@verbena-cm/")  # the namespace has no other node
        harness.wait_until(listens, time.monotonic() + START_S, "the server listens", [program])


class Node:
    def __init__(self, address):
        self.number = self.address = address


def holds(path, words):
    with open(path, encoding="ascii", errors="replace") as table:
        return words in table.read()


class Kernel:
    """The guest's end: its network and rxe device are set up here."""

    LISTENS = {
        "tcp": "grep -qE ':{port:04X} [0-9A-F:]* 0A' /proc/net/tcp /proc/net/tcp6",
        "cm": "rdma resource show cm_id | grep -q LISTEN",
        "group": "ip maddress show dev eth0 | grep -qE '01:00:5e:01:02:03|33:33:47:91:00:01'",  # of rows.GROUPS
    }

    def __init__(self, machine):
        self.machine, self.mtu, self.netem = machine, None, None
        self.address = {family: wire.address(family, wire.GUESTS) for family in rows.FAMILIES}
        machine.run(f"""set -e
            ip link set lo up
            ip link set eth0 mtu 1500 up
            ip address add {self.address['ipv4']}/24 dev eth0
            ip address add {self.address['ipv6']}/64 dev eth0 nodad
            ip route add 224.0.0.0/4 dev eth0
            rdma link add {DEVICE} type rxe netdev eth0""")
        self.release = machine.run("uname -r").strip()
        self.gids = self._gids()

    def _gids(self):
        """The index of each family's GID: 0 is the link-local one's, then they come in the order of the addresses."""
        shown = self.machine.run("ibv_devinfo -v")
        found = {address: int(index) for index, address in re.findall(r"GID\[\s*(\d+)\]:\s*([^\s,]+)", shown)}
        try:
            return {"ipv4": found["::ffff:" + self.address["ipv4"]], "ipv6": found[self.address["ipv6"]]}
        except KeyError as missing:
            raise harness.Failure(f"rxe has no GID {missing}\n{shown}") from missing

    def use(self, row, place):
        self.gid = self.gids[place.family]
        if place.mtu != self.mtu:
            # Room for the headers of the longest packet: Ethernet carries a path MTU of 1024 in 1500 octets.
            octets = {1024: 1500, 4096: 4500}[place.mtu]
            self.machine.run(f"ip link set eth0 mtu {octets}")
            wire.set_mtu(octets)
            self.mtu = place.mtu
        if row.netem != self.netem:
            self._set_netem(row.netem)
            self.netem = row.netem

    def _set_netem(self, netem):
        """Only RoCE packets are hit; the side channel and what the kernels tell each other are not."""
        self.machine.run("tc qdisc delete dev eth0 root 2>/dev/null || true")
        if netem:
            self.machine.run(f"""set -e
                tc qdisc add dev eth0 root handle 1: prio bands 4 priomap 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0
                tc qdisc add dev eth0 parent 1:4 handle 40: netem {netem}
                tc filter add dev eth0 parent 1: protocol ip u32 match ip dport 4791 0xffff match ip protocol 17 0xff flowid 1:4
                tc filter add dev eth0 parent 1: protocol ipv6 u32 match ip6 dport 4791 0xffff match ip6 protocol 17 0xff flowid 1:4""")

    def require_netem(self):
        """It has hit packets: what tc counts as dropped, or what has come through it."""
        shown = self.machine.run("tc -s qdisc show dev eth0 | grep -A 2 netem")
        if not re.search(r"Sent \d+ bytes [1-9]\d* pkt", shown):
            raise harness.Failure(f"nothing went through netem\n{shown}")

    def start(self, argv, name, seconds):
        argv = argv[2:] if argv[0] == "stdbuf" else argv  # whether it listens is not read from its output
        return guest.GuestProgram(self.machine, argv, name, seconds)

    def await_listener(self, row, port, program):
        test = self.LISTENS[row.listens].format(port=port)
        deadline = time.monotonic() + START_S
        # A slice at a time, for the server may end instead.
        while self.machine.run(f"i=0; until {test} || [ $i = 10 ]; do sleep 0.05; i=$((i + 1)); done; echo $i").strip() == "10":
            if program.status is not None or time.monotonic() > deadline:
                program.close()
                raise harness.Failure(f"the server in the guest does not listen\n{program.describe()}")
