"""Counters of a NIC by name. One that has counted nothing is 0; a name that no NIC has is an error, so that a check of
it cannot pass for a slip of the pen.
"""
# Tested by: python/tests/test_fabric.py
from __future__ import annotations

from typing import Dict, Iterable, Mapping


class Counters(Dict[str, int]):
    """The counters that are not 0; asked for, any that exists."""

    def __init__(self, names: Iterable[str], values: Mapping[str, int]) -> None:
        super().__init__({name: value for name, value in values.items() if value})
        self._names = frozenset(names)

    def __missing__(self, name: str) -> int:
        if name not in self._names:
            raise KeyError(f"a NIC has no counter '{name}': {', '.join(sorted(self._names))}")
        return 0

    @property
    def names(self) -> "frozenset[str]":
        """Of all counters."""
        return self._names

    def plus(self, other: Mapping[str, int]) -> "Counters":
        """The sums of both. Of `link_downed`, which each process of a node counts, the larger."""
        sums = dict(self)
        for name, value in other.items():
            sums[name] = max(sums.get(name, 0), value) if name == "link_downed" else sums.get(name, 0) + value
        return Counters(self._names, sums)

    def __str__(self) -> str:
        width = max(map(len, self), default=0)
        return "\n".join(f"{name:<{width}} {value:>14}" for name, value in self.items())
