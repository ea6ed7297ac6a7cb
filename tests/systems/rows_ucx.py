"""UCX: the rows of the catalogue. Each is pinned to Verbena's device, as a user does it on a machine that has others."""
from row import End, Killed, System

PACKAGES = ("ucx-utils",)
NOBODY = "nobody: ucx_perftest compares nothing"
# A crash before 20,000 frames would fall into ucx_perftest's own set-up over TCP, which waits for its peer without a bound.
# UCX_RC_VERBS_TIMEOUT of 100 ms is 134 ms in the codes of IBTA 9.7.6.1.3; eight times, and then UCX writes a backtrace and aborts.
RC_KILLED = Killed({"client": End("transport retry counter exceeded", 134)}, file="ucx-endless-rc", within_s=6, carried=20000,
                   bound="UCX_RC_VERBS_TIMEOUT (100 ms) x (7 + 1), then UCX aborts")
UD_KILLED = Killed({"client": End("unhandled timeout error", 134)}, file="ucx-endless-ud", within_s=12, carried=20000,
                   bound="UCX_UD_VERBS_TIMEOUT (5 s), then UCX aborts")
IO_KILLED = Killed({"client": End("connection retries exceeded", 255)}, file="ucx-endless-io", within_s=30,
                   bound="UCX_RC_VERBS_TIMEOUT as above, then -c 1 attempt to connect again, of at most UCX_RDMA_CM_TIMEOUT (10 s)")
# Each test of a batch opens the device anew, and UCX finds none while its port is down, on hardware too: one test runs while the cable flaps.
AS_TAG = {"flapping": "As ucx-tag.", "killed": "As ucx-tag: the transport and its error are the same."}


def tests(name, words, **of):
    yield System(f"ucx-{name}-rc", f"ucx_perftest {name}", PACKAGES, f"{words}, over RC (rc_verbs)", verified=NOBODY,
                 short=of.get("short", ()), flapping="ucx-endless-rc" if name == "tag" else "", killed=RC_KILLED if name == "tag" else None, without={} if name == "tag" else AS_TAG)
    yield System(f"ucx-{name}-ud", f"ucx_perftest {name}", PACKAGES, f"{words}, over UD (ud_verbs): UCX itself sends again", verified=NOBODY, flapping="ucx-endless-ud" if name == "tag" else "", killed=UD_KILLED if name == "tag" else None, without={} if name == "tag" else AS_TAG)


AS_ONE_RAIL = {one: "As ucx-tag: UCX 1.13 ends an endpoint with any of its lanes." for one in ("lossy", "flapping", "udp", "killed")}
SENDS_NOTHING = {one: "It sends nothing: a network makes no difference." for one in ("lossy", "flapping", "udp", "killed")}

ROWS = (
    System("ucx-info", "ucx_info", PACKAGES, "what UCX finds: rc_verbs and ud_verbs on the device", sends=False, without=SENDS_NOTHING,
           verified="there are none", short=("clean",)),
    *tests("tag", "tag matching: eager and rendezvous, synchronous, 8 B to 4 MiB", short=("clean", "flapping", "killed")),
    *tests("am", "active messages, 8 B to 4 MiB"),
    *tests("stream", "streams, 8 B to 4 MiB"),
    *tests("rma", "puts and gets, 8 B to 4 MiB"),
    *tests("atomics", "add, fetch-and-add, swap, compare-and-swap, 4 and 8 octets", short=("clean", "lossy")),
    *(System(f"ucx-rails-{rails}", f"ucx_perftest tag over {rails} NICs", PACKAGES, f"each message of 4 MiB striped over {rails} rails, the share of each counted", verified=NOBODY,
             without=AS_ONE_RAIL, short=("clean",)) for rails in (2, 4)),
    System("ucx-io-tag", "io_demo", PACKAGES, "tag matching over RC, sockaddr by rdma_cm: reads and writes of 8 B to 1 MiB", killed=IO_KILLED,
           verified="the program (-q)", short=("clean", "lossy", "flapping", "udp", "killed", "infiniband")),
    System("ucx-io-am", "io_demo -A", PACKAGES, "active messages over RC, sockaddr by rdma_cm: reads and writes of 8 B to 1 MiB",
           without={"killed": "As ucx-io-tag."}, verified="the program (-q)"),
)
