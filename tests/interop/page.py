"""docs/interop.md: the table of results, made from a run.

Owns: the generated part of that page. What stands outside the markers is written by hand and kept.
"""
import deviations
import rows

BEGIN, END = "<!-- begin: written by `make interop` -->", "<!-- end -->"


def summary(outcomes):
    good = sum(not outcome.problem for outcome in outcomes)
    wrong = sum(outcome.wrong for outcome in outcomes)
    return (f"{good} of {len(outcomes)} runs worked; {sum(outcome.packets for outcome in outcomes)} packets, each ICRC judged, "
            f"{wrong} of them corrupted on purpose; {sum(outcome.seconds for outcome in outcomes):.0f} s")


def cell(outcomes):
    """Which of the two ends Verbena could be."""
    if not outcomes:
        return ""
    good = [outcome.place.ours for outcome in outcomes if not outcome.problem]
    return "both ways" if len(good) == 2 else f"as {good[0]}" if good else "no"


def table(head, names, columns, chosen):
    """`chosen(name, column)`: the outcomes of a cell."""
    lines = [f"| {head} | " + " | ".join(columns) + " |", "|---" * (len(columns) + 1) + "|"]
    for name in names:
        lines.append(f"| {name} | " + " | ".join(cell(chosen(name, column)) for column in columns) + " |")
    return "\n".join(lines)


def in_order(words):
    return list(dict.fromkeys(words))


def tables(outcomes):
    clean = [outcome for outcome in outcomes if not (outcome.row.faults or outcome.row.netem)]
    faulty = [outcome for outcome in outcomes if outcome.row.faults or outcome.row.netem]
    if clean:
        yield table("program", in_order(outcome.row.name for outcome in clean), in_order(outcome.place.column for outcome in clean),
                    lambda name, column: [outcome for outcome in clean if (outcome.row.name, outcome.place.column) == (name, column)])
    if faulty:
        yield "With faults, IPv4, MTU 1024. Ours are those of `--fault`, one packet for certain and others by chance; the guest's are netem's:"
        yield table("program, fault", in_order(outcome.row.name for outcome in faulty), in_order(outcome.place.link for outcome in faulty),
                    lambda name, link: [outcome for outcome in faulty if (outcome.row.name, outcome.place.link) == (name, link)])
    for deviation in deviations.DEVIATIONS:
        yield f"- {deviation.why}"


def rewrite(path, outcomes, release):
    """The page with its generated part made anew."""
    with open(path, encoding="utf-8") as file:
        before, begin, rest = file.read().partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"{path} has no lines '{BEGIN}' and '{END}'")
    text = "\n\n".join([f"Linux {release}. {summary(outcomes)}.", *tables(outcomes)])
    with open(path, "w", encoding="utf-8") as file:
        file.write(f"{before}{BEGIN}\n{text}\n{END}{after}")
