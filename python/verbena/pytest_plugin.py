"""The pytest plugin: a fabric for a test, faults and seeds by a mark, and a report of what went on when it fails.

Fixtures: verbena_fabric, verbena_seed. Mark: verbena(nodes=2, topology="star", faults=[...], seeds=20, ...), on tests,
classes and modules; the nearest says what the others leave open. Everything else is fabric.py's.
"""
# Tested by: python/tests/test_plugin.py
from __future__ import annotations

import inspect
import os
import shlex
import shutil
from pathlib import Path
from typing import Any, Dict, Generator, Iterator, List, Optional, Sequence, Tuple

import pytest

from .errors import VerbenaError, ended_text
from .fabric import Fabric

SEED_DEFAULT = 1
OPTION = "--verbena-seed"
LINES_SHOWN = 60  # of an explained capture, its last
# What the mark takes, besides seed and seeds: what Fabric takes.
FABRIC_ARGUMENTS = tuple(name for name in inspect.signature(Fabric.__init__).parameters if name not in ("self", "seed"))
_FABRIC: "pytest.StashKey[Fabric]" = pytest.StashKey()


def pytest_addoption(parser: pytest.Parser) -> None:
    """--verbena-seed and --verbena-keep."""
    group = parser.getgroup("verbena", "programs on emulated RDMA NICs")
    group.addoption(
        OPTION, type=int, metavar="N", help="run tests that use verbena_seed or verbena_fabric with this seed only"
    )
    group.addoption("--verbena-keep", metavar="DIR", help="copy the captures of tests that fail to DIR")


def pytest_configure(config: pytest.Config) -> None:
    """The mark is known."""
    config.addinivalue_line(
        "markers",
        "verbena(nodes=2, topology='star', faults=[], seeds=None, seed=None, capture=True, ...): the "
        "fabric of verbena_fabric; seeds=20: once with each seed from 1 to 20, or with those of a list",
    )


def marked(node: Any) -> Dict[str, Any]:
    """What the marks of a test say. Raises UsageError for what no mark takes."""
    said: Dict[str, Any] = {}
    for mark in reversed(list(node.iter_markers("verbena"))):
        unknown = sorted(set(mark.kwargs) - {"seed", "seeds", *FABRIC_ARGUMENTS})
        if mark.args or unknown:
            what = f"an argument without a name: {mark.args[0]!r}" if mark.args else f"'{unknown[0]}'"
            raise pytest.UsageError(
                f"{node.nodeid}: the mark verbena does not take {what}; "
                f"it takes seed, seeds, {', '.join(FABRIC_ARGUMENTS)}"
            )
        said.update(mark.kwargs)
    return said


def _seeds(said: Dict[str, Any], option: Optional[int], where: str) -> Sequence[int]:
    seeds = said.get("seeds")
    if seeds is None:
        return []
    if option is not None:
        return [option]
    if "seed" in said:
        raise pytest.UsageError(f"{where}: the mark verbena has seed= and seeds=: one of them")
    if isinstance(seeds, int) and seeds < 1 or not seeds:
        raise pytest.UsageError(f"{where}: seeds={seeds!r} of the mark verbena would run nothing")
    return range(SEED_DEFAULT, SEED_DEFAULT + seeds) if isinstance(seeds, int) else [int(seed) for seed in seeds]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """seeds= makes a test of each seed."""
    said = marked(metafunc.definition)
    if "verbena_seed" not in metafunc.fixturenames:
        if said and metafunc.definition.get_closest_marker("verbena") in metafunc.definition.own_markers:
            raise pytest.UsageError(
                f"{metafunc.definition.nodeid}: has the mark verbena, but takes neither verbena_fabric nor verbena_seed"
            )
        return
    seeds = _seeds(said, metafunc.config.getoption(OPTION), metafunc.definition.nodeid)
    if seeds:
        metafunc.parametrize("verbena_seed", seeds, indirect=True, ids=[f"seed{seed}" for seed in seeds])


@pytest.fixture
def verbena_seed(request: pytest.FixtureRequest) -> int:
    """The seed of this run: of the mark's seeds=, else --verbena-seed, else the mark's seed=, else 1."""
    if hasattr(request, "param"):
        return int(request.param)
    option = request.config.getoption(OPTION)
    return int(option if option is not None else marked(request.node).get("seed", SEED_DEFAULT))


@pytest.fixture
def verbena_fabric(
    request: pytest.FixtureRequest, verbena_seed: int
) -> Iterator[Fabric]:  # pylint: disable=redefined-outer-name
    """A Fabric as the mark says, with captures (capture=False: without). It ends with the test."""
    arguments = {name: value for name, value in marked(request.node).items() if name in FABRIC_ARGUMENTS}
    arguments.setdefault("capture", True)
    with Fabric(seed=verbena_seed, **arguments) as fabric:
        request.node.stash[_FABRIC] = fabric
        yield fabric
    del request.node.stash[_FABRIC]


# -- The report of a failure -----------------------------------------------------------------------------------------


def _counters_text(fabric: Fabric) -> str:
    return "\n".join(
        f"{node.name} {node.address}\n"
        + "".join(f"  {line}\n" for line in str(node.counters()).splitlines() or ["nothing"])
        for node in fabric.nodes
    )


def _programs_text(fabric: Fabric) -> str:
    def how(status: Optional[int]) -> str:
        return "was still running, and was ended" if status is None else ended_text(status)

    return "\n".join(f"{program.node.name}: {program.title}: {how(program.poll())}" for program in fabric.programs)


def _faults_text(fabric: Fabric) -> str:
    lines = [f"{text}  (each program)" for text in fabric.packet_faults]
    return "\n".join(lines + [f"{fault.text}{'' if fault.is_active else '  (ended)'}" for fault in fabric.faults])


def _capture_texts(fabric: Fabric, keep: Optional[str], name: str) -> Iterator[str]:
    for number, program in enumerate(fabric.programs, 1):
        if program.capture is None:
            continue
        kept = ""
        if keep:
            os.makedirs(keep, exist_ok=True)
            kept = os.path.join(keep, f"{name}-{number}-{program.node.name}.pcapng")
            shutil.copyfile(program.capture, kept)
        lines = program.capture.explain(only_problems=True, width=110).splitlines()
        left_out = [f"... {len(lines) - LINES_SHOWN} lines before"] if len(lines) > LINES_SHOWN else []
        yield "\n".join(
            [
                f"{program.node.name}: {program.title}{'  ' if kept else ''}{kept}",
                *left_out,
                *lines[-LINES_SHOWN:],
                "",
            ]
        )


def replay_command(item: pytest.Item, seed: int) -> str:
    """What runs this one again, with its seed, from where pytest was started."""
    path, colons, rest = item.nodeid.partition("::")
    place = os.path.relpath(item.config.rootpath / path, item.config.invocation_params.dir)
    return shlex.join(["pytest", OPTION, str(seed), place + colons + rest])


def _sections(item: pytest.Item, fabric: Fabric) -> Iterator[Tuple[str, str]]:
    keep = item.config.getoption("--verbena-keep")
    name = "".join(letter if letter.isalnum() else "_" for letter in item.nodeid)
    yield "faults", _faults_text(fabric)
    yield "programs", _programs_text(fabric)
    yield "counters", _counters_text(fabric)
    fabric.end_programs()  # only then are captures whole
    yield "captures", "\n".join(_capture_texts(fabric, str(Path(keep).absolute()) if keep else None, name))


@pytest.hookimpl(hookwrapper=True)  # type: ignore[misc]  # pytest 7.2 has it without types
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, Any, None]:
    """A failure says what its fabric did."""
    outcome = yield
    report = outcome.get_result()
    fabric = item.stash.get(_FABRIC, None)
    seed = getattr(item, "funcargs", {}).get("verbena_seed") if fabric is None else fabric.seed
    if not report.failed or seed is None:
        return
    sections = [("replay", replay_command(item, seed))]
    try:
        if fabric is not None:
            sections += [(title, text) for title, text in _sections(item, fabric) if text]
    except (VerbenaError, OSError) as error:  # the test's own failure is what matters
        sections.append(("report", f"cut short: {error}"))
    report.sections.extend((f"verbena: {title}", text) for title, text in sections)
