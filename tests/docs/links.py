#!/usr/bin/env python3
"""Every link of the documentation leads somewhere: to a file of the tree, to a heading that there is. And every page is found: in
mkdocs.yml's nav, and in README's lists.

  links.py [ROOT]

Addresses of other servers are looked at for their form only. Headings that are linked to are alone in their page, for GitHub
and mkdocs number those that are not differently.
"""
import os
import re
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "..", "packaging", "site"))
import pages  # pylint: disable=wrong-import-position


def documents(root):
    """All Markdown of the tree: README.md and whatever lies in folders, but not what was built."""
    listed = subprocess.run(["git", "-C", root, "ls-files", "-co", "--exclude-standard", "*.md"], capture_output=True, text=True, check=False)
    if listed.returncode == 0 and listed.stdout:
        return sorted(path for path in listed.stdout.split("\n") if path and os.path.exists(os.path.join(root, path)))
    outside = [path for path in ("README.md", *pages.OUTSIDE) if os.path.exists(os.path.join(root, path))]
    return sorted(outside + pages.in_docs(root))


def read(root, path):
    with open(os.path.join(root, path), encoding="utf-8") as file:
        return file.read()


def check_link(root, page, target):
    """What is wrong with a link, or nothing."""
    if pages.is_elsewhere(target):
        return None if re.fullmatch(r"(https?://[\w.-]+(:\d+)?(/\S*)?|mailto:\S+@\S+)", target) else f"{target} is no address"
    path, anchor = pages.resolve(page, target)
    if path.startswith("..") or not os.path.exists(os.path.join(root, path)):
        return f"{target}: there is no {path}"
    if not anchor:
        return None
    if not path.endswith(".md"):
        return f"{target}: {path} has no headings"
    count = pages.anchors(read(root, path)).count(anchor)
    if count == 0:
        return f"{target}: {path} has no heading '{anchor}'"
    return None if count == 1 else f"{target}: {path} has {count} headings '{anchor}'"


def check_pages_are_found(root):
    nav = set(re.findall(r"(\S+\.md)\s*$", read(root, "mkdocs.yml"), re.M))
    listed = {pages.resolve("README.md", target)[0] for _, target in pages.links(read(root, "README.md"))}
    wrong = []
    for path in pages.in_docs(root) + list(pages.OUTSIDE):
        if pages.address(path) not in nav:
            wrong.append(f"mkdocs.yml: its nav does not have {pages.address(path)}")
        if path not in listed and path != "docs/index.md" and not path.startswith("docs/reference/"):
            wrong.append(f"README.md: it does not name {path}")
    if not any(path.startswith("docs/reference/") for path in listed):
        wrong.append("README.md: it does not name the reference")
    return wrong


def check_all(root):
    wrong = check_pages_are_found(root)
    for page in documents(root):
        for number, target in pages.links(read(root, page)):
            if text := check_link(root, page, target):
                wrong.append(f"{page}:{number}: {text}")
    return wrong


def main():
    wrong = check_all(os.path.abspath(sys.argv[1] if len(sys.argv) > 1 else pages.ROOT))
    for line in wrong:
        print(line)
    print(f"{len(wrong)} links or pages are wrong" if wrong else "every link leads somewhere")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
