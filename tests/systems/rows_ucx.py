"""UCX: the rows of the catalogue."""
from row import End, Killed, System

PACKAGES = ("ucx-utils",)
# UCX_RC_VERBS_TIMEOUT of 100 ms is 134 ms in the codes of IBTA 9.7.6.1.3; eight times, and then UCX writes a backtrace and aborts.
RC_BOUND = {"within_s": 6, "bound": "UCX_RC_VERBS_TIMEOUT (100 ms) x (7 + 1)"}

ROWS = (
    System("ucx-tag-rc", "ucx_perftest tag", PACKAGES, "tag matching over RC: eager and rendezvous, 8 B to 4 MiB",
           killed=Killed({"client": End("transport retry counter exceeded", 134)}, file="ucx-endless-rc", **RC_BOUND),
           short=("clean", "lossy", "flapping", "udp", "killed"), verified="nobody: ucx_perftest compares nothing; the checkers of the transport watch it"),
)
