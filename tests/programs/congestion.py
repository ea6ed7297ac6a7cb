"""Congestion control of programs that no fabric process stands between: marks come as a network's do, in the IP header's ECN bits.

A fault on the sender's link marks its packets. What is compared is the other end's answer, as tshark has it, and that the sender heeds it.
"""
import contextlib
import os
import re
import tempfile

import captures
import harness
import network

COUNT = 200
SIZE = 65536
MIN_RATE_MBPS = 200
ARGV = ["ib_write_bw", "-F", "-p", "{port}", "-u", "{timeout}", "-n", str(COUNT), "-s", str(SIZE), "-m", "1024"]
# Nothing but CNPs moves the rate: each halves it, and the least one is reached within a few windows, however late CNPs are on a busy machine.
DCQCN = (f"window={SIZE} congestion-control=dcqcn dcqcn-min-rate={MIN_RATE_MBPS}Mbps dcqcn-timer=10s dcqcn-alpha-timer=10s "
         "dcqcn-byte-counter=1GB")
FAULT = "mark opcode=write"  # each of them: the rate falls as far as it may
ACKNOWLEDGE = "infiniband.bth.opcode == 17"
CNP = "infiniband.bth.opcode == 129"
ECT = "ip.dsfield.ecn != 0"
BECN = "infiniband[4:1] == 40"  # of the octet behind the P_Key: FECN, BECN and six reserved bits (annex A17.9.3)


@contextlib.contextmanager
def done(context, policy, faults=(FAULT,)):
    """Server, client, and the client's capture, when both have ended."""
    with tempfile.TemporaryDirectory() as place:
        capture = os.path.join(place, "client.pcapng")
        common = {"stats": True, "extra": ("--nic", f"speed=10Gbps {policy}")}
        client_options = {**common, "faults": faults, "capture": capture}
        if context.link == "raw":
            with network.Network(context) as fabric:
                yield *network.pair(fabric, ARGV, common, client_options), capture
        else:
            with context.fabric() as fabric:
                pair = harness.Pair(fabric, ARGV, ARGV + ["{server}"], None, common, client_options).finish(60)
                yield pair.server, pair.client, capture


def require(holds, what, *programs):
    if not holds:
        raise harness.Failure(what + "\n" + "".join(program.describe() for program in programs))


def megabits_per_second(program):
    row = re.search(rf"^\s*{SIZE}\s+{COUNT}\s+[\d.]+\s+([\d.]+)", program.out, re.M)
    require(row, "there is no result", program)
    return float(row[1]) * 2**20 * 8 / 1e6


def dcqcn(context):
    with done(context, DCQCN) as (server, client, capture):
        sent, handled = server.counters().get("np_cnp_sent", 0), client.counters().get("rp_cnp_handled", 0)
        # The client may have left when the last one comes.
        require(0 < handled <= sent, f"{sent} CNPs sent, {handled} handled", server, client)
        seen = len(captures.tshark(capture, "-Y", CNP))
        require(seen == handled, f"tshark has {seen} CNPs, {handled} were handled", server, client)
        require(not captures.tshark(capture, "-Y", f"{CNP} && !({BECN})"), "CNPs without BECN", server)
        require(not captures.tshark(capture, "-Y", f"_ws.malformed || ({CNP} && {ECT})"), "CNPs that may be marked", server)
        rate = megabits_per_second(client)
        require(rate < 1.5 * MIN_RATE_MBPS, f"{rate:.0f} Mb/s, with {MIN_RATE_MBPS} as the least rate and a mark on each packet", client)


def dctcp(context):
    with done(context, "congestion-control=dctcp") as (server, client, capture):
        counters = server.counters()
        marked = counters.get("np_ecn_marked_roce_packets", 0)
        require(marked > 0 and counters.get("np_cnp_sent", 0) == 0, f"{marked} packets marked; CNPs are DCQCN's", server)
        acknowledges = captures.tshark(capture, "-Y", ACKNOWLEDGE)
        echoes = captures.tshark(capture, "-Y", f"{ACKNOWLEDGE} && {BECN}")
        require(echoes and len(echoes) == len(acknowledges), f"{len(echoes)} of {len(acknowledges)} acknowledgements have BECN", server, client)


def unmarked(context):
    """Without a policy packets do not say that they may be marked."""
    with done(context, "", faults=()) as (server, client, capture):
        require(captures.tshark(capture, "-Y", ACKNOWLEDGE), "nothing is acknowledged", server, client)
        seen = captures.tshark(capture, "-Y", f"{CNP} || {ECT} || (infiniband.bth && {BECN})")
        require(not seen, f"{len(seen)} packets of congestion control", server, client)


def tests(context):
    if context.link == "raw" and os.geteuid() != 0 and (reason := network.may_not(context)):
        return [(f"skipped: {reason}", lambda: None)]
    return [(name, lambda test=test: test(context)) for name, test in
            (("dcqcn answers marks with CNPs and slows down", dcqcn), ("dctcp's acknowledgements echo marks", dctcp),
             ("without a policy nothing is marked", unmarked))]
