"""test_rules.py — each lint rule finds the fault that it is there for, and accepts a sound tree.

A tiny tree is written to a scratch folder; each case breaks one thing in it and names the rule that must see it.
"""
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))

SOUND = {
    "abi/include/quoin/abi.h": "/* abi.h — the contract. */\n#ifndef QUOIN_ABI_H\n#define QUOIN_ABI_H\n#include <stdint.h>\n\n"
                               "/* Does it. [any] */\nint (QN_CALL *does)(void);\n#endif\n",
    "formats/include/quoin/p64.h": "/* p64.h — reads it. */\n#ifndef QUOIN_P64_H\n#define QUOIN_P64_H\n#endif\n",
    "formats/p64/p64_open.c": "/* p64_open.c — opens it. */\n#include <quoin/p64.h>\n\nint p64_open(void) {\n    return 0;\n}\n",
    "host/base/log.h": "/* log.h — lines. */\n#ifndef LOG_H\n#define LOG_H\n#endif\n",
    "host/decode/session.h": "/* session.h — steps. */\n#ifndef SESSION_H\n#define SESSION_H\n#include \"base/log.h\"\n#endif\n",
    "host/base/log.c": "/* log.c — writes lines. */\n#include <stdio.h>\n\n#include \"base/log.h\"\n\nvoid log_line(void) {\n"
                       "    fputs(\"a // b\", stderr);\n}\n",
    "plugins/cpu/cpu_plugin.c": "/* cpu_plugin.c — verbs. */\n#include <quoin/abi.h>\n#include <quoin/blocks.h>\n",
}

# (rule, file, what to put in place of its end, words of the finding)
CASES = [
    ("includes", "formats/p64/p64_open.c", "#include <quoin/abi.h>\n", "does not know"),
    ("includes", "host/base/log.h", "#include \"decode/session.h\"\n", "to its right"),
    ("includes", "plugins/cpu/cpu_plugin.c", "#include <quoin/p64.h>\n", "blocks.h"),
    ("includes", "plugins/cpu/cpu_plugin.c", "#include \"../reference/ref.h\"\n", "not in its folder"),
    ("includes", "abi/include/quoin/abi.h", "#include \"p64.h\"\n", "abi/ includes"),
    ("includes", "conform/core/cf_host.c", "/* cf_host.c — services. */\n#include \"base/log.h\"\n", "of host/"),
    ("includes", "conform/file/cf_file.c", "/* cf_file.c — bytes. */\n#include \"decode/session.h\"\n", "of host/"),
    ("banned", "conform/core/cf_host.c", "/* cf_host.c — services. */\nvoid f(void) {\n    abort();\n}\n", "abort"),
    ("banned", "host/base/log.c", "void f(char *a) {\n    strcpy(a, \"x\");\n}\n", "strcpy"),
    ("banned", "host/decode/session.h", "static int f(void) {\n    return atoi(\"1\");\n}\n", "atoi"),
    ("banned", "formats/p64/p64_open.c", "void *f(void) {\n    return malloc(1);\n}\n", "allocates nothing"),
    ("banned", "plugins/cpu/cpu_plugin.c", "void f(void) {\n    abort();\n}\n", "abort"),
    ("banned", "plugins/cpu/cpu_plugin.c", "void f(void) {\n    printf(\"x\");\n}\n", "printf"),
    ("banned", "host/decode/session.h", "void f(void) {\n    fprintf(stderr, \"x\");\n}\n", "terminal"),
    ("style", "host/base/log.c", "int x; // no\n", "block comments"),
    ("style", "host/base/log.c", "int x;", "newline"),
    ("style", "host/base/log.c", "\tint x;\n", "tab"),
    ("style", "host/base/log.c", "int x; \n", "end of the line"),
    ("style", "host/base/log.c", "int x; /* \u200b */\n", "invisible"),
    ("style", "host/base/log.c", "int x; /* TODO: y */\n", "unfinished"),
    ("style", "host/base/new.c", "int x;\n", "begins with a comment"),
    ("names", "host/decode/log.c", "/* log.c — again. */\n", "also the name"),
    ("names", "host/base/Log2.c", "/* Log2.c — capital. */\n", "snake_case"),
    ("names", "host/base/new.h", "/* new.h — bare. */\nint x;\n", "include guard"),
    ("lengths", "host/base/log.c", "void f(void) {\n" + "    g();\n" * 79 + "}\n", "f has 81 lines"),
    ("lengths", "host/base/log.c", "int\nf(int a,\n  int b) {\n" + "    g();\n" * 79 + "}\n", "82 lines"),
    ("lengths", "host/base/log.c", "int x;\n" * 800, "lines; a file"),
    ("tags", "abi/include/quoin/abi.h", "\n/* Says nothing. */\nint (QN_CALL *bare)(void);\n", "bare has no thread tag"),
    ("waivers", "host/base/log.c", "int x; /* lint: there is nothing here to waive */\n", "waives nothing"),
    ("waivers", "host/base/log.c", "void f(char *a) {\n    strcpy(a, \"x\"); /* lint: why */\n}\n", "needs a reason"),
]
WAIVED = ("banned", "host/base/log.c", "void f(char *a) {\n    strcpy(a, \"x\"); /* lint: the room was measured */\n}\n")


def run(rule, broken_file=None, tail=""):
    with tempfile.TemporaryDirectory() as root:
        files = dict(SOUND)
        if broken_file is not None:
            files[broken_file] = files.get(broken_file, "") + tail
        for path, text in files.items():
            os.makedirs(os.path.join(root, os.path.dirname(path)), exist_ok=True)
            with open(os.path.join(root, path), "w", encoding="utf-8") as file:
                file.write(text)
        done = subprocess.run([sys.executable, os.path.join(HERE, f"check_{rule}.py"), root], capture_output=True, text=True)
        return done.returncode, done.stdout + done.stderr


def main():
    n_failed = 0
    for rule in ("includes", "banned", "style", "names", "lengths", "tags", "waivers"):
        status, output = run(rule)
        if status != 0:
            print(f"{rule}: a sound tree is refused: {output}")
            n_failed += 1
    for rule, file, tail, words in CASES:
        status, output = run(rule, file, tail)
        if status != 1 or words not in output:
            print(f"{rule}: {file} with {tail[:40]!r}: status {status}, wanted 1 and '{words}': {output}")
            n_failed += 1
    status, output = run(*WAIVED)
    if status != 0:
        print(f"a waiver does not waive: {output}")
        n_failed += 1
    print(f"{len(CASES) + 8} cases, {n_failed} failed")
    sys.exit(1 if n_failed else 0)


if __name__ == "__main__":
    main()
