"""Tools for which rdma_cm is one way to connect among others: perftest -R, fio. (qperf: qperf.py.)"""
import time

import harness
import matrix
import rdma_cm
from rdma_cm import LOSS, TIMEOUT, Case, require, require_words

# perftest -R makes two connections: over the first the ends tell each other their parameters, and whoever has the other's
# last word goes on to the second. When the acknowledgement of that word is lost the other one does not listen yet, and the
# client does not survive the refusal, on hardware too. So acknowledgements may be lost on the second connection only.
PERFTEST_LOSS = (*(f"drop 2% opcode={kind}" for kind in ("cm", "data", "read", "atomic", "atomic-response")),
                 "reorder by=3 1%")
ACK_LOSS = "drop 2% opcode=ack qp=1-9"


def perftest(tool, *options, reliable=True):
    argv = [tool, "-F", "-R", "-n", "100", *options]
    ack_loss = ACK_LOSS + (" psn=0-89" if harness.ends_without_a_word(tool) else "")
    return Case(" ".join([tool, "-R", *options]), argv, argv + ["{server}"], 18515, says="(?m)" + matrix.PERFTEST_ROW, reliable=reliable,
                loss=(*PERFTEST_LOSS, ack_loss))


def perftests():
    for verb in ("write", "read", "send", "atomic"):
        yield perftest(f"ib_{verb}_bw")
        yield perftest(f"ib_{verb}_lat")
    for options in (["-b"], ["-q", "4"], ["-e"], ["-T", "96"]):
        yield perftest("ib_send_bw", *options)
    for tool in ("ib_send_bw", "ib_send_lat"):
        yield perftest(tool, "-c", "UD", reliable=False)


FIO = ["fio", "--name=g", "--ioengine=rdma", "--port=20333", "--bs=64k", "--size=4m", "--verify_state_save=0"]
# It asks for no RNR retries, and its sender does not wait for the receiver: that one must have posted for all that comes.
DEPTH_OF_RECEIVER, DEPTH_OF_SENDER = "--iodepth=128", "--iodepth=4"
# A receiver of SENDs leaves when it has all 1,024 packets, with no word to the sender, who fails if the last acknowledgement was
# lost, on hardware too: those of the last four messages are spared. (What is reordered waits for others behind it.)
# The sender pauses for half a second after the receiver's reply, in which that one, once its reply is acknowledged, posts its
# receives. Its ACK timer takes 537 ms: the sender's only acknowledgement is spared as well.
SENDER_LOSS = ("drop 2% opcode=cm", "drop 2% opcode=data", "reorder by=3 1% opcode=data")
RECEIVER_LOSS = ("drop 2% opcode=cm", "drop 2% opcode=ack psn=0-959", "reorder by=3 1% opcode=ack psn=0-959")


def fio(context, verb):
    """fio's rdma engine. What is sent is verified by the receiver; what is written or read comes without its notice."""
    checked = ["--verify=crc32c"] if verb == "send" else []
    case = Case("fio", FIO + [DEPTH_OF_RECEIVER, "--rw=read", *checked],
                FIO + [DEPTH_OF_SENDER, "--rw=write", f"--verb={verb}", "--do_verify=0", "--hostname={server}", *checked], 20333)
    with context.fabric() as fabric:
        spared = context.faults and verb == "send"
        server = rdma_cm.start_server(fabric, case, faults=RECEIVER_LOSS if spared else context.faults, seed=1)
        client = rdma_cm.start_client(fabric, case, faults=SENDER_LOSS if spared else context.faults, seed=2)
        for program in (client, server):
            require(program, 0, time.monotonic() + TIMEOUT, also=(server,))
            require_words(program, r"err= 0")
        require_words(client, r"WRITE: .*io=4096KiB")


def tests(context):
    return rdma_cm.named(context, perftests()) + [(f"fio {verb}", lambda verb=verb: fio(context, verb)) for verb in ("write", "read", "send")]
