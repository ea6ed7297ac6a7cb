"""Personalities: what programs see of a device that is like some NIC, what it refuses, and bugs of programs that took another NIC for
granted. Each bug fails here with the personality, and not without.
"""
import os
import re
import tempfile
import time

import harness
from harness import Failure

# Name, first device, what ibv_devinfo -v says, the index of the node's own GID by v2 (None: there is none).
NICS = [
    ("connectx-5", "mlx5_0", ("vendor_id:\t\t\t0x02c9", "vendor_part_id:\t\t\t4119", "fw_ver:\t\t\t\t16.27.1016", "ATOMIC_HCA"), 3),
    ("connectx-6dx", "mlx5_0", ("vendor_part_id:\t\t\t4125", "board_id:\t\t\tMT_0000000359", "max_msg_sz:\t\t0x40000000"), 3),
    ("connectx-7", "mlx5_0", ("vendor_part_id:\t\t\t4129", "board_id:\t\t\tMT_0000000838", "max_qp_rd_atom:\t\t\t16"), 3),
    ("bluefield-3", "mlx5_0", ("vendor_part_id:\t\t\t41692",), 3),
    ("e810", "irdma0", ("vendor_id:\t\t\t0x8086", "vendor_part_id:\t\t\t5522", "max_sge:\t\t\t6", "max_srq:\t\t\t0", "ATOMIC_NONE"), 1),
    ("bnxt-re", "bnxt_re0", ("vendor_id:\t\t\t0x14e4", "ATOMIC_NONE"), 3),
    ("hns", "hns_0", ("vendor_id:\t\t\t0x19e5", "ATOMIC_HCA"), 3),
    ("erdma", "erdma_0", ("vendor_id:\t\t\t0x1ded", "max_sge:\t\t\t6"), 1),
    ("mana", "mana_0", ("vendor_id:\t\t\t0x0000", "device_cap_flags:\t\t0x00001000", "ATOMIC_NONE"), 1),
    ("ionic", "ionic_0", ("vendor_id:\t\t\t0x1dd8",), 1),
    ("efa-like", "rdmap0s6", ("vendor_id:\t\t\t0x1d0f", "max_srq:\t\t\t0"), None),
    ("thunderbolt-uc", "rdma_en0", ("max_qp:\t\t\t\t10\n", "max_mr:\t\t\t\t100\n"), None),
    ("rxe", "rxe0", ("vendor_id:\t\t\t0xffffff", "max_cqe:\t\t\t32767\n", "device_cap_flags:\t\t0x01223c76"), 1),
]
# What a pingpong says where its QP or SRQ cannot be made.
NO_QP, NO_SRQ = "Couldn't create QP", "Couldn't create SRQ"
REFUSED = [
    ("mana", "uc", NO_QP), ("mana", "ud", NO_QP), ("mana", "srq", NO_SRQ),
    ("e810", "uc", NO_QP), ("e810", "srq", NO_SRQ),
    ("bnxt-re", "uc", NO_QP), ("hns", "uc", NO_QP),
    ("erdma", "uc", NO_QP), ("erdma", "srq", NO_SRQ), ("ionic", "uc", NO_QP),
    ("efa-like", "rc", NO_QP), ("efa-like", "uc", NO_QP), ("thunderbolt-uc", "rc", NO_QP), ("thunderbolt-uc", "ud", NO_QP),
]


def nic(*words):
    return ["--nic", " ".join(words)]


def pingpong(kind, index, device=None):
    return [f"ibv_{kind}_pingpong", "-g", str(index), "-p", "{port}", "-n", "50", *(["-d", device] if device else [])]


def both(context, argv, extra):
    with context.fabric() as fabric:
        return harness.pair(fabric, argv, argv + ["{server}"], extra=extra)


def python(fabric, script, extra, node=0):
    program = fabric.start(fabric.nodes[node], ["/usr/bin/python3", "-c", script], extra=extra)
    program.wait(time.monotonic() + 30)
    if program.status != 0:
        raise Failure(program.describe())
    return program.out.strip()


# What an RC QP that is connected to itself gives: it takes P_Key index and GID as the program that is named takes them.
TO_ITSELF = """
import pyverbs.enums as e
from pyverbs.addr import AHAttr, GID, GlobalRoute
from pyverbs.cq import CQ
from pyverbs.device import Context, get_device_list
from pyverbs.mr import MR
from pyverbs.pd import PD
from pyverbs.pyverbs_error import PyverbsRDMAError
from pyverbs.qp import QP, QPAttr, QPCap, QPInitAttr
from pyverbs.wr import SGE, RecvWR, SendWR
context = Context(name=get_device_list()[0].name.decode())
table = [str(context.query_gid(1, i)) for i in range(context.query_port(1).gid_tbl_len)]
{choice}
pd, cq = PD(context), CQ(context, 8)
mr = MR(pd, 64, e.IBV_ACCESS_LOCAL_WRITE)
qp = QP(pd, QPInitAttr(qp_type=e.IBV_QPT_RC, rcq=cq, scq=cq, cap=QPCap()))
attributes = QPAttr(port_num=1)
attributes.pkey_index = pkey_index
qp.to_init(attributes)
attributes.dest_qp_num = qp.qp_num
attributes.path_mtu = e.IBV_MTU_1024
attributes.min_rnr_timer = 12
attributes.ah_attr = AHAttr(gr=GlobalRoute(dgid=GID(gid), sgid_index=gid_index, hop_limit=1), is_global=1, port_num=1)
attributes.timeout, attributes.retry_cnt, attributes.rnr_retry = 10, 1, 1
try:
    qp.to_rts(attributes)
except PyverbsRDMAError as error:
    print("no connection:", error.error_code)
    raise SystemExit
qp.post_recv(RecvWR(num_sge=1, sg=[SGE(mr.buf, 8, mr.lkey)]))
qp.post_send(SendWR(num_sge=1, sg=[SGE(mr.buf + 8, 8, mr.lkey)]))
while True:
    count, completions = cq.poll()
    if count:
        print("completion:", completions[0].status)
        break
"""
FIRST_GID = "gid_index, gid = 0, table[0]\n"
# nvshmem issue 82: the P_Key index is 0, whatever the table says.
PKEY_INDEX_0 = FIRST_GID + "pkey_index = 0"
PKEY_SOUGHT = FIRST_GID + "pkey_index = next(i for i in range(context.query_device().max_pkeys) if context.query_pkey(1, i) & 0x7fff)"
# mlx issue 3467: a GID with an IPv4 address is sought, and what is not found is used all the same.
IPV4_GID = """
pkey_index, gid_index, gid = 0, 0, "0000:0000:0000:0000:0000:0000:0000:0000"
for i, one in enumerate(table):
    if one.startswith("0000:0000:0000:0000:0000:ffff"):
        gid_index, gid = i, one
"""
# DeepEP issue 759: only what is called mlx5_* is a NIC. valkey issue 4593: what is meant is the first device, whatever it is.
ONLY_MLX5 = """
from pyverbs.device import get_device_list
names = [one.name.decode() for one in get_device_list()]
print(next((one for one in names if one.startswith("mlx5_")), "no NIC"))
"""
FIRST_DEVICE = """
from pyverbs.device import get_device_list
print(get_device_list()[0].name.decode())
"""


def expect(got, wanted):
    if got != wanted:
        raise Failure(f"'{got}', not '{wanted}'")


def tests(context):
    def looks_like(name, device, texts, index):
        with context.fabric(1) as fabric:
            program = fabric.run(fabric.nodes[0], ["ibv_devinfo", "-v"], extra=nic(f"personality={name}"))
            for text in (f"hca_id:\t{device}\n", *texts):
                if text not in program.out:
                    raise Failure(f"'{text}' is not in the output\n{program.describe()}")
            gids = dict(re.findall(r"GID\[ *(\d+)\]:\t*\s*(.*)", program.out))
            own = [int(at) for at, gid in gids.items() if "::ffff:" in gid and "RoCE v2" in gid]
            expect(own, [] if index is None else [index])

    def runs(name, index):
        both(context, pingpong("rc", index), nic(f"personality={name}"))

    def writes(name, index):
        argv = ["ib_write_bw", "-F", "-p", "{port}", "-u", "{timeout}", "-n", "100", "-s", "65536", "-x", str(index)]
        both(context, argv, nic(f"personality={name}"))

    def refuses(name, kind, text):
        with context.fabric(1) as fabric:
            program = fabric.start(fabric.nodes[0], [word.format(port=harness.free_port()) for word in pingpong(kind, 0)],
                                   extra=nic(f"personality={name}"))
            if program.wait(time.monotonic() + 20) != 1 or text not in program.err:
                raise Failure(f"'{text}' is not said\n{program.describe()}")

    def thunderbolt_has_uc():
        both(context, pingpong("uc", 0), nic("personality=thunderbolt-uc"))

    def own_words_win():
        with context.fabric(1) as fabric:
            program = fabric.run(fabric.nodes[0], ["ibv_devinfo", "-v"], extra=nic("personality=e810", "max-qp=7"))
            for text in ("max_qp:\t\t\t\t7\n", "vendor_part_id:\t\t\t5522"):
                if text not in program.out:
                    raise Failure(f"'{text}' is not in the output\n{program.describe()}")

    def files_agree():
        files = "fw_ver board_id hw_rev device/vendor device/device ports/1/gids/0 ports/1/gids/3 ports/1/gid_attrs/types/3".split()
        with context.fabric(1) as fabric:
            node = fabric.nodes[0]
            program = fabric.run(node, ["sh", "-c", "cd /sys/class/infiniband/mlx5_0 && cat " + " ".join(files) + " device/uevent"],
                                 extra=nic("personality=connectx-7"))
            lines = program.out.splitlines()
            expect(lines[:5], ["28.42.1000", "MT_0000000838", "0x0", "0x15b3", "0x1021"])
            expect([lines[5][:4], lines[6][20:29], lines[7]], ["fe80", "0000:ffff", "RoCE v2"])
            for text in ("DRIVER=mlx5_core", "PCI_ID=15B3:1021"):
                if text not in program.out:
                    raise Failure(f"'{text}' is not in the output\n{program.describe()}")

    def nvshmem_82():
        with context.fabric(1) as fabric:
            keys = nic("pkeys=0+0xffff")
            expect(python(fabric, TO_ITSELF.replace("{choice}", PKEY_INDEX_0), ()), "completion: 0")
            expect(python(fabric, TO_ITSELF.replace("{choice}", PKEY_INDEX_0), keys), "completion: 12")
            expect(python(fabric, TO_ITSELF.replace("{choice}", PKEY_SOUGHT), keys), "completion: 0")
            files = fabric.run(fabric.nodes[0], ["sh", "-c", "cat /sys/class/infiniband/*/ports/1/pkeys/*"], extra=keys)
            expect(files.out, "0x0000\n0xffff\n")

    def mlx_3467():
        with context.fabric(1) as fabric:
            expect(python(fabric, TO_ITSELF.replace("{choice}", IPV4_GID), ()), "completion: 0")
            out = python(fabric, TO_ITSELF.replace("{choice}", IPV4_GID), nic("gids=link-local-v2"))
            if not out.startswith("no connection: "):
                raise Failure(out)
            out = python(fabric, TO_ITSELF.replace("{choice}", FIRST_GID + "pkey_index = 0"), nic("gids=link-local-v2"))
            expect(out, "completion: 0")

    def deepep_759():
        with context.fabric(1) as fabric:
            expect(python(fabric, ONLY_MLX5, nic("personality=connectx-7")), "mlx5_0")
            expect(python(fabric, ONLY_MLX5, nic("personality=mana")), "no NIC")

    def valkey_4593():
        with context.fabric(1) as fabric:
            expect(python(fabric, FIRST_DEVICE, nic("personality=connectx-7")), "mlx5_0")
            beside = nic("personality=mana,connectx-7")
            expect(python(fabric, FIRST_DEVICE, beside), "mana_0")
            expect(python(fabric, ONLY_MLX5, beside), "mlx5_0")
        both(context, pingpong("rc", 3, "mlx5_0"), beside)

    def devinfo_round_trip():
        with context.fabric(1) as fabric, tempfile.TemporaryDirectory() as place:
            node, path = fabric.nodes[0], os.path.join(place, "my.yaml")
            shown = fabric.run(node, ["ibv_devinfo", "-v"], extra=nic("personality=e810")).out
            with open(os.path.join(place, "text"), "w", encoding="utf-8") as file:
                file.write(shown)
            made = fabric.run(node, [context.verbena, "personality", "--from-devinfo", file.name]).out
            with open(path, "w", encoding="utf-8") as file:
                file.write(made)
            again = fabric.run(node, ["ibv_devinfo", "-v"], extra=nic(f"personality={path}")).out
            # Most drivers say 0 of raw QPs whether they have any or not: nothing follows from it.
            expect(*(re.sub(r"max_raw_ethy_qp:.*", "", text) for text in (again, shown)))

    return [
        *((f"ibv_devinfo -v: {row[0]}", lambda row=row: looks_like(*row)) for row in NICS),
        *((f"rc pingpong: {name}", lambda name=name, index=index: runs(name, index)) for name, _, _, index in NICS if index),
        *((f"ib_write_bw: {name}", lambda name=name, index=index: writes(name, index)) for name, _, _, index in NICS if index),
        *((f"{name} refuses {kind}", lambda row=(name, kind, text): refuses(*row)) for name, kind, text in REFUSED),
        ("uc pingpong: thunderbolt-uc", thunderbolt_has_uc),
        ("own words go before", own_words_win),
        ("files below /sys are as the verbs", files_agree),
        ("nvshmem issue 82: P_Key index 0", nvshmem_82),
        ("mlx issue 3467: link-local GIDs alone", mlx_3467),
        ("DeepEP issue 759: mlx5 alone", deepep_759),
        ("valkey issue 4593: a mana_0 beside", valkey_4593),
        ("ibv_devinfo makes the same again", devinfo_round_trip),
    ]
