"""check_tags.py ROOT — every function pointer of the ABI says from which thread it may be called: its comment, or that of the pointers
directly above it, holds one of [any] [ctl] [ses] [team]."""
import re

from source_tree import Source, find_files, finish
import sys

POINTER = re.compile(r"\(QN_CALL \*(\w+)\)\(")
TAG = re.compile(r"\[(any|ctl|ses|team)\]")


def main():
    root = sys.argv[1] if len(sys.argv) > 1 else "."
    findings = []
    for path in find_files(root, (".h",), ("abi",)):
        source = Source(root, path)
        is_tagged, comment = False, ""
        for number, line in enumerate(source.lines, 1):
            if not line.strip():
                is_tagged, comment = False, ""
            elif "/*" in line or line.lstrip().startswith("*"):
                if line.lstrip().startswith("/*"):
                    comment = ""
                comment += line
                if "*/" in line:
                    is_tagged = TAG.search(comment) is not None
            found = POINTER.search(line)
            if found and not is_tagged:
                findings.append(f"{path}:{number}: {found.group(1)} has no thread tag")
    finish(findings)


if __name__ == "__main__":
    main()
