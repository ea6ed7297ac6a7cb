"""What is exchanged with the kernel's rxe: programs, their options, and the faults that they have to survive.

A row is data. Filled in for each end: {port}, {server} and {own} (addresses), {gid} (index), {mtu}. Counts are small: what is tested
is that both stacks agree, not how fast.
"""
from dataclasses import dataclass

ACK_TIMEOUT = 18  # 4.096 us x 2^18, a second: the guest's processor is emulated
PERFTEST_ROW = r"^\s*\d+\s+\d+\s+\S+"  # the figures are inf or nan where perftest could not calibrate the guest's clock
COMPLETE = r"test complete\s+return status 0"
STREAM_ROW = r"(?m)^custom\s+"
GROUPS = {"ipv4": "239.1.2.3", "ipv6": "ff15::4791:1"}
FAMILIES = ("ipv4", "ipv6")
LINKS = ("udp", "raw")
MTUS = (1024, 4096)


@dataclass(frozen=True)
class Row:
    name: str
    server: tuple
    client: tuple
    says: str                    # of the client's output
    listens: str = "tcp"         # how it is known that the server listens: tcp, cm, group (joined)
    port: int = 0                # 0: any
    families: tuple = FAMILIES
    server_ends: bool = True
    cm: bool = False             # the addresses of {server} and {own} are those of the family, not of the side channel
    short: bool = False          # belongs to `make test`
    faults: tuple = ()           # of our link
    netem: str = ""              # of the guest's
    timeout: int = 60
    our_client_faults: tuple = ()  # a fault that the program needs on our link, where Verbena is the client
    two_way: bool = True         # both ends send RoCE packets: a write over UC is not answered


@dataclass(frozen=True)
class Place:
    """One column of the table, and which end is ours."""
    link: str
    family: str
    mtu: int
    ours: str = "server"

    @property
    def column(self):
        return f"{self.link} {self.family.replace('ip', 'IP')} {self.mtu}"

    def __str__(self):
        return f"{self.column}, Verbena is the {self.ours}"


def pingpong(kind, *options, **more):
    argv = (f"ibv_{kind}_pingpong", "-g", "{gid}", "-p", "{port}", "-n", "20", "-c", *options)
    return Row(f"ibv_{kind}_pingpong", argv, (*argv, "{server}"), r"(?m)^20 iters in ", **more)


def perftest(tool, *options, count=20, name="", **more):
    argv = (tool, "-F", "-x", "{gid}", "-p", "{port}", "-u", str(ACK_TIMEOUT), "-n", str(count), "-m", "{mtu}", *options)
    return Row(name or " ".join((tool, *options)), argv, (*argv, "{server}"), "(?m)" + PERFTEST_ROW, **more)


def by_cm(name, program, options, port, says, families=FAMILIES, **more):
    return [Row(name, (program, "-b", "{server}", *form, *options), (program, "-s", "{server}", *form, *options), says, listens="cm",
                port=port, families=(family,), cm=True, **more)
            for family, form in (("ipv4", ("-f", "ip")), ("ipv6", ("-f", "ipv6"))) if family in families]


def pingpongs():
    yield pingpong("rc", "-m", "{mtu}", "-s", "16384", short=True)
    yield pingpong("uc", "-m", "{mtu}", "-s", "4096")
    yield pingpong("ud", "-s", "1024")
    yield pingpong("srq", "-m", "{mtu}", "-s", "4096", "-q", "2")


def perftests():
    for verb in ("write", "read", "send"):
        yield perftest(f"ib_{verb}_bw", "-s", "65536", short=True)
        yield perftest(f"ib_{verb}_bw", "-b", "-q", "2", "-s", "10000")
        yield perftest(f"ib_{verb}_lat", "-s", "64", count=50)
    for kind in ("FETCH_AND_ADD", "CMP_AND_SWAP"):
        yield perftest("ib_atomic_bw", "-A", kind, short=kind == "FETCH_AND_ADD")
    yield perftest("ib_atomic_lat", count=50)
    yield perftest("ib_write_bw", "-c", "UC", "-s", "10000", two_way=False)
    yield perftest("ib_send_lat", "-c", "UC", "-s", "4096", count=50)
    yield perftest("ib_send_lat", "-c", "UD", "-s", "1000", count=50)


def rdma_cm_programs():
    # It takes an address of either family.
    yield Row("rping", ("rping", "-s", "-a", "{server}", "-C", "10", "-S", "5000"),
              ("rping", "-c", "-a", "{server}", "-C", "10", "-S", "5000", "-v", "-V"), r"ping data: rdma-ping-9", listens="cm", port=7174,
              cm=True, short=True)
    yield from by_cm("ucmatose", "ucmatose", ("-c", "5", "-C", "5", "-S", "5000"), 7471, COMPLETE)
    yield from by_cm("udaddy", "udaddy", ("-c", "3", "-C", "5", "-S", "1000"), 7174, COMPLETE)
    yield from by_cm("rstream -T v", "rstream", ("-C", "10", "-S", "10000", "-T", "v"), 7471, STREAM_ROW)
    yield from by_cm("riostream -T v", "riostream", ("-C", "10", "-S", "10000", "-T", "v"), 7471, STREAM_ROW)
    # These know no address family but the first that they find.
    yield Row("cmtime", ("cmtime", "-b", "{server}", "-c", "10"), ("cmtime", "-s", "{server}", "-c", "10"), r"disconnect\s+:", listens="cm",
              port=7471, families=("ipv4",), cm=True, server_ends=False)
    yield Row("rdma_client", ("rdma_server",), ("rdma_client", "-s", "{server}"), r"rdma_client: end 0", listens="cm", port=7471,
              families=("ipv4",), cm=True)
    # perftest -R makes two connections, and its server listens for the second when it has the last word of the first. Its client does not
    # wait for that, and is refused by a server as slow as the guest's: so its second request is held up, where it is ours.
    hold_up = ("delay by=3s opcode=cm every=3 count=1",)  # REQ, RTU, REQ
    for tool in ("ib_write_bw", "ib_read_bw", "ib_send_bw", "ib_atomic_bw", "ib_send_lat"):
        argv = (tool, "-F", "-R", "-p", "{port}", "-u", str(ACK_TIMEOUT), "-n", "20")
        yield Row(f"{tool} -R", argv, (*argv, "{server}"), "(?m)" + PERFTEST_ROW, listens="cm", families=("ipv4",), cm=True,
                  our_client_faults=hold_up)


def multicast():
    """The server is the one that receives."""
    for family, group in GROUPS.items():
        argv = ("mckey", "-m", group, "-b", "{own}", "-C", "5")
        yield Row("mckey", ("stdbuf", "-oL", *argv), (*argv, "-s"), COMPLETE, listens="group", families=(family,), cm=True, two_way=False)


def rows():
    yield from pingpongs()
    yield from perftests()
    yield from rdma_cm_programs()
    yield from multicast()


# One packet for certain, for the end that only acknowledges sends few. The others by chance: when each 31st is lost and a go-back-N sends 93,
# the same one is lost for ever.
OUR_FAULTS = (("drop 3%", "drop every=5 count=1"), ("reorder by=3 3%", "reorder by=3 every=5 count=1"),
              ("duplicate 5%", "duplicate every=5 count=1"), ("corrupt 3%", "corrupt where=psn every=5 count=1"))
NETEM = ("loss 2%", "delay 1ms reorder 98%", "duplicate 3%", "corrupt 2%")
FAULT_PLACES = tuple(Place(link, "ipv4", 1024, ours) for link in LINKS for ours in ("server", "client"))


def fault_rows():
    for faults, netem in [(faults, "") for faults in OUR_FAULTS] + [((), netem) for netem in NETEM]:
        what = f"ours: {faults[0]}" if faults else f"the guest's: {netem}"
        for verb in ("write", "read", "send"):
            yield perftest(f"ib_{verb}_bw", "-s", "16384", count=40, name=f"ib_{verb}_bw, {what}", faults=faults, netem=netem, timeout=90)
        yield perftest("ib_atomic_bw", count=100, name=f"ib_atomic_bw, {what}", faults=faults, netem=netem, timeout=90)
        # The client has verified all when it leaves. A server on rxe whose last acknowledgement was lost then repeats for ever.
        yield from by_cm(f"rstream -T v, {what}", "rstream", ("-C", "10", "-S", "10000", "-T", "v"), 7471, STREAM_ROW, ("ipv4",),
                         faults=faults, netem=netem, timeout=90, server_ends=False)


def table():
    """Every row with every place that it is for."""
    for link in LINKS:
        for family in FAMILIES:
            for mtu in MTUS:
                for row in rows():
                    if family in row.families:
                        yield from ((row, Place(link, family, mtu, ours)) for ours in ("server", "client"))
    for row in fault_rows():
        yield from ((row, place) for place in FAULT_PLACES)


def short_table():
    """Each row both ways, over the links, families and MTUs in turn."""
    places = [Place("udp", "ipv4", 1024), Place("raw", "ipv6", 4096)]
    for place in places:
        for row in rows():
            if row.short:
                yield from ((row, Place(place.link, place.family, place.mtu, ours)) for ours in ("server", "client"))
