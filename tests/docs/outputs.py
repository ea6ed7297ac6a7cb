#!/usr/bin/env python3
"""Runs the commands that README.md and the other documents show, and holds what they print against what is shown.

  outputs.py --verbena build/verbena [--write] [--only PAGE]

An indented block with lines that begin with `$ ` is a session: its commands run in this order, those of one document in one folder.
A program or a fabric without output shown, or with `&`, runs beside the others and has to end well, or by `kill %N`; all others
are waited for. What repeats to the octet is compared so; what has times and numbers of its own (live programs) by its shape: every
number is N, every row of blanks and dashes is one. `# exit status N` behind a command says that it is to end so. `<<'END'` makes a
file of the lines up to END. Commands that are shown without `$ ` are asked whether they have the options that are written.
--write puts the outputs of today in their places.
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
    return found  # docs/reference is made by reference.py


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
        self.text, _, status = text.partition("  # exit status ")
        self.first, self.shown = first, shown  # `first`: the line of the block that the output begins at
        self.status = int(status or 0)
        self.words = shlex.split(self.text.split("\n", maxsplit=1)[0].rstrip(" &"))

    def is_verbena(self, *names):
        return len(self.words) > 1 and self.words[0].endswith("verbena") and (not names or self.words[1] in names)

    def runs_beside(self):
        return self.text.endswith("&") or (not self.shown and self.is_verbena("exec", "fabric"))

    def needs_shell(self):
        return re.search(r" <<'END'| \| | > ", self.text) is not None


def commands_of(block):
    commands, at = [], 0
    while at < len(block.lines):
        text = block.lines[at][2:]
        at += 1
        while text.endswith("\\"):
            text = text[:-1] + block.lines[at].strip()
            at += 1
        if text.endswith("<<'END'"):
            end = block.lines.index("END", at) + 1
            text, at = "\n".join([text] + block.lines[at:end]), end
        begin = at
        while at < len(block.lines) and not block.lines[at].startswith("$ "):
            at += 1
        end = at
        while end > begin and not block.lines[end - 1].strip():
            end -= 1
        commands.append(Command(text, begin, block.lines[begin:end]))
    return commands


def is_live(command, folder):
    """Whether times and QPNs of a real clock are in what it prints."""
    if not command.is_verbena():
        return False
    if command.is_verbena("run"):
        return any(has_real_clock(os.path.join(folder, word)) for word in command.words if word.endswith(".yaml"))
    captures = [word for word in command.words if word.endswith((".pcap", ".pcapng"))]
    return command.is_verbena("exec", "fabric", "stat", "fault", "demo") or (
        command.is_verbena("explain", "check") and any("/" not in name for name in captures))


def has_real_clock(path):
    if not os.path.exists(path):
        return False
    with open(path, encoding="utf-8") as file:
        return re.search(r"^clock: real", file.read(), re.M) is not None


def shape(line):
    line = re.sub(r"0x[0-9a-f]+|\d+(\.\d+)*", "N", line)
    line = re.sub(r"(?<=N )(ns|us|ms|s)\b|(?<=N )[KMG]bit/sec", "UNIT", line)
    return re.sub(r"-+", "-", re.sub(r"\s+", " ", line)).strip()


def compared(command, folder, text):
    lines = [line.rstrip() for line in text.splitlines()]
    if not is_live(command, folder):
        return lines
    # What a live capture tells in which order is the machine's business; what went wrong is the same each time.
    if command.is_verbena("explain") and "--summary" not in command.words:
        lines = [line for line in lines if line.strip().startswith("!")]
    return [shape(line) for line in lines]


class Session:
    def __init__(self, block, verbena, folder):
        self.commands, self.verbena, self.folder = commands_of(block), verbena, folder
        self.fabric = f"docs-{os.getpid()}"
        self.beside = []
        self.outputs = []  # of the commands whose output is shown

    def argv_of(self, command):
        if command.needs_shell():
            of_this_fabric = re.sub(r"\bverbena (exec|fabric|stat|fault)\b", rf"verbena \1 --fabric {self.fabric}", command.text)
            return ["bash", "-c", re.sub(r"^verbena\b", shlex.quote(self.verbena), of_this_fabric)]
        words = list(command.words)
        if command.is_verbena():
            words[0] = self.verbena
            if command.is_verbena("exec", "fabric", "stat", "fault"):
                words[2:2] = ["--fabric", self.fabric]
        return words

    def run(self):
        """The first thing that is wrong, or nothing."""
        try:
            found = [self.run_one(command) for command in self.commands]  # all of them: --write wants every output
            if wrong := next(filter(None, found), None):
                return wrong
            for process, command in self.beside:
                said = process.communicate(timeout=PATIENCE_SECONDS)[0]
                if process.returncode != command.status:
                    return f"`{command.text}` ended with {process.returncode}:\n{said}"
            return None
        except subprocess.TimeoutExpired as late:
            return f"`{late.cmd}` did not end"
        finally:
            for process, _ in self.beside:
                if process.poll() is None:
                    process.kill()
                    process.wait()

    def run_one(self, command):
        argv = self.argv_of(command)
        start = {"cwd": self.folder, "stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
        if command.runs_beside():
            self.beside.append((subprocess.Popen(argv, **start), command))
            return self.wait_for_fabric() if command.is_verbena("fabric") else None
        if command.words[0] == "kill":
            self.beside[int(command.words[1].removeprefix("%")) - 1][0].terminate()
            return None
        for _ in range(50):  # a server that was started beside it may not listen yet
            done = subprocess.run(argv, timeout=PATIENCE_SECONDS, check=False, **start)
            if done.returncode == 0 or not self.beside or "connect" not in done.stdout:
                break
            subprocess.run(["sleep", "0.1"], check=False)
        if " > " not in command.text:
            self.outputs.append((command, done.stdout))
        if done.returncode != command.status:
            return f"`{command.text}` ended with {done.returncode}:\n{done.stdout}"
        expected, printed = (compared(command, self.folder, text) for text in ("\n".join(command.shown), done.stdout))
        if expected == printed:
            return None
        missing = [line for line in expected if line not in printed]
        unexpected = [line for line in printed if line not in expected]
        return (f"`{command.text}` prints something else than is shown\n  shown, not printed: {missing}\n"
                f"  printed, not shown: {unexpected}")

    def wait_for_fabric(self):
        for _ in range(100):
            stat = [self.verbena, "stat", "--fabric", self.fabric]
            if subprocess.run(stat, capture_output=True, check=False, timeout=PATIENCE_SECONDS).returncode == 0:
                return None
            subprocess.run(["sleep", "0.1"], check=False)
        return "the fabric is not there"


def check_session(block, verbena, folder):
    for _ in range(ATTEMPTS):
        session = Session(block, verbena, folder)
        wrong = session.run()
        if wrong is None or not any(is_live(command, folder) for command in session.commands):
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


def check_document(document, verbena, write):
    """How many of its blocks are not as they are shown, or, with `write`, could not be made so."""
    path = os.path.join(ROOT, document)
    with open(path, encoding="utf-8") as file:
        before = file.read().splitlines()
    failed, new = 0, []
    with tempfile.TemporaryDirectory(prefix="verbena-docs.") as folder:
        for name in ("scenarios", "tests"):
            os.symlink(os.path.join(ROOT, name), os.path.join(folder, name))
        for block in blocks_of(document, before):
            outputs = []
            wrong = check_options(block, verbena)
            if wrong is None and block.is_session():
                wrong, outputs = check_session(block, verbena, folder)
            if wrong and write and outputs:
                new.append((block, outputs))
            elif wrong:
                failed += 1
                print(f"{document}:{block.first + 1}: {wrong}")
    if new:
        lines = list(before)
        for block, outputs in reversed(new):
            lines = in_place(lines, block, outputs)
        with open(path, "w", encoding="utf-8") as file:
            file.write("\n".join(lines) + "\n")
    return failed


def check_all(verbena, write, only):
    failed = sum(check_document(document, verbena, write) for document in documents() if only in (None, document))
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
    parser.add_argument("--only", metavar="PAGE", choices=documents(), help="of this page alone")
    options = parser.parse_args()
    own_network()
    return check_all(os.path.abspath(options.verbena), options.write, options.only)


if __name__ == "__main__":
    sys.exit(main())
