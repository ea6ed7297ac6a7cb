"""Waiting in tests: the one place in Python that sleeps. A test waits for its condition. It lets time pass only where time itself is the
matter: a moment drawn at random, a peer that must stay silent.
"""
import time


def until(condition, seconds, what, rest=0.01):
    """Looks until `condition()` is true and gives what it returned. Raises TimeoutError, which says `what` was waited for."""
    deadline = time.monotonic() + seconds
    while not (found := condition()):
        if time.monotonic() > deadline:
            raise TimeoutError(f"after {seconds} s: {what}")
        let_time_pass(rest)
    return found


def let_time_pass(seconds):
    """Does nothing for this long."""
    time.sleep(seconds)
