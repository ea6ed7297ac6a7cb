"""Faults on a running fabric: for a time, for a block, until the end."""
import json
import subprocess
import time

import pytest

from verbena import CommandError, Fabric
from verbena.command import ask, ask_json
from verbena.fault import Fault, fabric_words, is_on_fabric
from verbena.times import seconds_of


@pytest.fixture(name="fabric")
def a_fabric():
    with Fabric(nodes=3, topology="ring") as fabric:
        yield fabric


def state(fabric):
    links = fabric.stat()["links"]
    return fabric.fault_list(), [
        (link["name"], link["rate_bits_per_second"], link["delay_ns"], link["jitter_ns"]) for link in links
    ]


@pytest.mark.parametrize(
    "text",
    [
        "link-down s1-s2",
        "link-down s1->s2",
        "switch-crash s1,s2",
        "partition n1 n2,n3",
        "partition n1 n2 one-way",
        "port-error n1,n3",
        "link-rate all 1Gbps",
        "link-rate n1->s1 0",
        "link-delay s1-s2 5us 1us",
        "add all drop 1%",
    ],
)
def test_a_fault_comes_and_goes_and_leaves_things_as_they_were(fabric, text):
    before = state(fabric)
    fault = fabric.fault(text)
    assert fault.is_active
    assert state(fabric) != before
    fault.undo()
    assert not fault.is_active and fault.wait(0)
    assert state(fabric) == before
    fault.undo()


def test_a_fault_lasts_as_long_as_its_block_also_if_that_fails(fabric):
    before = state(fabric)
    with pytest.raises(ZeroDivisionError):
        with fabric.fault("link-down s1-s2") as fault:
            assert fabric.fault_list()["down"] == ["s1->s2", "s2->s1"]
            assert not fault.wait(0.01)
            raise ZeroDivisionError
    assert state(fabric) == before


def test_a_time_is_kept(fabric):
    before, began = state(fabric), time.monotonic()
    fault = fabric.fault("link-delay all 5us", for_="300ms")
    assert fault.wait(10) and not fault.is_active
    assert 0.3 <= time.monotonic() - began < 5
    assert state(fabric) == before


def test_a_program_rides_out_a_cable_that_is_down_for_a_while(fabric):
    port = fabric.port()
    argv = ["ib_write_bw", "-F", "-D", "2", "-u", "16", "-p", str(port)]
    server, client, _ = fabric.nodes
    served = server.popen(argv, stdout=subprocess.PIPE).wait_listening(port)
    running = client.popen([*argv, server.address], stdout=subprocess.PIPE)
    while client.counters()["tx_packets"] < 100:
        assert running.poll() is None
    fabric.fault("link-down n1-s1", for_="100ms").wait()
    assert running.wait(30) == 0 and served.wait(30) == 0
    assert client.counters()["tx_retransmitted_packets"] > 0 and client.counters()["local_ack_timeout_err"] > 0


def test_a_rule_counts_its_hits_to_its_end(fabric):
    port = fabric.port()
    argv = ["ibv_rc_pingpong", "-g", "0", "-n", "20", "-p", str(port)]
    with fabric.fault("add n1->s1 duplicate every=2") as rule:
        served = fabric.node(1).popen(argv, stdout=subprocess.DEVNULL).wait_listening(port)
        fabric.node(2).run([*argv, fabric.node(1).address])
        assert served.wait(10) == 0
        hits = rule.hits
        assert hits > 10 and rule.number == 1
    assert rule.hits >= hits and fabric.fault_list()["faults"] == []


def test_what_cannot_be_undone_has_no_time(fabric):
    with pytest.raises(ValueError, match="'device-removal' cannot be undone"):
        fabric.fault("device-removal n1", for_="1s")
    with pytest.raises(ValueError, match="'link-up n1-s1' cannot be undone"):
        fabric.fault("link-up n1-s1").undo()
    with pytest.raises(ValueError, match="'clear' cannot be undone"):
        with fabric.fault("clear"):
            pytest.fail("the block ran")
    for bad in ("200", "fast", "-1s", "1 min"):
        with pytest.raises(ValueError, match="is no time"):
            fabric.fault("link-down n1-s1", for_=bad)
    with pytest.raises(ValueError, match="no time that can be waited for"):
        fabric.fault("link-down n1-s1", for_=-1)
    with pytest.raises(ValueError, match="needs words"):
        fabric.fault("  ")
    assert fabric.fault_list()["down"] == []


@pytest.mark.parametrize(
    "text, line",
    [
        ("link-dwn n1-s1", "unknown word 'link-dwn'"),
        ("link-down", "that is not how it goes: link-down LINK"),
        ("link-down n9-s1", "there is no link 'n9-s1'"),
        ("add n1-s1 drop 300%", "'300%' is not a probability"),
        ("link-rate n9-s1 1Gbps", "there is no link 'n9-s1'"),
        ("link-rate n1-s1 fast", "'fast' is no rate"),
        ("partition n1 n2 both", "unknown word 'both'"),
        ("--help", "unknown word '--help'"),
    ],
)
def test_what_the_fabric_refuses_is_raised_with_its_line(fabric, text, line):
    with pytest.raises(CommandError) as refused:
        fabric.fault(text, for_="1s" if text.startswith("link-rate") else None)
    assert line in refused.value.line and "\n" not in refused.value.line


def test_the_end_of_the_fabric_ends_a_fault_before_its_time():
    with Fabric() as fabric:
        fault = fabric.fault("link-down n1-s1", for_="60s")
    assert fault.wait(0) and not fault.is_active


def test_words_and_what_undoes_them_are_the_commands():
    page = ask(["fault", "--help"]).stdout
    listed = page[page.index("Words:") : page.index("LINK:")].splitlines()[1:]
    words = fabric_words()
    assert [line.split()[0] for line in listed] == list(words)
    assert {word["undo"]["word"] for word in words.values() if word["undo"]} <= set(words)


def test_a_word_that_only_the_command_knows_is_undone(tmp_path, monkeypatch):
    words = ask_json(["help", "fault", "--json"])
    words["fabric"].append({"word": "link-dim", "usage": "link-dim LINK", "undo": {"word": "link-bright"}})
    command = tmp_path / "verbena"
    command.write_text(f"#!/bin/sh\ncat <<'EOF'\n{json.dumps(words)}\nEOF\n")
    command.chmod(0o755)
    monkeypatch.setenv("VERBENA", str(command))
    assert is_on_fabric("link-dim n1-s1") and not is_on_fabric("drop 1%")
    asked = []
    fault = Fault("link-dim n1-s1", lambda words: asked.append(list(words)) or {}, dict)
    fault.undo()
    assert asked == [["link-dim", "n1-s1"], ["link-bright", "n1-s1"]]


def test_times():
    assert [seconds_of(text) for text in ("200ms", "1.5s", "10us", "5ns", 2)] == pytest.approx(
        [0.2, 1.5, 1e-5, 5e-9, 2.0]
    )
