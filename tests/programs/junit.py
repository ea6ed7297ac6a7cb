"""The JUnit file of a test program that is not CTest's or pytest's: what CI services show, and what `make test` counts."""
import os
import xml.etree.ElementTree as xml


def write(path, suite, cases):
    """cases: (name, seconds, what is wrong or ""), in their order."""
    cases = list(cases)
    root = xml.Element("testsuite", name=suite, tests=str(len(cases)), failures=str(sum(1 for case in cases if case[2])))
    for name, seconds, problem in cases:
        element = xml.SubElement(root, "testcase", classname=suite, name=name, time=f"{seconds:.3f}")
        if problem:
            xml.SubElement(element, "failure", message=printable(problem.splitlines()[0])).text = printable(problem)
    os.makedirs(os.path.dirname(os.path.abspath(path)), exist_ok=True)
    xml.ElementTree(root).write(path, encoding="utf-8", xml_declaration=True)


def printable(text):
    """XML has no way to say most control characters, and programs print them."""
    return "".join(c if c.isprintable() or c in "\n\t" else "?" for c in text)
