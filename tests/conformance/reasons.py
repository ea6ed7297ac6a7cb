"""Which skips of the suite are right, and why. A skip that no row here explains is a defect: of the NIC, or of this table.

Owns: the judgement. `what` is "elsewhere" (the case needs hardware or a set-up that the machine lacks, and would run where it is)
or "deviation" (stated in docs/deviations.md).
"""
import dataclasses
import re


@dataclasses.dataclass(frozen=True)
class Reason:
    module: str   # which files of the suite, as a pattern
    pattern: str  # of the suite's own words, searched in them
    what: str
    why: str


REASONS = (
    Reason(r"test_mr", r"Allocating dmabuf is not supported by /dev/dri/", "elsewhere",
           "a GPU's DRM node, which the suite takes its dmabuf from"),
    Reason(r"", r"There are no huge pages of size 2M allocated", "elsewhere", "huge pages, which the administrator reserves"),
    Reason(r"test_device", r"All gid indices populated, cannot check bad flow", "deviation",
           "the GID table has no empty entries: it is as long as what the link carries"),
    Reason(r"", r"on Ethernet link layer|Link layer of port=\d+ is InfiniBand", "elsewhere",
           "a port on Ethernet: raw packet QPs, flow steering and GIDs of RoCE are not InfiniBand's"),
    Reason(r"test_tag_matching", r"(Extended CQ|Tag [Mm]atching) is not supported", "deviation", "tag matching: the NIC has none"),
)


def reason_of(case):
    """The row that explains a skip, or None."""
    return next((reason for reason in REASONS if re.search(reason.module, case.module) and re.search(reason.pattern, case.text)), None)
