"""Uses the installed package as another project would. The first argument names the check."""
import json
import shutil
import sys

import package


def make_work_folder(facts, name):
    folder = facts.work / name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return folder


def find_cxx():
    return next((path for path in map(shutil.which, ("c++", "g++", "clang++")) if path), None)


def check_headers(facts):
    """Every public header compiles alone, as C11 and as C++17, without a warning."""
    flags = ["-fsyntax-only", "-Wall", "-Wextra", "-Werror", "-I" + str(facts.prefix / "include")]
    cxx = find_cxx()
    work = make_work_folder(facts, "headers")
    headers = sorted((facts.prefix / "include").rglob("*.h"))
    if len(headers) < 10:
        package.fail(f"only {len(headers)} headers")
    for header in headers:
        name = header.relative_to(facts.prefix / "include")
        for compiler, language, standard in ((facts.cc, "c", "c11"), (cxx, "c++", "c++17")):
            if compiler is not None:
                source = work / ("alone.c" if language == "c" else "alone.cc")
                source.write_text(f"#include <{name}>\n")
                package.run(facts, [compiler, "-x", language, "-std=" + standard, *flags, source])
    if cxx is None:
        package.skip("no C++ compiler; the headers were compiled as C11 only")


def run_generate(facts, program):
    model = package.find_model(facts)
    if model is None:
        package.skip("built; no model to run it with (examples/models and $QUOIN_CORPUS/data/stories260k are absent)")
    out = package.run(facts, [program, model, "Once upon a time"]).stdout
    if not out.startswith("Once upon a time") or len(out) < 100 or " tokens, " not in out:
        package.fail("the program did not continue the text")


def check_find_package(facts):
    """examples/ is a project of its own: find_package(quoin COMPONENTS host)."""
    work = make_work_folder(facts, "find_package")
    package.run(facts, [facts.cmake, "-S", facts.source / "examples", "-B", work, "-DCMAKE_C_COMPILER=" + facts.cc,
                        "-DCMAKE_PREFIX_PATH=" + str(facts.prefix)])
    package.run(facts, [facts.cmake, "--build", work])
    run_generate(facts, work / "example_generate")


def pkg_config(facts, *arguments):
    return package.run(facts, ["pkg-config", *arguments]).stdout.split()


def check_pkg_config(facts):
    """The line in the head of generate.c."""
    work = make_work_folder(facts, "pkg_config")
    package.run(facts, [facts.cc, "-std=c11", facts.source / "examples" / "generate.c", "-o", work / "generate",
                        *pkg_config(facts, "--cflags", "--libs", "quoin")])
    run_generate(facts, work / "generate")


FORMATS_PROGRAM = """
#include <stdio.h>
#include <quoin/blocks.h>
#include <quoin/gguf.h>
#include <quoin/p64.h>
#include <quoin/safetensors.h>
int main(void) {
    const fmt_span nothing = {0};
    fmt_diag diag = {0};
    uint64_t need = 0;
    const fmt_status status = gguf_scratch_size(nothing, &need, &diag);
    printf("%s %u %s\\n", status == FMT_BAD_FILE ? "refused" : "accepted", (unsigned)blk_get_info(BLK_Q8_0)->block_bytes, diag.rule);
    return 0;
}
"""

FORMATS_CMAKE = """
cmake_minimum_required(VERSION 3.25)
project(uses_formats LANGUAGES C)
find_package(quoin REQUIRED COMPONENTS formats)
add_executable(uses_formats uses_formats.c)
target_link_libraries(uses_formats PRIVATE quoin::formats)
"""


def check_formats(facts):
    """quoin::formats and quoin-formats.pc bring what the static libraries need."""
    work = make_work_folder(facts, "formats")
    (work / "uses_formats.c").write_text(FORMATS_PROGRAM)
    (work / "CMakeLists.txt").write_text(FORMATS_CMAKE)
    package.run(facts, [facts.cmake, "-S", work, "-B", work / "build", "-DCMAKE_C_COMPILER=" + facts.cc,
                        "-DCMAKE_PREFIX_PATH=" + str(facts.prefix)])
    package.run(facts, [facts.cmake, "--build", work / "build"])
    package.run(facts, [facts.cc, "-std=c11", work / "uses_formats.c", "-o", work / "by_pkg_config",
                        *pkg_config(facts, "--cflags", "--libs", "quoin-formats")])
    for program in (work / "build" / "uses_formats", work / "by_pkg_config"):
        if package.run(facts, [program]).stdout.split()[:2] != ["refused", "34"]:
            package.fail("an empty GGUF must be refused, and a Q8_0 block has 34 bytes")


def check_q42(facts):
    """examples/q42_lookup.c, built by pkg-config alone, asks a volume that the installed program has written."""
    work = make_work_folder(facts, "q42")
    package.run(facts, [facts.cc, "-std=c11", "-D_POSIX_C_SOURCE=200809L", facts.source / "examples" / "q42_lookup.c", "-o", work / "q42_lookup",
                        *pkg_config(facts, "--cflags", "--libs", "quoin-formats")])
    (work / "in.nt").write_text("".join(f'<http://e.example/s{i % 3}> <http://e.example/p> "{i}" .\n' for i in range(9)))
    package.run(facts, [facts.prefix / "bin" / "quoin", "ingest", work / "in.nt", "-o", work / "v.q42"])
    out = package.run(facts, [work / "q42_lookup", work / "v.q42", "<http://e.example/s1>"]).stdout
    wanted = [f'<http://e.example/s1> <http://e.example/p> "{i}"' for i in (1, 4, 7)]
    if sorted(out.splitlines()) != wanted:
        package.fail(f"the statements are not those that were written: {out}")
    package.run(facts, [work / "q42_lookup", work / "in.nt", "<http://e.example/s1>"], expect=1)


def check_missing_verb(facts, work):
    """A table without a verb that every host calls is refused, not called."""
    folder = work / "without_seal"
    folder.mkdir()
    source = (facts.source / "examples" / "minimal-plugin" / "minimal_plugin.c").read_text()
    note = '#include <quoin/note.h>\nQN_PLUGIN_NOTE("without_seal", "1", "Apache-2.0", QN_DEVICE_ACCELERATOR, 0);\n'
    (folder / "without_seal.c").write_text(source.replace(".seal = seal_program, ", "").replace('"minimal"', '"without_seal"') + note)
    plugin = folder / "without_seal.quoin.so"
    package.run(facts, [facts.cc, "-std=c11", "-shared", "-fPIC", "-fvisibility=hidden", folder / "without_seal.c", "-o", plugin,
                        *pkg_config(facts, "--cflags", "quoin-abi")])
    done = package.run(facts, [facts.prefix / "bin" / "quoin", "backends", "--plugin", plugin, "--json"])
    entry = next(entry for entry in json.loads(done.stdout)["backends"] if entry["name"] == "without_seal")
    if entry["usable"] or "refused at query" not in entry["reason"] or "seal" not in entry["reason"]:
        package.fail(f"a table without seal: {entry}")


def check_minimal_plugin(facts):
    """The out-of-tree plugin is built, found, started and refused where it says that it can do nothing."""
    work = make_work_folder(facts, "minimal_plugin")
    package.run(facts, [facts.cmake, "-S", facts.source / "examples" / "minimal-plugin", "-B", work, "-DCMAKE_C_COMPILER=" + facts.cc,
                        "-DCMAKE_PREFIX_PATH=" + str(facts.prefix), "-DCMAKE_C_FLAGS=-Werror"])
    package.run(facts, [facts.cmake, "--build", work])
    plugin = work / "lib" / "quoin" / "plugins" / "minimal.quoin.so"
    package.run(facts, [facts.prefix / "bin" / "quoin-conform", plugin, "--profile", "protocol-0", "--quiet"])
    exported = [line.split()[-1] for line in package.run(facts, ["nm", "-D", "--defined-only", plugin]).stdout.splitlines()]
    if exported != ["quoin_backend_query_0"]:
        package.fail(f"exports {exported}")
    quoin = facts.prefix / "bin" / "quoin"
    listed = json.loads(package.run(facts, [quoin, "backends", "--plugin", plugin, "--json"]).stdout)
    entries = {entry["name"]: entry for entry in listed["backends"]}
    if entries["minimal"]["usable"] or "refused at known answer: UNSUPPORTED" not in entries["minimal"]["reason"]:
        package.fail(f"minimal: {entries['minimal']}")
    if not entries["cpu"]["usable"] or not entries["reference"]["usable"]:
        package.fail("cpu or reference is not usable in the installation")
    check_missing_verb(facts, work)
    model = package.find_model(facts)
    if model is not None:
        done = package.run(facts, [quoin, "run", model, "--backend", "minimal", "--plugin", plugin, "--prompt", "x"], expect=3)
        if "minimal" not in done.stderr or done.stdout != "":
            package.fail("a named backend that is refused says so and writes no text")


def check_rust_plugin(facts):
    """A backend without C is built outside the tree, obeys the rules of the verbs, and passes the vectors of its two ops."""
    rustc = shutil.which("rustc")
    if rustc is None:
        package.skip("needs rustc (package rustc)")
    work = make_work_folder(facts, "rust_plugin")
    package.run(facts, [facts.cmake, "-S", facts.source / "examples" / "rust-plugin", "-B", work, "-DRUSTC=" + rustc])
    package.run(facts, [facts.cmake, "--build", work])
    plugin, conform = work / "rust.quoin.so", facts.prefix / "bin" / "quoin-conform"
    package.run(facts, [sys.executable, facts.source / "tests" / "lint" / "check_plugins.py", plugin])
    package.run(facts, [conform, plugin, "--profile", "protocol-0", "--level", "0,1,6", "--quiet"])
    for ops in ("2.add.*", "2.matmul.*_F32", "2.matmul.*_Q8_0"):
        done = package.run(facts, [conform, plugin, "--profile", "none", "--filter", ops])
        if " 0 passed" in done.stdout or "UNSUPPORTED" in done.stdout:
            package.fail(f"{ops} is not wholly tested")


CHECKS = {"headers": check_headers, "find_package": check_find_package, "pkg_config": check_pkg_config, "formats": check_formats, "q42": check_q42,
          "minimal_plugin": check_minimal_plugin, "rust_plugin": check_rust_plugin}
CHECKS[sys.argv[1]](package.parse_facts(sys.argv[2:]))
