"""source_tree.py — reading this project's C sources for the lint rules beside it.

A rule is a program: RULE.py ROOT. It prints one line per finding, FILE:LINE: what is wrong and what to do, and ends with status 1
when there are any. A finding is waived by a comment on its own line, /* lint: the reason */, of at least ten letters; check_waivers.py
fails on a waiver that waives nothing.
"""
import os
import re
import sys

FOLDERS = ("abi", "formats", "host", "plugins", "conform", "tests", "examples")
WAIVER = re.compile(r"/\*\s*lint:\s*(.*?)\s*\*/")


class Source:
    """One file: lines as they are, and code, the same lines with comments and the insides of strings blanked."""

    def __init__(self, root, path):
        self.path = path
        with open(os.path.join(root, path), "rb") as file:
            self.raw = file.read()
        self.text = self.raw.decode("utf-8", errors="replace")
        self.lines = self.text.split("\n")
        self.code = blank(self.text).split("\n")

    def is_waived(self, line):
        found = WAIVER.search(self.lines[line - 1])
        return found is not None and len(found.group(1)) >= 10


def blank(text):
    """Comments and string contents become spaces; line breaks stay."""
    pattern = re.compile(r"//[^\n]*|/\*.*?\*/|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'", re.S)

    def cover(match):
        found = match.group(0)
        if found[0] in "\"'":
            return found[0] + " " * (len(found) - 2) + found[-1]
        return re.sub(r"[^\n]", " ", found)

    return pattern.sub(cover, text)


def find_files(root, endings, folders=FOLDERS):
    """Paths of the project's own files, relative to root, sorted; build folders and nested checkouts are passed over."""
    found = []
    for folder in folders:
        for base, names, files in os.walk(os.path.join(root, folder)):
            names[:] = sorted(n for n in names if not n.startswith((".", "build")))
            found += [os.path.relpath(os.path.join(base, f), root) for f in files if f.endswith(tuple(endings))]
    return sorted(found)


def read_sources(root, endings=(".c", ".h"), folders=FOLDERS):
    return [Source(root, path) for path in find_files(root, endings, folders)]


def find_functions(source):
    """(name, first line, last line) of every function body: a line at column 0 that ends in ') {', up to the next '}' there."""
    found = []
    begin = name = None
    header = ""
    for number, line in enumerate(source.code, 1):
        if begin is None:
            if re.match(r"[A-Za-z_]", line) and "(" in line:
                header, first = line, number
            elif header and line.startswith(" "):
                header += line
            else:
                header = ""
            if header and re.search(r"\)\s*\{\s*$", line) and not re.match(r"(typedef|struct|enum|union)\b[^(]*\{", header):
                called = re.search(r"([A-Za-z_]\w*)\s*\(", header)
                begin, name, header = first, called.group(1), ""
            elif header and (";" in line or line.rstrip().endswith("}")):
                header = ""
        elif line.startswith("}"):
            found.append((name, begin, number))
            begin = None
    return found


def finish(findings):
    for finding in sorted(set(findings)):
        print(finding)
    if findings:
        print(f"{len(set(findings))} findings")
    sys.exit(1 if findings else 0)


def run(rule):
    """Runs rule(sources, root) -> [(source or path, line, text, is_waivable)] as a program."""
    root = sys.argv[1] if len(sys.argv) > 1 else "."
    findings = []
    for source, line, text in rule(read_sources(root), root):
        if isinstance(source, Source):
            if not source.is_waived(line):
                findings.append(f"{source.path}:{line}: {text}")
        else:
            findings.append(f"{source}:{line}: {text}")
    finish(findings)
