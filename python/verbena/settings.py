"""Settings of a fabric that Python has as values, and the words that `verbena fabric` takes for them. Starts nothing."""
# Tested by: python/tests/test_fabric.py
from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Mapping, Optional, Union


@dataclass(frozen=True)
class Ecn:
    """Marks as RED gives them: none below a queue of `kmin` octets, with a probability that grows to `pmax` (0 to 1)
    at `kmax`, all beyond.
    """

    kmin: int
    kmax: int
    pmax: float

    def __str__(self) -> str:
        return f"{self.kmin}..{self.kmax},{self.pmax:%}"


Settings = Union[str, Mapping[str, Any]]


def ecn_word(ecn: Union[int, str, Ecn, None]) -> Optional[str]:
    """As `verbena fabric --ecn` takes it."""
    return None if ecn is None else str(ecn)


def qos_word(qos: Optional[Settings]) -> Optional[str]:
    """A mapping as the words that `verbena fabric --qos` takes."""
    if qos is None or isinstance(qos, str):
        return qos
    return ",".join(f"{key}={_setting_text(value)}" for key, value in qos.items())


def _setting_text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (list, tuple)):
        return "+".join(str(one) for one in value)
    if isinstance(value, Mapping):
        return "+".join(f"{key}:{one}" for key, one in value.items())
    return str(value)
