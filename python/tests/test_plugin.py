"""The pytest plugin as its users have it: suites of theirs, run by pytest, and what is reported of them."""
import os
import pathlib
import re
import shlex
import sys

import pytest

import verbena

PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(verbena.__file__)))
PINGPONG = """
    import subprocess
    import pytest

    def pingpong(fabric, iterations="3"):
        argv = ["ibv_rc_pingpong", "-g", "0", "-c", "-n", iterations, "-p", str(port := fabric.port())]
        served = fabric.node(1).popen(argv, stdout=subprocess.PIPE).wait_listening(port)
        done = fabric.node(2).run([*argv, fabric.node(1).address])
        served.wait(20)
        return done
"""


@pytest.fixture(name="suite")
def a_suite(pytester, monkeypatch):
    """Writes a suite and runs it in a process of its own, with the plugin found by its entry point as after an
    installation.
    """
    installed = pytester.mkdir("installed")
    os.symlink(os.path.join(PACKAGE, "verbena"), installed / "verbena")
    project = pathlib.Path(PACKAGE, "pyproject.toml").read_text(encoding="utf-8")
    entry = re.search(r'^\[project\.entry-points\.(\w+)\]\n(\w+) = "([\w.]+)"$', project, re.M)
    information = installed / "verbena-0.1.0.dist-info"
    information.mkdir()
    (information / "METADATA").write_text("Metadata-Version: 2.1\nName: verbena\nVersion: 0.1.0\n")
    (information / "entry_points.txt").write_text(f"[{entry[1]}]\n{entry[2]} = {entry[3]}\n")
    monkeypatch.setenv("PYTHONPATH", str(installed))
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    monkeypatch.setenv("VERBENA", verbena.find_command())

    def run(text, *options, timeout=60):
        pytester.makepyfile(text)
        return pytester.runpytest_subprocess("-p", "no:cacheprovider", *options, timeout=timeout)

    return run


def test_a_mark_says_what_fabric_a_test_gets(suite):
    suite(
        PINGPONG
        + """
    @pytest.mark.verbena(nodes=3, topology="ring", faults=["drop psn=6", "link-delay all 1us"])
    class TestRing:
        def test_faulted(self, verbena_fabric):
            assert len(verbena_fabric.nodes) == 3 and verbena_fabric.topology == "ring"
            pingpong(verbena_fabric)
            assert verbena_fabric.counters()["tx_retransmitted_packets"] > 0
            assert {link["delay_ns"] for link in verbena_fabric.stat()["links"]} == {1000}

        @pytest.mark.verbena(faults=[], capture=False)
        def test_the_nearest_mark_counts(self, verbena_fabric):
            assert len(verbena_fabric.nodes) == 3
            pingpong(verbena_fabric)
            assert verbena_fabric.counters()["tx_retransmitted_packets"] == 0 and verbena_fabric.captures() == []

    def test_without_a_mark_there_are_two_nodes_and_captures(verbena_fabric):
        pingpong(verbena_fabric)
        assert len(verbena_fabric.nodes) == len(verbena_fabric.captures()) == 2 and verbena_fabric.seed == 1
    """,
        "--strict-markers",
        "-W",
        "error",
    ).assert_outcomes(passed=3)


def test_seeds_make_a_test_each_and_a_failure_names_its_replay(suite):
    text = (
        PINGPONG
        + """
    @pytest.mark.verbena(seeds=4, faults=["drop psn=6"])
    def test_loss(verbena_fabric, verbena_seed):
        assert verbena_seed == verbena_fabric.seed
        pingpong(verbena_fabric)
        assert verbena_fabric.seed != 3, "lost"
    """
    )
    result = suite(text)
    result.assert_outcomes(passed=3, failed=1)
    (replay,) = [line for line in result.outlines if line.startswith("pytest --verbena-seed")]
    name = pathlib.Path(shlex.split(replay)[-1])
    assert shlex.split(replay)[1:3] == ["--verbena-seed", "3"] and str(name).endswith("::test_loss[seed3]")
    suite(text, *shlex.split(replay)[1:]).assert_outcomes(failed=1)
    suite(text, "--verbena-seed", "7").assert_outcomes(passed=1)


def test_a_world_under_virtual_time_names_its_replay_too(suite):
    result = suite(
        """
    import pytest, verbena

    @pytest.mark.verbena(seeds=[41, 42])
    def test_world(verbena_seed):
        assert verbena_seed != 42
    """
    )
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(["*- verbena: replay -*", "pytest --verbena-seed 42 *::test_world[[]seed42[]]'"])


def test_a_replay_is_from_where_pytest_was_started(suite, pytester, monkeypatch):
    pytester.mkdir("below").joinpath("test_it.py").write_text(
        "def test_it(verbena_fabric):\n    assert verbena_fabric.seed == 2\n"
    )
    pytester.makeini("[pytest]\n")
    monkeypatch.chdir("below")
    result = pytester.runpytest_subprocess("-p", "no:cacheprovider", timeout=60)
    result.stdout.fnmatch_lines(["pytest --verbena-seed 1 test_it.py::test_it"])


def test_failure_report_has_counters_faults_programs_and_story(suite, pytester):
    keep = pytester.path / "kept"
    result = suite(
        PINGPONG
        + """
    @pytest.mark.verbena(faults=["drop psn=6"])
    def test_loss(verbena_fabric):
        verbena_fabric.fault("link-delay all 1us")
        verbena_fabric.node(1).popen(["sleep", "1000"], capture=False)
        pingpong(verbena_fabric)
        assert verbena_fabric.counters()["tx_retransmitted_packets"] == 0
    """,
        "--verbena-keep",
        str(keep),
    )
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        [
            "*- verbena: replay -*",
            "pytest --verbena-seed 1 *::test_loss",
            "*- verbena: faults -*",
            "drop psn=6  (each program)",
            "link-delay all 1us",
            "*- verbena: programs -*",
            "n1: sleep 1000: was still running, and was ended",
            "n2: ibv_rc_pingpong -g 0 *: ended with 0",
            "*- verbena: counters -*",
            "n2 127.47.91.2",
            "  tx_retransmitted_packets * [1-9]*",
            "*- verbena: captures -*",
            "n2: ibv_rc_pingpong*.pcapng",
            "*dropped by fault 'drop psn=6'*",
        ]
    )
    kept = sorted(keep.iterdir())
    assert len(kept) == 2 and all(verbena.Capture(path).packets() for path in kept)


def test_what_fails_before_anything_ran_is_reported_too(suite):
    result = suite(
        """
    import pytest

    @pytest.fixture
    def server(verbena_fabric):
        return verbena_fabric.node(1).run(["sh", "-c", "echo will not; exit 4"])

    def test_it(server):
        pass

    def test_without_a_fabric():
        assert False
    """
    )
    result.assert_outcomes(errors=1, failed=1)
    result.stdout.fnmatch_lines(
        ["*ended with 4*", "*will not*", "*verbena: programs*", "n1: sh -c 'echo will not; exit 4': ended with 4"]
    )
    assert sum("verbena: replay" in line for line in result.outlines) == 1


@pytest.mark.parametrize(
    "mark, body, line",
    [
        ("topology='foo'", "verbena_fabric", "*verbena fabric: --topology foo: unknown, try one of star*"),
        ("faults=['dorp 1%']", "verbena_fabric", "*verbena exec: --fault: *unknown action 'dorp'*"),
        ("faults=['link-down n9-s1']", "verbena_fabric", "*verbena fault: there is no link 'n9-s1'*"),
        (
            "nodes=2, fault='drop 1%'",
            "verbena_fabric",
            "*mark verbena does not take 'fault'; it takes seed, seeds, nodes, topology, faults*",
        ),
        ("2", "verbena_fabric", "*mark verbena does not take an argument without a name: 2*"),
        ("seeds=3", "", "*has the mark verbena, but takes neither verbena_fabric nor verbena_seed*"),
        ("seeds=3, seed=1", "verbena_fabric", "*has seed= and seeds=: one of them*"),
        ("seeds=0", "verbena_fabric", "*seeds=0 of the mark verbena would run nothing*"),
        ("seeds=[]", "verbena_seed", "*seeds=[[]] of the mark verbena would run nothing*"),
    ],
)
def test_a_wrong_mark_is_an_error_that_says_so(suite, mark, body, line):
    result = suite(
        f"""
    import pytest

    @pytest.mark.verbena({mark})
    def test_it({body}):
        pass
    """
    )
    assert result.ret != 0 and "passed" not in result.parseoutcomes()
    result.stdout.fnmatch_lines([line]) if "ERROR" in str(result.stdout) else result.stderr.fnmatch_lines([line])


def test_a_missing_command_is_an_error_that_says_what_to_do(suite, monkeypatch):
    monkeypatch.setenv("VERBENA", "/nowhere/verbena")
    result = suite("def test_it(verbena_fabric):\n    pass\n")
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(
        ["*CommandNotFound: the variable $VERBENA is '/nowhere/verbena', which is not a program that can be run"]
    )


def test_workers_of_xdist_do_not_meet(suite):
    pytest.importorskip("xdist")
    result = suite(
        PINGPONG
        + """
    @pytest.mark.verbena(seeds=[5, 6, 7, 8], faults=["drop psn=6"])
    def test_loss(verbena_fabric):
        pingpong(verbena_fabric)
        assert verbena_fabric.seed != 7
    """,
        "-n",
        "3",
    )
    result.assert_outcomes(passed=3, failed=1)
    result.stdout.fnmatch_lines(["pytest --verbena-seed 7 *::test_loss[[]seed7[]]'", "*dropped by fault 'drop psn=6'*"])


def test_an_interrupted_suite_leaves_nothing(suite):
    result = suite(
        """
    import os, signal

    def test_it(verbena_fabric):
        verbena_fabric.node(1).popen(["sh", "-c", "trap '' TERM; while :; do sleep 1; done"])
        print("NAME", verbena_fabric.name, verbena_fabric.folder, flush=True)
        os.kill(os.getpid(), signal.SIGINT)
    """,
        "-s",
    )
    assert result.ret == pytest.ExitCode.INTERRUPTED
    name, folder = re.search(r"NAME (\S+) (\S+)", str(result.stdout)).groups()
    assert not verbena.processes.wearers(name) and not os.path.exists(folder)


def test_the_plugin_needs_no_fabric_to_be_loaded(suite):
    suite("def test_it(verbena_seed):\n    assert verbena_seed == 9\n", "--verbena-seed", "9").assert_outcomes(passed=1)
    assert "verbena-0.1.0" in str(suite("def test_it(): pass", "--trace-config").stdout)
    assert sys.version_info >= (3, 9)
