"""Every way in which programs list devices and their interfaces tells of the same ones."""
import re

from harness import Failure

# What each line has: a device and what is its own. Files are read by programs of the distribution.
FILES = r"""
for device in $(ls -v /sys/class/infiniband); do
  at=/sys/class/infiniband/$device
  bus=$(basename $(realpath $at/device))
  echo $device $(tr -d : < $at/node_guid) $(ls $at/ports) $(cat $at/ports/1/gids/0) $(cat $at/ports/1/gid_attrs/ndevs/0) \
    $(ls $at/device/net) $bus $(ls /sys/bus/pci/devices/$bus/infiniband)
done
"""
VERBS_FILES = """
for file in $(ls -v /sys/class/infiniband_verbs | grep uverbs); do
  at=/sys/class/infiniband_verbs/$file
  echo $(cat $at/ibdev) $file $(stat -c %t:%T /dev/infiniband/$file) $(ls $at/device/infiniband)
done
"""
INTERFACES = """
for interface in $(ls /sys/class/net | grep -E '^verbena[0-9]+$' | sort -V); do
  at=/sys/class/net/$interface
  echo $(ls $at/device/infiniband) $interface $(cat $at/address) $(cat $at/operstate) $(basename $(realpath $at/device))
done
"""


class Device:
    """What device `number` of a node is, and its port (emulator/host/node/identity.h)."""

    def __init__(self, node, number, names):
        self.name = re.sub(r"\d+$", lambda first: str(int(first[0]) + number), names)
        self.interface, self.file = f"verbena{number}", f"uverbs{number}"
        octets = [127, 47, 91 + number, node.number]
        self.address = ".".join(map(str, octets))
        self.mac = ":".join(f"{octet:02x}" for octet in (0x02, 0x56, *octets))
        self.gid = "0000:0000:0000:0000:0000:ffff:" + "{:02x}{:02x}:{:02x}{:02x}".format(*octets)
        self.guid = "0056{:02x}fffe{:02x}{:02x}{:02x}".format(*octets)
        self.guid_text = ":".join(self.guid[place:place + 4] for place in range(0, 16, 4))
        self.bus = f"5642:00:{number:02x}.0"
        self.number = number


class Listings:
    """A node with some devices, and what its programs say of them."""

    def __init__(self, fabric, count, names, options):
        self.fabric, self.options = fabric, options
        self.devices = [Device(fabric.nodes[0], number, names) for number in range(count)]

    def said(self, *argv):
        return self.fabric.run(self.fabric.nodes[0], argv, extra=self.options)

    def require(self, program, pattern, wanted):
        """The lines that match, in their order, are those of the devices."""
        found = re.findall(pattern, program.out, re.M)
        expected = [wanted(device) for device in self.devices]
        if found != expected:
            raise Failure(f"{found}\n  instead of {expected}\n{program.describe()}")

    def check_verbs(self):
        self.require(self.said("ibv_devices"), r"^ +(\w+)\s+([0-9a-f]{16})$", lambda of: (of.name, of.guid))
        listed = self.said("ibv_devinfo", "-l")
        self.require(listed, r"^\t(\w+)$", lambda of: of.name)
        if not listed.out.startswith(f"{len(self.devices)} HCA"):
            raise Failure(listed.describe())
        described = self.said("ibv_devinfo", "-v")
        self.require(described, r"^hca_id:\s+(\w+)", lambda of: of.name)
        self.require(described, r"node_guid:\s+([0-9a-f:]+)", lambda of: of.guid_text)
        self.require(described, r"GID\[ *0\]:\s+(\S+?),? ", lambda of: f"::ffff:{of.address}")
        self.require(described, r"state:\s+(PORT_\w+)", lambda of: "PORT_ACTIVE")

    def check_netlink(self):
        devices = self.said("rdma", "dev")
        self.require(devices, r"^(\d+): (\w+):.* node_guid ([0-9a-f:]+)", lambda of: (str(of.number), of.name, of.guid_text))
        self.require(self.said("rdma", "link"), r"^link (\w+)/1 state ACTIVE .*netdev (\w+) ", lambda of: (of.name, of.interface))
        self.require(self.said("ip", "-br", "addr"), r"^(verbena\d+) +UP +(\S+)/24 ", lambda of: (of.interface, of.address))
        self.require(self.said("ip", "-br", "link"), r"^(verbena\d+) +UP +(\S+) ", lambda of: (of.interface, of.mac))
        self.require(self.said("ip", "route"), r"^(\S+)/24 dev (verbena\d+) .*src (\S+)",
                     lambda of: (of.address.rsplit(".", 1)[0] + ".0", of.interface, of.address))

    def check_files(self):
        self.require(self.said("sh", "-c", FILES),
                     r"^(.+)$", lambda of: " ".join((of.name, of.guid, "1", of.gid, of.interface, of.interface, of.bus, of.name)))
        self.require(self.said("sh", "-c", VERBS_FILES),
                     r"^(.+)$", lambda of: f"{of.name} {of.file} e7:{0xc0 + of.number:x} {of.name}")
        self.require(self.said("sh", "-c", INTERFACES), r"^(.+)$",
                     lambda of: f"{of.name} {of.interface} {of.mac} up {of.bus}")


def listings_agree(context, count, names, options):
    with context.fabric(1) as fabric:
        one = Listings(fabric, count, names, options)
        one.check_verbs()
        one.check_netlink()
        one.check_files()


def unknown_device_is_refused(context):
    with context.fabric(1) as fabric:
        program = fabric.start(fabric.nodes[0], ["ibv_devinfo", "-d", "verbena2"], extra=["--devices", "2"])
        if program.wait(program.started + 30) == 0:
            raise Failure(f"there is no third device\n{program.describe()}")


# What a process has once it has opened the devices that it is given.
OPENED = """
import os, sys
from pyverbs.device import Context
contexts = [Context(name=name) for name in sys.argv[1:]]
print(len(os.listdir("/proc/self/task")) - 1, "threads", len(os.listdir("/proc/self/fd")), "descriptors")
"""


def opened(fabric, count, names):
    program = fabric.run(fabric.nodes[0], ["/usr/bin/python3", "-c", OPENED, *names], extra=["--devices", str(count)])
    threads, descriptors = re.fullmatch(r"(\d+) threads (\d+) descriptors\n", program.out).groups()
    return int(threads), int(descriptors)


def who_opens_one_pays_for_one(context):
    with context.fabric(1) as fabric:
        alone, among = opened(fabric, 1, ["verbena0"]), opened(fabric, 16, ["verbena0"])
        if alone != among or alone[0] != 1:
            raise Failure(f"threads and descriptors are {among} with 16 devices, {alone} with one")


def one_thread_serves_four(context):
    with context.fabric(1) as fabric:
        threads, _ = opened(fabric, 4, [f"verbena{number}" for number in range(4)])
        if threads != 1:
            raise Failure(f"{threads} threads serve four devices")


def tests(context):
    cases = [("one device", 1, "verbena0", []), ("2 devices", 2, "verbena0", ["--devices", "2"]),
             ("16 devices", 16, "verbena0", ["--devices", "16"]),
             ("2 devices from mlx5_0", 2, "mlx5_0", ["--devices", "2", "--device-name", "mlx5_0"]),
             ("2 devices mlx5_%d", 2, "mlx5_0", ["--devices", "2", "--device-name", "mlx5_%d"])]
    return [*((f"every listing tells of {name}", lambda case=case: listings_agree(context, *case)) for name, *case in cases),
            ("a device behind the last is not found", lambda: unknown_device_is_refused(context)),
            ("who opens one of 16 devices pays for one", lambda: who_opens_one_pays_for_one(context)),
            ("one thread serves four open devices", lambda: one_thread_serves_four(context))]
