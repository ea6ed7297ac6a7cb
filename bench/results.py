"""What one run of the bench has measured, as a file, and two of them side by side.

Owns: the format of the file and its errors. A file holds the machine (machine.py), the lines of the table (report.py),
every figure of every round, and the counted cache lines (cache_lines/count.py). Nothing is measured here.
"""
import json
import os
import subprocess
import time

import machine
from report import number

FORMAT, VERSION = "verbena-bench", 1
KEYS = {"machine": dict, "rows": list, "rounds": list, "cache_lines": list, "quick": bool, "date": str, "commit": str}
MACHINE_KEYS = ("cpu", "crc_kernel")
ROW_KEYS = ("row", "beside", "unit", "ours", "compared", "difference")


class BadFile(Exception):
    """One line for the user: which file, and what is wrong with it."""


def commit_of(root):
    """The commit that was built, with a `+` if files have changed since; `unknown` outside of git."""
    def git(*argv):
        return subprocess.run(["git", "-C", root, *argv], capture_output=True, text=True, timeout=20, check=False)
    try:
        head = git("rev-parse", "--short", "HEAD")
        changed = git("status", "--porcelain", "--untracked-files=no").stdout.strip()
    except (OSError, subprocess.SubprocessError):
        return "unknown"
    return head.stdout.strip() + ("+" if changed else "") if head.returncode == 0 else "unknown"


def document(measured_on, rows, rounds, cache_lines, quick, commit):
    return {"format": FORMAT, "version": VERSION, "date": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
            "commit": commit, "quick": quick, "machine": measured_on, "rows": rows, "rounds": rounds,
            "cache_lines": cache_lines}


def default_path(build, found):
    """build/bench/DATE-COMMIT.json"""
    name = f"{found['date'].replace(':', '').removesuffix('Z')}-{found['commit']}.json"
    return os.path.join(build, "bench", name)


def write(path, found):
    with open(path, "w", encoding="utf-8") as file:
        json.dump(found, file, indent=1)
        file.write("\n")


def is_row(row):
    figures = [row.get(key) for key in ("ours", "compared")]
    return all(key in row for key in ROW_KEYS) and all(isinstance(row[key], str) for key in ("row", "beside", "unit")) and \
        all(figure is None or isinstance(figure, (int, float)) for figure in figures)


def load(path):
    """A file that write() made; BadFile if it is not."""
    try:
        with open(path, encoding="utf-8") as file:
            found = json.load(file)
    except OSError as error:
        raise BadFile(f"{path}: {error.strerror}") from None
    except ValueError as error:
        raise BadFile(f"{path}: no JSON: {error}") from None
    if not isinstance(found, dict) or found.get("format") != FORMAT:
        raise BadFile(f"{path}: not a result of the bench")
    if found.get("version") != VERSION:
        raise BadFile(f"{path}: format {found.get('version')}, this bench reads {VERSION}")
    for key, kind in KEYS.items():
        if not isinstance(found.get(key), kind):
            raise BadFile(f"{path}: no usable '{key}'")
    if not all(key in found["machine"] for key in MACHINE_KEYS):
        raise BadFile(f"{path}: no usable 'machine'")
    if not all(isinstance(row, dict) and is_row(row) for row in found["rows"]):
        raise BadFile(f"{path}: no usable 'rows'")
    if not all(isinstance(case, dict) and isinstance(case.get("name"), str) and isinstance(case.get("lines"), (int, float))
               for case in found["cache_lines"]):
        raise BadFile(f"{path}: no usable 'cache_lines'")
    return found


COMPARED = "{:<22} {:>8} {:>8} {:>7}  {:<10} {:<20} {:>7} {:>7} {:>7}"


def quotient(new, old):
    return "-" if new is None or not old else f"{new / old:.2f}"


def compare_line(new, old, key):
    """One row: our figures and their ratio, then what they were of what stands beside them."""
    line, other = new.get(key, {}), old.get(key, {})
    shown = line or other
    ours, was = line.get("ours"), other.get("ours")
    cells = ["", "", ""]
    if key[1]:
        compared, compared_was = line.get("compared"), other.get("compared")
        cells = [number(compared), number(compared_was), ""]
        if not shown["difference"]:
            cells[2] = quotient(compared, compared_was)
    return COMPARED.format(key[0], number(ours), number(was), quotient(ours, was), shown["unit"], key[1], *cells).rstrip()


def compare(new, old):
    """The lines of text that show both. Rows that only one of them has show a `-` for the other."""
    warnings = machine.differences(new["machine"], old["machine"])
    if new["quick"] != old["quick"]:
        warnings.append("one of them was quick: fewer rounds")
    lines = [f"warning: {warning}" for warning in warnings]
    if warnings:
        lines.append("         only what stands beside ours (the right half) can be compared then, if anything")
    lines.append(COMPARED.format("row", "new", "old", "new/old", "", "of", "new", "old", "new/old").rstrip())
    rows, rows_then = ({(line["row"], line["beside"]): line for line in found["rows"]} for found in (new, old))
    for key in rows | rows_then:
        lines.append(compare_line(rows, rows_then, key))
    counts, counts_then = ({case["name"]: case["lines"] for case in found["cache_lines"]} for found in (new, old))
    for name in counts | counts_then:
        ours, was = counts.get(name), counts_then.get(name)
        lines.append(COMPARED.format(name, number(ours), number(was), quotient(ours, was), "lines", *[""] * 4).rstrip())
    return lines
