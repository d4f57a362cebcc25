"""Installs into an empty prefix and looks at what lies there: everything that README names, and nothing that belongs to tests."""
import shutil
import sys

import package

EXPECTED = """
bin/quoin
bin/quoin-conform
LIB/libquoin.so
LIB/libquoin_gguf.a
LIB/libquoin_p64.a
LIB/libquoin_q42.a
LIB/libquoin_safetensors.a
LIB/libquoin_blocks.a
LIB/libquoin_fmt_common.a
LIB/quoin/plugins/cpu.quoin.so
LIB/cmake/quoin/quoinConfig.cmake
LIB/cmake/quoin/quoinConfigVersion.cmake
LIB/cmake/quoin/QuoinAddPlugin.cmake
LIB/cmake/quoin/exports.map
LIB/pkgconfig/quoin.pc
LIB/pkgconfig/quoin-formats.pc
LIB/pkgconfig/quoin-abi.pc
include/quoin/abi.h
include/quoin/note.h
include/quoin/ops.def
include/quoin/ext/profile.h
include/quoin/ext/test_fault.h
include/quoin/engine.h
include/quoin/p64.h
include/quoin/gguf.h
include/quoin/ntriples.h
share/man/man1/quoin.1
share/man/man1/quoin-run.1
share/man/man1/quoin-conform.1
share/man/man5/quoin.conf.5
share/bash-completion/completions/quoin
share/bash-completion/completions/quoin-conform
share/doc/quoin/README.md
share/doc/quoin/abi/README.md
share/doc/quoin/abi/loading.md
share/doc/quoin/abi/conformance.md
share/doc/quoin/examples/minimal-plugin/minimal_plugin.c
share/doc/quoin/examples/rust-plugin/src/program.rs
""".split()

# Headers that a user has no business with, and what only tests load.
UNWANTED = ("checked.h", "cursor.h", "crc32c.h", "reference.quoin.so")


def main():
    facts = package.parse_facts(sys.argv[1:])
    shutil.rmtree(facts.prefix, ignore_errors=True)
    package.run(facts, [facts.cmake, "--install", facts.build, "--prefix", facts.prefix])
    missing = [name for name in EXPECTED if not (facts.prefix / name.replace("LIB", facts.libdir)).exists()]
    present = [str(path.relative_to(facts.prefix)) for path in facts.prefix.rglob("*") if path.name in UNWANTED]
    if missing:
        package.fail("not installed: " + ", ".join(missing))
    if present:
        package.fail("must not be there: " + ", ".join(present))
    for path in facts.prefix.rglob("*"):
        if path.suffix in (".cmake", ".pc") and str(facts.source) in path.read_text():
            package.fail(f"{path} names the source tree")
    if package.run(facts, [facts.prefix / "bin" / "quoin", "--version"]).stdout.split()[0] != "quoin":
        package.fail("the installed program does not tell its version")


main()
