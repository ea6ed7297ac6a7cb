"""The other end of Node.call(): a process on a node that runs one function. A program, not a module to import.

  remote.py CALL RESULT     files: what is to be called, and what it gave
"""
# Tested by: python/tests/test_call.py
import importlib.util
import pickle
import sys
import traceback


def main_as(path: str) -> None:
    """A function of the caller's __main__ is found under that name, without what a script does only as the main
    program.
    """
    spec = importlib.util.spec_from_file_location("__mp_main__", path)
    if spec is None or spec.loader is None:
        return
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    sys.modules["__main__"].__dict__.update(
        {name: value for name, value in vars(module).items() if not name.startswith("__")}
    )


def run(call: str) -> "tuple[bool, object, str]":
    """Whether it returned, what it returned or raised, and the traceback."""
    try:
        with open(call, "rb") as file:
            path, main = pickle.load(file)
            sys.path[:] = path
            if main is not None:
                main_as(main)
            function, arguments = pickle.load(file)
        return True, function(*arguments), ""
    except Exception as error:  # pylint: disable=broad-except
        return False, error, traceback.format_exc()


def main() -> None:
    """Leaves the result, or of an exception that cannot travel its traceback."""
    held, value, trace = run(sys.argv[1])
    try:
        octets = pickle.dumps((held, value, trace))
        pickle.loads(octets)
    except Exception:  # pylint: disable=broad-except
        octets = pickle.dumps(
            (False, None, trace or f"what the function returned cannot be brought here: {traceback.format_exc()}")
        )
    with open(sys.argv[2], "wb") as file:
        file.write(octets)


if __name__ == "__main__":
    main()
