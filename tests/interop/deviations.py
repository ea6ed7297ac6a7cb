"""What the kernel's side is known not to do, or to do otherwise than the specification, and which rows cannot work for that.

A row that fails without a reason here is a failure of the run; so is a reason whose rows all work, for then it is no longer true.
"""
import re
from dataclasses import dataclass


@dataclass(frozen=True)
class Deviation:
    rows: str   # of "name: place"
    says: str   # of the failure
    why: str


DEVIATIONS = [
    Deviation(r"^mckey: .* IPv6", "Unknown error 524",
              "mckey over IPv6: Linux's rdma_cm joins no IPv6 group on RoCE v2, on rxe or any NIC (cma_iboe_join_multicast: ENOTSUPP). "
              "Verbena's does."),
]


def text_of(outcome):
    return f"{outcome.row.name}: {outcome.place}"


def reason_of(outcome):
    for deviation in DEVIATIONS:
        if re.search(deviation.rows, text_of(outcome)) and re.search(deviation.says, outcome.problem):
            return deviation
    return None


def complaints(outcomes):
    """What is wrong with a run, a line each."""
    for outcome in outcomes:
        if outcome.problem and reason_of(outcome) is None:
            yield f"failed: {text_of(outcome)}: {outcome.problem.splitlines()[0]}"
    for deviation in DEVIATIONS:
        concerned = [outcome for outcome in outcomes if re.search(deviation.rows, text_of(outcome))]
        if concerned and not any(outcome.problem for outcome in concerned):
            yield f"works, and deviations.py says that it does not: {deviation.rows}"
