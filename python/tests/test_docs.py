"""The examples of docs/python.md: each runs as it stands there."""
import os
import pathlib
import re
import subprocess
import sys

import pytest

import verbena

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "python.md"
EXAMPLES = re.findall(r"^```python\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.M | re.S)


def test_there_are_examples_of_both_kinds():
    assert len(EXAMPLES) >= 6 and sum("import pytest" in example for example in EXAMPLES) == 1


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: re.sub(r"\W+", "-", example[:40]))
def test_an_example_runs_as_it_stands_there(example, tmp_path):
    name = "test_store.py" if "import pytest" in example else "example.py"
    (tmp_path / name).write_text(example, encoding="utf-8")
    (tmp_path / "scenarios").symlink_to(ROOT / "scenarios")
    words = ["-m", "pytest", "-p", "verbena.pytest_plugin", "-p", "no:cacheprovider"] if name == "test_store.py" else []
    package = os.path.dirname(os.path.dirname(os.path.abspath(verbena.__file__)))
    done = subprocess.run(
        [sys.executable, "-B", *words, name],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": package},
        check=False,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stdout
    if words:
        assert "4 passed" in done.stdout


def test_the_page_tells_what_the_plugin_says():
    text = re.sub(r"\s+", " ", PAGE.read_text(encoding="utf-8"))
    assert "pytest --verbena-seed 3 'test_store.py::test_a_write_survives_loss[seed3]'" in text
    assert "--verbena-keep DIR" in text
