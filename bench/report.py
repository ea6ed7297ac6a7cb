"""Judges the rows and prints them.

Owns: what is compared, and with what. Ours and what stands beside it were measured one after the other in every round, so
each round has its own ratio; the table shows the median of the ratios and, for information, the medians of the figures.
"""
import statistics


def values_of(rounds, name):
    """The values of "measurement.figure", None for a round in which it could not be measured."""
    measurement, _, figure = name.partition(".")
    return [found[measurement][figure] if found.get(measurement) else None for found in rounds]


def compare(row, beside, ours, other):
    """One round's comparison: a ratio, a difference, or the figure itself."""
    if not beside.value:
        return ours
    return ours - other if beside.difference else ours / other


def judge(row, beside, rounds):
    """The line of one row and one thing beside it, as a dict."""
    ours = values_of(rounds, row.value)
    others = values_of(rounds, beside.value) if beside.value else ours
    whole = [pair for pair in zip(ours, others) if None not in pair]
    line = {"row": row.name, "program": row.program, "unit": row.unit, "beside": beside.name, "wanted": beside.wanted,
            "difference": beside.difference, "more_is_better": row.more_is_better, "ours_rounds": ours,
            "beside_rounds": others if beside.value else None, "rounds_measured": len(whole)}
    if not whole:
        return line | {"ours": None, "other": None, "compared": None, "met": None if beside.wanted is None else False}
    compared = [compare(row, beside, *pair) for pair in whole]
    middle = statistics.median(compared)
    line |= {"ours": statistics.median(pair[0] for pair in whole), "compared": middle, "lowest": min(compared),
             "highest": max(compared),
             "other": statistics.median(pair[1] for pair in whole) if beside.value else None}
    if beside.wanted is None:
        return line | {"met": None}
    return line | {"met": middle >= beside.wanted if row.more_is_better else middle <= beside.wanted}


def number(value):
    """Four digits that count, never in exponential form."""
    if value is None:
        return "-"
    return f"{value:.{max(0, 3 - len(str(int(abs(value)))))}f}" if abs(value) >= 1 else f"{value:.3f}"


FORMAT = "{:<20} {:<19} {:>7} {:<15} {:<20} {:>7} {:>6} {:>15}  {:<7} {}"
HEAD = FORMAT.format("row", "ours", "", "", "beside", "", "ratio", "(range)", "wanted", "")


def text_of(line, first):
    """One line of the table; the row's name and ours only in its first."""
    compared, spread = "-", "not measured"
    if line["compared"] is not None:
        compared, spread = number(line["compared"]), f"({number(line['lowest'])}-{number(line['highest'])})"
        if line["difference"]:
            compared = f"{line['compared']:+.1f}"
        elif not line["beside"]:
            compared = ""
    wanted = "" if line["wanted"] is None else f"{'>=' if line['more_is_better'] else '<='} {line['wanted']:g}"
    met = {True: "met", False: "NOT MET", None: "information"}[line["met"]]
    ours = (line["row"], line["program"], number(line["ours"]), line["unit"]) if first else ("", "", "", "")
    return FORMAT.format(*ours, line["beside"], number(line["other"]) if line["beside"] else "", compared, spread, wanted,
                         met).rstrip()


def print_table(rows, rounds, header=(), quick=False):
    """Prints the table below its header, and returns its lines."""
    print("", *header, sep="\n")
    print(f"\n{'QUICK: fewer rows and rounds. ' if quick else ''}Medians of {len(rounds)} round{'s'[:len(rounds) != 1]}, two processes on cores 0 "
          "and 1. Every round has its ratio, ours / beside.")
    print(HEAD.rstrip())
    lines = []
    for row in rows:
        for place, beside in enumerate(row.beside):
            lines.append(judge(row, beside, rounds))
            print(text_of(lines[-1], place == 0))
    judged = [line for line in lines if line["met"] is not None]
    print(f"{sum(line['met'] for line in judged)} of {len(judged)} met")
    return lines
