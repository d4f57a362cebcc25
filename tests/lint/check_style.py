"""check_style.py ROOT — block comments only, no tabs, no trailing blanks, a final newline, no invisible characters, and a header
comment that says what each file is for."""
import os
import re

from source_tree import run

INVISIBLE = re.compile("[\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2064\ufeff]")


def rule(sources, root):
    for source in sources:
        if not source.raw.endswith(b"\n") or source.raw.endswith(b"\n\n"):
            yield source, len(source.lines), "a file ends with exactly one newline"
        if not re.match(r"/\* (\S*/)?" + re.escape(os.path.basename(source.path)) + r"\b", source.text):
            yield source, 1, "a file begins with a comment: /* its name — what it is for"
        without_blocks = re.sub(r"/\*.*?\*/|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'", lambda m: re.sub(r"[^\n]", " ", m.group(0)),
                                source.text, flags=re.S)
        for number, line in enumerate(without_blocks.split("\n"), 1):
            if "//" in line:
                yield source, number, "comments are block comments"
        for number, line in enumerate(source.lines, 1):
            if "\t" in line:
                yield source, number, "a tab; four spaces instead"
            if line != line.rstrip():
                yield source, number, "blanks at the end of the line"
            if INVISIBLE.search(line):
                yield source, number, "an invisible character"
            if re.search(r"\b(TODO|FIXME|XXX|HACK)\b", line):
                yield source, number, "unfinished work is an issue, not a comment"


if __name__ == "__main__":
    run(rule)
