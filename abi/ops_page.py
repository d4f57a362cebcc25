"""ops_page.py [--check] — writes doc/ops.md from ops.def and the op sheets of ops.h; --check fails when the file is not what it would
write."""
import os
import re
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
HEADERS = os.path.join(HERE, "include", "quoin")
ROW = re.compile(r"^QN_OP\((\w+), (\d+), (\w+), (\d+), (\d+), (\d+), (\d+), (\w+), (\w+)\)", re.M)


def read(name):
    with open(os.path.join(HEADERS, name), encoding="utf-8") as file:
        return file.read()


def strip(comment):
    """The text of a block comment without its stars."""
    lines = comment.strip().removeprefix("/*").removesuffix("*/").split("\n")
    return "\n".join(re.sub(r"^ \* ?", "", line).rstrip() for line in lines).strip()


def find_sheet(text, name):
    """The comment that begins with the op's name, and the attribute struct behind it, if any."""
    found = re.search(r"/\* " + name + r" — .*?\*/\n(.*?)(?=\n/\* |\n#ifdef)", text, re.S)
    if found is None:
        sys.exit(f"ops_page.py: ops.h has no sheet for {name}")
    whole = found.group(0)
    comment, rest = whole.split("*/", 1)
    return strip(comment + "*/"), rest.strip()


def make():
    registry, sheets = read("ops.def"), read("ops.h")
    head = strip(re.search(r"/\*.*?\*/", sheets, re.S).group(0)).split("\n", 2)[2]
    out = ["# The ops of the decode program", "",
           "Made by `abi/ops_page.py` from `ops.def` (the registry) and `ops.h` (the sheets). Change those, then run it.", "",
           "| number | op | inputs | outputs | attributes | bound | since |", "|---:|---|---|---:|---|---|---|"]
    rows = ROW.findall(registry)
    for name, number, lower, since, least, most, outputs, attrs, bound in rows:
        inputs = least if least == most else f"{least} to {most}"
        attrs = "" if attrs == "void" else f"`{attrs}`"
        out.append(f"| {number} | [{lower}](#{lower}) | {inputs} | {outputs} | {attrs} | {bound} | 0.{since} |")
    out += ["", "```", head, "```"]
    for name, _, lower, *_ in rows:
        sheet, attrs = find_sheet(sheets, name)
        out += ["", f"## {lower}", "", "```", sheet, "```"]
        if attrs:
            out += ["", "```c", attrs, "```"]
    return "\n".join(out) + "\n"


def main():
    path = os.path.join(HERE, "doc", "ops.md")
    text = make()
    if "--check" in sys.argv:
        with open(path, encoding="utf-8") as file:
            if file.read() != text:
                sys.exit("ops.md is not what ops.def and ops.h say: run abi/ops_page.py")
        return
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


if __name__ == "__main__":
    main()
