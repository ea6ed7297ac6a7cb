"""MPI: the rows of the catalogue.

What none of them does, for it goes wrong without Verbena too:
- MPICH 4.0 with derived datatypes: it unpacks no part of an element, UCX hands a message over in pieces that end anywhere, and what is
  left over counts as truncated (pmodels/mpich, pull request 6796). `mpirun.mpich -n 4 tests/systems/mpi/checker.sh mpich --only datatypes`
  fails so over shared memory.
- Open MPI's osc rdma, which it takes by itself beside libfabric: a compare-and-swap over its shared memory ends in a crash (mca_btl_vader). Without
  Verbena, too; the rows ask for osc pt2pt.
And Open MPI's osc ucx with MPI_Get_accumulate and MPI_REPLACE (`--only replacing`): it sends a READ and a WRITE of the same place without a fence,
which is right on a clean network only: a READ that is asked for again returns what has been written since, as on hardware.
"""
from row import End, Killed, System

OPENMPI = ("openmpi-bin", "libopenmpi-dev", "gcc", "util-linux")
MPICH = ("mpich", "libmpich-dev", "gcc", "util-linux")
CHECKER = "our checker (tests/systems/mpi), every octet"
OPENMPI_KILLED = Killed({"ranks": End("exited on signal 9", 137)}, 15, "mpirun, which ends all ranks when one has been killed", node="n2", link="n2-s1", carried=3000)
MPICH_KILLED = Killed({"ranks": End("EXIT CODE: 9", 9)}, 15, "mpiexec, which ends all ranks when one has been killed", node="n2", link="n2-s1", carried=3000)
ALL = ("messages, collectives (blocking and not; v and w), among neighbours, reductions (every operation on every datatype of C, one that does "
       "not commute)")
WINDOWS = "one-sided put, get, accumulate, fetch-and-op, compare-and-swap under fence, lock and post-start"


def openmpi(name, title, exercises, **more):
    return System(name, title, OPENMPI, exercises, killed=OPENMPI_KILLED, verified=CHECKER, carried=3000, flaps="n2-s1", **more)


def mpich(name, nodes, **more):
    return System(name, "MPICH (ch4:ucx)", MPICH, f"4 ranks on {nodes} nodes: {ALL}; {WINDOWS}", killed=MPICH_KILLED, verified=CHECKER,
                  carried=3000, flaps="n2-s1", **more)


ROWS = (
    openmpi("openmpi-ucx-2", "Open MPI, pml ucx, osc ucx", f"4 ranks on 2 nodes: {ALL}; derived datatypes; {WINDOWS}", short=("clean", "killed", "infiniband")),
    openmpi("openmpi-ucx-4", "Open MPI, pml ucx, osc ucx", "the same on 4 nodes", short=("flapping", "udp")),
    System("openmpi-rails-2", "Open MPI, pml ucx, osc ucx", OPENMPI, f"4 ranks on 2 nodes with two NICs each: {ALL}; derived datatypes; {WINDOWS}",
           verified=CHECKER, without={one: "As openmpi-ucx-2: UCX 1.13 ends an endpoint with any of its lanes." for one in ("lossy", "flapping", "udp", "killed")},
           short=("clean",)),
    openmpi("openmpi-ofi-2", "Open MPI, pml cm, mtl ofi", f"4 ranks on 2 nodes: {ALL}; derived datatypes; {WINDOWS} (osc pt2pt)"),
    openmpi("openmpi-ofi-4", "Open MPI, pml cm, mtl ofi", "the same on 4 nodes"),
    mpich("mpich-2", 2),
    mpich("mpich-4", 4),
    System("netpipe-openmpi", "NetPIPE", ("netpipe-openmpi",), "messages of 1 octet to 3 MiB, back and forth, over Open MPI and UCX", killed=OPENMPI_KILLED,
           flaps="n2-s1", short=("lossy",), verified="the program (-i)"),
    System("netpipe-mpich", "NetPIPE", ("netpipe-mpich2",), "messages of 1 octet to 3 MiB, back and forth, over MPICH and UCX", killed=MPICH_KILLED,
           flaps="n2-s1", verified="the program (-i)"),
    System("hpcc", "HPCC", ("hpcc", "openmpi-bin"), "HPL, PTRANS, RandomAccess, STREAM, FFT, latency and bandwidth on 4 nodes, over Open MPI and UCX",
           killed=OPENMPI_KILLED, flaps="n2-s1", carried=3000, verified="the program: residuals, and errors counted"),
)
