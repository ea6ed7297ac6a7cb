"""pyverbs, and any function, on a node."""
import os
import subprocess
import sys
import textwrap

import pytest

import verbena
from verbena import Fabric, ProgramError, RemoteError


def device_of(name):
    from pyverbs.device import Context

    with Context(name=name) as context:
        return context.query_port(1).state, str(context.query_gid(1, 0))


def loopback_write(text):
    """One QP of pyverbs, connected to itself, writes into a buffer of its own."""
    import pyverbs.enums as e
    from pyverbs.addr import AHAttr, GlobalRoute
    from pyverbs.cq import CQ
    from pyverbs.device import Context
    from pyverbs.mr import MR
    from pyverbs.pd import PD
    from pyverbs.qp import QP, QPAttr, QPCap, QPInitAttr
    from pyverbs.wr import SGE, SendWR

    context = Context(name="verbena0")
    pd, cq = PD(context), CQ(context, 8)
    source, target = (MR(pd, 64, e.IBV_ACCESS_LOCAL_WRITE | e.IBV_ACCESS_REMOTE_WRITE) for _ in range(2))
    qp = QP(pd, QPInitAttr(qp_type=e.IBV_QPT_RC, scq=cq, rcq=cq, cap=QPCap(8, 8, 1, 1)), QPAttr(port_num=1))
    gid = context.query_gid(1, 0)
    attributes = QPAttr(port_num=1)
    attributes.qp_access_flags = e.IBV_ACCESS_REMOTE_WRITE
    qp.to_init(attributes)
    attributes.path_mtu, attributes.dest_qp_num, attributes.min_rnr_timer = e.IBV_MTU_1024, qp.qp_num, 12
    attributes.max_dest_rd_atomic = attributes.max_rd_atomic = 1
    attributes.ah_attr = AHAttr(port_num=1, is_global=1, gr=GlobalRoute(dgid=gid, sgid_index=0))
    qp.to_rtr(attributes)
    attributes.timeout, attributes.retry_cnt, attributes.rnr_retry = 14, 7, 7
    qp.to_rts(attributes)
    source.write(text, len(text))
    write = SendWR(opcode=e.IBV_WR_RDMA_WRITE, num_sge=1, sg=[SGE(source.buf, len(text), source.lkey)])
    write.set_wr_rdma(target.rkey, target.buf)
    qp.post_send(write)
    while True:
        count, completions = cq.poll()
        if count:
            return completions[0].status, target.read(len(text), 0)


class Odd(Exception):
    def __init__(self, one, two):
        super().__init__(one)
        self.two = two


def fail(kind):
    if kind == "odd":
        raise Odd(1, 2)
    if kind == "exit":
        os._exit(9)
    if kind == "lambda":
        return lambda: 0
    raise ValueError(kind)


@pytest.fixture(name="fabric")
def a_fabric():
    with Fabric() as fabric:
        yield fabric


def test_pyverbs_sees_the_nodes_nic(fabric):
    assert fabric.node(2).call(device_of, "verbena0") == (4, "0000:0000:0000:0000:0000:ffff:7f2f:5b02")
    assert fabric.node(1).call(loopback_write, "words", capture=True) == (0, b"words")
    assert fabric.node(1).counters()["rx_write_requests"] == 1
    assert any(packet.opcode == "RC RDMA WRITE Only" for packet in fabric.captures()[0].packets())
    assert repr(fabric.programs[-1]) == "<Program call of loopback_write on n1, ended with 0>"


def test_what_a_function_raises_is_raised_here(fabric):
    with pytest.raises(ValueError, match="three") as failed:
        fabric.node(1).call(fail, "three")
    assert "in fail" in str(failed.value.__cause__)
    with pytest.raises(RemoteError, match="Odd: 1"):
        fabric.node(1).call(fail, "odd")
    with pytest.raises(RemoteError, match="cannot be brought here"):
        fabric.node(1).call(fail, "lambda")
    with pytest.raises(ProgramError, match="^call of fail on n1 ended with 9"):
        fabric.node(1).call(fail, "exit")
    with pytest.raises(subprocess.TimeoutExpired):
        fabric.node(1).call(os.read, 0, 1, timeout=0.3, stdin=subprocess.PIPE)
    assert not verbena.processes.wearers(fabric.programs_mark)


def test_a_script_calls_its_own_functions(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(
        textwrap.dedent(
            """
        import os
        from verbena import Fabric

        def node():
            return os.environ["VERBENA_NODE"]

        if __name__ == "__main__":
            with Fabric(nodes=3) as fabric:
                print([each.call(node) for each in fabric.nodes])
    """
        )
    )
    package = os.path.dirname(os.path.dirname(os.path.abspath(verbena.__file__)))
    done = subprocess.run(
        [sys.executable, "-B", script],
        env={**os.environ, "PYTHONPATH": package},
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )
    assert (done.stdout, done.stderr) == ("['1', '2', '3']\n", "")


def test_the_process_itself_enters_a_node(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(
        textwrap.dedent(
            """
        import verbena
        fabric = verbena.Fabric()
        try:
            fabric.node(1).enter(faults="dorp 1%")
        except verbena.CommandError as error:
            print(error)
        fabric.node(1).enter(device_name="mlx5_7", nic="mtu=1024")
        import test_call
        print(test_call.device_of("mlx5_7"))
        for node in fabric.nodes:
            try:
                node.enter()
            except verbena.VerbenaError as error:
                print(error)
        fabric.close()
    """
        )
    )
    late = tmp_path / "late.py"
    late.write_text("import pyverbs.device, verbena\nverbena.Fabric().node(1).enter()\n")
    package = os.path.dirname(os.path.dirname(os.path.abspath(verbena.__file__)))
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([package, os.path.dirname(os.path.abspath(__file__))])}

    def run(path):
        return subprocess.run(
            [sys.executable, "-B", path], env=environment, capture_output=True, text=True, timeout=30, check=False
        )

    lines = run(script).stdout.splitlines()
    assert "unknown action 'dorp'" in lines[0] and lines[1] == "(4, '0000:0000:0000:0000:0000:ffff:7f2f:5b01')"
    assert [" stands on n1 of " in line for line in lines[2:]] == [True, True]
    assert "is loaded already: enter a node before" in run(late).stderr
