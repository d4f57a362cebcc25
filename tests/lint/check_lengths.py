"""check_lengths.py ROOT — functions and files stay short enough to be read.

    function   hard 80 lines, kernels and tests 150; nine of ten at most 50 (kernels and tests 80), per top folder
    file       hard 800 lines
"""
import os

from source_tree import find_functions, run

MOST_FILE = 800


def is_kernel_or_test(path):
    return path.startswith("tests" + os.sep) or f"{os.sep}kernels{os.sep}" in path


def rule(sources, root):
    lengths = {}
    for source in sources:
        is_long = is_kernel_or_test(source.path)
        if len(source.lines) > MOST_FILE + 1:
            yield source, 1, f"{len(source.lines)} lines; a file has at most {MOST_FILE}"
        for name, first, last in find_functions(source):
            length = last - first + 1
            folder = source.path.split(os.sep)[0] + (" kernels" if is_long and not source.path.startswith("tests") else "")
            lengths.setdefault((folder, is_long), []).append(length)
            most = 150 if is_long else 80
            if length > most:
                yield source, first, f"{name} has {length} lines; {most} at most"
    for (folder, is_long), all_lengths in sorted(lengths.items()):
        all_lengths.sort()
        nine_of_ten, most = all_lengths[len(all_lengths) * 9 // 10], 80 if is_long else 50
        if nine_of_ten > most:
            yield folder, 0, f"nine of ten functions have up to {nine_of_ten} lines; {most} is the budget"


if __name__ == "__main__":
    run(rule)
