"""Scenarios from Python: worlds under virtual time, and real programs."""
import os
import subprocess
import tempfile

import pytest

from verbena import CommandError, NotHeld, VerbenaError, run

SCENARIOS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "scenarios")
WORLD = {
    "name": "pair",
    "topology": {"shape": "star", "hosts": 2},
    "workloads": [{"name": "writes", "verb": "write", "from": "n1", "to": "n2", "size": "64KiB", "count": 20}],
    "faults": [{"packet": "drop 1%", "link": "n1-s1"}],
    "expect": [{"completions": "writes", "is": 20}],
}


def test_a_file_runs_and_its_expectations_are_values():
    done = run(os.path.join(SCENARIOS, "topology-ring-link.yaml"), seed=7)
    assert done.held and done.check() is done and done.seed == 7 and done.end == "finished"
    assert (
        done.expect[1].text == "survivors exchange, is 12"
        and done.expect[1].observed == "12 of 12"
        and done.expect[1].held
    )
    assert done.workloads["exchange"]["completions"]["SUCCESS"]["number"] == 4800
    assert done.faults[0]["text"] == "link-down s1-s2" and done.packets["arrivals"] > 100000
    assert "held      data-intact" in done.report


def test_a_world_stands_in_the_program_and_repeats_with_its_seed():
    runs = [run(WORLD, seed=seed) for seed in (3, 3, 4)]
    assert all(one.held for one in runs)
    assert runs[0].trace_hash == runs[1].trace_hash != runs[2].trace_hash
    assert runs[0].packets["lost"] > 0


def test_flows_of_a_distribution_are_known_by_size():
    flows = {"name": "web", "verb": "write", "from": "n1", "to": "n2", "load": "40%", "count": 200}
    sizes = {"cdf": [["1KB", "0%"], ["2KB", "50%"], ["90KB", "100%"]]}
    wanted = {"slowdown": "web", "size-from": 2001, "percentile": 99, "min": 1, "name": "long"}
    done = run({"topology": WORLD["topology"], "workloads": [{**flows, "size": sizes}], "expect": [wanted]})
    short, long = done.workloads["web"]["by_size"]
    assert (short["octets_most"], long["octets_most"]) == (2000, 90000)
    assert short["slowdown"]["count"] + long["slowdown"]["count"] == 200
    assert done.expect[0].value == long["slowdown"]["p99"]


def _succeeds(command):
    return subprocess.run(command, shell=True, stdout=subprocess.DEVNULL, timeout=120, check=False).returncode == 0


def test_failing_dict_is_kept_with_its_captures_and_replayed(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    held = run(WORLD, seed=3)
    assert held.held and held.folder is None and not list(tmp_path.glob("verbena-failed.*"))
    done = run({**WORLD, "expect": [{"completions": "writes", "is": 21}]}, seed=3)
    assert done.folder is not None and done.trace_hash == held.trace_hash
    assert any(name.endswith(".pcapng") for name in os.listdir(done.folder))
    assert "--seed 3" in done.replay and not _succeeds(done.replay)
    with pytest.raises(NotHeld) as failed:
        done.check()
    assert done.replay in str(failed.value) and f"captures: {done.folder}" in str(failed.value)


def test_real_programs_of_a_failing_dict_leave_their_captures(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    done = run(
        {
            "clock": "real",
            "topology": WORLD["topology"],
            "workloads": [{"name": "fails", "node": "n1", "exec": "ibv_devinfo -d no-such-device"}],
        }
    )
    assert not done.held and done.folder is not None and os.path.isdir(done.folder)
    assert [path.name for path in tmp_path.iterdir()] == [os.path.basename(os.path.dirname(done.folder))]


def test_what_does_not_hold_is_no_error_until_it_is_checked(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    done = run({**WORLD, "expect": [{"completions": "writes", "is": 21}]})
    assert not done.held and [one.held for one in done.expect if one.line] == [False]
    with pytest.raises(NotHeld, match="20") as failed:
        done.check()
    assert isinstance(failed.value, AssertionError)


def test_files_of_a_run_are_left_where_they_are_wanted(tmp_path):
    done = run(WORLD, out=tmp_path / "out")
    assert done.held and {"summary.json"} < {path.name for path in (tmp_path / "out").iterdir()}


def test_real_programs_run(tmp_path):
    done = run(
        {
            "name": "real",
            "clock": "real",
            "timeout": "20s",
            "topology": {"shape": "star", "hosts": 2},
            "workloads": [{"name": "hello", "node": "n1", "exec": "echo words"}],
            "expect": [{"program": "hello", "output": "words"}],
        }
    )
    assert done.check().programs["hello"]["status"] == 0


def test_wrong_scenarios_are_told_with_the_commands_line(tmp_path):
    with pytest.raises(CommandError, match=r"scenario.yaml:1:\d+: verb 'wrte' is not understood"):
        run({**WORLD, "workloads": [{"verb": "wrte", "from": "n1", "to": "n2", "size": 1, "count": 1}]})
    with pytest.raises(CommandError, match="missing.yaml"):
        run(tmp_path / "missing.yaml")
    with pytest.raises(CommandError, match="--seed -1: not a whole number"):
        run(WORLD, seed=-1)
    with pytest.raises(VerbenaError):
        run({})


def test_a_run_ends_with_its_time():
    with pytest.raises(subprocess.TimeoutExpired):
        run(
            {
                "name": "long",
                "clock": "real",
                "timeout": "60s",
                "topology": {"shape": "star", "hosts": 2},
                "workloads": [{"name": "sleeper", "node": "n1", "exec": "sleep 4711"}],
            },
            timeout=1,
        )
    left = subprocess.run(["pgrep", "-f", "^sleep 4711"], capture_output=True, text=True, check=False).stdout
    assert left == ""
