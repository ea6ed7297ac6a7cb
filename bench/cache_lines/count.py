#!/usr/bin/env python3
"""Counts the cache lines of shared memory that have to come from the other core, per message, and prints them.

`exchange` sends messages between two NICs over the shared-memory link in one thread; valgrind's lackey tells each of its
loads and stores; a model of two caches says which of them have to wait for the other core. No performance counters and no
clock: every run of a build on a kind of processor counts the same. It knows no format of the ring, only addresses.

A line is *fetched* by who reads it when the other has written it since, and *taken* by who writes it while the other has
it. Both are a way between the cores. Caches never lose a line, and are empty at first.

  count.py [--build DIR]
"""
import argparse
import contextlib
import dataclasses
import os
import re
import selectors
import subprocess
import sys
import time

LINE_SHIFT, PAGE_SHIFT = 6, 12
FOLDERS_UP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
ACCESS = re.compile(rb"^ ([LSM]) ([0-9a-f]+),(\d+)$", re.M)
CHUNK_BYTES = 1 << 20
TIMEOUT_S = 300


class CountFailed(Exception):
    """One line: why nothing was counted."""


@dataclasses.dataclass
class Counts:
    """Of one case: ways between the cores, by whoever needed the line (a, b) and by what lies in it."""
    fetched: dict
    taken: dict
    in_vain: dict  # of those fetched from a ring: written by the other before they held a frame for who fetched them


class Caches:
    """Who has which line."""

    def __init__(self):
        self.line = {}  # line: [whose store was the last, who has a copy, who fetched it]
        self.clear()

    def clear(self):
        self.counts = Counts({}, {}, {})

    @staticmethod
    def add(counts, side, kind):
        counts[side, kind] = counts.get((side, kind), 0) + 1

    def load(self, side, line, kind):
        state = self.line.get(line)
        if state is None or side in state[1]:
            return
        self.add(self.counts.fetched, side, kind)
        state[1].add(side)
        state[2] = side

    def store(self, side, line, kind):
        state = self.line.setdefault(line, [side, {side}, None])
        if state[1] - {side}:
            self.add(self.counts.taken, side, kind)
            if state[2] not in (None, side):
                self.add(self.counts.in_vain, state[2], kind)
        state[:] = [side, {side}, None]


class SharedMemory:
    """What lies at an address of `exchange`, from the words that it prints."""

    def __init__(self):
        self.pages, self.markers, self.index_bytes = {}, {}, 0

    def learn(self, line):
        """False: `line` is not of the memory."""
        word, *values = line.split()
        if word == "memory":
            begin, end, offset, inode = map(int, values[:4])
            for page in range(begin >> PAGE_SHIFT, end >> PAGE_SHIFT):
                self.pages[page] = (inode, (offset >> PAGE_SHIFT) + page - (begin >> PAGE_SHIFT), "page" in values[4])
        elif word == "marker":
            self.markers[int(values[0])] = values[1]
        elif word == "index_bytes":
            self.index_bytes = int(values[0])
        else:
            return False
        return True

    def lines(self, address, size):
        """(line, kind) of each line that so many octets touch."""
        for number in range(address >> LINE_SHIFT, (address + size - 1 >> LINE_SHIFT) + 1):
            page = self.pages.get(number >> PAGE_SHIFT - LINE_SHIFT)
            if page is None:
                continue
            inode, place, is_process_page = page
            within = place << PAGE_SHIFT - LINE_SHIFT | number & (1 << PAGE_SHIFT - LINE_SHIFT) - 1
            kind = "page" if is_process_page else "index" if within << LINE_SHIFT < self.index_bytes else "ring"
            yield (inode, within), kind


class Counter:
    """Follows the accesses. `cases` are the counts of the parts that count, in their order."""

    def __init__(self, memory):
        self.memory, self.caches, self.side, self.cases = memory, Caches(), None, []

    def access(self, kind, address, size):
        marker = self.memory.markers.get(address)
        if marker is not None:
            self.mark(marker)
            return
        if self.side is None or address >> PAGE_SHIFT not in self.memory.pages:
            return
        for line, lies_in in self.memory.lines(address, size):
            if kind != b"S":
                self.caches.load(self.side, line, lies_in)
            if kind != b"L":
                self.caches.store(self.side, line, lies_in)

    def mark(self, marker):
        if marker in ("begin", "end"):
            if marker == "end":
                self.cases.append(self.caches.counts)
            self.caches.clear()  # those of a case are not to grow with what comes after it
        else:
            self.side = None if marker == "nobody" else marker

    def feed(self, trace):
        for kind, address, size in ACCESS.findall(trace):
            self.access(kind, int(address, 16), int(size))


def result(line, counts):
    """One case, per message: `line` is what exchange says of it."""
    messages, frames_of_a, frames_of_b, is_ping_pong, name = line.split(maxsplit=5)[1:]
    messages, is_ping_pong = int(messages), is_ping_pong == "1"

    def total(what, side=None, kind=None):
        return sum(count for (of, lies_in), count in what.items() if side in (None, of) and kind in (None, lies_in))

    def per_message(count):
        return round(count / messages, 4)
    there = total(counts.fetched, "b", "ring") - total(counts.in_vain, "b", "ring")
    back = total(counts.fetched, "a", "ring") - total(counts.in_vain, "a", "ring")
    frames = (int(frames_of_a), int(frames_of_b))
    if is_ping_pong:  # both send messages, and the acknowledgements go the same way
        there, back, frames = there + back, 0, (sum(frames), 0)
    return {"name": name, "messages": messages, "frames_there": per_message(frames[0]), "frames_back": per_message(frames[1]),
            "there": per_message(there), "back": per_message(back),
            "polled": per_message(total(counts.in_vain, kind="ring") + total(counts.taken, kind="ring")),
            "index": per_message(total(counts.fetched, kind="index") + total(counts.taken, kind="index")),
            "page": per_message(total(counts.fetched, kind="page") + total(counts.taken, kind="page")),
            "lines": per_message(total(counts.fetched) + total(counts.taken))}


FORMAT = "{:<24} {:>6} {:>5} {:>9} {:>7} {:>7} {:>6} {:>6} {:>7} {:>8}"


def describe(cases):
    """The lines of the table."""
    lines = ["Cache lines that come from the other core, per message, counted (bench/cache_lines):",
             FORMAT.format("message", "frames", "back", "of frames", "back", "polled", "index", "page", "all", "a frame")]
    for case in cases:
        frames = case["frames_there"] + case["frames_back"]
        figures = [f"{case[key]:.2f}" for key in
                   ("frames_there", "frames_back", "there", "back", "polled", "index", "page", "lines")]
        lines.append(FORMAT.format(case["name"], *figures, f"{case['lines'] / frames:.2f}"))
    return lines


def argv_of(program, log):
    return ["valgrind", "--tool=lackey", "--trace-mem=yes", f"--log-fd={log}", program]


def run(program):
    """The cases of `exchange`, counted."""
    trace_read, trace_write = os.pipe()
    with subprocess.Popen(argv_of(program, trace_write), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          bufsize=0, pass_fds=[trace_write]) as process:
        try:
            os.close(trace_write)
            counter, texts, tail = follow(process, trace_read)
        except BaseException:
            process.kill()
            raise
        finally:
            os.close(trace_read)
    if process.returncode != 0:
        raise CountFailed(f"{program} under valgrind ended with {process.returncode}: {tail}")
    if not texts or len(texts) != len(counter.cases):
        raise CountFailed(f"{program}: {len(texts)} cases, {len(counter.cases)} counted")
    return [result(text, counts) for text, counts in zip(texts, counter.cases)]


def follow(process, trace):
    """Reads what the program says and the trace until both end. Nothing of the trace counts before the memory is known:
    the program waits until it has been told that it is."""
    counter = Counter(SharedMemory())
    texts, said, rest, tail = [], b"", b"", b""
    deadline = time.monotonic() + TIMEOUT_S
    with selectors.DefaultSelector() as selector:
        selector.register(process.stdout, selectors.EVENT_READ)
        selector.register(trace, selectors.EVENT_READ)
        while selector.get_map():
            if time.monotonic() > deadline:
                raise CountFailed(f"no end within {TIMEOUT_S} s")
            for key, _ in selector.select(timeout=1):
                chunk = os.read(key.fd, CHUNK_BYTES)
                if not chunk:
                    selector.unregister(key.fileobj)
                elif key.fd == trace:
                    whole, _, rest = (rest + chunk).rpartition(b"\n")
                    tail = whole[-200:]
                    if counter.memory.index_bytes:
                        counter.feed(whole)
                else:
                    *lines, said = (said + chunk).split(b"\n")
                    for line in map(bytes.decode, lines):
                        if not counter.memory.learn(line):
                            texts.append(line)
                        elif counter.memory.index_bytes:
                            with contextlib.suppress(BrokenPipeError):  # it has ended; its status says why
                                process.stdin.write(b"\n")
    return counter, texts, tail.decode(errors="replace").strip().rpartition("\n")[2]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default=os.path.join(FOLDERS_UP, "build"), metavar="DIR")
    options = parser.parse_args()
    try:
        print(*describe(run(os.path.join(options.build, "bench", "exchange"))), sep="\n")
    except (CountFailed, OSError) as failure:
        print(f"count: {failure}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
