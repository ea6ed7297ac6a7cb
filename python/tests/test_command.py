"""How the command is found, and what is said if it is not."""
import os
import pathlib
import pickle
import shutil
import subprocess
import sys

import pytest

import verbena
from verbena import CommandError, CommandNotFound, ProgramError

PACKAGE = pathlib.Path(verbena.__file__).resolve().parent
COMMAND = verbena.find_command()


def found(package, **environment):
    """What find_command() says in a process whose module lies in `package`."""
    script = (
        "import verbena\n"
        "try:\n    print(verbena.find_command())\n"
        "except verbena.CommandNotFound as error:\n    print('-', error)"
    )
    clean = {name: value for name, value in os.environ.items() if name != "VERBENA"}
    done = subprocess.run(
        [sys.executable, "-B", "-c", script],
        capture_output=True,
        text=True,
        check=True,
        cwd="/",
        timeout=30,
        env={**clean, "PYTHONPATH": str(package), "PATH": "/usr/bin:/bin", **environment},
    )
    return done.stdout.strip()


@pytest.fixture(name="elsewhere")
def a_copy_elsewhere(tmp_path):
    """The package where no command is beside it."""
    packages = tmp_path / "prefix" / "lib" / "python3" / "dist-packages"
    shutil.copytree(PACKAGE, packages / "verbena", ignore=shutil.ignore_patterns("__pycache__"))
    return packages


def test_it_is_beside_the_module_in_the_tree_and_in_a_prefix(elsewhere):
    assert found(PACKAGE.parent) == str(PACKAGE.parents[1] / "build" / "verbena")
    program = elsewhere.parents[2] / "bin" / "verbena"
    program.parent.mkdir()
    program.symlink_to(COMMAND)
    assert found(elsewhere) == str(program)


def test_the_variable_comes_first_and_path_last(elsewhere, tmp_path):
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "verbena").symlink_to(COMMAND)
    one, two = tmp_path / "one", tmp_path / "two" / "verbena"
    assert found(elsewhere, PATH=f"{one}:/usr/bin:/bin") == str(one / "verbena")
    assert found(elsewhere, PATH=f"{one}:/usr/bin:/bin", VERBENA=str(two)) == str(two)


def test_where_it_is_nowhere_the_error_says_what_to_do(elsewhere):
    said = found(elsewhere)
    assert said.startswith("- the command 'verbena' was not found") and "$VERBENA" in said and "make" in said
    assert "which is not a program that can be run" in found(elsewhere, VERBENA="/etc/passwd")


def test_module_needs_neither_pytest_nor_site_packages(elsewhere):
    script = "import sys, verbena; assert 'pytest' not in sys.modules; verbena.Fabric().close()"
    subprocess.run(
        [sys.executable, "-B", "-S", "-c", script],
        check=True,
        timeout=30,
        env={**os.environ, "PYTHONPATH": str(elsewhere), "VERBENA": COMMAND},
    )


def test_errors_travel_between_processes():
    for error in (
        CommandError("line", ["verbena", "run"], 2),
        ProgramError(["a", "b"], "n1", 3, "out", "err"),
        CommandNotFound("x"),
    ):
        again = pickle.loads(pickle.dumps(error))
        assert (type(again), str(again), vars(again)) == (type(error), str(error), vars(error))


def test_the_package_has_the_version_of_the_command():
    said = verbena.command.ask(["--version"]).stdout.split()[1]
    assert f'version = "{said}"' in (PACKAGE.parent / "pyproject.toml").read_text(encoding="utf-8").splitlines()


def test_types_are_whole():
    mypy = shutil.which("mypy", path="/usr/bin:/bin")
    assert mypy, "the package mypy is missing (scripts/setup.sh test)"
    done = subprocess.run(
        [mypy, "--strict", "--cache-dir", os.devnull, "verbena"],
        cwd=PACKAGE.parent,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, done.stdout
