#!/usr/bin/env python3
"""The rules of links.py and site_check.py can fail: a small tree with one thing wrong at a time."""
import os
import sys
import tempfile
import unittest

import links
import site_check
from links import pages

GOOD = {
    "mkdocs.yml": "nav:\n  - A: index.md\n  - B: b.md\n  - C: reference/c.md\n  - D: CONTRIBUTING.md\n  - E: scenarios/README.md\n",
    "README.md": "# Top\n\n[b](docs/b.md#some-heading-here), [c](docs/reference/c.md), [d](CONTRIBUTING.md), [e](scenarios/README.md)\n",
    "docs/index.md": "# Index\n",
    "docs/b.md": "# B\n\n## Some `heading`, here\n\n    [no](link.md)\n\n`[none](either.md)`\n",
    "docs/reference/c.md": "# C\n\n[b](../b.md)\n",
    "CONTRIBUTING.md": "# D\n",
    "scenarios/README.md": "# E\n",
}


def wrong_in(changes):
    with tempfile.TemporaryDirectory(prefix="verbena-links.") as root:
        for name, text in (GOOD | changes).items():
            os.makedirs(os.path.dirname(os.path.join(root, name)), exist_ok=True)
            with open(os.path.join(root, name), "w", encoding="utf-8") as file:
                file.write(text)
        return links.check_all(root)


class Links(unittest.TestCase):
    def test_a_tree_without_faults(self):
        self.assertEqual(wrong_in({}), [])

    def test_each_fault_is_named(self):
        for path, text, said in (
                ("CONTRIBUTING.md", "# D\n\n[x](docs/none.md)\n", "CONTRIBUTING.md:3: docs/none.md: there is no docs/none.md"),
                ("docs/index.md", "[x](b.md#other)\n", "docs/index.md:1: b.md#other: docs/b.md has no heading 'other'"),
                ("docs/index.md", "[x](../../b.md)\n", "docs/index.md:1: ../../b.md: there is no ../b.md"),
                ("docs/index.md", "# A\n\n## B\n\n## B\n\n[x](#b)\n", "docs/index.md:7: #b: docs/index.md has 2 headings 'b'"),
                ("docs/index.md", "[x](http:/none)\n", "docs/index.md:1: http:/none is no address"),
                ("docs/new.md", "# New\n", "mkdocs.yml: its nav does not have new.md"),
                ("docs/new.md", "# New\n", "README.md: it does not name docs/new.md")):
            with self.subTest(said):
                self.assertIn(said, wrong_in({path: text}))

    def test_anchors_are_those_of_github(self):
        for heading, anchor in (("Exit statuses, colours, silence", "exit-statuses-colours-silence"), ("What `make demo` ends with", "what-make-demo-ends-with"),
                                ("1. Two nodes", "1-two-nodes"), ("a_b - c", "a_b---c"), ("[a](b.md) c", "a-c")):
            self.assertEqual(pages.slug(heading), anchor)


class Site(unittest.TestCase):
    def wrong_in(self, html, css=""):
        with tempfile.TemporaryDirectory(prefix="verbena-links.") as site:
            for name, text in (("a.html", html), ("b.html", '<h1 id="here">B</h1>'), ("c.css", css)):
                with open(os.path.join(site, name), "w", encoding="utf-8") as file:
                    file.write(text)
            found = {name: site_check.Page(site_check.read(os.path.join(site, name))) for name in ("a.html", "b.html")}
            return site_check.from_elsewhere(site, found) + site_check.check_links(site, found)

    def test_what_is_whole_passes(self):
        self.assertEqual(self.wrong_in('<a href="b.html#here">x</a><a href="#">y</a><link href="c.css">', "a { b: url(x.woff) }"), [])

    def test_each_fault_is_named(self):
        for html, css in (('<script src="//a.example/x.js"></script>', ""), ('<link href="https' + '://a.example/x.css">', ""),
                          ("", "@import '//a.example/y.css'"), ("", "a { b: url(//a.example/z.woff) }"), ('<a href="none.html">x</a>', ""),
                          ('<a href="b.html#there">x</a>', ""), ('<img src="none.png">', "")):
            with self.subTest(html + css):
                self.assertEqual(len(self.wrong_in(html, css)), 1)


if __name__ == "__main__":
    sys.exit(unittest.main())
