"""Verbs that fail on demand: the distribution's programs say what has failed, in their own words, and end with their own status."""
import re
import signal
import time

import harness
import rdma_cm
from harness import Failure

PINGPONG = ["ibv_rc_pingpong", "-g", "0", "-p", "{port}", "-n", "100"]
# What fails before a peer is needed: verb, further options, what the program says.
ALONE = (("open_device", [], r"Couldn't get context for verbena0"),
         ("alloc_pd", [], r"Couldn't allocate PD"),
         ("reg_mr", [], r"Couldn't register MR"),
         ("create_comp_channel", ["-e"], r"Couldn't create completion channel"),
         ("create_cq", [], r"Couldn't create CQ"),
         ("create_qp", [], r"Couldn't create QP"),
         ("modify_qp", [], r"Failed to modify QP to INIT"),
         ("post_recv", [], r"Couldn't post receive"),
         ("query_port", [], r"Couldn't get port info"),
         ("query_gid", [], r"can't read sgid of index 0"))
# ... and what fails with one.
TOGETHER = (("poll_cq", [], r"poll CQ failed -1"),
            ("post_send", [], r"Couldn't post send"),
            ("req_notify_cq nth=2", ["-e"], r"Couldn't request CQ notification"),
            ("get_cq_event", ["-e"], r"Failed to get cq_event"),
            ("destroy_qp", [], r"Couldn't destroy QP"),
            ("destroy_cq", [], r"Couldn't destroy CQ"),
            ("dereg_mr", [], r"Couldn't deregister MR"),
            ("dealloc_pd", [], r"Couldn't deallocate PD"),
            ("close_device", [], r"Couldn't release context"))


def require(program, words):
    if program.wait(time.monotonic() + 30) != 1 or not re.search(words, program.out + program.err):
        raise Failure(f"no '{words}', or another status than 1\n{program.describe()}")


def alone(context, verb, options, words):
    with context.fabric() as fabric:
        argv = [word.replace("{port}", str(harness.free_port())) for word in PINGPONG + options]
        require(fabric.start(fabric.nodes[0], argv, faults=[f"fail verb={verb}"]), words)


def together(context, verb, options, words):
    """The server's verb fails. What becomes of the client is its own matter."""
    with context.fabric() as fabric:
        argv = PINGPONG + options
        pair = harness.Pair(fabric, argv, argv + ["{server}"], server_options={"faults": [f"fail verb={verb}"]})
        require(pair.server, words)


# Calls of librdmacm, as rping tells them: who calls, and what it says.
CM = (("rdma_create_id", "client", r"rdma_create_id"),
      ("rdma_resolve_addr", "client", r"rdma_resolve_addr"),
      ("rdma_resolve_route", "client", r"rdma_resolve_route"),
      ("rdma_bind_addr", "server", r"rdma_bind_addr"),
      ("rdma_listen", "server", r"rdma_listen"))


def cm_call(context, verb, side, words):
    case = rdma_cm.RPING
    with context.fabric() as fabric:
        faults = [f"fail verb={verb}"]
        if side == "server":
            server = fabric.start(fabric.nodes[0], rdma_cm.filled(fabric, case.server), "server", faults=faults)
            return require_failure(server, words)
        server = rdma_cm.start_server(fabric, case)
        require_failure(rdma_cm.start_client(fabric, case, faults=faults), words)
        server.signal_group(signal.SIGTERM)
    return None


def require_failure(program, words):
    if program.wait(time.monotonic() + 30) in (None, 0) or not re.search(words, program.out + program.err):
        raise Failure(f"no '{words}', or status 0\n{program.describe()}")


def late(context):
    """A verb that takes long takes so long, and works."""
    with context.fabric() as fabric:
        before = time.monotonic()
        harness.pair(fabric, PINGPONG, PINGPONG + ["{server}"], faults=["delay verb=create_qp by=300ms"])
        if time.monotonic() - before < 0.3:
            raise Failure("nothing was late")


def tests(context):
    return ([(f"{verb} fails", lambda row=(verb, *rest): alone(context, *row)) for verb, *rest in ALONE] +
            [(f"{verb} fails in a connection", lambda row=(verb, *rest): together(context, *row)) for verb, *rest in TOGETHER] +
            [(f"{verb} fails", lambda row=(verb, *rest): cm_call(context, *row)) for verb, *rest in CM] +
            [("create_qp takes long", lambda: late(context))])
