"""What opensm tells whoever has subscribed to it: GIDs that come and go (traps 64 and 65), groups that do (66 and 67)."""
import os
import re
import signal
import time

import harness
from harness import Failure
from managed import UP_S, Managed
from managed_cm import MGID, member

# Subscribes to all notices (InformInfo, IBA volume 1, 13.4.8.3), and prints the number and the GID of each that is reported. Attributes of
# the subnet administrator stand 56 octets behind the start of a datagram.
SUBSCRIBER = r"""
import ctypes, ipaddress, struct, sys
umad = ctypes.CDLL("libibumad.so.3")
SA, GET, SET, REPORT, INFORM_INFO, NOTICE, BYTES = 3, 1, 2, 6, 3, 2, 256
umad.umad_init()
port = umad.umad_open_port(b"verbena0", 1)
agent = umad.umad_register(port, SA, 2, 0, (ctypes.c_long * 2)(1 << REPORT, 0))
buffer = ctypes.create_string_buffer(umad.umad_size() + BYTES)
octets = (ctypes.c_ubyte * BYTES).from_buffer(buffer, umad.umad_size())
header = struct.pack(">BBBBHHQHHI", 1, SA, 2, SET, 0, 0, 1, INFORM_INFO, 0, 0)
wanted = struct.pack(">16sHHHBBHHIBBH", bytes(16), 0xffff, 0, 0, 1, 1, 0xffff, 0xffff, 0, 0, 0xff, 0xffff)
octets[:] = (header + bytes(56 - len(header)) + wanted).ljust(BYTES, bytes(1))
umad.umad_set_addr(buffer, int(sys.argv[1]), 1, 0, 0x80010000)
assert umad.umad_send(port, agent, buffer, BYTES, 1000, 3) == 0
while True:
    length = ctypes.c_int(BYTES)
    if umad.umad_recv(port, buffer, ctypes.byref(length), -1) < 0:
        sys.exit("umad_recv")
    got = bytes(octets)
    method, status, attribute = got[3], struct.unpack_from(">H", got, 4)[0], struct.unpack_from(">H", got, 16)[0]
    if (method, attribute) == (0x81, INFORM_INFO):
        print("subscribed", status, flush=True)
    elif (method, attribute) == (REPORT, NOTICE):
        print("notice", struct.unpack_from(">H", got, 60)[0], ipaddress.IPv6Address(got[72:88]), flush=True)
        octets[3] = REPORT | 0x80
        umad.umad_set_addr(buffer, int(sys.argv[1]), 1, 0, 0x80010000)
        assert umad.umad_send(port, agent, buffer, BYTES, 0, 0) == 0
"""


def notices(context):
    with Managed(context) as fabric:
        fabric.start_manager()
        path = os.path.join(fabric.folder.name, "subscriber.py")
        with open(path, "w", encoding="utf-8") as file:
            file.write(SUBSCRIBER)
        gid = fabric.says(1, "cat", "/sys/class/infiniband/verbena0/ports/1/gids/0").strip()
        gid = "fe80::" + re.sub(r"(^|:)0+(?=\w)", r"\1", gid.partition("0000:0000:0000:")[2])
        subscriber = fabric.start(fabric.nodes[3], ["python3", path, str(fabric.lid(0))], "subscriber")

        def expect(*said):
            for line in said:
                harness.wait_until(lambda line=line: line in subscriber.out.splitlines(), time.monotonic() + UP_S, f"it is told: {line}", [subscriber])
        expect("subscribed 0")
        fabric.fault("link-down", "H2-S1")
        expect(f"notice 65 {gid}")
        fabric.fault("link-up", "H2-S1")
        expect(f"notice 64 {gid}")
        fabric.wait_for(1, ["ibstat"], r"State: Active")
        one = member(fabric, 1)
        expect(f"notice 66 {MGID}")
        one.signal_group(signal.SIGKILL)
        one.wait(time.monotonic() + UP_S)
        expect(f"notice 67 {MGID}")
        if subscriber.out.count(f" {gid}") != 2:
            raise Failure(subscriber.describe())


def tests(context):
    return [("GIDs and groups that come and go are reported", lambda: notices(context))]
