#!/usr/bin/env python3
"""Makes docs/reference from what the program itself says: the help of each command, the scenario schema, the names of environment
variables, the docstrings of the Python module.

  reference.py --verbena build/verbena [--write]

Without --write it says which pages are not what they would be made.
"""
import argparse
import ast
import json
import os
import re
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
INTO = os.path.join(ROOT, "docs", "reference")
WRITE = "`packaging/site/reference.py --verbena build/verbena --write`"
# Variables of others that Verbena heeds or sets, where their names are written in the sources, and what they mean to it.
OTHERS = (
    ("VERBENA", "python/verbena/command.py", "the command that the Python module calls"),
    ("NO_COLOR", "cli/style.cc", "set to anything: no colours"),
    ("CLICOLOR_FORCE", "cli/style.cc", "not 0: colours where there is no terminal as well"),
    ("OMPI_COMM_WORLD_RANK", "emulator/host/config/own_node.h", "the rank of a process, of Open MPI (`--nodes`, `--node auto`)"),
    ("PMIX_RANK", "emulator/host/config/own_node.h", "the same, of PMIx"),
    ("PMI_RANK", "emulator/host/config/own_node.h", "the same, of MPICH and others"),
    ("SLURM_PROCID", "emulator/host/config/own_node.h", "the same, of srun, where none of these is set"),
    ("UCX_NET_DEVICES", "emulator/host/config/launch_environment.cc",
     "set to the node's device, unless it or UCX_TLS is set already"),
    ("UCX_TLS", "emulator/host/config/launch_environment.cc", "set to `^shm`, unless it or UCX_NET_DEVICES is set already"),
    ("LD_PRELOAD, LD_LIBRARY_PATH", "emulator/host/config/launch_environment.cc", "Verbena's libraries are put in front"),
    ("VERBENA_CAPTURES", "packaging/ci/action.yml", "the folder of captures in CI (packaging/ci)"),
)


def read(path):
    with open(os.path.join(ROOT, path), encoding="utf-8") as file:
        return file.read()


def escaped(text):
    """Prose of a help or a schema, as Markdown."""
    parts = re.split(r"(`[^`]*`)", text)
    return "".join(part if part.startswith("`") else re.sub(r"([*<\[\]\\])|(?<!\w)(_)", r"\\\1\2", part) for part in parts)


def cell(text):
    return text.replace("|", "\\|")


def head(title, made_from):
    return [f"# {title}", "", f"Made from {made_from} by {WRITE}; the tests compare.", ""]


def help_of(verbena, *words):
    return subprocess.run([verbena, *words, "--help"], capture_output=True, text=True, check=True, timeout=60).stdout


def commands_page(verbena):
    """Every command, with its options."""
    lines = head("Commands", "what each command says for `--help`")
    lines += ["Statuses that all have in common are in [usage.md](../usage.md#exit-statuses-colours-silence).", ""]
    names = re.search(r"Commands:\n(.*?)\n\n", help_of(verbena), re.S).group(1)
    for name in re.findall(r"^  (\S+)", names, re.M):
        lines += [f"## verbena {name}", "", *command_lines(help_of(verbena, name))]
    return lines


def command_lines(text):
    lines, example, was_blank = [], False, True
    for line in text.splitlines():
        entry = re.match(r"  (-\S.*?|\S.*?)(?:  +(\S.*))?$", line)
        if not line.strip():
            if not was_blank:
                lines.append("")
            was_blank, example = True, False
            continue
        if entry and not example:
            meaning = f": {escaped(entry.group(2))}" if entry.group(2) else ""
            lines.append(f"- `{entry.group(1)}`{meaning}")
        elif line.startswith("Usage: "):
            lines.append("    " + line[len("Usage: "):])
        elif line.startswith("Example"):
            lines += [*([] if was_blank else [""]), escaped(line), ""]
            example = True
        elif example:
            lines.append("    " + line.strip())
        else:
            if not was_blank and lines[-1].startswith("- "):
                lines.append("")
            lines.append(escaped(line))
            if line.endswith(":"):
                lines.append("")
        was_blank = False
    return lines + ([""] if lines[-1] else [])


def kind_of(value):
    """What a key's value may be, in a few words."""
    if "$ref" in value:
        name = value["$ref"].rsplit("/", 1)[1]
        return f"[{name}](#{name})"
    if "enum" in value:
        if True in value["enum"]:
            return "true or false"
        return ", ".join(f"`{word}`" for word in value["enum"])
    if "anyOf" in value:
        return " or ".join(dict.fromkeys(kind_of(one) for one in value["anyOf"]))
    if value.get("type") == "array":
        return "list of " + kind_of(value.get("items", {}))
    if value.get("type") == "object" and "additionalProperties" in value:
        return "by name: " + kind_of(value["additionalProperties"])
    kinds = value.get("type", "anything")
    words = " or ".join(kinds) if isinstance(kinds, list) else kinds
    if "minimum" in value and "maximum" in value:
        words += f", {value['minimum']} to {value['maximum']}"
    return words


def keys_table(section):
    rows = ["| key | value | meaning; what holds if it is not said |", "|---|---|---|"]
    for key, value in section["properties"].items():
        need = " (needed)" if key in section.get("required", []) else ""
        rows.append(f"| `{key}`{need} | {cell(kind_of(value))} | {cell(escaped(value['description']))} |")
    return rows + [""]


def scenario_page():
    schema = json.loads(read("docs/scenario.schema.json"))
    lines = head("The scenario language", "[scenario.schema.json](../scenario.schema.json)")
    lines += ["How to write one is in [scenarios/README.md](../../scenarios/README.md), how faults of packets are spelt in "
              "[faults.md](../faults.md).", "", "## The file", "", *keys_table(schema)]
    for name, section in schema["$defs"].items():
        lines += [f"## {name}", ""]
        if "description" in section:
            lines += [escaped(section["description"][0].upper() + section["description"][1:]) + ".", ""]
        elif "anyOf" in section:
            lines += [f"One or several: {kind_of(section)}.", ""]
        if "properties" in section:
            lines += keys_table(section)
    return lines


def environment_page():
    """Every variable that the product reads or sets."""
    lines = head("Environment variables", "emulator/host/config/variables.h and a list that it checks")
    lines += ["`verbena exec` sets these for the program; its option says what is in them:", "", "| variable | option, and what is in it |", "|---|---|"]
    for remark, name in re.findall(r"((?:/// [^\n]*\n)+)inline constexpr const char\* k\w+Variable = \"(\w+)\";", read("emulator/host/config/variables.h")):
        text = re.sub(r" \([^()]*(?:\.h|\.h\))\)", "", " ".join(remark.replace("///", "").split()))
        options, _, meaning = text.partition(": ")
        lines.append(f"| {name} | `{options}`: {cell(meaning)} |")
    lines += ["", "Others:", "", "| variable | what it means to Verbena |", "|---|---|"]
    for names, path, meaning in OTHERS:
        for name in names.split(", "):
            if not re.search(rf"\b{name}\b", read(path)):
                sys.exit(f"reference: {path} does not name {name}")
        lines.append(f"| {names} | {meaning} |")
    return lines + [""]


def first_paragraph(node):
    text = (ast.get_docstring(node) or "").split("\n\n")[0]
    return re.sub(r"``?([^`]+)``?", r"`\1`", " ".join(text.split()))


def signature(function, name):
    arguments = ast.unparse(function.args)
    return f"{name}({re.sub(r'^(self|cls)(, )?', '', arguments)})"


def is_property(function):
    return any(isinstance(mark, ast.Name) and mark.id == "property" for mark in function.decorator_list)


def class_lines(node):
    methods = [part for part in node.body if isinstance(part, ast.FunctionDef)]
    made = next((part for part in methods if part.name == "__init__"), None)
    lines = [f"## {node.name}", "", *([f"    {signature(made, node.name)}", ""] if made and made.args.args[1:] else []), escaped(first_paragraph(node)), ""]
    for part in methods:
        if not part.name.startswith("_"):
            shown = part.name if is_property(part) else signature(part, part.name)
            text = first_paragraph(part)
            lines.append(f"- `{shown}`" + (f": {escaped(text)}" if text else ""))
    return lines + ([""] if lines[-1] else [])


def python_page():
    """What `import verbena` offers."""
    lines = head("The Python module", "the docstrings of python/verbena")
    lines += ["Examples, and the pytest plugin, are in [python.md](../python.md).", ""]
    module = ast.parse(read("python/verbena/__init__.py"))
    places = {alias.name: part.module for part in module.body if isinstance(part, ast.ImportFrom) for alias in part.names}
    for name in sorted(places, key=str.lower):
        tree = ast.parse(read(f"python/verbena/{places[name]}.py"))
        node = next(part for part in tree.body if getattr(part, "name", None) == name)
        if isinstance(node, ast.ClassDef):
            lines += class_lines(node)
        else:
            lines += [f"## {name}", "", f"    {signature(node, name)}", "", escaped(first_paragraph(node)), ""]
    return lines


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--verbena", required=True)
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    pages = {"commands": commands_page(os.path.abspath(options.verbena)), "scenario": scenario_page(),
             "environment": environment_page(), "python": python_page()}
    stale = []
    for name, lines in pages.items():
        text = "\n".join(line.rstrip() for line in lines).rstrip("\n") + "\n"
        path = os.path.join(INTO, name + ".md")
        if options.write:
            os.makedirs(INTO, exist_ok=True)
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
        elif not os.path.exists(path) or read(path) != text:
            stale.append(f"docs/reference/{name}.md")
    for path in stale:
        print(f"{path} is not up to date: {WRITE.strip('`')}")
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main())
