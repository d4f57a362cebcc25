"""check_plugins.py FILE... — what a plugin file may show and need, read with nm and readelf.

    one exported symbol, quoin_backend_query_0
    DT_NEEDED: libc, libm, the loader, libgcc_s (and libpthread, libdl of old C libraries)
    the note of <quoin/note.h>
    no import that ends or changes the process; no constructors of its own; no executable stack, no text relocations
"""
import os
import re
import subprocess
import sys

NEEDED = re.compile(r"^(libc\.so\.\d+|libm\.so\.\d+|ld-linux.*\.so\.\d+|libgcc_s\.so\.\d+|libpthread\.so\.\d+|libdl\.so\.\d+)$")
SANITIZERS = re.compile(r"^lib(asan|ubsan|tsan|clang_rt\..*)\.so")
FORBIDDEN = set("""abort exit _exit quick_exit raise kill signal sigaction setlocale fork vfork execve posix_spawn system popen putenv
setenv unsetenv chdir umask atexit longjmp fesetround fesetenv printf puts putchar fopen open socket""".split())


def run(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True, env={**os.environ, "LC_ALL": "C"}).stdout


def check(path):
    dynamic = run("readelf", "-dW", path)
    needed = re.findall(r"\(NEEDED\).*\[(.+?)\]", dynamic)
    is_sanitized = any(SANITIZERS.match(n) for n in needed) or "__asan_init" in run("nm", "-D", path) or "__tsan_init" in run("nm", "-D", path)
    exported = [line.split()[-1] for line in run("nm", "-D", "--defined-only", path).splitlines()]
    if exported != ["quoin_backend_query_0"] and not is_sanitized:
        yield f"exports {', '.join(exported) or 'nothing'}; it exports quoin_backend_query_0 alone"
    if "quoin_backend_query_0" not in exported:
        yield "does not export quoin_backend_query_0"
    for name in needed:
        if not NEEDED.match(name) and not (is_sanitized and (SANITIZERS.match(name) or name.startswith("libstdc++"))):
            yield f"needs {name}; link it statically with hidden symbols, or open it in start"
    imports = {line.split()[-1].split("@")[0] for line in run("nm", "-D", "--undefined-only", path).splitlines()}
    for name in sorted(imports & FORBIDDEN):
        yield f"imports {name}; a plugin leaves the process as it is"
    if not re.search(r"^\s*QUOIN\s+0x", run("readelf", "-nW", path), re.M):
        yield "has no note; quoin_add_plugin makes one, or QN_PLUGIN_NOTE of <quoin/note.h>"
    if "TEXTREL" in dynamic:
        yield "has text relocations"
    if re.search(r"GNU_STACK.*\bRWE\b", run("readelf", "-lW", path)):
        yield "wants an executable stack"
    # Eight bytes are the compiler's own frame_dummy; anything more would run before the host has asked for anything.
    sizes = re.findall(r"\.init_array\s+INIT_ARRAY\s+\S+\s+\S+\s+([0-9a-f]+)", run("readelf", "-SW", path))
    if sizes and int(sizes[0], 16) > 8 and not is_sanitized:
        yield f"runs {int(sizes[0], 16) // 8 - 1} constructors when it is loaded"


def main():
    n_findings = 0
    for path in sys.argv[1:]:
        for text in check(path):
            print(f"{path}: {text}")
            n_findings += 1
    if len(sys.argv) < 2:
        print("usage: check_plugins.py FILE...")
    sys.exit(1 if n_findings or len(sys.argv) < 2 else 0)


if __name__ == "__main__":
    main()
