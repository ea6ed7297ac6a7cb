"""Pause frames as a foreign dissector has them: tshark reads those that switches and NICs put on the cables of a scenario.

What is compared is what the settings want: the classes, the times, and that each end of a pause is told; the addresses are those of the
standard, or tshark complains.
"""
import os
import subprocess
import tempfile

import captures
import harness

SCENARIO = """name: pauses
timeout: 1s
payload: false
topology: {{shape: star, hosts: 4, link: {{rate: 10Gbps}}, qos: {{{qos}, buffer: 400KB, xoff: 30KB, pause-quanta: 1000}}}}
nic: {{mtu: 1024, dscp: 26}}
workloads:
  - {{name: w, verb: write, pattern: incast, from: [n1, n2], to: n3, size: 256KiB, count: 4, depth: 4}}
faults: [{{pause-storm: n4, class: 3, at: 10us, for: 100us}}]
"""


def pauses(context, qos, *fields):
    """The pause frames on n1's and n4's cables: (source, then the fields), each a text."""
    with tempfile.TemporaryDirectory() as place:
        scenario = os.path.join(place, "pauses.yaml")
        with open(scenario, "w", encoding="utf-8") as file:
            file.write(SCENARIO.format(qos=qos))
        out = os.path.join(place, "out")
        done = subprocess.run([context.verbena, "run", "--quiet", scenario, "--out", out], stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, timeout=60, check=False)
        if done.returncode != 0:
            raise harness.Failure(f"verbena run ended with {done.returncode}: {done.stdout}{done.stderr}")
        seen = []
        for cable in ("n1-s1", "n4-s1"):
            path = os.path.join(out, f"{cable}.pcapng")
            bad = captures.tshark(path, "-Y", f"macc && (_ws.malformed || _ws.expert.severity >= {captures.EXPERT_ERROR} || "
                                  "macc.dst_address_invalid || macc.cbfc.enbv.not_zero)")
            if bad:
                raise harness.Failure(f"tshark complains of pause frames on {cable}\n" + "\n".join(bad[:5]))
            options = [word for field in fields for word in ("-e", field)]
            lines = captures.tshark(path, "-Y", "macc", "-T", "fields", *options)
            seen.append([tuple(line.split("\t")) for line in lines])
        return seen


def number(text):
    return int(text, 0)


def by_class(context):
    fields = ("macc.opcode", "macc.cbfc.enbv", *(f"macc.cbfc.pause_time.c{i}" for i in range(8)))
    to_sender, of_storm = pauses(context, "lossless: 3", *fields)
    for where, frames, least in (("n1-s1", to_sender, 4), ("n4-s1", of_storm, 3)):
        if len(frames) < least:
            raise harness.Failure(f"{len(frames)} pause frames on {where}, not {least} at least")
        for opcode, vector, *times in frames:
            if (number(opcode), number(vector)) != (0x0101, 1 << 3):
                raise harness.Failure(f"opcode {opcode} with the classes {vector} on {where}")
            if any(number(time) for i, time in enumerate(times) if i != 3) or number(times[3]) not in (0, 1000):
                raise harness.Failure(f"the times of a pause frame on {where} are {times}")
        if number(frames[0][5]) != 1000 or number(frames[-1][5]) != 0:
            raise harness.Failure(f"the pauses on {where} do not begin with one and end with its end")


def of_the_port(context):
    to_sender, of_storm = pauses(context, "lossless: all, pause: global", "macc.opcode", "macc.pause_time")
    for where, frames in (("n1-s1", to_sender), ("n4-s1", of_storm)):
        times = [number(time) for _, time in frames]
        if len(frames) < 3 or any(number(opcode) != 0x0001 for opcode, _ in frames):
            raise harness.Failure(f"no PAUSE, or something else, on {where}: {frames[:5]}")
        if set(times) != {0, 1000} or times[0] != 1000 or times[-1] != 0:
            raise harness.Failure(f"the times on {where} are {times[:10]}")


def tests(context):
    return [("priority-based flow control (802.1Qbb)", lambda: by_class(context)), ("PAUSE (802.3x)", lambda: of_the_port(context))]
