"""Each policy of congestion control with live programs: two ib_write_bw share a slow port, and a ping-pong that compares what it receives.

What the policy is for is that the queue of that port stays short. The same without a policy must not hold, or the bound would say nothing.
"""
import json
import os
import re
import subprocess
import tempfile

import harness

SCENARIO = """name: congestion
clock: real
timeout: 60s
sample: 10ms
topology: {{shape: star, hosts: 3, link: {{rate: 100Mbps, delay: 5us, queue: 2MiB{link}}}}}
nic: {{window: 256KiB{nic}}}
workloads:
  - {{name: server-1, node: n3, exec: ib_write_bw -F -D 4 -s 16384 -u 18 -p {ports[0]}}}
  - {{name: server-2, node: n3, exec: ib_write_bw -F -D 4 -s 16384 -u 18 -p {ports[1]}}}
  - {{name: first, node: n1, exec: 'ib_write_bw -F -D 4 -s 16384 -u 18 -p {ports[0]} ${{n3}}', after: server-1}}
  - {{name: second, node: n2, exec: 'ib_write_bw -F -D 4 -s 16384 -u 18 -p {ports[1]} ${{n3}}', after: server-2}}
  - {{name: pong, node: n3, exec: ibv_rc_pingpong -g 0 -c -s 1024 -n 50 -p {ports[2]}, after: second}}
  - {{name: ping, node: n2, exec: 'ibv_rc_pingpong -g 0 -c -s 1024 -n 50 -p {ports[2]} ${{n3}}', after: pong}}
expect:
  # ibv_rc_pingpong waits 67 ms for an answer, and another program may have the core for as long.
  - {{counter: tx_retransmitted_packets, max: 20}}
  # Both windows are 512 KiB together, and lie there if nothing holds them back.
  - {{name: queue, queue: s1->n3, percentile: 75, from: 1500ms, until: 3500ms, max: 120KB}}
"""
# Papers have parameters for 40 Gb/s and round trips of some 50 us; here a queue of 100 KB is 8 ms.
POLICIES = {
    "dcqcn": (", ecn: {kmin: 5KB, kmax: 200KB, pmax: 1%}",
              ", dcqcn-timer: 5ms, dcqcn-alpha-timer: 5ms, dcqcn-min-rate: 1Mbps, dcqcn-additive-increase: 1Mbps, dcqcn-hyper-increase: 2Mbps"),
    "timely": ("", ", timely-t-low: 4ms, timely-t-high: 8ms, timely-min-rtt: 4ms, timely-additive-increase: 1Mbps, timely-min-rate: 10Mbps"),
    "swift": ("", ", swift-base-target: 3ms, swift-min-window: 1/1"),
    "dctcp": (", ecn: 30KB", ""),
    "hpcc": (", telemetry: true", ", hpcc-base-rtt: 3ms, hpcc-additive-increase: 1KB"),
}


# MiB/s of 11.2 that there are. It was 2 and more with every policy, and 0.6 among eight programs that spin.
LEAST = 0.2


def share(context, policy):
    """Runs the scenario. Returns the expectations that did not come true, and what is wrong beside, each a line."""
    link, nic = POLICIES.get(policy, ("", ""))
    with tempfile.TemporaryDirectory() as place:
        scenario, out = os.path.join(place, "congestion.yaml"), os.path.join(place, "out")
        with open(scenario, "w", encoding="utf-8") as file:
            file.write(SCENARIO.format(link=link, nic=f", congestion-control: {policy}{nic}", ports=[harness.free_port() for _ in range(3)]))
        done = subprocess.run([context.verbena, "run", "--quiet", scenario, "--out", out], stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, timeout=90, check=False)
        if done.returncode not in (0, 1):
            raise harness.Failure(f"verbena run ended with {done.returncode}: {done.stdout}{done.stderr}")
        with open(os.path.join(out, "summary.json"), encoding="utf-8") as file:
            summary = json.load(file)
        wrong = [f"{wanted['text']}: {wanted['observed']}" for wanted in summary["expectations"] if not wanted["held"]]
        if summary["end"] != "finished" or summary["checkers"]["reports"] != 0:
            wrong.append(f"{summary['end']}, the checkers: {summary['checkers']}")
        for name in ("first", "second"):
            with open(os.path.join(out, f"{name}.out"), encoding="utf-8") as file:
                row = re.search(r"^ *16384 +\d+ +[\d.]+ +([\d.]+)", file.read(), re.M)
            if not row or float(row.group(1)) < LEAST:
                wrong.append(f"{name}: {row and row.group(1)} MiB/s")
        return wrong


def keeps_the_queue_short(context, policy):
    if wrong := share(context, policy):
        raise harness.Failure("\n".join(wrong))


def nobody_keeps_it_short(context):
    wrong = share(context, "none")
    if len(wrong) != 1 or not wrong[0].startswith("queue"):
        raise harness.Failure(f"not a long queue alone is what a policy changes: {wrong}")


def tests(context):
    return [("without a policy: a long queue", lambda: nobody_keeps_it_short(context)),
            *((f"{policy}: a short queue", lambda policy=policy: keeps_the_queue_short(context, policy)) for policy in POLICIES)]
