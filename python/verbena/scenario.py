"""Scenarios: one call runs a file (or a dict) to its verdicts, under virtual time or with real programs.

What a scenario says is in scenarios/README.md; what came of it is the command's JSON.
"""
from __future__ import annotations

import json
import os
import shlex
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Dict, List, Mapping, Optional, Tuple, Union

from .command import Word, ask, find_command
from .errors import NotHeld

EXIT_NOT_HELD = 1
EXIT_INTERRUPTED = 130


@dataclass(frozen=True)
class Expectation:
    """One line below `expect:`, or what every run is held against."""

    text: str
    line: int  # of the file; 0: it stands in none
    held: bool
    observed: str
    name: str = ""  # as `name:` gives it
    value: Optional[float] = None  # bits a second, nanoseconds, octets, or how many; None: it has none


@dataclass(frozen=True)
class ScenarioRun:
    """What came of one run."""

    name: str
    seed: int
    held: bool  # all of it: expectations, checkers, programs
    end: str  # "finished", "timed_out"
    elapsed_ns: int
    trace_hash: str  # of the same scenario and seed the same, under virtual time
    expect: Tuple[Expectation, ...]
    workloads: Mapping[str, Mapping[str, Any]]  # by name: "octets", "completions", "latency_ns", "by_size", ...
    programs: Mapping[str, Mapping[str, Any]]  # under the real clock, by name: "status", "held", "text"
    faults: Tuple[Mapping[str, Any], ...]  # "text", "time_ns", "packets_hit", "hits"
    packets: Mapping[str, int]  # "arrivals", "lost", "overflowed", "vanished"
    report: str  # for people
    summary: Mapping[str, Any]  # all that the command's JSON says
    replay: str = ""  # the command that runs it again, with its seed
    folder: Optional[str] = None  # captures and the rest: `out`, or where a dict's failure was kept

    def check(self) -> "ScenarioRun":
        """Itself, if all of it held. Raises NotHeld, with the report, the command that replays it and its captures."""
        if not self.held:
            captures = f"\ncaptures: {self.folder}" if self.folder else ""
            raise NotHeld(f"{self.report}\nreplay: {self.replay}{captures}")
        return self


def _by_name(rows: List[Dict[str, Any]]) -> Dict[str, Dict[str, Any]]:
    return {str(row["name"]): row for row in rows}


def _run_of(summary: Dict[str, Any], report: str, replay: str, folder: Optional[str]) -> ScenarioRun:
    return ScenarioRun(
        summary["scenario"],
        summary["seed"],
        summary["held"],
        summary["end"],
        summary["elapsed_ns"],
        summary["trace_hash"],
        tuple(Expectation(**one) for one in summary["expectations"]),
        _by_name(summary["workloads"]),
        _by_name(summary["programs"]),
        tuple(summary["faults"]),
        summary["packets"],
        report,
        summary,
        replay,
        folder,
    )


def run(
    scenario: Union[Word, Mapping[str, Any]],
    *,
    seed: Optional[int] = None,
    out: Optional[Word] = None,
    timeout: Optional[float] = None,
) -> ScenarioRun:
    """Runs a scenario: a file's path, or what would stand in one, as a dict.

    `seed` in place of the file's; `out`: a folder for captures, counters over time and the event trace; `timeout` in
    seconds of this machine's clock (subprocess.TimeoutExpired). Raises CommandError for a scenario that is wrong; one
    whose expectations do not hold is no error: see ScenarioRun.held and check(). A dict that does not hold is kept as
    scenario.yaml in a new folder verbena-failed.* of the temporary ones, with its captures below out/ (unless `out`
    says where): ScenarioRun.folder and .replay name them.
    """
    with tempfile.TemporaryDirectory(prefix="verbena-python.") as folder:
        path, recorded = _placed(scenario, folder, out)
        summary, done = _run_once(path, folder, seed, recorded, timeout)
        if not isinstance(scenario, Mapping) or summary["held"]:
            return _run_of(summary, done, _replay(path, summary["seed"]), None if out is None else os.fspath(out))
        kept = tempfile.mkdtemp(prefix="verbena-failed.")
        path = shutil.copy(path, kept)
        if out is None:
            below = os.path.join(kept, "out")
            if recorded is None:  # under virtual time the same seed is the same run, so it is recorded now
                _run_once(path, folder, summary["seed"], below, timeout)
            else:
                shutil.move(recorded, below)
            out = below
        return _run_of(summary, done, _replay(path, summary["seed"]), os.fspath(out))


def _placed(scenario: Union[Word, Mapping[str, Any]], folder: str, out: Optional[Word]) -> Tuple[str, Optional[str]]:
    """The scenario's file, and the folder that its first run records in. Real programs do not repeat themselves, so
    those of a dict are recorded at once.
    """
    recorded = None if out is None else os.fspath(out)
    if not isinstance(scenario, Mapping):
        return os.fspath(scenario), recorded
    path = os.path.join(folder, "scenario.yaml")  # JSON is YAML
    Path(path).write_text(json.dumps(scenario), encoding="utf-8")
    if recorded is None and scenario.get("clock") == "real":
        recorded = os.path.join(folder, "out")
    return path, recorded


def _run_once(
    path: str, folder: str, seed: Optional[int], out: Optional[str], timeout: Optional[float]
) -> Tuple[Dict[str, Any], str]:
    """The command's JSON, and its report."""
    summary = os.path.join(folder, "summary.json")
    words = ["run", "--json", summary]
    words += [] if seed is None else ["--seed", str(seed)]
    words += [] if out is None else ["--out", out]
    done = ask([*words, path], accept=(0, EXIT_NOT_HELD, EXIT_INTERRUPTED), timeout=timeout)
    if done.returncode == EXIT_INTERRUPTED:
        raise KeyboardInterrupt
    return json.loads(Path(summary).read_text(encoding="utf-8")), done.stdout


def _replay(path: str, seed: int) -> str:
    return shlex.join([find_command(), "run", path, "--seed", str(seed)])
