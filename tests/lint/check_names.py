"""check_names.py ROOT — .c files have names that are unique in the tree and written in snake_case; so have headers, inside one
include path; header guards are there
(but for code that kernels include)."""
import os
import re

from source_tree import run

NAME = re.compile(r"^[a-z][a-z0-9_]*\.[ch]$")


def rule(sources, root):
    seen = {}
    for source in sources:
        name = os.path.basename(source.path)
        if not NAME.match(name):
            yield source, 1, f"{name} is not in snake_case"
        if name.endswith(".c") and not source.path.startswith("examples"):
            if name in seen:
                yield source, 1, f"{name} is also the name of {seen[name]}"
            seen[name] = source.path
        # Headers of kernels are code that is compiled once per instruction set.
        if name.endswith(".h") and f"{os.sep}kernels{os.sep}" not in source.path:
            code = [line for line in source.code if line.strip()]
            guard = re.match(r"#ifndef (\w+)$", code[0].strip()) if code else None
            if guard is None or len(code) < 2 or code[1].strip() != f"#define {guard.group(1)}":
                yield source, 1, "no include guard (#ifndef NAME_H, #define NAME_H)"


if __name__ == "__main__":
    run(rule)
