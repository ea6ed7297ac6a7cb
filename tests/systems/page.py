"""docs/systems.md: what runs, made from the catalogue, the scenarios and a run.

Owns: the generated part of that page. What stands outside the markers is written by hand and kept.
"""
import re
import subprocess

import conditions

BEGIN, END = "<!-- begin: written by `make test-systems` -->", "<!-- end -->"


def version_of(package):
    """Of an installed package of Debian; empty where it is not installed."""
    done = subprocess.run(["dpkg-query", "-W", "-f", "${db:Status-Status} ${Version}", package], capture_output=True, text=True, check=False)
    status, _, version = done.stdout.partition(" ")
    return version if status == "installed" else ""


def summary(outcomes):
    good = sum(not outcome.problem for outcome in outcomes)
    known = sum(bool(outcome.problem and outcome.row.deviation(outcome.condition)) for outcome in outcomes)
    return (f"{good} of {len(outcomes)} runs worked" + (f", {known} failed as the catalogue says" if known else "") +
            f"; {sum(outcome.seconds for outcome in outcomes):.0f} s")


def cell(row, condition, outcomes):
    """What a run of a system under a condition came to."""
    if condition in row.without:
        return "none"
    mine = [outcome for outcome in outcomes if (outcome.row.name, outcome.condition) == (row.name, condition)]
    if not mine:
        return "not run"
    good = sum(not outcome.problem for outcome in mine)
    deviates = "deviates, " if row.deviation(condition) else ""
    return f"{deviates}{good} of {len(mine)}"


def table(rows, outcomes):
    lines = ["| program | exercises | data compared by | " + " | ".join(conditions.CONDITIONS) + " |",
             "|---" * (3 + len(conditions.CONDITIONS)) + "|"]
    for row in rows:
        cells = [cell(row, condition, outcomes) for condition in conditions.CONDITIONS]
        lines.append(f"| [{row.name}](../scenarios/systems/{row.name}.yaml): {row.title} {version_of(row.packages[0])} | {row.exercises} | "
                     f"{row.verified} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def quoted(words):
    """A program of a scenario as a shell takes it."""
    if isinstance(words, str):
        return words
    return " ".join("'" + word.replace("'", "'\\''") + "'" if set(word) & set(" $<>|;()\"'*&") else word for word in words)


def address_of(name):
    """Of a match of ${n2}, or ${n2.3}: the third rail of a node is its third device."""
    return f"127.47.{90 + int(name.group(2) or 1)}.{name.group(1)}"


def commands(row, scenario):
    lines = [f"    build/verbena run scenarios/systems/{row.name}.yaml"]
    rails = scenario["topology"].get("rails", 1)
    for workload in scenario["workloads"]:
        words = re.sub(r"\$\{n(\d+)(?:\.(\d+))?\}", address_of, quoted(workload["exec"]))
        where = f"--nodes {workload['nodes']}" if "nodes" in workload else f"--node {workload['node'][1:]}"
        if rails > 1:
            where += f" --devices {rails}"
        lines.append(f"    build/verbena exec {where} -- {words}")
    return f"{row.name}:\n\n" + "\n".join(lines)


def notes(rows):
    for row in rows:
        if row.loss_why:
            yield f"- {row.name}, lossy: `{row.loss}`. {row.loss_why}"
        for deviation in row.deviations:
            yield f"- {row.name}, {deviation.condition}: {deviation.why}"
        for why in dict.fromkeys(row.without.values()):
            yield f"- {row.name}, {', '.join(one for one in row.without if row.without[one] == why)}: no run. {why}"


def killed(rows):
    lines = ["| program | who says what, exit status | within | by |", "|---|---|---|---|"]
    for row in rows:
        if row.killed and "killed" not in row.without:
            says = "; ".join(f"{name}: `{end.says}`, {end.status}".replace("|", "\\|") for name, end in row.killed.ends.items())
            lines.append(f"| {row.name} | {says} | {row.killed.within_s:g} s | {row.killed.bound} |")
    return "\n".join(lines)


def text_of(rows, outcomes, scenarios):
    parts = [f"{summary(outcomes)}. A cell says how many of so many runs worked.", table(rows, outcomes)]
    if found := list(notes(rows)):
        parts += ["### What does not work, or is not tried", "\n".join(found)]
    parts += ["### When the peer is killed", killed(rows), "### The commands"]
    return "\n\n".join(parts + [commands(row, scenarios[row.name]) for row in rows])


def rewrite(path, outcomes, scenarios):
    """The page with its generated part made anew."""
    with open(path, encoding="utf-8") as file:
        before, begin, rest = file.read().partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"{path} has no lines '{BEGIN}' and '{END}'")
    rows = list(dict.fromkeys(outcome.row.name for outcome in outcomes))
    by_name = {outcome.row.name: outcome.row for outcome in outcomes}
    with open(path, "w", encoding="utf-8") as file:
        file.write(f"{before}{BEGIN}\n{text_of([by_name[name] for name in rows], outcomes, scenarios)}\n{END}{after}")
