"""What the pages of the documentation link to: the one reading of links and anchors, for the site (hooks.py) and for the test of links.

Pages are named by their paths in the source tree. It changes nothing and prints nothing.
"""
import os
import re

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
OUTSIDE = ("CONTRIBUTING.md", "scenarios/README.md")  # pages of the site that do not lie in docs/
LINK = re.compile(r"(?<!!)\[((?:[^\[\]]|\[[^\[\]]*\])+)\]\(([^()\s]+)\)")
HEADING = re.compile(r"^(#{1,6})\s+(.*?)\s*#*$")
FENCE = re.compile(r"^\s*(```|~~~)")


def in_docs(root=ROOT):
    """All pages below docs/."""
    found = []
    for folder, _, names in os.walk(os.path.join(root, "docs")):
        found += [os.path.relpath(os.path.join(folder, name), root) for name in names if name.endswith(".md")]
    return sorted(found)


def address(path):
    """Where the site has a page of the tree, relative to its top; nothing if it is no page. The site's first page is for README.md too."""
    if path == "README.md":
        return "index.md"
    if path in OUTSIDE:
        return path
    return path[len("docs/"):] if path.startswith("docs/") else None


def slug(heading):
    """The anchor that GitHub gives a heading; the site gives the same."""
    text = re.sub(LINK, r"\1", heading).replace("`", "")
    return re.sub(r"[^\w\- ]", "", text.lower()).replace(" ", "-")


def prose_lines(text):
    """(line number from 0, line) of all lines that are no code."""
    is_fenced, was_blank, is_indented, in_list = False, True, False, False
    for number, line in enumerate(text.split("\n")):
        if FENCE.match(line):
            is_fenced = not is_fenced
            continue
        is_blank = not line.strip()
        if not is_blank and not line.startswith(" "):
            in_list = bool(re.match(r"([-*]|\d+\.) ", line))
        is_indented = not in_list and line.startswith("    ") and (was_blank or is_indented)
        if not is_fenced and not is_indented:
            yield number, line
        was_blank = is_blank


def outside_of_code(line, change):
    """The line, with `change` made to what is not between backticks, a link's text apart."""
    if not LINK.search(line):
        return line
    parts = re.split(r"(\[`[^`]*`\]\([^()\s]+\)|`[^`]*`)", line)
    return "".join(part if part.startswith("`") else change(part) for part in parts)


def links(text):
    """(line number from 1, target) of each link."""
    found = []
    for number, line in prose_lines(text):
        def note(part, at=number + 1):
            found.extend((at, match.group(2)) for match in LINK.finditer(part))
            return part
        outside_of_code(line, note)
    return found


def anchors(text):
    """The anchors of a page's headings, one for each heading."""
    headings = (HEADING.match(line) for _, line in prose_lines(text))
    return [slug(heading.group(2)) for heading in headings if heading]


def is_elsewhere(target):
    return re.match(r"[a-z][a-z0-9+.-]*:", target) is not None


def resolve(page, target):
    """What a link on a page means: (path in the tree, anchor), either of which may be empty."""
    path, _, anchor = target.partition("#")
    if not path:
        return page, anchor
    return os.path.normpath(os.path.join(os.path.dirname(page), path)), anchor
