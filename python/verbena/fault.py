"""A fault on a running fabric, and how it is ended.

What faults there are, and what undoes each, is the command's to know: `verbena help fault --json`, from the tables that
docs/faults.md is made of.
"""
from __future__ import annotations

import functools
import threading
from types import TracebackType
from typing import Any, Callable, Dict, List, Optional, Sequence, Type

from .command import ask_json, find_command
from .errors import VerbenaError
from .times import TimeSpan, seconds_of

Words = Sequence[str]
Ask = Callable[[Words], Any]  # `verbena fault --json WORDS`
Stat = Callable[[], Dict[str, Any]]  # `verbena stat --json`


@functools.lru_cache(maxsize=None)
def _words_of(command: str) -> Dict[str, Dict[str, Any]]:
    return {word["word"]: word for word in ask_json(["help", "fault", "--json"])["fabric"]}


def fabric_words() -> Dict[str, Dict[str, Any]]:
    """The words of `verbena fault`, each with what undoes it; what begins with none of them is a rule for packets."""
    return _words_of(find_command())


def is_on_fabric(text: str) -> bool:
    """Whether it names elements of the fabric; otherwise it is a rule for the packets of a node."""
    return text.split()[:1] != [] and text.split()[0] in fabric_words()


def links_named(name: str, links: Sequence[Dict[str, Any]]) -> List[Dict[str, Any]]:
    """Of `verbena stat`'s links, those that LINK stands for: n1-s1 both directions, n1->s1 one, all."""

    def is_named(link: Dict[str, Any]) -> bool:
        begin, _, end = str(link["name"]).partition("->")
        return name in ("all", link["name"], f"{begin}-{end}", f"{end}-{begin}")

    return [link for link in links if is_named(link)]


def _undoing(words: Words, stat: Stat) -> Optional[List[List[str]]]:
    """The words that undo these, if any do; asked before it is done."""
    undo = fabric_words().get(words[0], {}).get("undo")
    if undo is None or words[0] == "add":  # what undoes that has the number that it is given
        return None
    if "values" not in undo:
        return [[undo["word"], *words[1:]]]
    if len(words) < 2:
        return None
    return [
        [undo["word"], link["name"], *(f"{link[value['key']]}{value['unit']}" for value in undo["values"])]
        for link in links_named(words[1], stat()["links"])
    ]


class Fault:
    """A fault that is there, until undo(), the end of its time or of the fabric. In a with statement: until its end."""

    def __init__(self, text: str, ask: Ask, stat: Stat, lasts: Optional[TimeSpan] = None) -> None:
        self.text, self.number = text, 0  # `number`: of a rule, as `verbena fault list` has it
        self._ask, self._stat = ask, stat
        self._lock = threading.Lock()
        self._ended = threading.Event()
        self._error: Optional[VerbenaError] = None
        self._hits = 0
        seconds = None if lasts is None else seconds_of(lasts)
        words = text.split()
        if not words:
            raise ValueError("a fault needs words, such as 'link-down n1-s1'")
        self._undo = _undoing(words, stat)
        is_rule = words[0] == "add" or words[0] not in fabric_words()  # "n1 fail verb=reg_mr": the place comes first
        if seconds is not None and self._undo is None and not is_rule:
            raise ValueError(f"'{words[0]}' cannot be undone, so it cannot have a time")
        answer = ask(words)
        if is_rule:
            self.number = int(answer["fault"])
            self._undo = [[fabric_words()["add"]["undo"]["word"], str(self.number)]]
        self._timer: Optional[threading.Timer] = None
        if seconds is not None:
            self._timer = threading.Timer(seconds, self._time_is_over)
            self._timer.daemon = True
            self._timer.start()

    @property
    def is_active(self) -> bool:
        """Not undone yet."""
        return not self._ended.is_set()

    @property
    def hits(self) -> int:
        """How many packets, calls or completions a rule (`add LINK RULE`) has hit, up to now or to its end."""
        with self._lock:
            if self.number and self.is_active:
                for fault in self._stat()["faults"]:
                    if fault["number"] == self.number:
                        self._hits = int(fault["hits"])
            return self._hits

    def undo(self) -> None:
        """Ends it. Does nothing if it has ended. Raises ValueError if nothing undoes it."""
        with self._lock:
            if not self.is_active:
                return
            if self._undo is None:
                raise ValueError(f"'{self.text}' cannot be undone")
            self._cancel()
            for words in self._undo:
                answer = self._ask(words)
                self._hits = int(answer.get("hits", self._hits))
            self._ended.set()

    def wait(self, timeout: Optional[float] = None) -> bool:
        """Until it has ended (False: not within `timeout` seconds). Raises what kept it from being undone in time."""
        ended = self._ended.wait(timeout)
        if self._error is not None:
            raise self._error
        return ended

    def forget(self) -> None:
        """The fabric ends, and all its faults with it."""
        self._cancel()
        self._ended.set()

    def _cancel(self) -> None:
        if self._timer is not None and self._timer is not threading.current_thread():
            self._timer.cancel()

    def _time_is_over(self) -> None:
        try:
            self.undo()
        except VerbenaError as error:
            if self.is_active:  # else the fabric has ended meanwhile
                self._error = error
            self._ended.set()

    def __enter__(self) -> "Fault":
        if self._undo is None:
            raise ValueError(f"'{self.text}' cannot be undone, so it cannot last as long as a block")
        return self

    def __exit__(
        self, kind: Optional[Type[BaseException]], error: Optional[BaseException], trace: Optional[TracebackType]
    ) -> None:
        self.undo()

    def __repr__(self) -> str:
        return f"<Fault '{self.text}'{'' if self.is_active else ', ended'}>"
