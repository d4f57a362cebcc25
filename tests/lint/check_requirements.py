"""check_requirements.py ROOT QUOIN_CONFORM — every requirement of abi/doc/requirements.md has a test, and every test that it names exists.

A name with dots is looked up in `quoin-conform --list`; any other has to be a word of tests/ (a ctest entry, a suite, a program), where
NAME stands for any name. And every test of the suite names requirements that the page has.
"""
import fnmatch
import os
import re
import subprocess
import sys

from source_tree import finish


def read_rows(path):
    with open(path, encoding="utf-8") as file:
        for line in file:
            cells = [cell.strip() for cell in line.strip().strip("|").split(" | ")]
            if re.fullmatch(r"[A-Z]\d+", cells[0]):
                yield cells[0], cells


def list_tests(program):
    """{id: [requirement]} of the suite."""
    done = subprocess.run([program, "--list"], capture_output=True, text=True, check=True)
    found = {}
    for line in done.stdout.splitlines():
        if line.startswith("  "):
            _, *requirements, name = line.split()
            found[name] = requirements
    return found


def read_words(root):
    words = set()
    for base, folders, files in os.walk(os.path.join(root, "tests")):
        folders[:] = [f for f in folders if not f.startswith(("build", "vectors", "__"))]
        for name in files:
            if name.endswith((".c", ".py", ".txt")):
                words.add(name.rsplit(".", 1)[0])
                with open(os.path.join(base, name), encoding="utf-8", errors="replace") as file:
                    words.update(re.findall(r"[A-Za-z_][\w{}$]*", file.read()))
    return words


def is_entry(test, words):
    """test_glue is also there as test_${test} beside the word glue."""
    beginnings = {word.split("$")[0] for word in words if "$" in word}
    return test in words or any(b and test.startswith(b) and test[len(b):] in words for b in beginnings)


def main():
    root, tests = sys.argv[1], list_tests(sys.argv[2])
    rows, words, findings, seen = list(read_rows(os.path.join(root, "abi", "doc", "requirements.md"))), read_words(root), [], set()
    for name, cells in rows:
        if name in seen:
            findings.append(f"requirements.md: {name} is there twice")
        seen.add(name)
        named = re.findall(r"`([^`]+)`", cells[3].split("T ", 1)[1]) if len(cells) == 4 and "T " in cells[3] else []
        if not named:
            findings.append(f"requirements.md: {name} names no test")
        for test in named:
            if "." in test:
                if not fnmatch.filter(tests, test):
                    findings.append(f"requirements.md: {name}: the suite has no test {test}")
            elif not is_entry(test.replace("NAME", "${plugin}"), words):
                findings.append(f"requirements.md: {name}: there is no test {test}")
        if not any(name in requirements for requirements in tests.values()):
            findings.append(f"requirements.md: no test of the suite says that it is for {name}")
    for test, requirements in tests.items():
        for name in requirements:
            if name not in seen:
                findings.append(f"{test} is for {name}, which requirements.md does not have")
    if len(rows) < 30:
        findings.append(f"requirements.md: only {len(rows)} rows were read")
    finish(findings)


if __name__ == "__main__":
    main()
