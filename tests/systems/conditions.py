"""The conditions under which each system runs, laid over its scenario: faults are appended, and what is to come of them.

Owns: what a condition does to a scenario, and what shows that it did anything. Knows no system (catalogue.py).
"""
import copy

CONDITIONS = ("clean", "lossy", "flapping", "udp", "killed", "roce-v1", "infiniband")
WIRES = ("roce-v1", "infiniband")   # the scenario as it is, over another wire
LOSS = "drop 0.5%"
DOWN, UP, TIMES = "100ms", "400ms", 3


def seconds_of(text):
    """Of a time of the scenario language."""
    units = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0}
    for unit in ("ns", "us", "ms", "s"):
        if text.endswith(unit):
            return float(text[:-len(unit)]) * units[unit]
    raise ValueError(f"'{text}' is no time")


def faults_of(condition, system):
    """The faults that a condition appends."""
    if condition == "lossy":
        return [{"packet": system.loss, "link": "all"}]
    if condition == "flapping":
        link = system.flaps
        return [{"link-flap": link, "down": DOWN, "up": UP, "times": TIMES, "when": {"link": link, "carried": system.carried}}]
    if condition == "killed":
        killed = system.killed
        if killed.cut:
            return [{"packet": killed.cut, "link": killed.cut_at}, {"node-crash": killed.node, "when": {"fault": killed.cut, "hits": 1}}]
        return [{"node-crash": killed.node, "when": {"link": killed.link, "carried": killed.carried}}]
    return []


def laid_over(scenario, condition, system):
    """The scenario of a run under this condition; the one that is given is left alone."""
    laid = copy.deepcopy(scenario)
    faults = faults_of(condition, system)
    if faults:
        laid["faults"] = [*laid.get("faults", []), *faults]
    if condition in WIRES:
        laid["wire"] = condition
    if condition == "killed":
        # Who dies cannot do what the file expects; what its peers are to say instead is the system's.
        ends = system.killed.ends
        laid["expect"] = [{"program": name, "status": end.status, "output": end.says} for name, end in ends.items()]
        for workload in laid["workloads"]:
            if workload["name"] in ends:
                workload["status"] = ends[workload["name"]].status
    return laid


def fault_problem(condition, system, summary):
    """Why this run does not show what its condition is for; empty: it does. `summary`: that of `verbena run --json`."""
    faults = {fault["text"].split()[0]: fault for fault in summary["faults"]}
    if condition == "lossy" and not any(fault["packets_hit"] for fault in summary["faults"]):
        return "no packet was dropped"
    if condition == "flapping":
        happened = sum("link-flap" in fault["text"] or "link-down" in fault["text"] for fault in summary["faults"])
        if not happened:
            return "the cable did not flap"
        if not summary["packets"]["vanished"]:
            return "no packet was on the cable when it went down"
    if condition == "killed":
        if "node-crash" not in faults:
            return "the node did not crash"
        took = (summary["elapsed_ns"] - faults["node-crash"]["time_ns"]) * 1e-9
        if took > system.killed.within_s:
            return f"the run ended {took:.1f} s after the crash, and its bound is {system.killed.within_s} s"
    return ""
