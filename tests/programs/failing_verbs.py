"""Verbs and completions that fail on demand: the distribution's programs say what has failed, in their own words, and end with their
own status."""
import json
import re
import signal
import subprocess
import tempfile
import time

import harness
import rdma_cm
import served
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


# Completions of the server of ibv_rc_pingpong: the rule, what it says, and what the client says, which knows by the NAK alone.
COMPLETIONS = (("completion of=send nth=9 status=REM_OP_ERR", r"Failed status remote operation error", None),
               ("completion of=send nth=9 status=RETRY_EXC_ERR", r"Failed status transport retry counter exceeded", None),
               ("completion nth=3 status=GENERAL_ERR only-report=yes", r"Failed status general error", None),
               ("completion of=receive nth=9 status=LOC_PROT_ERR", r"Failed status local protection error",
                r"Failed status remote operation error"),
               ("completion of=receive nth=9 status=LOC_LEN_ERR", r"Failed status local length error",
                r"Failed status remote invalid request error"))


def completion(context, rule, words, peers_words):
    with context.fabric() as fabric:
        pair = harness.Pair(fabric, PINGPONG, PINGPONG + ["{server}"], server_options={"faults": [rule]})
        require(pair.server, words)
        if peers_words:
            require(pair.client, peers_words)


def overrun(context):
    """The client's CQ fails, and its QP with it: it waits for ever, and the server hears nothing any more."""
    with context.fabric() as fabric:
        pair = harness.Pair(fabric, PINGPONG, PINGPONG + ["{server}"], client_options={"faults": ["cq-overrun nth=9"]})
        require(pair.server, r"Failed status transport retry counter exceeded")
        if pair.client.wait(time.monotonic() + 0.2) is not None:
            raise Failure(f"it has ended without a completion\n{pair.client.describe()}")
        pair.client.signal_group(signal.SIGTERM)


def event(context):
    """ibv_asyncwatch prints what it hears; it ends by a signal."""
    with context.fabric() as fabric:
        watcher = fabric.start(fabric.nodes[0], ["timeout", "3", "ibv_asyncwatch"],
                               faults=["async event=PORT_ERR at=200ms", "async event=GID_CHANGE at=400ms"])
        watcher.wait(time.monotonic() + 20)
        if not re.search(r"IBV_EVENT_PORT_ERR \(10\), port 1\n.*IBV_EVENT_GID_CHANGE \(18\)", watcher.out, re.DOTALL):
            raise Failure(f"not the events that were planned\n{watcher.describe()}")


def limits(context):
    with context.fabric() as fabric:
        argv = [word.replace("{port}", str(harness.free_port())) for word in PINGPONG]
        require(fabric.start(fabric.nodes[0], argv, extra=["--nic", "memlock=0"]), r"Couldn't register MR")
        info = fabric.start(fabric.nodes[0], ["ibv_devinfo", "-v"], extra=["--nic", "max-qp=8 max-sge=3"])
        if info.wait(time.monotonic() + 20) != 0 or not re.search(r"max_qp:\s+8\n", info.out) or \
                not re.search(r"max_sge:\s+3\n", info.out):
            raise Failure(f"not the limits that were set\n{info.describe()}")


def counted(context):
    """Each fault of a plan in a file is counted by itself, and told at the end."""
    with context.fabric() as fabric, tempfile.NamedTemporaryFile("w+") as plan, tempfile.NamedTemporaryFile("r") as stats:
        plan.write("# three faults\ncompletion of=send nth=5 by=1ms\nfail verb=create_cq nth=7\ndelay every=10 by=10us dir=tx\n")
        plan.flush()
        pair = harness.Pair(fabric, PINGPONG, PINGPONG + ["{server}"],
                            client_options={"extra": ["--fault-plan", plan.name, "--stats-json", stats.name]})
        pair.finish(30)
        hits = [fault["hits"] for fault in json.load(stats)["faults"]]
        if hits[:2] != [1, 0] or not 5 <= hits[2] <= 200:
            raise Failure(f"hits are {hits}")


def wait_for_traffic(fabric, pair):
    """The client of ib_write_bw writes."""
    harness.wait_until(lambda: max(link["frames"] for link in fabric.stat()["links"] if link["name"] == "n2->s1") > 1000,
                       time.monotonic() + 20, "it writes", [pair.client])


def from_outside(context):
    """A program that runs already fails when the command has answered, and one that starts later does; once the fault is removed none
    does. What was said of other nodes is none of theirs."""
    with served.Served(context) as fabric:
        argv = ["ib_write_bw", "-D", "6", "-p", "{port}"]
        pair = harness.Pair(fabric, argv, argv + ["{server}"])
        wait_for_traffic(fabric, pair)
        fabric.fault("n3", "fail", "verb=post_send")
        if pair.client.status is not None:
            raise Failure(f"another node's fault has hit it\n{pair.client.describe()}")
        fabric.fault("n2", "fail", "verb=post_send", "errno=EIO")
        if pair.client.wait(time.monotonic() + 4) in (None, 0) or not re.search(r"Couldn't post send", pair.client.out + pair.client.err):
            raise Failure(f"it went on\n{pair.client.describe()}")
        pair.server.signal_group(signal.SIGTERM)
        fabric.fault("n1", "fail", "verb=reg_mr")
        require(fabric.start(fabric.nodes[0], ["ibv_rc_pingpong", "-g", "0", "-p", str(harness.free_port())]), r"Couldn't register MR")
        listed = fabric.fault("list")
        if not re.search(r"2  n2  fail verb=post_send errno=EIO  \([1-9]\d* hits\)\n3  n1  fail verb=reg_mr  \(1 hits\)", listed):
            raise Failure(f"not the faults that were said\n{listed}")
        if fabric.fault("remove", "3") != "it had hit 1 call\n":
            raise Failure("not the hits of the fault")
        fabric.fault("clear")
        harness.pair(fabric, PINGPONG, PINGPONG + ["{server}"])


def completions_from_outside(context):
    with served.Served(context) as fabric:
        argv = ["ib_write_bw", "-D", "6", "-p", "{port}"]
        pair = harness.Pair(fabric, argv, argv + ["{server}"])
        wait_for_traffic(fabric, pair)
        fabric.fault("n2", "completion", "of=send", "nth=10", "status=REM_OP_ERR")
        if pair.client.wait(time.monotonic() + 4) in (None, 0) or "Failed status 11" not in pair.client.out + pair.client.err:
            raise Failure(f"no completion has failed\n{pair.client.describe()}")
        pair.server.signal_group(signal.SIGTERM)
        watcher = fabric.start(fabric.nodes[0], ["timeout", "3", "ibv_asyncwatch"])
        harness.wait_until(lambda: "async event FD" in watcher.out, time.monotonic() + 10, "it watches", [watcher])
        fabric.fault("n1", "async", "event=SM_CHANGE")
        watcher.wait(time.monotonic() + 20)
        if "IBV_EVENT_SM_CHANGE" not in watcher.out:
            raise Failure(f"not the event that was said\n{watcher.describe()}")


def stopped(context):
    """Who does not hear is named, and has the fault when it goes on."""
    with served.Served(context) as fabric:
        watcher = fabric.start(fabric.nodes[0], ["ibv_asyncwatch"])
        harness.wait_until(lambda: "async event FD" in watcher.out, time.monotonic() + 10, "it watches", [watcher])
        watcher.signal_group(signal.SIGSTOP)
        said = fabric.fault("n1", "async", "event=SM_CHANGE")
        if "fault 1\n" not in said or "1 process has not heard of it yet on n1" not in said:
            raise Failure(f"nobody said that one is stopped: {said}")
        watcher.signal_group(signal.SIGCONT)
        harness.wait_until(lambda: "IBV_EVENT_SM_CHANGE" in watcher.out, time.monotonic() + 10, "it has heard", [watcher])
        watcher.signal_group(signal.SIGTERM)


def wrong_rules(context):
    with served.Served(context) as fabric:
        for words, says in ((("n1", "fail", "verb=reg_mx"), r"column 6: 'verb=reg_mx' is not understood"),
                            (("n1", "fail", "verb=reg_mr", "nth=0"), r"column 18: 'nth=0' is not understood"),
                            (("n9", "fail", "verb=reg_mr"), r"'n9' is not a node of this fabric"),
                            (("s1", "fail", "verb=reg_mr"), r"'s1' is not a node of this fabric")):
            said = fabric.fault(*words, status=2)
            if not re.search(says, said) or said.count("\n") != 1:
                raise Failure(f"{words}: {said}")
    nobody = subprocess.run([context.verbena, "fault", "--fabric", "failing-verbs-nobody", "n1", "fail", "verb=reg_mr"],
                            capture_output=True, text=True, timeout=30, check=False)
    if nobody.returncode != 2 or "give them --fault" not in nobody.stderr:
        raise Failure(f"not what to do without a fabric process: {nobody.stderr}")


def tests(context):
    return ([(f"{verb} fails", lambda row=(verb, *rest): alone(context, *row)) for verb, *rest in ALONE] +
            [(f"{verb} fails in a connection", lambda row=(verb, *rest): together(context, *row)) for verb, *rest in TOGETHER] +
            [(f"{verb} fails", lambda row=(verb, *rest): cm_call(context, *row)) for verb, *rest in CM] +
            [(rule, lambda row=(rule, *rest): completion(context, *row)) for rule, *rest in COMPLETIONS] +
            [("create_qp takes long", lambda: late(context)), ("a CQ overruns", lambda: overrun(context)),
             ("asynchronous events come as planned", lambda: event(context)), ("limits are lowered", lambda: limits(context)),
             ("each fault of a file is counted", lambda: counted(context)),
             ("verbs fail from outside", lambda: from_outside(context)),
             ("completions fail from outside", lambda: completions_from_outside(context)),
             ("a stopped program is named", lambda: stopped(context)), ("wrong rules are refused", lambda: wrong_rules(context))])
