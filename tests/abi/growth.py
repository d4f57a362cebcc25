"""growth.py longer|shorter — a plugin whose structs are not as long as the host's is loaded, and answers what it always did.

The reference plugin is built against copies of the public headers in which every size-first struct has grown by two members (as a
plugin of a later minor), or has lost its last ones (as one of an earlier minor), and runs in today's host. Each copy is checked to be
as different as it should be. What must hold: it is listed, passes the known answer, and continues a text like the linked-in backend.
"""
import argparse
import json
import pathlib
import re
import shutil
import subprocess
import sys

GROWN = "    uint64_t grown_a, grown_b; /* of a later minor */\n"
# struct: the members at its end that an earlier minor did not have
SHORTER = {"qn_plugin": ["get_ext", "describe", "trim"], "qn_memory_plan": ["peak_load_bytes"], "qn_query_out": ["n_options", "option_stride"]}
# Attributes of ops are read where they lie in the program: their size is the program's, not the plugin's.
FIXED = re.compile(r"_attrs$|^qn_machine$")


def run(*command, expect=0):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False)
    if done.returncode != expect:
        sys.exit(f"failed: {' '.join(map(str, command))}: exit status {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def structs_of(headers):
    names = re.findall(r"^QN_STRUCT\((\w+), \d+\)", (headers / "sizes.def").read_text(), re.M)
    return [name for name in names if not FIXED.search(name)]


def change(headers, name, edit):
    """Applies edit to the body of `typedef struct name {...} name;`."""
    for path in sorted(headers.glob("*.h")):
        text = path.read_text()
        found = re.search(r"typedef struct %s \{\n(.*?)\} %s;" % (name, name), text, re.S)
        if found:
            body = edit(found.group(1))
            path.write_text(text[:found.start(1)] + body + text[found.end(1):])
            return
    sys.exit(f"failed: no header has struct {name}")


def lengthen(headers):
    for name in structs_of(headers):
        change(headers, name, lambda body: body + GROWN)


def without_member(body, member):
    """The body without the declaration of this member; what stands before and after it stays."""
    declarations = re.split(r"(?<=;)", re.sub(r"/\*.*?\*/", "", body, flags=re.S))
    kept = [text for text in declarations if not re.search(r"\b%s\b" % member, text)]
    if len(kept) != len(declarations) - 1:
        sys.exit(f"failed: {member} is not declared once")
    return "".join(kept)


def shorten(headers):
    for name, members in SHORTER.items():
        for member in members:
            change(headers, name, lambda body, member=member: without_member(body, member))


def size_of(facts, headers, name, work):
    source = work / "size.c"
    source.write_text(f"#include <stdio.h>\n#include <quoin/program.h>\nint main(void) {{ printf(\"%zu\", sizeof({name})); return 0; }}\n")
    run(facts.cc, "-std=c11", "-I", headers.parent, source, "-o", work / "size")
    return int(run(work / "size"))


def build(facts, work, how):
    """Copies headers and sources, changes them, builds work/grown.quoin.so."""
    headers = work / "include" / "quoin"
    headers.mkdir(parents=True)
    for path in sorted((facts.source / "abi" / "include" / "quoin").iterdir()):
        if path.is_file():
            (headers / path.name).write_text(path.read_text())
    shutil.copytree(facts.source / "abi" / "include" / "quoin" / "ext", headers / "ext")  # extensions have versions of their own
    before = {name: size_of(facts, headers, name, work) for name in structs_of(headers)}
    {"longer": lengthen, "shorter": shorten}[how](headers)
    changed = [name for name in before if (size_of(facts, headers, name, work) > before[name] if how == "longer"
                                           else size_of(facts, headers, name, work) < before[name])]
    if how == "longer" and len(changed) != len(before) or how == "shorter" and set(changed) != set(SHORTER):
        sys.exit(f"failed: only {changed} are {how}")
    if how == "shorter":
        sizes = headers / "sizes.def"
        for name in SHORTER:
            least = min(size_of(facts, headers, name, work), before[name])
            if name != "qn_plugin":
                sizes.write_text(re.sub(r"QN_STRUCT\(%s, \d+\)" % name, f"QN_STRUCT({name}, {least})", sizes.read_text()))
    sources = []
    for path in sorted((facts.source / "plugins" / "reference").glob("*.[ch]")):
        text = path.read_text().replace('.name = "reference", .version', '.name = "grown", .version')
        if how == "shorter":
            text = re.sub(r",?\s*\.(get_ext|describe|trim) = \w+", "", text)
        (work / path.name).write_text(text)
        if path.suffix == ".c":
            sources.append(work / path.name)
    (work / "note.c").write_text('#include <quoin/note.h>\nQN_PLUGIN_NOTE("grown", "1", "Apache-2.0", QN_DEVICE_CPU, 0);\n')
    plugin = work / "grown.quoin.so"
    run(facts.cc, "-std=c11", "-O2", "-shared", "-fPIC", "-fvisibility=hidden", "-DREF_AS_PLUGIN", '-DQUOIN_VERSION="1"', "-I", work / "include",
        "-I", facts.source / "formats" / "include", *sources, work / "note.c", *facts.blocks, "-o", plugin, "-lm",
        f"-Wl,--version-script={facts.source / 'abi' / 'exports.map'}")
    return plugin


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("how", choices=("longer", "shorter"))
    for name in ("cc", "source", "work", "quoin", "model"):
        parser.add_argument("--" + name, required=True, type=str if name == "cc" else pathlib.Path)
    parser.add_argument("--blocks", required=True, nargs="+")
    facts = parser.parse_args()
    work = facts.work / facts.how
    subprocess.run(["rm", "-rf", str(work)], check=True)
    work.mkdir(parents=True)
    plugin = build(facts, work, facts.how)
    entries = {entry["name"]: entry for entry in json.loads(run(facts.quoin, "backends", "--plugin", plugin, "--json"))["backends"]}
    if not entries["grown"]["usable"]:
        sys.exit(f"failed: {entries['grown']}")
    ask = (facts.quoin, "run", facts.model, "--prompt", "Once upon", "-n", "24", "--seed", "1")
    want = run(*ask, "--backend", "reference")
    got = run(*ask, "--backend", "grown", "--plugin", plugin)
    if want != got or not want.strip():
        sys.exit(f"failed: the text differs:\n{got}\nfrom the reference's\n{want}")


if __name__ == "__main__":
    main()
