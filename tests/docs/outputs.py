#!/usr/bin/env python3
"""Runs the commands that README.md and the other documents show, and holds what they print against what is shown.

  outputs.py --verbena build/verbena [--write]

An indented block with lines that begin with `$ ` is a session: its commands run in this order in one folder. One whose output is
shown is waited for; one without runs beside the others and has to end well. What repeats to the octet is compared so; what has
times and numbers of its own (live programs) by its shape: every number is N, every row of blanks and dashes is one. Commands that
are shown without `$ ` are asked whether they have the options that are written. --write puts the outputs of today in their places.
"""
import argparse
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PATIENCE_SECONDS = 120
ATTEMPTS = 3  # of a live session: a busy machine may have added a retransmission of its own
INSIDE = "VERBENA_DOCS_INSIDE"


def documents():
    found = ["README.md", "CONTRIBUTING.md", "scenarios/README.md"]
    found += sorted(os.path.join("docs", name) for name in os.listdir(os.path.join(ROOT, "docs")) if name.endswith(".md"))
    return found


class Block:
    """Indented lines [first, last) of a document, blank ones between them included."""

    def __init__(self, document, first, lines):
        self.document, self.first, self.lines = document, first, lines

    def is_session(self):
        return any(line.startswith("$ ") for line in self.lines)


def blocks_of(document, lines):
    """Indented code, as Markdown has it: behind a blank line, four blanks or more, outside of lists."""
    blocks, at = [], 0
    while at < len(lines):
        is_code = lines[at].startswith("    ") and (at == 0 or not lines[at - 1].strip())
        if not is_code:
            at += 1
            continue
        end = at
        while end < len(lines) and (lines[end].startswith("    ") or not lines[end].strip()):
            end += 1
        while not lines[end - 1].strip():
            end -= 1
        blocks.append(Block(document, at, [line[4:] for line in lines[at:end]]))
        at = end
    return blocks


class Command:
    def __init__(self, text, first, shown):
        self.text, self.first, self.shown = text, first, shown  # `first`: the line of the block that the output begins at


def commands_of(block):
    commands, at = [], 0
    while at < len(block.lines):
        text = block.lines[at][2:]
        at += 1
        while text.endswith("\\"):
            text = text[:-1] + block.lines[at].strip()
            at += 1
        begin = at
        while at < len(block.lines) and not block.lines[at].startswith("$ "):
            at += 1
        end = at
        while end > begin and not block.lines[end - 1].strip():
            end -= 1
        commands.append(Command(text, begin, block.lines[begin:end]))
    return commands


def is_live(words):
    """Whether times and QPNs of a real clock are in what it prints."""
    return words[1] in ("exec", "fabric", "stat", "fault") or (words[1] in ("explain", "check") and "/" not in words[-1])


def shape(line):
    line = re.sub(r"0x[0-9a-f]+|\d+(\.\d+)*", "N", line)
    line = re.sub(r"(?<=N )(ns|us|ms|s)\b|(?<=N )[KMG]bit/sec", "UNIT", line)
    return re.sub(r"-+", "-", re.sub(r"\s+", " ", line)).strip()


def compared(words, text):
    lines = text.splitlines()
    if not is_live(words):
        return lines
    # What a live capture tells in which order is the machine's business; what went wrong is the same each time.
    if words[1] == "explain":
        lines = [line for line in lines if line.strip().startswith("!")]
    return [shape(line) for line in lines]


class Session:
    def __init__(self, block, verbena, folder):
        self.block, self.verbena, self.folder = block, verbena, folder
        self.fabric = f"docs-{os.getpid()}"
        self.beside = []
        self.outputs = []  # of the commands whose output is shown

    def words_of(self, text):
        words = shlex.split(text.rstrip(" &"))
        if words[0].endswith("verbena"):
            words[0] = self.verbena
            if words[1] in ("exec", "fabric", "stat", "fault"):
                words[2:2] = ["--fabric", self.fabric]
        return words

    def run(self):
        """The first thing that is wrong, or nothing."""
        try:
            for command in commands_of(self.block):
                if wrong := self.run_one(command):
                    return wrong
            for process, text in self.beside:
                said = process.communicate(timeout=PATIENCE_SECONDS)[0]
                if process.returncode != 0:
                    return f"`{text}` ended with {process.returncode}:\n{said}"
            return None
        except subprocess.TimeoutExpired as late:
            return f"`{late.cmd}` did not end"
        finally:
            for process, _ in self.beside:
                if process.poll() is None:
                    process.kill()
                    process.wait()

    def run_one(self, command):
        words = self.words_of(command.text)
        start = {"cwd": self.folder, "stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
        if not command.shown:
            self.beside.append((subprocess.Popen(words, **start), command.text))
            return None
        for attempt in range(50):  # a server that was started beside it may not listen yet
            done = subprocess.run(words, timeout=PATIENCE_SECONDS, check=False, **start)
            if done.returncode == 0 or not self.beside or "connect" not in done.stdout:
                break
            subprocess.run(["sleep", "0.1"], check=False)
        self.outputs.append((command, done.stdout))
        if done.returncode != 0:
            return f"`{command.text}` ended with {done.returncode}:\n{done.stdout}"
        expected, printed = compared(words, "\n".join(command.shown)), compared(words, done.stdout)
        if expected == printed:
            return None
        missing = [line for line in expected if line not in printed]
        unexpected = [line for line in printed if line not in expected]
        return (f"`{command.text}` prints something else than is shown\n  shown, not printed: {missing}\n"
                f"  printed, not shown: {unexpected}")


def check_session(block, verbena):
    for attempt in range(ATTEMPTS):
        with tempfile.TemporaryDirectory(prefix="verbena-docs.") as folder:
            os.symlink(os.path.join(ROOT, "scenarios"), os.path.join(folder, "scenarios"))
            os.symlink(os.path.join(ROOT, "tests"), os.path.join(folder, "tests"))
            session = Session(block, verbena, folder)
            wrong = session.run()
        if wrong is None or not any(is_live(shlex.split(command.text.rstrip(" &"))) for command in commands_of(block)):
            break
    return wrong, session.outputs


def check_options(block, verbena, known={}):
    """What is wrong with commands that are shown without being run."""
    for line in block.lines:
        found = re.match(r"\[?(?:build/)?verbena ([a-z]+)\b(.*)", line)
        if not found:
            continue
        name, rest = found.group(1), found.group(2)
        if name not in known:
            known[name] = subprocess.run([verbena, name, "--help"], capture_output=True, text=True, check=False, timeout=PATIENCE_SECONDS)
        if known[name].returncode != 0:
            return f"`{line}`: there is no command {name}"
        for option in re.findall(r"(?<![\w-])--[a-z][a-z-]*", rest.split(" -- ")[0]):
            if option not in known[name].stdout:
                return f"`{line}`: verbena {name} has no {option}"
    return None


def in_place(lines, block, outputs):
    """The document's lines with the outputs of today."""
    for command, text in reversed(outputs):
        begin = block.first + command.first
        lines[begin:begin + len(command.shown)] = [("    " + line).rstrip() for line in text.rstrip("\n").splitlines()]
    return lines


def check_all(verbena, write):
    failed = 0
    for document in documents():
        path = os.path.join(ROOT, document)
        with open(path, encoding="utf-8") as file:
            before = file.read().splitlines()
        lines = list(before)
        for block in reversed(blocks_of(document, before)):
            outputs = []
            wrong = check_options(block, verbena)
            if wrong is None and block.is_session():
                wrong, outputs = check_session(block, verbena)
            if wrong and write and outputs:
                lines = in_place(lines, block, outputs)
            elif wrong:
                failed += 1
                print(f"{document}:{block.first + 1}: {wrong}")
        if lines != before:
            with open(path, "w", encoding="utf-8") as file:
                file.write("\n".join(lines) + "\n")
    print(f"{failed} blocks differ" if failed else "every block is as it is shown")
    return 1 if failed else 0


def own_network():
    """Programs listen on fixed ports: a network of this test's own, where the machine gives one."""
    if os.environ.get(INSIDE) or not shutil.which("unshare"):
        return
    unshare = ["unshare", "--user", "--map-root-user", "--net"]
    if subprocess.run(unshare + ["true"], capture_output=True, check=False).returncode == 0:
        again = shlex.join([sys.executable, "-B", os.path.abspath(__file__)] + sys.argv[1:])
        os.execvpe("unshare", unshare + ["sh", "-c", f"ip link set lo up; exec {again}"], os.environ | {INSIDE: "yes"})


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--verbena", required=True)
    parser.add_argument("--write", action="store_true", help="put the outputs of today in their places")
    options = parser.parse_args()
    own_network()
    return check_all(os.path.abspath(options.verbena), options.write)


if __name__ == "__main__":
    sys.exit(main())
