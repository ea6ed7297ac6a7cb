"""Storage and machine learning: the rows of the catalogue."""
from row import Deviation, End, Killed, System

TGT = ("tgt", "libiscsi-bin", "qemu-utils", "qemu-block-extra")
QEMU = ("qemu-system-x86", "python3")
CEPH = ("ceph-osd", "ceph-mon", "ceph-common")
GLOO = ("libgloo-dev", "libibverbs-dev", "g++")
TORCH = ("python3-torch",)
BY_OURS = "a checker of ours"

ROWS = (
    System("storage-iser", "tgt, libiscsi, qemu-img", TGT, "iSER: login, commands, RDMA READ and WRITE by the target",
           killed=Killed({"perf": End("failed")}, within_s=20, bound="none: see below"),
           deviations=(Deviation("killed", "program perf.*: it hung and was ended",
                                 "libiscsi 1.19 connects anew for ever: without Verbena, over TCP, `iscsi-perf -t 20` had not ended 22 s after tgtd was killed"),),
           verified="cmp of a disk of 16 MiB, both ways"),
    System("storage-migration", "QEMU", QEMU, "live migration over rdma: registration on demand, RDMA WRITE, rdma_cm",
           killed=Killed({"migrate": End("migration failed")}, within_s=15, node="n2", cut="drop opcode=data msg=100-999999", cut_at="n1->s1",
                         bound="the ACK timer that rdma_cm gives a connection, eight times; QEMU's source fails the migration and lives on"),
           verified="pmemsave of both guests, compared with each other and with what the memory was filled with"),
    System("storage-ceph", "Ceph", CEPH, "the async+rdma messenger: a monitor, two OSDs, rados bench, put and get",
           killed=Killed({"check": End("4 objects are what was put", 0)}, within_s=60, node="n3", link="n3-s1", carried=20000,
                         bound="osd_heartbeat_grace (6 s here), then the other OSD goes on by itself"),
           verified="cmp of objects of 1 B to 8 MB; rados bench checks none"),
    System("ml-gloo", "Gloo", GLOO, "collectives over the ibverbs transport, four ranks",
           killed=Killed({name: End("gloo says: .*(retry counter exceeded|Read timeout)") for name in ("rank0", "rank2", "rank3")},
                         within_s=20, file="ml-gloo-endless", node="n2", link="n2-s1", carried=3000,
                         bound="the QP's timeout, or the context's (10 s) where a rank only waits"),
           verified=BY_OURS),
    System("ml-tensorpipe", "PyTorch's rpc over TensorPipe", TORCH, "the ibv transport, which loads libibverbs by dlopen",
           killed=Killed({"calls": End("torch says: .*(reset|transport retry|timed out|eof)")}, within_s=25, file="ml-tensorpipe-endless", carried=20000,
                         bound="TCP says that the peer has gone, or the call's own timeout (20 s)"),
           verified=BY_OURS),
)
