"""Programs that move data by rdma_cm and DAPL: the rows of the catalogue."""
from row import Deviation, End, Killed, System

ROWS = (
    System("fio-write", "fio, ioengine=rdma", ("fio",), "RDMA WRITE", carried=200, verified="nobody: the receiver has no notice of what is written",
           short=("clean", "lossy", "infiniband"),
           killed=Killed({"client": End("err=", 1)}, 20, "none", file="fio-endless", carried=3000),
           deviations=(Deviation("killed", r"it hung and was ended[\s\S]*transport retry counter exceeded",
                                 "fio is told of the failed WRITE and says so, and then waits for ever: its engine takes an error for "
                                 "an event that was none, and waits for the next (fio_rdmaio_getevents in engines/rdma.c: `if (ret < 1) "
                                 "goto again`)."),)),
    System("fio-read", "fio, ioengine=rdma", ("fio",), "RDMA READ", carried=200, verified="nobody: fio compares nothing of a READ",
           without={"killed": "As fio-write."}),
    System("fio-send", "fio, ioengine=rdma", ("fio",), "SEND, verify=crc32c", carried=200, verified="the program (crc32c)", short=("clean", "udp"),
           loss="drop 0.5% opcode=data",
           loss_why="Its receiver leaves with no word when it has all: a sender whose last acknowledgement was lost fails, on hardware too.",
           without={"killed": "As fio-write."}),
    System("rsockets-iperf3", "iperf3 over librspreload", ("iperf3", "librdmacm1"), "sockets of a program for TCP taken to RDMA",
           verified="nobody: iperf3 compares nothing", short=("clean", "lossy"),
           leaves=("/dev/shm/sem.rsocket_fork",),  # librspreload's, for forking servers
           without={"killed": "A writer that waits for the credits of a dead peer has nothing under way, and rsockets have no keep-alive unless "
                              "asked: whether iperf3 ends with an error or moves 0 octets a second to its end depends on the moment."}),
    System("dapl-dtest", "dtest, provider scm", ("dapl2-utils", "libdapl2"), "DAT 2.0: RDMA write, read, messages, both ways",
           verified="nobody: dtest checks its messages' cookies only",
           without={"udp": "dtest's server tells its client the address of its machine's name, which is not in the namespaces.",
                    "killed": "dtest has no run that is long enough to be killed at a known place."}),
)
