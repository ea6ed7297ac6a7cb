#!/usr/bin/env python3
"""Writes the metadata of the Python module as an installer would leave it (PyPA: Recording installed projects), from what pyproject.toml
says: what is installed without pip is found by its entry points all the same.

  dist_info.py PYPROJECT FOLDER     FOLDER: NAME-VERSION.dist-info
"""
import os
import sys
import tomllib


def metadata_of(project):
    lines = ["Metadata-Version: 2.1"]
    for name, key in (("Name", "name"), ("Version", "version"), ("Summary", "description"), ("Requires-Python", "requires-python")):
        lines.append(f"{name}: {project[key]}")
    lines.append(f"License: {project['license']['text']}")
    return "\n".join(lines) + "\n"


def entry_points_of(project):
    sections = []
    for group, entries in project["entry-points"].items():
        sections.append("\n".join([f"[{group}]", *(f"{name} = {target}" for name, target in entries.items())]) + "\n")
    return "\n".join(sections)


def main(arguments):
    if len(arguments) != 2:
        print(__doc__, file=sys.stderr)
        return 2
    pyproject, folder = arguments
    with open(pyproject, "rb") as file:
        project = tomllib.load(file)["project"]
    wanted = f"{project['name']}-{project['version']}.dist-info"
    if os.path.basename(folder) != wanted:
        print(f"dist_info: {pyproject} wants a folder {wanted}, not {folder}", file=sys.stderr)
        return 1
    os.makedirs(folder, exist_ok=True)
    for name, text in (("METADATA", metadata_of(project)), ("entry_points.txt", entry_points_of(project)),
                       ("INSTALLER", "verbena\n")):
        with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
            file.write(text)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
