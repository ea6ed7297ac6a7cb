"""ibv_devices and ibv_devinfo -v: what a program sees of a node before it does anything; and each of its devices works."""
import re

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
            ("ib_send_bw -i: each of two ports carries its own", each_port_carries("ib_send_bw", "-F", "-n", "100")),
            ("ib_write_lat -i: each of two ports carries its own", each_port_carries("ib_write_lat", "-F", "-n", "100")),
            ("ibv_rc_pingpong -i: each of two ports carries its own",
             each_port_carries("ibv_rc_pingpong", "-g", "0", "-n", "100", "-c")),
            ("ibv_ud_pingpong -i: each of two ports carries its own",
             each_port_carries("ibv_ud_pingpong", "-g", "0", "-n", "100", "-c"))]
