"""libfabric, its verbs provider: the rows of the catalogue."""
from row import End, Killed, System

PACKAGES = ("libfabric-bin",)
PROGRAM = "the program (-c)"
DATA_LOSS = {"loss": "drop 0.5% opcode=data",
             "loss_why": "Who has its last message leaves: a sender whose last acknowledgement was lost is told of flushed work, on hardware too."}
UNRELIABLE = "fi_pingpong sends no datagram twice and waits for its answer without a bound: a lost one ends it, on hardware too."
# fi_pingpong and messages.go take turns: without this, the client may wait for the answer to a message that was acknowledged.
CUT = "drop opcode=send msg=200-999999"
# The provider asks rdma_cm for no timeout of its own, so the bound is the device's: an ACK timer of 537 ms, eight times.
ROWS = (
    System("libfabric-info", "fi_info", PACKAGES, "what libfabric finds: MSG, DGRAM, RDM by rxm", sends=False, verified="there are none",
           without={one: "It sends nothing: a network makes no difference." for one in ("lossy", "flapping", "udp", "killed")}, short=("clean",)),
    System("libfabric-msg", "fi_pingpong -e msg", PACKAGES, "FI_EP_MSG of verbs, by rdma_cm, to 1 MiB", verified=PROGRAM, **DATA_LOSS,
           short=("clean", "lossy", "flapping", "udp", "killed", "roce-v1", "infiniband"),
           killed=Killed({"client": End("transport retry counter exceeded", 5)}, file="libfabric-endless-msg", within_s=12,
                         cut=CUT, bound="the ACK timer that rdma_cm gives a connection, eight times")),
    System("libfabric-rails-2", "fi_pingpong -e msg on each of two domains", PACKAGES, "two NICs of a node, a domain each, by rdma_cm, at once", verified=PROGRAM,
           without={one: "As libfabric-msg." for one in ("lossy", "flapping", "udp", "killed")}, short=("clean",)),
    System("libfabric-rxm", "fi_pingpong -e rdm", PACKAGES, "FI_EP_RDM of ofi_rxm over verbs, to 1 MiB", verified=PROGRAM, **DATA_LOSS,
           killed=Killed({"client": End("transport retry counter exceeded", 5)}, file="libfabric-endless-rxm",
                         within_s=12, cut=CUT, bound="the ACK timer that rdma_cm gives a connection, eight times")),
    System("libfabric-rxm-tagged", "fi_pingpong -e rdm -m tagged", PACKAGES, "tagged messages of ofi_rxm over verbs, to 1 MiB", verified=PROGRAM,
           **DATA_LOSS,
           without={"killed": "As libfabric-rxm."}),
    System("libfabric-dgram", "fi_pingpong -e dgram", PACKAGES, "FI_EP_DGRAM of verbs, over UD", verified=PROGRAM,
           without={"lossy": UNRELIABLE, "flapping": UNRELIABLE, "killed": UNRELIABLE}, short=("clean",)),
    System("libfabric-go", "a Go program over cgo", ("libfabric-dev", "libfabric1", "golang-go"), "messages of 1 B to 256 KiB over ofi_rxm and verbs",
           verified="the program", build=("env", "GO111MODULE=off", "go", "build", "-o", "build/systems/messages",
                                          "scenarios/systems/libfabric/messages.go"),
           killed=Killed({"client": End("completion: |fi_send: |fi_cq_sread: ", 1)}, file="libfabric-endless-go", within_s=12,
                         cut=CUT, bound="the ACK timer that rdma_cm gives a connection, eight times")),
)
