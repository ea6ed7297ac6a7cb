"""A process killed in the middle of a transfer, and hostile packets on the UDP port."""
import os
import random
import signal
import socket
import struct
import time
import zlib

import harness
import waiting
from harness import Failure

ROCE_PORT = 4791
RETRY_EXCEEDED = "Failed status 12"  # IBV_WC_RETRY_EXC_ERR, as perftest prints it
HOSTILE_PACKETS = 3000


def transfer(fabric, seconds, *options, nodes=None, **arguments):
    argv = ["ib_write_bw", "-F", "-p", "{port}", "-u", "{timeout}", "-D", str(seconds), "-s", "65536", *options]
    return harness.Pair(fabric, argv, argv + ["{server}"], nodes, arguments, arguments)


def cpu_seconds(program):
    with open(f"/proc/{program.process.pid}/stat", encoding="utf-8", errors="replace") as file:
        fields = file.read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def wait_until_busy(pair, program):
    """The client of a bandwidth test polls without rest once the transfer runs; setting up takes far less than this."""
    harness.wait_until(lambda: cpu_seconds(program) > 0.5, time.monotonic() + 30, "the transfer runs",
                       [pair.client, pair.server])


def traces_of(fabric):
    """Sockets and shared memory that bear the fabric's name."""
    with open("/proc/net/unix", encoding="utf-8", errors="replace") as file:
        found = [line.split()[-1] for line in file if fabric.name in line]
    return found + [name for name in os.listdir("/dev/shm") if fabric.name in name or "verbena" in name]


def require_no_traces(fabric):
    try:
        waiting.until(lambda: not traces_of(fabric), 5, "nothing is left behind")
    except TimeoutError as error:
        raise Failure(f"left behind: {traces_of(fabric)}") from error


def require_usable(fabric):
    argv = ["ibv_rc_pingpong", "-g", "0", "-p", "{port}", "-n", "20", "-c"]
    harness.pair(fabric, argv, argv + ["{server}"], timeout=20)


def kill_one(context, victim_is_server):
    with context.fabric() as fabric:
        doomed = transfer(fabric, 30, "-b")
        bystander = transfer(fabric, 6)
        wait_until_busy(doomed, doomed.client)
        wait_until_busy(bystander, bystander.client)
        victim, peer = (doomed.server, doomed.client) if victim_is_server else (doomed.client, doomed.server)
        victim.signal_group(signal.SIGKILL)
        victim.process.wait()
        status = peer.wait(time.monotonic() + 15)
        if status is None:
            raise Failure(f"the peer of a killed process goes on\n{doomed.describe()}")
        if status == 0 or RETRY_EXCEEDED not in peer.out + peer.err:
            raise Failure(f"the peer of a killed process did not get IBV_WC_RETRY_EXC_ERR\n{doomed.describe()}")
        require_usable(fabric)
        bystander.finish(60)
        for program in fabric.programs:
            program.close()
        fabric.programs.clear()
        require_no_traces(fabric)
        require_usable(fabric)


def kill_many_times(context):
    """A process is killed at ten moments of its life; the node must be whole afterwards each time."""
    chance = random.Random(2)
    with context.fabric() as fabric:
        for _ in range(10):
            pair = transfer(fabric, 30)
            waiting.let_time_pass(chance.uniform(0.0, 0.15))  # any moment will do: there is nothing to wait for
            victim = pair.server if chance.random() < 0.5 else pair.client
            victim.signal_group(signal.SIGKILL)
            for program in (pair.server, pair.client):
                program.close()
            fabric.programs.clear()
        require_usable(fabric)
    require_no_traces(fabric)


def bth(opcode, qp, psn):
    return struct.pack(">BBHII", opcode, 0x40, 0xFFFF, qp, psn)


def with_icrc(source, target, payload):
    """The datagram with the ICRC that a packet of ours would have: identification 0, DF."""
    length = 20 + 8 + len(payload) + 4
    header = struct.pack(">BBHHHBBH4s4s", 0x45, 0xFF, length, 0, 0x4000, 0xFF, 17, 0xFFFF, socket.inet_aton(source),
                         socket.inet_aton(target))
    def crc_of(source_port):
        udp = struct.pack(">HHHH", source_port, ROCE_PORT, 8 + len(payload) + 4, 0xFFFF)
        masked = payload[:4] + b"\xff" + payload[5:]
        return struct.pack("<I", zlib.crc32(b"\xff" * 8 + header + udp + masked))
    return crc_of


def hostile_packet(chance, source, source_port, target):
    qp = chance.choice((0, 1, 0xFFFFFF, (chance.randrange(4) << 16) | chance.randrange(64)))
    opcode = chance.choice((0x04, 0x06, 0x0A, 0x0C, 0x0D, 0x10, 0x11, 0x12, 0x13, 0x14, 0x64, 0x81, chance.randrange(256)))
    body = bth(opcode, qp, chance.randrange(1 << 24)) + chance.randbytes(chance.choice((0, 4, 8, 16, 28, 64, 1500, 4096)))
    kind = chance.randrange(6)
    if kind == 0:
        return chance.randbytes(chance.randrange(0, 200))
    if kind == 1:
        return body[:chance.randrange(0, 16)]
    if kind == 2:
        return chance.randbytes(9000)
    if kind == 3:
        return body + chance.randbytes(4)
    return body + with_icrc(source, target, body)(source_port)


def hostile_packets(context):
    chance = random.Random(7)
    with context.fabric(3) as fabric:
        one, two, stranger = fabric.nodes
        pair = transfer(fabric, 5, nodes=[one, two], stats=True)
        harness.wait_until(lambda: udp_bound(one) and udp_bound(two), time.monotonic() + 20, "both nodes have their UDP port",
                           [pair.client, pair.server])
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
            sender.bind((stranger.address, 0))
            port = sender.getsockname()[1]
            for count in range(HOSTILE_PACKETS):
                for node in (one, two):
                    try:
                        sender.sendto(hostile_packet(chance, stranger.address, port, node.address), (node.address, ROCE_PORT))
                    except ConnectionRefusedError:
                        pass  # the answer to an earlier datagram
                if count % 50 == 0:
                    waiting.let_time_pass(0.02)  # spread over the transfer
        pair.finish(60)
        for program in (pair.server, pair.client):
            counters = program.counters()
            for reason in ("rx_dropped_malformed", "rx_dropped_icrc", "rx_dropped_no_qp"):
                if counters.get(reason, 0) == 0:
                    raise Failure(f"{reason} is 0 after {HOSTILE_PACKETS} hostile packets\n{pair.describe()}")
        require_usable(fabric)


def udp_bound(node):
    address = struct.unpack("<I", socket.inet_aton(node.address))[0]
    with open("/proc/net/udp", encoding="ascii") as file:
        return any(f" {address:08X}:{ROCE_PORT:04X} " in line for line in file)


def tests(context):
    found = [("server killed: the peer gets a retry error, others go on, nothing stays", lambda: kill_one(context, True)),
             ("client killed: the peer gets a retry error, others go on, nothing stays", lambda: kill_one(context, False)),
             ("killed at ten moments, the node stays usable", lambda: kill_many_times(context))]
    if context.link == "udp":
        found.append(("hostile packets are dropped and counted, a transfer goes on", lambda: hostile_packets(context)))
    return found
