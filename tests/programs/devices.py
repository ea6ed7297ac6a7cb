"""ibv_devices and ibv_devinfo -v: what a program sees of a node before it does anything; and each of its devices works."""
import json
import os
import re
import tempfile

import harness
from harness import Failure


def require(program, *texts):
    for text in texts:
        if text not in program.out:
            raise Failure(f"'{text}' is not in the output\n{program.describe()}")


def guid_of(node, separator):
    """EUI-64 of the MAC 02:56 and the address: the seventh bit is flipped, ff:fe stands in the middle."""
    octets = [int(part) for part in node.address.split(".")]
    mac = [0x02, 0x56, *octets]
    text = bytes([mac[0] ^ 2, *mac[1:3], 0xFF, 0xFE, *mac[3:]]).hex()
    return separator.join(text[place:place + 4] for place in range(0, 16, 4))


# A datagram to the same port of the same device, by port 2; then how many packets each port has sent, by file, by file and by netlink.
SENDS_BY_PORT_2 = """
import re, subprocess
import pyverbs.enums as e
from pyverbs.addr import AH, AHAttr, GlobalRoute
from pyverbs.cq import CQ
from pyverbs.device import Context
from pyverbs.mr import MR
from pyverbs.pd import PD
from pyverbs.qp import QP, QPAttr, QPCap, QPInitAttr
from pyverbs.wr import SGE, SendWR
context = Context(name="verbena0")
pd, cq = PD(context), CQ(context, 4)
mr = MR(pd, 64, e.IBV_ACCESS_LOCAL_WRITE)
qp = QP(pd, QPInitAttr(qp_type=e.IBV_QPT_UD, rcq=cq, scq=cq, cap=QPCap()), QPAttr(port_num=2))
gid = context.query_gid(port_num=2, index=0)
ah = AH(pd, attr=AHAttr(gr=GlobalRoute(dgid=gid, sgid_index=0), is_global=1, port_num=2))
request = SendWR(num_sge=1, sg=[SGE(mr.buf, 8, mr.lkey)])
request.set_wr_ud(ah, qp.qp_num, 0)
qp.post_send(request)
while cq.poll()[0] == 0:
    pass
at = "/sys/class/infiniband/verbena0/ports"
for file in ("counters/port_xmit_packets", "hw_counters/tx_packets"):
    for port in (1, 2):
        print(open(f"{at}/{port}/{file}").read().strip())
for port in (1, 2):
    shown = subprocess.run(["rdma", "statistic", "show", "link", f"verbena0/{port}"], capture_output=True, text=True, check=True)
    print(re.search(r" tx_packets (\\d+) ", shown.stdout)[1])
"""

# The QPN of a QP, then the device is closed, and the same again.
OPENED_TWICE = """
import pyverbs.enums as e
from pyverbs.cq import CQ
from pyverbs.device import Context
from pyverbs.pd import PD
from pyverbs.qp import QP, QPCap, QPInitAttr
for _ in range(2):
    with Context(name="verbena0") as context, PD(context) as pd, CQ(context, 1) as cq:
        with QP(pd, QPInitAttr(qp_type=e.IBV_QPT_RC, rcq=cq, scq=cq, cap=QPCap())) as qp:
            print(qp.qp_num)
"""


def tests(context):
    def lists_one_device():
        with context.fabric(1) as fabric:
            program = fabric.run(fabric.nodes[0], ["ibv_devices"])
            require(program, "verbena0", guid_of(fabric.nodes[0], ""))

    def describes_it():
        with context.fabric(1) as fabric:
            node = fabric.nodes[0]
            program = fabric.run(node, ["ibv_devinfo", "-v"])
            require(program, "hca_id:\tverbena0", "PORT_ACTIVE (4)", "active_mtu:\t\t4096 (5)", "Ethernet",
                    f"::ffff:{node.address}", "RoCE v2", guid_of(node, ":"), "ATOMIC_GLOB")

    def takes_another_name():
        with context.fabric(1) as fabric:
            program = fabric.run(fabric.nodes[0], ["ibv_devinfo", "-d", "mlx5_0"], extra=["--device-name", "mlx5_0"])
            require(program, "hca_id:\tmlx5_0")

    def two_nodes_differ():
        with context.fabric(2) as fabric:
            outs = [fabric.run(node, ["ibv_devices"]).out for node in fabric.nodes]
            if outs[0] == outs[1]:
                raise Failure(f"two nodes show the same device:\n{outs[0]}")

    def takes_an_address_as_node():
        with context.fabric(1) as fabric:
            node = fabric.nodes[0]
            node.number = node.address
            require(fabric.run(node, ["ibv_devinfo", "-v"]), f"::ffff:{node.address}")

    def each_of_four_devices_carries_its_own():
        """The server listens on all addresses, by TCP, and the client asks for that of the device."""
        with context.fabric() as fabric:
            for number in range(4):
                server, client = (node.address.replace(".91.", f".{91 + number}.") for node in fabric.nodes)
                argv = ["ib_write_bw", "-F", "-d", f"verbena{number}", "-p", "{port}", "-n", "50"]
                done = harness.pair(fabric, argv, argv + [server], stats=True, extra=("--devices", "4"))
                used = re.findall(r"of the device (\S+)", done.client.err)
                if used != [client]:
                    raise Failure(f"{used} instead of {client} has sent\n{done.describe()}")

    def both_ports_are_described():
        with context.fabric(1) as fabric:
            node = fabric.nodes[0]
            both = ("--ports", "2")
            second = node.address.replace("127.47.", "127.48.")
            require(fabric.run(node, ["ibv_devinfo", "-v"], extra=both), "phys_port_cnt:\t\t\t2", "port:\t1", "port:\t2",
                    f"::ffff:{node.address}", f"::ffff:{second}")
            program = fabric.run(node, ["ibv_devinfo", "-v", "-i", "2"], extra=both)
            require(program, "port:\t2", f"::ffff:{second}")
            if "port:\t1" in program.out:
                raise Failure(f"ibv_devinfo -i 2 shows port 1\n{program.describe()}")

    def each_port_carries(*argv):
        """Programs connect by TCP, to the node, and name the port by -i. What they print are the GIDs that they use."""
        def run():
            with context.fabric() as fabric:
                for port in (1, 2):
                    by_port = [*argv, "-p", "{port}", "-i", str(port)]
                    done = harness.pair(fabric, by_port, by_port + ["{server}"], extra=("--ports", "2"))
                    used = set(re.findall(r"127[.:](\d+)[.:]91[.:]", done.client.out))
                    if used != {str(46 + port)}:
                        raise Failure(f"port {port} has the network {used}\n{done.describe()}")
        return run

    def each_port_counts_its_own():
        """A client writes by one of its ports; the counters at its end, and those in sysfs while the server is there."""
        with context.fabric() as fabric:
            both = ("--ports", "2")
            client = fabric.nodes[1]
            for port in (1, 2):
                argv = ["ib_write_bw", "-F", "-p", "{port}", "-i", str(port), "-n", "500"]
                with tempfile.NamedTemporaryFile("r", suffix=".json") as file:
                    told_of = ("--stats", "--stats-json", file.name)
                    done = harness.Pair(fabric, argv, argv + ["{server}"], None, {"extra": both}, {"extra": both + told_of}).finish(60)
                    device, = json.load(file)["devices"]
                packets = [one["counters"]["tx_packets"] for one in device["ports"]]
                if packets[2 - port] != 0 or packets[port - 1] < 500 or device["counters"]["tx_packets"] != sum(packets):
                    raise Failure(f"by port {port} went {packets}\n{done.describe()}")
                told = re.findall(r"^ of port (\d) of the device (\S+)\n  tx_packets +(\d+)$", done.client.err, re.M)
                if told != [(str(port), client.address, str(packets[port - 1]))]:
                    raise Failure(f"--stats tells {told}\n{done.describe()}")

    def sysfs_counts_by_port():
        """A program that lives on after it has sent by port 2 sees it in the files of port 2 alone."""
        with context.fabric(1) as fabric:
            program = fabric.run(fabric.nodes[0], ["/usr/bin/python3", "-c", SENDS_BY_PORT_2], extra=["--ports", "2"])
            if program.out.split() != ["0", "1", "0", "1", "0", "1"]:
                raise Failure(program.describe())

    def a_killed_program_has_counted_by_port():
        """What it has sent by its second port is told, though it has closed nothing."""
        with context.fabric(1) as fabric, tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "stats.json")
            killed = SENDS_BY_PORT_2 + "import os\nos.kill(os.getpid(), 9)\n"
            program = fabric.start(fabric.nodes[0], ["/usr/bin/python3", "-c", killed],
                                   extra=["--ports", "2", "--stats", "--stats-json", path])
            if program.wait(program.started + 30) != 128 + 9:
                raise Failure(f"it was not killed\n{program.describe()}")
            with open(path, encoding="utf-8") as file:
                device, = json.load(file)["devices"]
            packets = [(port["port"], port["counters"]["tx_packets"]) for port in device["ports"]]
            told = re.findall(r"^ of port (\d) of the device \S+\n  tx_packets +(\d+)$", program.err, re.M)
            if packets != [(1, 0), (2, 1)] or told != [("2", "1")]:
                raise Failure(f"by its ports it has sent {packets}, and --stats tells {told}\n{program.describe()}")

    def goes_on_with_other_numbers():
        """A seed makes them the same ones in each run, not in each opening."""
        with context.fabric(1) as fabric:
            runs = [fabric.run(fabric.nodes[0], ["/usr/bin/python3", "-c", OPENED_TWICE]).out.split() for _ in range(2)]
            if runs[0] != runs[1] or len(set(runs[0])) != 2:
                raise Failure(f"the QPNs of two openings are {runs[0]}, in a second run {runs[1]}")

    return [("ibv_devices lists verbena0 with the node's GUID", lists_one_device),
            ("ibv_devinfo -v describes an active Ethernet port with the node's GID", describes_it),
            ("a device that is opened again has other QPNs", goes_on_with_other_numbers),
            ("--device-name renames the device", takes_another_name),
            ("two nodes have different GUIDs", two_nodes_differ),
            ("--node takes an address", takes_an_address_as_node),
            ("ib_write_bw runs on each of four devices, at the address of each", each_of_four_devices_carries_its_own),
            ("ibv_devinfo describes both ports of a device, or the one that it is asked for", both_ports_are_described),
            ("each of two ports counts its own: --stats, --stats-json", each_port_counts_its_own),
            ("each of two ports counts its own: sysfs, rdma statistic", sysfs_counts_by_port),
            ("each of two ports has counted what a killed program sent", a_killed_program_has_counted_by_port),
            ("ib_send_bw -i: each of two ports carries its own", each_port_carries("ib_send_bw", "-F", "-n", "100")),
            ("ib_write_lat -i: each of two ports carries its own", each_port_carries("ib_write_lat", "-F", "-n", "100")),
            ("ibv_rc_pingpong -i: each of two ports carries its own",
             each_port_carries("ibv_rc_pingpong", "-g", "0", "-n", "100", "-c")),
            ("ibv_ud_pingpong -i: each of two ports carries its own",
             each_port_carries("ibv_ud_pingpong", "-g", "0", "-n", "100", "-c"))]
