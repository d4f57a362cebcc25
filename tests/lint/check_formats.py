"""check_formats.py ROOT — registries agree and keep their numbers.

    formats.def   every number equals BLK_<name> of <quoin/blocks.h>
    *.def         no number and no name twice
    numbers.txt   beside this file: each (registry, name, number) that was ever given; it may only grow
"""
import os
import re
import sys

from source_tree import finish

ROWS = re.compile(r"^QN_(FORMAT|OP|STATUS)\((\w+),\s*(-?\d+)", re.M)


def read(root, *parts):
    with open(os.path.join(root, *parts), encoding="utf-8") as file:
        return file.read()


def read_registries(root):
    """{(registry, name): number}"""
    found = {}
    for name in ("formats.def", "ops.def", "status.def"):
        for kind, row, number in ROWS.findall(read(root, "abi", "include", "quoin", name)):
            yield name, kind, row, int(number)


def main():
    root = sys.argv[1] if len(sys.argv) > 1 else "."
    findings = []
    blocks = dict(re.findall(r"\bBLK_(\w+)\s*=\s*(\d+)", read(root, "formats", "include", "quoin", "blocks.h")))
    given = {}
    for line in read(os.path.dirname(os.path.abspath(__file__)), "numbers.txt").splitlines():
        if line and not line.startswith("#"):
            kind, name, number = line.split()
            given[(kind, name)] = int(number)
    numbers = {}
    for file, kind, name, number in read_registries(root):
        if kind == "FORMAT" and blocks.get(name) != str(number):
            findings.append(f"{file}: {name} is {number}, but BLK_{name} of blocks.h is {blocks.get(name, 'not there')}")
        if (kind, number) in numbers:
            findings.append(f"{file}: {name} and {numbers[(kind, number)]} have the same number {number}")
        numbers[(kind, number)] = name
        if (kind, name) not in given:
            findings.append(f"{file}: {name} {number} is new: add the line '{kind} {name} {number}' to tests/lint/numbers.txt")
        elif given.pop((kind, name)) != number:
            findings.append(f"{file}: {name} had another number; numbers are never moved")
    for (kind, name), number in given.items():
        findings.append(f"{kind} {name} {number} is gone; numbers are never given back")
    finish(findings)


if __name__ == "__main__":
    main()
