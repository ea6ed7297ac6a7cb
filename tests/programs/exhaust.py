"""`verbena exhaust`: a program with known faults is found out, each by its row; the distribution's programs are tried as they are."""
import json
import os
import pathlib
import signal
import subprocess
import tempfile
import time
import xml.etree.ElementTree

import harness
import waiting
from harness import Failure

TIMEOUT = 120
# Sends to itself. It takes a CQ for granted (crash), waits for ever for a completion that has failed (hang), goes on where memory was
# not deregistered (leak), and believes that a second post was done (wrong data). All else it takes as it should.
CARELESS = """
#include <arpa/inet.h>
#include <infiniband/verbs.h>
#include <sched.h>
#include <cstdio>
#include <cstdlib>
#include <cstring>
static void want(bool is_so, const char* what) {
  if (is_so) return;
  fprintf(stderr, "careless: %s\\n", what);
  exit(7);
}
extern "C" __attribute__((noinline)) int entries_of(ibv_cq* queue) { return queue->cqe; }
int main() {
  ibv_device** list = ibv_get_device_list(nullptr);
  ibv_context* context = ibv_open_device(list[0]);
  want(context, "no device");
  ibv_free_device_list(list);
  ibv_pd* pd = ibv_alloc_pd(context);
  want(pd, "no PD");
  ibv_cq* queue = ibv_create_cq(context, 8, nullptr, nullptr, 0);
  if (entries_of(queue) < 8) return 8;
  static char memory[64] = "21";
  ibv_mr* region = ibv_reg_mr(pd, memory, sizeof memory, IBV_ACCESS_LOCAL_WRITE);
  want(region, "no memory");
  ibv_qp_init_attr init{};
  init.send_cq = init.recv_cq = queue;
  init.cap = {4, 4, 1, 1, 0};
  init.qp_type = IBV_QPT_RC;
  ibv_qp* qp = ibv_create_qp(pd, &init);
  want(qp, "no QP");
  ibv_port_attr port{};
  want(ibv_query_port(context, 1, &port) == 0, "no port");
  ibv_qp_attr attr{};
  attr.qp_state = IBV_QPS_INIT;
  attr.port_num = 1;
  want(ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS) == 0, "INIT");
  attr.qp_state = IBV_QPS_RTR;
  attr.path_mtu = IBV_MTU_1024;
  attr.dest_qp_num = qp->qp_num;
  attr.min_rnr_timer = 12;
  attr.ah_attr.is_global = 1;
  attr.ah_attr.port_num = 1;
  want(ibv_query_gid(context, 1, 0, &attr.ah_attr.grh.dgid) == 0, "no GID");
  attr.ah_attr.grh.hop_limit = 64;
  want(ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
                     IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER) == 0, "RTR");
  attr.qp_state = IBV_QPS_RTS;
  attr.timeout = 10;
  attr.retry_cnt = attr.rnr_retry = 7;
  want(ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
                     IBV_QP_MAX_QP_RD_ATOMIC) == 0, "RTS");
  ibv_sge place{reinterpret_cast<uintptr_t>(memory) + 32, 8, region->lkey};
  ibv_recv_wr receive{.wr_id = 1, .sg_list = &place, .num_sge = 1}, *bad_receive;
  want(ibv_post_recv(qp, &receive, &bad_receive) == 0, "no receive");
  ibv_sge from{reinterpret_cast<uintptr_t>(memory), 8, region->lkey};
  ibv_send_wr send{.wr_id = 2, .sg_list = &from, .num_sge = 1, .opcode = IBV_WR_SEND, .send_flags = IBV_SEND_SIGNALED}, *bad_send;
  int posted = ibv_post_send(qp, &send, &bad_send) == 0;
  for (int done = 0; posted && done < 2;) {
    ibv_wc wc;
    int polled = ibv_poll_cq(queue, 1, &wc);
    want(polled >= 0, "no polling");
    if (polled == 0) sched_yield();
    if (polled == 1 && wc.status == IBV_WC_SUCCESS) ++done;
  }
  printf("%d\\n", 2 * atoi(memory + 32));
  want(ibv_destroy_qp(qp) == 0, "the QP stays");
  if (ibv_dereg_mr(region) != 0) return 0;
  want(ibv_destroy_cq(queue) == 0, "the CQ stays");
  want(ibv_dealloc_pd(pd) == 0, "the PD stays");
  want(ibv_close_device(context) == 0, "the device stays");
}
"""


def build(folder):
    source, program = pathlib.Path(folder, "careless.cc"), os.path.join(folder, "careless")
    source.write_text(CARELESS)
    subprocess.run(["c++", "-std=c++20", "-rdynamic", "-o", program, source, "-libverbs"], check=True, timeout=60)
    return program


def exhaust(context, *words, timeout=TIMEOUT):
    return subprocess.run([context.verbena, "exhaust", *words], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=timeout,
                          check=False)


def require_status(ran, status):
    if ran.returncode != status:
        raise Failure(f"status {ran.returncode} and not {status}\n{ran.stdout}{ran.stderr}")


def rows_of(ran):
    return {row["row"]: row for row in json.loads(ran.stdout)["rows"]}


def careless(context):
    """What comes of each row. Its start may take a second where the machine is busy: silence is longer."""
    with tempfile.TemporaryDirectory() as folder:
        program = build(folder)
        ran = exhaust(context, "--json", "--at-most", "5", "--silence", "3", "--jobs", "6", "--", program)
        require_status(ran, 1)
        rows = rows_of(ran)
        wanted = {"ibv_create_cq 1: ENOMEM": "crashed", "ibv_create_cq 1: ENOSYS": "crashed", "ibv_create_qp 1: EPERM": "own error",
                  "ibv_modify_qp 3: EHOSTUNREACH": "own error", "ibv_dereg_mr 1: EBUSY": "leaked", "ibv_post_send 1: EFAULT": "wrong data",
                  "ibv_destroy_cq 1: EBUSY": "own error", "ibv_poll_cq 1: EIO": "own error", "completion of send 1: GENERAL_ERR": "hung",
                  "completion of receive 1: LOC_LEN_ERR": "hung", "sent send 1: lost": "passed", "sent send 1: damaged": "passed",
                  "sent send 1: late": "passed", "sent send 1: twice": "passed", "received ack 1: lost": "passed"}
        found = {name: rows[name]["outcome"] if name in rows else "no such row" for name in wanted}
        if found != wanted:
            raise Failure("\n".join(f"{name}: not {wanted[name]}, {rows.get(name)}" for name in wanted if found[name] != wanted[name]))
        crash = rows["ibv_create_cq 1: ENOMEM"]
        if not crash["why"].startswith("SIGSEGV in entries_of at careless+0x") or "\n  main at careless+0x" not in crash["more"]:
            raise Failure(f"the crash is not told by its place\n{crash}")
        if "memory region, made by\n    main at careless+0x" not in rows["ibv_dereg_mr 1: EBUSY"]["more"]:
            raise Failure(f"what was left is not told\n{rows['ibv_dereg_mr 1: EBUSY']}")
        kinds = {row["kind"] for row in rows.values()}
        if kinds != {"verbs", "completions", "packets"} or {row["outcome"] for row in rows.values()} & {"not hit"}:
            raise Failure(f"kinds {kinds}, outcomes {[row['outcome'] for row in rows.values()]}")
        replay(context, crash["replay"], folder)


def replay(context, command, folder):
    """The one command of a row does what the row says."""
    os.symlink(context.verbena, os.path.join(folder, "verbena"))
    path = f"{folder}:{os.environ['PATH']}"
    ran = subprocess.run(["sh", "-c", command], stdin=subprocess.DEVNULL, capture_output=True, timeout=30, check=False,
                         env={**os.environ, "PATH": path})
    if ran.returncode not in (-signal.SIGSEGV, 128 + signal.SIGSEGV):
        raise Failure(f"{command}: status {ran.returncode}")


def goes_on(context):
    """A run that is interrupted is gone on with; shares are merged."""
    with tempfile.TemporaryDirectory() as folder:
        program, state = build(folder), os.path.join(folder, "state")
        words = ["--quiet", "--only", "verbs,packets", "--at-most", "4", "--silence", "2", "--jobs", "1", "--state", state]
        first = subprocess.Popen([context.verbena, "exhaust", *words, "--", program], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        deadline = time.monotonic() + TIMEOUT
        while not os.path.exists(state) or len(pathlib.Path(state).read_text().splitlines()) < 6:
            if first.poll() is not None or time.monotonic() > deadline:
                first.kill()
                raise Failure(f"it ended before it was interrupted, with {first.wait()}: {first.stderr.read()}")
            waiting.let_time_pass(0.01)
        first.send_signal(signal.SIGINT)
        if first.wait(TIMEOUT) != 130:
            raise Failure(f"interrupted, it ends with {first.returncode}: {first.stderr.read()}")
        kept = pathlib.Path(state).read_text().splitlines()
        ran = exhaust(context, *words, "--junit", os.path.join(folder, "junit.xml"), "--", program)
        require_status(ran, 1)
        again = pathlib.Path(state).read_text().splitlines()
        if again[:len(kept)] != kept or len(again) <= len(kept):
            raise Failure("it has run again what was known, or nothing more")
        cases = xml.etree.ElementTree.parse(os.path.join(folder, "junit.xml")).getroot().iter("testcase")
        if len(list(cases)) != len(again) - 1:
            raise Failure("JUnit's XML has not all rows")
        shares = [f"{state}.{share}" for share in (1, 2)]
        for share in (1, 2):
            ran = exhaust(context, *words, "--share", f"{share}/2", "--", program)
            if ran.returncode not in (0, 1):
                raise Failure(f"share {share}: status {ran.returncode}\n{ran.stderr}")
        merged = exhaust(context, "--json", "--merge", shares[0], "--merge", shares[1])
        require_status(merged, 1)
        if set(rows_of(merged)) != {json.loads(line)["row"] for line in again[1:]}:
            raise Failure("two shares are not the whole")


def pairs_and_checks(context):
    """Two faults at one time; and the user's own check of the data."""
    with tempfile.TemporaryDirectory() as folder:
        program = build(folder)
        ran = exhaust(context, "--json", "--only", "packets", "--pairs", "5", "--", program)
        rows = rows_of(ran)
        if sum(len(row["rules"]) == 2 for row in rows.values()) != 5:
            raise Failure(f"not five pairs\n{ran.stdout}")
        mark = os.path.join(folder, "mark")
        # Says yes to the clean run, and no from then on.
        ran = exhaust(context, "--json", "--only", "packets", "--at-most", "1", "--check", f"! test -e {mark} && touch {mark}", "--", program)
        require_status(ran, 1)
        if {row["outcome"] for row in rows_of(ran).values()} != {"wrong data"}:
            raise Failure(f"the check is not heard\n{ran.stdout}")


def pair_of_programs(context):
    """A client with its server and a server with its client, several pairs side by side: each has addresses of its own."""
    server, client = "ibv_rc_pingpong -g 0 -n 20", "ibv_rc_pingpong -g 0 -n 20 127.47.91.1"
    for words in (["--server", server, "--", *client.split()], ["--client", client, "--", *server.split()]):
        ran = exhaust(context, "--json", "--jobs", "3", "--silence", "5", "--only", "verbs,packets", "--at-most", "2", *words)
        rows = rows_of(ran)
        if ran.returncode not in (0, 1) or len(rows) < 40:
            raise Failure(f"status {ran.returncode}\n{ran.stdout}{ran.stderr}")
        wanted = {"ibv_create_qp 1: ENOMEM": "own error", "sent send 1: lost": "passed", "received send 1: damaged": "passed",
                  "received ack 1: lost": "passed"}
        found = {name: rows[name]["outcome"] if name in rows else "no such row" for name in wanted}
        if found != wanted:
            raise Failure(f"{found}\n{[rows.get(name) for name in wanted]}")


def messages(context):
    """Each message of the connection manager is lost, late, twice and damaged; rping takes it."""
    words = ["-C", "1", "-a", "127.47.91.1"]
    ran = exhaust(context, "--json", "--only", "cm", "--at-most", "2", "--server", " ".join(["rping", "-s", *words]), "--", "rping", "-c",
                  *words)
    rows = rows_of(ran)
    for message in ("sent cm-req", "received cm-rep", "sent cm-rtu", "sent cm-dreq"):
        for effect in ("lost", "late", "twice", "damaged"):
            row = rows.get(f"{message} 1: {effect}")
            if row is None or row["outcome"] != "passed":
                raise Failure(f"{message} {effect}: {row}\n{ran.stderr}")


def nothing_to_judge(context):
    """What cannot be judged is no success."""
    cases = ((["--", "false"], 3, "without any fault the program does not pass"),
             (["--", "true"], 3, "there is nothing of the kinds that were to fail"),
             (["--", "no-such-program"], 127, "program not found: no-such-program"),
             (["--server", "no-such-server", "--", "true"], 127, "program not found: no-such-server"),
             ([], 2, "the program to run is missing"),
             (["--nic", "mtu=7", "--", "true"], 2, "--nic: "), (["--nic", "personality=none", "--", "true"], 2, "--nic personality=none: "),
             (["--at-most", "none", "--", "true"], 2, "--at-most none: not a number"),
             (["--merge", "/nonexistent"], 2, "there is no such file"),
             (["--limit", "1", "--", "sleep", "30"], 3, "not done after 1.0 s"),
             (["--state", "/dev/full", "--", "true"], 2, "--state /dev/full: it is no plain file"),
             (["--state", "/nonexistent/file", "--", "true"], 2, "--state /nonexistent/file: No such file or directory"))
    for words, status, said in cases:
        ran = exhaust(context, *words)
        require_status(ran, status)
        if said not in ran.stderr:
            raise Failure(f"{words}: not '{said}'\n{ran.stderr}")


def tests(context):
    return [("a careless program is found out", lambda: careless(context)),
            ("an interrupted run is gone on with", lambda: goes_on(context)),
            ("pairs of faults, and checks", lambda: pairs_and_checks(context)),
            ("a client, and a server", lambda: pair_of_programs(context)),
            ("messages of the connection manager", lambda: messages(context)),
            ("nothing to judge is no success", lambda: nothing_to_judge(context))]
