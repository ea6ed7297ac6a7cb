"""Times as users write them: "200ms", a number of seconds, or a timedelta."""
# Tested by: python/tests/test_fault.py
from __future__ import annotations

import re
from datetime import timedelta
from typing import Union

TimeSpan = Union[str, float, int, timedelta]

_UNITS = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0}


def seconds_of(span: TimeSpan) -> float:
    """In seconds. Raises ValueError for what is no time."""
    if isinstance(span, timedelta):
        seconds = span.total_seconds()
    elif isinstance(span, str):
        found = re.fullmatch(r"(\d+(?:\.\d+)?)(ns|us|ms|s)", span.strip())
        if not found:
            raise ValueError(f"'{span}' is no time: write a number and ns, us, ms or s, such as '200ms'")
        seconds = float(found.group(1)) * _UNITS[found.group(2)]
    else:
        seconds = float(span)
    if not 0 <= seconds < float("inf"):
        raise ValueError(f"{span!r} is no time that can be waited for")
    return seconds
