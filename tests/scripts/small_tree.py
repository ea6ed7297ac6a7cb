"""A small source tree in a folder of its own, for what looks at trees."""
import os
import tempfile
import unittest


class SmallTree(unittest.TestCase):
    """`files`: what it begins with, texts by their path."""
    files = {}

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = os.path.realpath(folder.name)
        for path, text in self.files.items():
            self.write(path, text)

    def write(self, path, text):
        path = os.path.join(self.root, path)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
