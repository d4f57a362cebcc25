"""check_resources.py FILE.fatbin.resources... — what nvcc said about the kernels: none may spill registers or use local memory.

With --table, one line a kernel and architecture.
"""
import re
import sys

COMPILED = re.compile(r"Compiling entry function '(\w+)' for '(\w+)'")
FRAME = re.compile(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads")
USED = re.compile(r"Used (\d+) registers(?:.*?(\d+) bytes smem)?")


def read(path):
    """[(kernel, architecture, registers, local bytes, shared bytes)]"""
    rows, kernel, local = [], None, 0
    with open(path, encoding="utf-8") as file:
        for line in file:
            if found := COMPILED.search(line):
                kernel = found.groups()
            elif found := FRAME.search(line):
                local = sum(int(number) for number in found.groups())
            elif (found := USED.search(line)) and kernel:
                rows.append((*kernel, int(found.group(1)), local, int(found.group(2) or 0)))
                kernel, local = None, 0
    return rows


def main():
    paths = [argument for argument in sys.argv[1:] if argument != "--table"]
    rows = [row for path in paths for row in read(path)]
    if "--table" in sys.argv:
        for name, architecture, registers, local, shared in sorted(rows):
            print(f"{name:24} {architecture:8} {registers:4} registers {local:6} bytes local {shared:6} bytes shared")
    spilled = [row for row in rows if row[3] > 0]
    for name, architecture, _, local, _ in spilled:
        print(f"{name} for {architecture}: {local} bytes of local memory")
    if not rows:
        print("no kernel was found in: " + " ".join(paths))
    sys.exit(1 if spilled or not rows else 0)


if __name__ == "__main__":
    main()
