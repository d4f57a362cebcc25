"""abi_gate.py — does the plugin ABI still have the layout that was last agreed on? A second opinion beside abi/layout_check.c, by abidiff.

Every struct of the public headers is compiled into a small library with debug information, and compared

    by default        with tests/abi/abi.xml, which is made by --update and committed with a line in abi/doc/CHANGELOG.md
    --against REV     with the headers of a git revision, such as the last tag

Before 1.0 an ABI may change: the change is then said twice, here and in the changelog. From 1.0 on abidiff may report additions only.
"""
import argparse
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

INCOMPATIBLE = 8  # bit of abidiff's exit status; 4 is any change, 1 and 2 are errors


def run(*command, is_quiet=False):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False)
    if done.returncode != 0 and not is_quiet:
        sys.exit(f"failed: {' '.join(map(str, command))}\n{done.stdout}{done.stderr}")
    return done


def struct_names(headers):
    text = "".join(path.read_text() for path in sorted(headers.rglob("*.h")))
    return sorted(set(re.findall(r"^\} (qn_\w+);", text, re.M)) - set(re.findall(r"^\} (qn_\w+_);", text, re.M)))


def compile_types(cc, headers, work):
    """A library with one function a struct: abidiff compares what exported functions can reach."""
    includes = "".join(f"#include <{path.relative_to(headers.parent)}>\n" for path in sorted(headers.rglob("*.h")))
    functions = "".join(f"void take_{name}({name} *a);\nvoid take_{name}({name} *a) {{ (void)a; }}\n" for name in struct_names(headers))
    source = work / "types.c"
    source.write_text(includes + functions)
    run(cc, "-std=c11", "-g", "-shared", "-fPIC", "-fno-eliminate-unused-debug-types", "-I", headers.parent, source, "-o", work / "libtypes.so")
    return work / "libtypes.so"


def write_xml(library, path):
    run("abidw", "--no-corpus-path", "--no-comp-dir-path", "--no-show-locs", "--short-locs", "--type-id-style", "hash", "--out-file", path, library)


def headers_of(source, revision, work):
    folder = work / "before"
    folder.mkdir()
    archive = subprocess.run(["git", "-C", str(source), "archive", revision, "abi/include/quoin"], capture_output=True, check=True).stdout
    subprocess.run(["tar", "-x", "-C", str(folder)], input=archive, check=True)
    return folder / "abi" / "include" / "quoin"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--cc", default="cc")
    parser.add_argument("--source", type=pathlib.Path, default=pathlib.Path(__file__).resolve().parents[2])
    parser.add_argument("--against", metavar="REV")
    parser.add_argument("--update", action="store_true", help="agree on the present layout")
    facts = parser.parse_args()
    if shutil.which("abidiff") is None:
        print("skipped: needs abidiff (package abigail-tools)")
        sys.exit(77)
    baseline = facts.source / "tests" / "abi" / "abi.xml"
    with tempfile.TemporaryDirectory() as folder:
        work = pathlib.Path(folder)
        library = compile_types(facts.cc, facts.source / "abi" / "include" / "quoin", work)
        if facts.update:
            write_xml(library, baseline)
            print(f"wrote {baseline}; add a line to abi/doc/CHANGELOG.md")
            return
        before = baseline
        if facts.against:
            (work / "old").mkdir()
            before = compile_types(facts.cc, headers_of(facts.source, facts.against, work), work / "old")
        done = run("abidiff", "--harmless", before, library, is_quiet=True)
        print(done.stdout + done.stderr, end="")
        if done.returncode & ~(4 | INCOMPATIBLE):
            sys.exit("failed: abidiff did not run")
        if done.returncode & INCOMPATIBLE or (done.returncode and not facts.against):
            sys.exit("failed: the layout of the ABI is another; when that is meant, say it in abi/doc/CHANGELOG.md and run "
                     "tests/abi/abi_gate.py --update")


if __name__ == "__main__":
    main()
