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


# Of each port: what verbs, the files and ioctl() tell of its speed, in Mb/s where it is a number, and of its device's NUMA node.
SPEEDS = """
import ctypes, fcntl, glob, os, re, socket, struct
from pyverbs.device import Context, get_device_list
asker = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
def read(path):
    with open(path) as file:
        return file.read().strip()
def ethtool_speed(interface):
    settings = ctypes.create_string_buffer(struct.pack("I", 0x4c), 2048)
    request = struct.pack("16sP16x", interface.encode(), ctypes.addressof(settings))
    fcntl.ioctl(asker, 0x8946, request)
    words = -struct.unpack_from("b", settings, 15)[0]
    struct.pack_into("b", settings, 15, words)
    fcntl.ioctl(asker, 0x8946, request)
    return struct.unpack_from("I", settings, 4)[0]
for name in sorted(device.name.decode() for device in get_device_list()):
    at = f"/sys/class/infiniband/{name}"
    context = Context(name=name)
    bus = os.path.basename(os.path.realpath(f"{at}/device"))
    for port in range(1, context.query_device().phys_port_cnt + 1):
        attributes = context.query_port(port)
        interface = read(f"{at}/ports/{port}/gid_attrs/ndevs/0")
        net = f"/sys/class/net/{interface}"
        nodes = {read(f"{path}/numa_node") for path in (f"{at}/device", f"{net}/device", f"/sys/bus/pci/devices/{bus}")}
        print(f"{name}/{port}", attributes.active_width, attributes.active_speed, read(f"{at}/ports/{port}/rate").split()[0],
              read(f"{net}/speed"), ethtool_speed(interface), *nodes)
"""
# Of Gb/s: the width and speed by which the verbs tell of it (IBTA vol 1, PortInfo).
VERBS_SPEEDS = {10: "1 8", 25: "1 32", 50: "16 32", 100: "2 32", 200: "2 64"}


def speeds_agree(context, options, wanted):
    """`wanted`: of each port its name, Gb/s and NUMA node."""
    with context.fabric(1) as fabric:
        program = fabric.run(fabric.nodes[0], ["/usr/bin/python3", "-c", SPEEDS], extra=options)
        expected = [f"{name} {VERBS_SPEEDS[gbps]} {gbps} {gbps}000 {gbps}000 {node}" for name, gbps, node in wanted]
        if program.out.splitlines() != expected:
            raise Failure(f"instead of {expected}\n{program.describe()}")


def names_count_on(context):
    """However long the number in the first one's name is."""
    with context.fabric(1) as fabric:
        listed = fabric.run(fabric.nodes[0], ["ibv_devinfo", "-l"], extra=["--devices", "2", "--device-name", "mlx5_99999999999"])
        if listed.out.split()[-2:] != ["mlx5_99999999999", "mlx5_100000000000"]:
            raise Failure(listed.describe())
        shown = fabric.run(fabric.nodes[0], ["rdma", "dev"], extra=["--devices", "2", "--device-name", "mlx5_99999999999"])
        if re.findall(r"^\d+: (\w+):", shown.out, re.M) != ["mlx5_99999999999", "mlx5_100000000000"]:
            raise Failure(shown.describe())


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


TWO_PORTS = ("--devices", "2", "--ports", "2")
SPEED_CASES = (
    ((), [("verbena0/1", 100, -1)]),
    (("--nic", "speed=25Gbps", "--numa", "3"), [("verbena0/1", 25, 3)]),
    (("--devices", "2", "--nic", "speed=200Gbps", "--numa", "1"), [("verbena0/1", 200, 1), ("verbena1/1", 200, 1)]),
    (("--devices", "2", "--nic", "speed=100Gbps,25Gbps", "--numa", "0,1"), [("verbena0/1", 100, 0), ("verbena1/1", 25, 1)]),
    (("--ports", "2", "--nic", "speed=100Gbps,25Gbps"), [("verbena0/1", 100, -1), ("verbena0/2", 25, -1)]),
    ((*TWO_PORTS, "--nic", "speed=100Gbps,25Gbps numa=1,0"),
     [("verbena0/1", 100, 1), ("verbena0/2", 100, 1), ("verbena1/1", 25, 0), ("verbena1/2", 25, 0)]),
    ((*TWO_PORTS, "--nic", "speed=10Gbps,25Gbps,50Gbps,100Gbps"),
     [("verbena0/1", 10, -1), ("verbena0/2", 25, -1), ("verbena1/1", 50, -1), ("verbena1/2", 100, -1)]))


def tests(context):
    cases = [("one device", 1, "verbena0", []), ("2 devices", 2, "verbena0", ["--devices", "2"]),
             ("16 devices", 16, "verbena0", ["--devices", "16"]),
             ("2 devices from mlx5_0", 2, "mlx5_0", ["--devices", "2", "--device-name", "mlx5_0"]),
             ("2 devices mlx5_%d", 2, "mlx5_0", ["--devices", "2", "--device-name", "mlx5_%d"])]
    return [*((f"every listing tells of {name}", lambda case=case: listings_agree(context, *case)) for name, *case in cases),
            ("names count on from a long number", lambda: names_count_on(context)),
            *((f"every listing tells of the speed and NUMA node with {' '.join(options)}",
               lambda options=options, wanted=wanted: speeds_agree(context, options, wanted)) for options, wanted in SPEED_CASES),
            ("a device behind the last is not found", lambda: unknown_device_is_refused(context)),
            ("who opens one of 16 devices pays for one", lambda: who_opens_one_pays_for_one(context)),
            ("one thread serves four open devices", lambda: one_thread_serves_four(context))]
