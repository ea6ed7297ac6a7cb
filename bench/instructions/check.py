#!/usr/bin/env python3
"""What one packet costs in instructions, counted under callgrind and compared with baseline.json.

Instruction counts do not depend on how busy the machine is, so a small tolerance guards the packet path. Only Verbena's own
code is compared: which memcpy glibc takes and which CRC ISA-L takes depends on the CPU, and valgrind shows the program the
host's features up to AVX2 (never AVX-512), so what is spent in libraries is printed beside it and not judged. What can still
move the judged count is the compiler, the release flags, and a choice by CPU features in code of our own. There is one, the
CRC of less than 256 octets: valgrind shows PCLMULQDQ and never VPCLMULQDQ, so it is the same on every x86-64 that has AVX. A gain
beyond the tolerance fails as a loss does: record it, or the next loss hides behind it.

  check.py [--build DIR]                compares; exit status 1 when a count has left its tolerance
  check.py [--build DIR] --record       writes the baseline
  check.py [--build DIR] --top N [--only TEXT]   the N dearest functions of each case whose name has TEXT, by phase
"""
import argparse
import collections
import ctypes
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
BASELINE = os.path.join(HERE, "baseline.json")
TIMEOUT_S = 240
TOLERANCE = 0.05
TOLERANCE_OF_ANOTHER_COMPILER = 0.30  # counts of two compilers differ, but a loss by half is none of theirs
SLACK = 4.0  # instructions per packet that a phase may move, however short it is
PHASES = ("post", "transmit", "receive", "acknowledge", "complete", "replenish")
TOTAL = "total"


class Failure(Exception):
    """The counts could not be taken; the text says why, in one line."""


class Counts:
    """The outcome of one run: self instructions by case, phase and (object, function), of all packets together."""

    def __init__(self, program, compiler, flags, packets):
        self.program, self.compiler, self.flags, self.packets = program, compiler, flags, packets
        self.cases = {}  # name -> phase -> {(object, function): instructions}

    def is_own(self, place):
        return place[0] == self.program

    def per_packet(self, case, phase, own):
        functions = self.cases[case][phase]
        return sum(cost for place, cost in functions.items() if self.is_own(place) == own) / self.packets

    def own(self, case):
        """Phase -> instructions of our own per packet, and their sum."""
        figures = {phase: self.per_packet(case, phase, True) for phase in self.cases[case]}
        return {**figures, TOTAL: sum(figures.values())}

    def library(self, case):
        figures = {phase: self.per_packet(case, phase, False) for phase in self.cases[case]}
        return {**figures, TOTAL: sum(figures.values())}


def parse_dump(lines):
    """One callgrind dump: its label and {(object, function): self instructions}. The format is in callgrind's manual:
    names are given once and then by number, a line after `calls=` is the callee's and not ours."""
    label, place, is_callee = None, ["", ""], False
    names, costs = {"ob": {}, "fn": {}}, collections.Counter()

    def named(kind, text):
        number, name = re.fullmatch(r"\((\d+)\)(?: (.*))?", text).groups()
        if name is not None:
            names[kind][number] = name
        return names[kind][number]

    for line in lines:
        key, equals, value = line.rstrip("\n").partition("=")
        if line.startswith("desc: Trigger: Client Request: "):
            label = line.split(": ", 3)[3].strip()
        elif equals and key in ("ob", "cob"):
            name = named("ob", value)
            place[0] = name if key == "ob" else place[0]
        elif equals and key in ("fn", "cfn"):
            name = named("fn", value)
            place[1] = name if key == "fn" else place[1]
        elif equals and key == "calls":
            is_callee = True
        elif re.match(r"[+\-*\d]", line):
            if not is_callee:
                costs[tuple(place)] += int(line.split()[1])
            is_callee = False
    return label, costs


def _die_with_parent():
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG


def take_counts(build):
    program = os.path.realpath(os.path.join(build, "bench", "packet_cost"))
    valgrind = shutil.which("valgrind")
    if valgrind is None:
        raise Failure("valgrind is not installed; `scripts/setup.sh test` installs it")
    if not os.path.exists(program):
        raise Failure(f"{program} is not built; it needs valgrind's header when CMake configures")
    with tempfile.TemporaryDirectory(prefix="verbena-instructions-") as folder:
        argv = [valgrind, "--tool=callgrind", "--instr-atstart=no", "--collect-atstart=no", "--compress-pos=no",
                "--vgdb=no", f"--callgrind-out-file={folder}/dump", program]
        try:
            # Nothing of the user's environment or folder: both could hold other options for valgrind.
            environment = {"LC_ALL": "C", "TMPDIR": folder, "VERBENA_TEST_RUN": os.environ.get("VERBENA_TEST_RUN", "")}
            done = subprocess.run(argv, cwd=folder, env=environment, stdin=subprocess.DEVNULL, capture_output=True,
                                  text=True, timeout=TIMEOUT_S, preexec_fn=_die_with_parent)
        except subprocess.TimeoutExpired as late:
            raise Failure(f"{program} under callgrind did not end within {TIMEOUT_S} s") from late
        if done.returncode != 0:
            raise Failure(f"{program} under callgrind ended with {done.returncode}:\n{done.stdout}{done.stderr}".rstrip())
        told = dict(re.findall(r"^(compiler|flags|packets) (.*)$", done.stdout, re.M))
        counts = Counts(program, told["compiler"], told["flags"], int(told["packets"]))
        for name in sorted(os.listdir(folder)):
            with open(os.path.join(folder, name), encoding="utf-8") as file:
                label, functions = parse_dump(file)
            if label is not None:
                case, phase = label.rsplit(" ", 1)
                counts.cases.setdefault(case, {})[phase] = functions
    if counts.flags == "unoptimised" or not counts.cases or any(not counts.own(case)[TOTAL] for case in counts.cases):
        raise Failure(f"{program} gives no counts that mean anything (flags: {counts.flags})")
    return counts


def order(cases):
    return sorted(cases, key=lambda case: (case.split()[2] == "batch", case.split()[0] == "send", -int(case.split()[1])))


def figures_of(counts):
    return {case: {phase: round(figure, 1) for phase, figure in counts.own(case).items()} for case in order(counts.cases)}


def record(counts):
    recorded = {"compiler": counts.compiler, "flags": counts.flags, "instructions_per_packet": figures_of(counts)}
    with open(BASELINE, "w", encoding="utf-8") as file:
        json.dump(recorded, file, indent=2)
        file.write("\n")


def same_compiler(told, recorded):
    """The same one up to the minor version ("g++ 12.2.0")."""
    def major(text):
        return re.match(r"\S+ (?:\D* )?\d+", text).group(0)
    return major(told) == major(recorded)


def leaves_tolerance(phase, figure, baseline, tolerance):
    slack = 0.0 if phase == TOTAL else SLACK
    return abs(figure - baseline) > max(tolerance * baseline, slack)


def compare(counts, recorded, tolerance):
    """Prints the table; the offences."""
    baseline, offences = recorded["instructions_per_packet"], []
    figures = figures_of(counts)
    offences += [f"{case}: in the baseline and not measured" for case in baseline if case not in figures]
    print(f"{'operation':9} {'bytes':>5} {'posted':6} {'phase':12} {'instructions':>12} {'baseline':>9} {'difference':>10} "
          f"{'in libraries':>13}")
    for case, phases in figures.items():
        library = counts.library(case)
        operation, size, posted = case.split()
        offences += [f"{case} {phase}: in the baseline and not measured" for phase in baseline.get(case, {}) if phase not in phases]
        for phase in (name for name in (*PHASES, TOTAL) if name in phases):
            figure, before = phases[phase], baseline.get(case, {}).get(phase)
            row = f"{operation:9} {size:>5} {posted:6} {phase:12} {figure:12.1f}"
            if before is None:
                offences.append(f"{case} {phase}: not in the baseline")
                print(f"{row} {'-':>9} {'-':>10} {library[phase]:13.1f}")
                continue
            is_off = leaves_tolerance(phase, figure, before, tolerance)
            if is_off:
                offences.append(f"{case} {phase}: {figure:.1f} instructions per packet instead of {before:.1f}")
            print(f"{row} {before:9.1f} {(figure / before - 1) * 100 if before else 0.0:+9.1f}% {library[phase]:13.1f}"
                  f"{'  <--' if is_off else ''}")
    return offences


def print_top(counts, number, only):
    for case in order(case for case in counts.cases if only in case):
        phases = [phase for phase in PHASES if phase in counts.cases[case]]
        totals = collections.Counter()
        for phase in phases:
            totals.update(counts.cases[case][phase])
        print(f"\n{case}: self instructions per packet")
        print("".join(f"{phase:>12}" for phase in ("all", *phases)) + "  function")
        whole = [sum(totals.values())] + [sum(counts.cases[case][phase].values()) for phase in phases]
        rows = [(whole, "(everything)")]
        for place, cost in totals.most_common(number):
            where = "" if counts.is_own(place) else f"  [{os.path.basename(place[0])}]"
            rows.append(([cost] + [counts.cases[case][phase][place] for phase in phases], place[1] + where))
        for costs, name in rows:
            print("".join(f"{cost / counts.packets:12.1f}" for cost in costs) + f"  {name[:150]}")


def check(counts):
    try:
        with open(BASELINE, encoding="utf-8") as file:
            recorded = json.load(file)
    except FileNotFoundError as missing:
        raise Failure(f"{BASELINE} is not there; --record writes it") from missing
    tolerance = TOLERANCE
    if not same_compiler(counts.compiler, recorded["compiler"]) or counts.flags != recorded["flags"]:
        tolerance = TOLERANCE_OF_ANOTHER_COMPILER
        print(f"note: the baseline is of {recorded['compiler']} {recorded['flags']}, this is {counts.compiler} {counts.flags}: "
              f"the tolerance is {tolerance:.0%} instead of {TOLERANCE:.0%}")
    offences = compare(counts, recorded, tolerance)
    for offence in offences:
        print(f"check: {offence}", file=sys.stderr)
    if offences:
        print(f"check: {len(offences)} counts have left the tolerance of {tolerance:.0%}; if that is meant: "
              f"{os.path.relpath(os.path.abspath(__file__))} --record", file=sys.stderr)
    return 1 if offences else 0


def main():
    parser = argparse.ArgumentParser(description="instructions per packet, compared with a baseline")
    parser.add_argument("--build", default=os.path.join(ROOT, "build"), help="the release build (build/)")
    parser.add_argument("--record", action="store_true", help="write the baseline")
    parser.add_argument("--top", type=int, metavar="N", help="print the N dearest functions of each case instead")
    parser.add_argument("--only", default="", metavar="TEXT", help="with --top: the cases whose name has TEXT")
    options = parser.parse_args()
    try:
        counts = take_counts(options.build)
        if options.top is not None:
            print_top(counts, options.top, options.only)
            return 0
        if options.record:
            record(counts)
        return check(counts)
    except Failure as failure:
        print(f"check: {failure}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
