"""docs/conformance.md: the table of results, made from a run of the suite over every link.

Owns: the generated part of that page. What stands outside the markers is written by hand and kept.
"""
import collections

import reasons
import suite

BEGIN, END = "<!-- begin: written by `make conformance` -->", "<!-- end -->"


def count(cases, outcome):
    return sum(case.outcome == outcome for case in cases)


def table(results):
    """`results`: cases by link. One row for each file of the suite."""
    links = list(results)
    head = "| file | cases | " + " | ".join(f"{link}: passed | failed | skipped" for link in links) + " |"
    lines = [head, "|---|" + "---|" * (1 + 3 * len(links))]
    modules = {link: suite.by_module(cases) for link, cases in results.items()}

    def row(name, cases_of):
        cells = [str(max(len(cases_of(link)) for link in links))]
        for link in links:
            cells += [str(count(cases_of(link), outcome)) for outcome in ("passed", "failed", "skipped")]
        return f"| {name} | " + " | ".join(cells) + " |"

    for module in sorted({name for by_name in modules.values() for name in by_name}):
        lines.append(row(module, lambda link, module=module: modules[link].get(module, [])))
    lines.append(row("**all**", lambda link: results[link]))
    return "\n".join(lines)


def skips(results):
    """Each reason of a skip once, with its cases."""
    cases = collections.defaultdict(set)
    for link, all_of_link in results.items():
        for case in all_of_link:
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
    return (f"{BEGIN}\nrdma-core {version}, its vendor-neutral cases (all files but test_mlx5_*, test_efa*, test_cuda_*), each link on "
            f"one node.\n\n{table(results)}\n\nSkipped, and why:\n\n{skips(results)}\n{END}")


def rewrite(page, results, version):
    """The page with its generated part made anew."""
    before, begin, rest = page.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"the page has no part between {BEGIN} and {END}")
    return before + generated(results, version) + after
