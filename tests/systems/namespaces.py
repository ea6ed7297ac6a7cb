"""A scenario's programs between network namespaces, over `verbena exec --link udp`: what `verbena run` does over a fabric process.

Owns: the namespaces, joined by a bridge, the order in which programs start, and the judgement of the expectations that make sense
there: exit status, output, counters. Others are an error, not a check that is left out. Needs what tests/programs/network.py needs.
"""
import re
import shlex
import sys
import tempfile
import time

import conditions
import harness
import network
import ranks
from waiting import let_time_pass

PREFIX = "10.47.0"
BRIDGE, INTERFACE, MTU = "lab0", "v0", 9000
SPEECH_IS_ENOUGH_S = 0.5  # as the real clock has it: who has said something and lives is ready
READY_S = 30


class Node:
    def __init__(self, place, holder):
        self.number = self.address = f"{PREFIX}.{place}"
        self.name, self.holder = f"n{place}", holder

    def listeners(self):
        """What listens there by TCP or rdma_cm. The namespace has no other programs."""
        found = set()
        for table in ("tcp", "tcp6"):
            with open(f"/proc/{self.holder.pid}/net/{table}", encoding="ascii") as file:
                fields = [line.split() for line in file]
            found |= {line[1] for line in fields if len(line) > 3 and line[3] == "0A"}
        with open(f"/proc/{self.holder.pid}/net/unix", encoding="ascii", errors="replace") as file:
            return found | {line.split()[-1] for line in file if "@verbena-cm/" in line}


class Network(harness.Fabric):
    """N nodes of one Ethernet. `with` ends all that runs there."""

    def __init__(self, verbena, count):
        super().__init__(verbena, "udp", nodes=0)
        try:
            self.hub = network.Holder(self)
            for command in (f"link add {BRIDGE} mtu {MTU} type bridge", f"link set {BRIDGE} up"):
                self.hub.run(f"ip {command}")
            self.nodes = [self._join(place) for place in range(1, count + 1)]
            for node in self.nodes[1:]:
                self.nodes[0].holder.run([sys.executable, "-c", network.REACHES, node.address])
        except BaseException:
            self.__exit__()
            raise

    def _join(self, place):
        holder = network.Holder(self, beside=self.hub)
        self.hub.run(f"ip link add p{place} mtu {MTU} type veth peer name {INTERFACE} mtu {MTU} netns {holder.pid}")
        for command in (f"link set p{place} master {BRIDGE}", f"link set p{place} up"):
            self.hub.run(f"ip {command}")
        for command in ("link set lo up", f"addr add {PREFIX}.{place}/24 dev {INTERFACE}", f"link set {INTERFACE} up"):
            holder.run(f"ip {command}")
        return Node(place, holder)

    def __exit__(self, *_):
        self.nodes = []  # they have reserved nothing
        super().__exit__()

    def exec_argv(self, node, argv, **options):
        return super().exec_argv(node, argv, **{**options, "prefix": node.holder.enter})


def hosts_of(scenario):
    topology = scenario["topology"]
    return topology["hosts"] if isinstance(topology.get("hosts"), int) else len(topology["nodes"])


def words_of(command, nodes):
    words = command if isinstance(command, list) else shlex.split(command)
    for node in nodes:
        words = [word.replace(f"${{{node.name}}}", node.address) for word in words]
    return words


def is_ready(program, node, before):
    if program.status is not None or node.listeners() - before:
        return True
    return time.monotonic() - program.started > SPEECH_IS_ENOUGH_S and bool(program.out + program.err)


def start_all(nets, scenario, deadline, folder):
    """{name: program}, started in the order that `after:` and `start:` ask for."""
    nodes = {node.name: node for node in nets.nodes}
    began, programs, before = time.monotonic(), {}, {}
    waiting = list(scenario["workloads"])
    while waiting:
        for workload in list(waiting):
            after = workload.get("after", [])
            after = [after] if isinstance(after, str) else after
            ready = all(name in programs and is_ready(programs[name], *before[name]) for name in after)
            if not ready or time.monotonic() - began < conditions.seconds_of(workload.get("start", "0s")):
                continue
            node, name = nodes[workload.get("node", "n1")], workload["name"]
            before[name] = (node, node.listeners())
            words = words_of(workload["exec"], nets.nodes)
            if "nodes" in workload:
                programs[name] = ranks.start(nets, workload, words, folder)
            else:
                programs[name] = nets.start(node, words, name, stats=True)
            waiting.remove(workload)
        if waiting and time.monotonic() > min(deadline, began + READY_S + 60):
            raise harness.Failure("not all programs could start\n" + "".join(one.describe() for one in programs.values()))
        let_time_pass(0.01)
    return programs


def wait_all(scenario, programs, deadline):
    for workload in scenario["workloads"]:
        program = programs[workload["name"]]
        if workload.get("background"):
            continue
        if program.wait(deadline) is None:
            raise harness.Failure(f"{workload['name']} did not end in time\n" + "".join(one.describe() for one in programs.values()))


def within(value, bounds):
    least, most = bounds.get("is", bounds.get("min")), bounds.get("is", bounds.get("max"))
    return (least is None or value >= float(least)) and (most is None or value <= float(most))


def program_problem(expectation, program):
    if program.status != expectation.get("status", program.status):
        return f"exit status {program.status} instead of {expectation['status']}"
    if "output" not in expectation:
        return ""
    found = re.search(expectation["output"], program.out + program.err)
    if not found:
        return f"its output does not fit {expectation['output']}"
    if any(key in expectation for key in ("is", "min", "max")) and not within(float(found.group(1)), expectation):
        return f"{found.group(1)} is not within its bounds"
    return ""


def count(scenario, programs, counter, of, folder):
    """What the processes on these nodes have counted."""
    total = 0
    for workload in scenario["workloads"]:
        if "nodes" in workload:
            places = [place for place in range(workload["nodes"]) if of is None or f"n{place + 1}" in of]
            total += sum(ranks.counters(folder, place).get(counter, 0) for place in places)
        elif of is None or workload["node"] in of:
            total += programs[workload["name"]].counters().get(counter, 0)
    return total


def counter_problem(expectation, scenario, programs, folder):
    of = expectation.get("of")
    of = [of] if isinstance(of, str) else of
    total = count(scenario, programs, expectation["counter"], of, folder)
    return "" if within(total, expectation) else f"{total} is not within its bounds"


def problems(scenario, programs, folder):
    """What is wrong with the ends of these programs, a line each."""
    judged = set()
    for expectation in scenario.get("expect", []):
        if "program" in expectation:
            judged.add(expectation["program"])
            problem = program_problem(expectation, programs[expectation["program"]])
        elif "counter" in expectation:
            problem = counter_problem(expectation, scenario, programs, folder)
        else:
            problem = "is not judged between network namespaces"
        if problem:
            yield f"{expectation}: {problem}"
    for workload in scenario["workloads"]:
        program, status = programs[workload["name"]], workload.get("status", 0)
        if workload.get("background") or (workload["name"] in judged and any(
                one.get("program") == workload["name"] and "status" in one for one in scenario["expect"])):
            continue
        if program.status != status:
            yield f"{workload['name']}: exit status {program.status} instead of {status}"
    if not count(scenario, programs, "tx_packets", None, folder):
        yield "no packet was sent"


def run(verbena, scenario):
    """Runs it to its end; harness.Failure says what is wrong."""
    with Network(verbena, hosts_of(scenario)) as nets, tempfile.TemporaryDirectory(prefix="verbena-ranks-") as folder:
        deadline = time.monotonic() + conditions.seconds_of(scenario["timeout"])
        programs = start_all(nets, scenario, deadline, folder)
        wait_all(scenario, programs, deadline)
        wrong = list(problems(scenario, programs, folder))
        if wrong:
            raise harness.Failure("\n".join(wrong) + "\n" + "".join(one.describe() for one in programs.values()))
