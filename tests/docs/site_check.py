#!/usr/bin/env python3
"""Builds the site as `make site` does and looks at what came out: every page is there, nothing is asked of other servers, every link
and anchor of the HTML leads somewhere.

  site_check.py [--keep FOLDER]      needs mkdocs: scripts/setup.sh site
"""
import argparse
import html.parser
import os
import re
import shutil
import subprocess
import sys
import tempfile
import urllib.parse

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "..", "packaging", "site"))
import pages  # pylint: disable=wrong-import-position

LOADED = {"script": "src", "img": "src", "iframe": "src", "source": "src", "link": "href"}  # what a browser asks for by itself
BLANK = {"SOURCE_URL": ""}


class Page(html.parser.HTMLParser):
    """What one page links to, loads, and can be linked to by."""

    def __init__(self, text):
        super().__init__()
        self.links, self.loaded, self.anchors = [], [], set()
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        values = dict(attrs)
        self.anchors |= {values[name] for name in ("id", "name") if values.get(name)}
        if tag == "a" and values.get("href"):
            self.links.append(values["href"])
        if values.get(LOADED.get(tag, "")):
            self.loaded.append(values[LOADED[tag]])


def build(into):
    return subprocess.run(["/usr/bin/python3", "-B", "-m", "mkdocs", "build", "--quiet", "--strict", "--site-dir", into], cwd=pages.ROOT,
                          capture_output=True, text=True, check=False, timeout=120, env=os.environ | BLANK)


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def files_below(site, suffix):
    found = [os.path.join(folder, name) for folder, _, names in os.walk(site) for name in names if name.endswith(suffix)]
    return sorted(os.path.relpath(path, site) for path in found)


def from_elsewhere(site, found):
    """What a browser would fetch from another server."""
    wrong = [f"{name}: loads {address}" for name, page in found.items() for address in page.loaded if re.match(r"(\w+:)?//", address)]
    for name in files_below(site, ".css"):
        wrong += [f"{name}: loads {address}" for address in re.findall(r"(?:url\(|@import\s+)['\"]?((?:https?:)?//[^'\")]+)", read(os.path.join(site, name)))]
    return wrong


def check_links(site, found):
    wrong = []
    for name, page in found.items():
        if name == "404.html":  # is served for any address, so that its links begin at the server's top
            continue
        for link in page.links + page.loaded:
            address, _, anchor = urllib.parse.unquote(link).partition("#")
            if re.match(r"(\w+:)?//|mailto:", address):
                continue
            target = os.path.normpath(os.path.join(os.path.dirname(name), address.partition("?")[0])) if address else name
            if not os.path.exists(os.path.join(site, target)):
                wrong.append(f"{name}: {link} leads nowhere")
            elif anchor and target in found and anchor not in found[target].anchors:
                wrong.append(f"{name}: {link}: there is no such heading")
    return wrong


def check(site):
    found = {name: Page(read(os.path.join(site, name))) for name in files_below(site, ".html")}
    names = [pages.address(path) for path in pages.in_docs() + list(pages.OUTSIDE)]
    expected = [re.sub(r"README\.md$", "index.md", name)[:-len(".md")] + ".html" for name in names]
    wrong = [f"{name} was not built" for name in expected if name not in found]
    return wrong + from_elsewhere(site, found) + check_links(site, found)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--keep", metavar="FOLDER", help="leave the site there")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="verbena-site.") as folder:
        site = os.path.join(folder, "site")
        done = build(site)
        if done.returncode != 0:
            print(done.stdout + done.stderr + "mkdocs failed; where it is missing: scripts/setup.sh site")
            return 1
        wrong = check(site)
        if options.keep:
            shutil.copytree(site, options.keep, dirs_exist_ok=True)
    for line in wrong:
        print(line)
    print(f"{len(wrong)} things are wrong" if wrong else "the site is whole, and asks nobody else")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
