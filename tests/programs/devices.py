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

    return [("ibv_devices lists verbena0 with the node's GUID", lists_one_device),
            ("ibv_devinfo -v describes an active Ethernet port with the node's GID", describes_it),
            ("--device-name renames the device", takes_another_name),
            ("two nodes have different GUIDs", two_nodes_differ),
            ("--node takes an address", takes_an_address_as_node),
            ("ib_write_bw runs on each of four devices, at the address of each", each_of_four_devices_carries_its_own)]
