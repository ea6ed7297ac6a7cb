"""docs/conformance.md: the table of results, made from a run of the suite over every link and wire.

Owns: the generated part of that page. What stands outside the markers is written by hand and kept.
"""
import collections

import reasons
import suite

BEGIN, END = "<!-- begin: written by `make conformance` -->", "<!-- end -->"


def count(cases, outcome):
    return sum(case.outcome == outcome for case in cases)


def table(results):
    """`results`: cases by run. One row for each file of the suite; a cell has how many passed, failed and were skipped."""
    runs = list(results)
    lines = ["| file | cases | " + " | ".join(runs) + " |", "|---|" + "---|" * (1 + len(runs))]
    modules = {run: suite.by_module(cases) for run, cases in results.items()}

    def row(name, cases_of):
        cells = [str(max(len(cases_of(run)) for run in runs))]
        cells += [" / ".join(str(count(cases_of(run), outcome)) for outcome in ("passed", "failed", "skipped")) for run in runs]
        return f"| {name} | " + " | ".join(cells) + " |"

    for module in sorted({name for by_name in modules.values() for name in by_name}):
        lines.append(row(module, lambda run, module=module: modules[run].get(module, [])))
    lines.append(row("**all**", lambda run: results[run]))
    return "\n".join(lines)


def skips(results):
    """Each reason of a skip once, with its cases."""
    cases = collections.defaultdict(set)
    for all_of_run in results.values():
        for case in all_of_run:
            if case.outcome == "skipped":
                reason = reasons.reason_of(case)
                cases[(case.text, reason)].add(f"{case.module}.{case.name.split('.')[-1]}")
    if not cases:
        return "None was skipped."
    lines = ["| the suite's reason | cases | | |", "|---|---|---|---|"]
    for (text, reason), names in sorted(cases.items(), key=lambda item: item[0][0]):
        what, why = (reason.what, reason.why) if reason else ("**unexplained**", "")
        lines.append(f"| {' '.join(text.split())} | {len(names)}: {', '.join(sorted(names))} | {what} | {why} |")
    return "\n".join(lines)


def generated(results, version):
    return (f"{BEGIN}\nrdma-core {version}, its vendor-neutral cases (all files but test_mlx5_*, test_efa*, test_cuda_*), each link "
            f"and wire on one node. A cell has how many cases passed / failed / were skipped.\n\n{table(results)}\n\nSkipped, and why:\n\n{skips(results)}\n{END}")


def rewrite(page, results, version):
    """The page with its generated part made anew."""
    before, begin, rest = page.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"the page has no part between {BEGIN} and {END}")
    return before + generated(results, version) + after
