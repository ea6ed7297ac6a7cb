"""Programs on nodes of a fabric: started, fed, ended, counted; what is wrong is told."""
import subprocess
import sys

import pytest
import waiting

import verbena
from verbena import CommandError, Ecn, Fabric, ProgramError, VerbenaError

PINGPONG = ["ibv_rc_pingpong", "-g", "0", "-c"]


def pingpong(fabric, *options, server=0, client=1, **arguments):
    """ibv_rc_pingpong between two nodes, its data compared; returns what the client printed."""
    argv = [*PINGPONG, *options, "-p", str(port := fabric.port())]
    served = fabric.nodes[server].popen(argv, stdout=subprocess.PIPE, **arguments).wait_listening(port)
    done = fabric.nodes[client].run([*argv, fabric.nodes[server].address], **arguments)
    assert served.wait(20) == 0
    return done.stdout


@pytest.mark.parametrize("topology, nodes", [("star", 2), ("ring", 3), ("full-mesh", 4), (None, 2)])
def test_programs_of_verbs_talk_on_every_topology(topology, nodes):
    with Fabric(nodes=nodes, topology=topology) as fabric:
        assert [node.address for node in fabric.nodes] == [f"127.47.91.{k}" for k in range(1, nodes + 1)]
        assert "3 iters" in pingpong(fabric, "-n", "3", client=nodes - 1)
        first, last = fabric.nodes[0].counters(), fabric.nodes[-1].counters()
        assert first["rx_send_requests"] == last["rx_send_requests"] == 3
        assert first["tx_packets"] == last["rx_packets"] > 0
        assert fabric.counters()["completions"] == first["completions"] + last["completions"]


def test_a_node_with_rails_has_a_device_and_counters_for_each():
    with Fabric(rails=2) as fabric:
        assert [node.name for node in fabric.nodes] == ["n1", "n2"]
        assert fabric.node(2).addresses == ["127.47.91.2", "127.47.92.2"]
        assert "verbena1" in fabric.node(1).run(["ibv_devinfo", "-l"]).stdout
        pingpong(fabric, "-d", "verbena1", "-n", "3")
        assert fabric.node(1).counters(2)["rx_send_requests"] == fabric.node(1).counters()["rx_send_requests"] == 3
        assert fabric.node(1).counters(1)["rx_send_requests"] == 0
        with pytest.raises(IndexError, match="n1 has the rails 1 to 2, not 3"):
            fabric.node(1).counters(3)
        fabric.fault("port-error n1.2")
        states = fabric.node(1).run(["ibv_devinfo"]).stdout
        assert (states.count("PORT_ACTIVE"), states.count("PORT_DOWN")) == (1, 1)
    for wrong in ({"rails": 17}, {"planes": "shared"}, {"rails": 2, "planes": "apart"}):
        with pytest.raises(CommandError, match="--(rails|planes)"):
            Fabric(**wrong)


def test_network_settings_are_values_and_wrong_ones_are_told():
    qos = {"lossless": [3, 4], "buffer": "12MB", "dscp": {26: 3, 48: 4}, "weights": {3: 2}}
    network = {"ecn": Ecn(5000, 200000, 0.01), "qos": qos, "spread": "packet"}
    with Fabric(nodes=4, topology="leaf-spine", telemetry=True, **network) as fabric:
        assert "3 iters" in pingpong(fabric, "-n", "3", client=3)
    for wrong in ({"qos": {"lossless": 9}}, {"qos": {"dscp": {64: 3}}}, {"spread": "somehow"}, {"ecn": "5KB..1KB,1%"}):
        with pytest.raises(CommandError, match=f"--{next(iter(wrong))}"):
            Fabric(**wrong)


def test_the_modules_version_is_the_commands():
    said = subprocess.run([verbena.find_command(), "--version"], capture_output=True, text=True, timeout=20, check=True)
    assert said.stdout.split()[-1] == verbena.__version__


def test_a_topology_comes_from_a_scenario_file(tmp_path):
    file = tmp_path / "pair.yaml"
    file.write_text(
        """
name: pair
topology: {nodes: [left, right], links: [{between: [left, right]}]}
workloads: [{verb: write, from: left, to: right, size: 64, count: 1}]
"""
    )
    with Fabric(topology=file) as fabric:
        assert [node.name for node in fabric.nodes] == ["left", "right"]
        pingpong(fabric, "-n", "3")
        fabric.fault("link-down left-right").undo()


def test_rdma_cm_programs_talk_and_are_waited_for():
    with Fabric() as fabric:
        server, client = fabric.nodes
        words = ["-a", server.address, "-p", "7174", "-C", "3"]
        served = server.popen(
            ["rping", "-s", *words], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        ).wait_listening(7174)
        assert client.run(["rping", "-c", "-v", *words]).stdout.count("ping data") == 3
        served.end()


def test_seed_loses_the_same_packet_and_captures_say_which():
    for seed in (4, 4):
        with Fabric(faults=["drop psn=6"], seed=seed, capture=True) as fabric:
            pingpong(fabric, "-n", "3")
            server, client = fabric.nodes
            assert client.counters()["tx_retransmitted_packets"] > 0
            lost = [
                packet
                for packet in client.programs[0].capture.packets()
                if packet.is_dropped and packet.direction == "outbound"
            ]
            assert [packet.relative_psn for packet in lost] == [6]
            assert lost[0].comment == "verbena: dropped by fault 'drop psn=6'"
            assert [capture.path for capture in fabric.captures()] == [
                server.programs[0].capture.path,
                client.programs[0].capture.path,
            ]


def test_data_is_intact_under_loss():
    with Fabric(faults="drop 1%") as fabric:
        port = str(fabric.port())
        argv = ["ib_write_bw", "-F", "-s", "65536", "-n", "200", "-u", "14", "-p", port]
        served = fabric.node(1).popen(argv, stdout=subprocess.PIPE).wait_listening(int(port))
        assert "65536" in fabric.node(2).run([*argv, str(fabric.node(1))]).stdout
        assert served.wait(20) == 0
        assert fabric.counters()["tx_retransmitted_packets"] > 0


@pytest.mark.parametrize("topology", ["star", None])
def test_wire_says_which_versions_the_gids_have(topology):
    types = "cat /sys/class/infiniband/verbena0/ports/1/gid_attrs/types/*"
    for wire, wanted in (("roce-v1", ["IB/RoCE v1"] * 2), ("roce", ["IB/RoCE v1", "RoCE v2"] * 2), (None, ["RoCE v2"] * 2)):
        with Fabric(1, topology, wire=wire) as fabric:
            assert fabric.node(1).run(["sh", "-c", types], stdout=subprocess.PIPE).stdout.splitlines() == wanted


def test_popen_is_subprocess_popen_with_pipes_and_a_node():
    with Fabric() as fabric:
        with fabric.node(2).popen(["cat"], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as program:
            assert (
                isinstance(program, subprocess.Popen) and program.node is fabric.node(2) and program.args[-1] == "cat"
            )
            assert program.communicate("verbs\n") == ("verbs\n", None)
        assert fabric.node(1).run(["cat"], input=b"\0\1", text=False, capture_output=True).stdout == b"\0\1"
        assert (
            fabric.node(1).run(["sh", "-c", "echo $VERBENA_NODE $X"], env={"X": "y", "PATH": "/bin"}).stdout == "1 y\n"
        )


def test_a_program_that_fails_says_how():
    with Fabric() as fabric:
        with pytest.raises(ProgramError, match=r"sh -c .* on n1 ended with 3\n    words") as failed:
            fabric.node(1).run(["sh", "-c", "echo words; exit 3"])
        assert failed.value.status == 3 and failed.value.stdout == "words\n"
        assert fabric.node(1).run(["false"], check=False).returncode == 1
        with pytest.raises(subprocess.TimeoutExpired):
            fabric.node(1).run(["sh", "-c", "sleep 60 & sleep 60"], timeout=0.2)
        assert not verbena.processes.wearers(fabric.programs_mark)
        with pytest.raises(ProgramError, match="was ended by signal 9"):
            fabric.node(1).run(["sh", "-c", "kill -9 $$"])
        with pytest.raises(ProgramError, match="no such thing"):
            fabric.node(1).popen(["sh", "-c", "echo no such thing >&2; exit 1"], stderr=subprocess.PIPE).wait_listening(
                fabric.port()
            )
        with pytest.raises(TimeoutError, match="does not listen on port"):
            fabric.node(1).popen(["sleep", "60"]).wait_listening(fabric.port(), timeout=0.1)


def test_what_the_command_refuses_is_raised_with_its_line():
    with pytest.raises(CommandError, match="^verbena fabric: --topology foo: unknown, try one of star, ") as refused:
        Fabric(topology="foo")
    assert refused.value.status == 2
    with pytest.raises(CommandError, match="--nodes 0: not a number from 1"):
        Fabric(nodes=0)
    with pytest.raises(CommandError, match="--rate fast: not a rate"):
        Fabric(rate="fast")
    with pytest.raises(CommandError, match="^verbena exec: --fault: .*unknown action 'dorp'"):
        with Fabric() as fabric:
            fabric.node(1).popen(["true"], faults="dorp 1%")
    with pytest.raises(CommandError, match="there is no link 'n7-s1'"):
        Fabric(faults=["link-down n7-s1"])
    with pytest.raises(CommandError, match="^verbena exec: --nic: "):
        with Fabric() as fabric:
            fabric.node(1).run(["true"], nic="mtu=1")


def test_wrong_calls_are_told():
    with Fabric() as fabric:
        for number in (0, 3, -1):
            with pytest.raises(IndexError, match=f"the nodes 1 to 2, not {number}"):
                fabric.node(number)
        with pytest.raises(FileNotFoundError, match="no-such-program"):
            fabric.node(1).popen(["no-such-program"])
        with pytest.raises(KeyError, match="no counter 'tx_pakets'"):
            fabric.counters()["tx_pakets"]
        assert fabric.counters()["tx_packets"] == 0
        with pytest.raises(KeyError, match="cable_captures=True"):
            fabric.cable("n1-s1")
    with pytest.raises(VerbenaError, match="is closed"):
        fabric.node(1).popen(["true"])
    with pytest.raises(VerbenaError, match="is closed"):
        fabric.fault("clear")
    fabric.close()
    with pytest.raises(ValueError, match="have no rate"):
        Fabric(topology=None, rate="1Gbps")
    with pytest.raises(ValueError, match="1 to 254 nodes"):
        Fabric(nodes=300, topology=None)
    with pytest.raises(ValueError, match="leave nodes= out"):
        Fabric(nodes=3, topology="x.yaml")
    with pytest.raises(ValueError, match="link= is for direct cables"):
        Fabric(link="udp")


def test_cables_are_captured():
    with Fabric(cable_captures=True, rate="10Gbps", delay="10us") as fabric:
        pingpong(fabric, "-n", "3")
        # The fabric writes what it holds within a quarter of a second.
        conversations = waiting.until(lambda: fabric.cable("n1-s1").conversations(), 10, "the cable's capture has packets")
        ends = conversations[0].ends
        assert {end.address for end in ends} == {"127.47.91.1", "127.47.91.2"} and ends[0].sent["packets"] > 0


def test_counters_on_direct_cables_outlive_the_programs():
    with Fabric(topology=None) as fabric:
        port = str(fabric.port())
        argv = ["ib_write_bw", "-F", "-D", "1", "-p", port]
        served = fabric.node(1).popen(argv, stdout=subprocess.PIPE).wait_listening(int(port))
        client = fabric.node(2).popen([*argv, fabric.node(1).address], stdout=subprocess.PIPE)
        while fabric.node(2).counters()["tx_packets"] == 0:
            assert client.poll() is None
        assert client.wait(20) == 0 and served.wait(20) == 0
        assert fabric.node(2).counters()["tx_packets"] > 0
        with pytest.raises(VerbenaError, match="direct cables .* have no elements"):
            fabric.fault("link-down n1-s1")


def test_two_fabrics_at_one_time_do_not_meet():
    with Fabric() as one, Fabric() as other:
        assert one.name != other.name and one.port() != other.port()
        pingpong(one, "-n", "3")
        assert other.counters()["tx_packets"] == 0 < one.counters()["tx_packets"]


# What a launcher does as far as nodes go: starts processes that find their rank in a variable.
LAUNCHER = "for rank in 0 1 2 3; do PMI_RANK=$rank ibv_devinfo -v | grep GID.*127 || exit 1; done"


def test_processes_of_a_launcher_stand_on_nodes_by_their_ranks():
    with Fabric(nodes=3, capture=True) as fabric:
        said = fabric.ranks.run(["sh", "-c", LAUNCHER]).stdout.split()
        gids = [word for word in said if word.startswith("::ffff:")]
        assert [gid.rstrip(",") for gid in gids] == [f"::ffff:127.47.91.{node}" for node in (1, 2, 3, 1)]
        assert fabric.ranks.counters().names == fabric.counters().names
        with pytest.raises(ValueError, match="a capture is of one node"):
            fabric.ranks.popen(["true"], capture=True)
        with pytest.raises(ProgramError, match="on ranks ended with 1"):
            fabric.ranks.run(["false"])
    with Fabric(topology=None) as fabric, pytest.raises(VerbenaError, match="ranks need a fabric with a topology"):
        fabric.ranks.run(["true"])


def test_the_interpreter_of_the_user_runs_on_a_node():
    with Fabric() as fabric:
        script = "import pyverbs.device as d; print([x.name.decode() for x in d.get_device_list()])"
        assert fabric.node(1).run([sys.executable, "-c", script], device_name="mlx5_0").stdout == "['mlx5_0']\n"
