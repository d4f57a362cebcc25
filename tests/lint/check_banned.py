"""check_banned.py ROOT — functions that this project does not call, and what stands in their place."""
import os
import re

from source_tree import find_functions, run

EVERYWHERE = {
    "strcpy": "memcpy with a known length",
    "strcat": "snprintf",
    "sprintf": "snprintf",
    "vsprintf": "vsnprintf",
    "gets": "fgets",
    "strtok": "a scan of your own",
    "alloca": "memory that was planned",
    "rand": "a seeded generator",
    "srand": "a seeded generator",
    "tmpnam": "mkstemp",
    "mktemp": "mkstemp",
}
NUMBERS = "atoi atol atoll atof strtol strtoul strtoll strtoull strtoimax strtoumax strtod strtof strtold scanf sscanf fscanf"
ENDINGS = "exit _exit _Exit quick_exit abort raise longjmp siglongjmp"
PRINTING = "printf vprintf puts putchar perror"
MEMORY = "malloc calloc realloc free strdup aligned_alloc posix_memalign"
PLUGIN = "setenv putenv unsetenv setlocale signal sigaction fork vfork system popen chdir umask atexit socket open fopen getenv"

SHIPPED = ("abi", "formats", "host", "plugins", "conform")
MAY_PRINT = (os.path.join("host", "cli") + os.sep, os.path.join("host", "base", "log.c"),
             os.path.join("host", "base", "progress.c"), os.path.join("host", "serve") + os.sep,
             os.path.join("conform", "program") + os.sep)


def banned_in(path):
    """name -> advice for this file."""
    folder = path.split(os.sep)[0]
    banned = dict(EVERYWHERE)
    if folder in SHIPPED:
        banned.update(dict.fromkeys(NUMBERS.split(), "the checked wrapper of host/cli/options.c or host/base/config.c"))
        banned.update(dict.fromkeys(ENDINGS.split(), "a status that the caller can act on"))
        if path.startswith(os.path.join("host", "cli") + os.sep):
            del banned["raise"]  # a second interrupt ends the program the way the signal would have
        if not path.startswith(MAY_PRINT):
            banned.update(dict.fromkeys(PRINTING.split(), "the log"))
    if folder == "formats":
        banned.update(dict.fromkeys(MEMORY.split(), "the caller's scratch: formats/ allocates nothing"))
    if folder == "plugins":
        banned.update(dict.fromkeys(PLUGIN.split(), "nothing: a plugin leaves the process as it is"))
        banned.update(dict.fromkeys(MEMORY.split(), "the host's mem_alloc and mem_free"))
    return banned


def rule(sources, root):
    for source in sources:
        banned = banned_in(source.path)
        word = re.compile(r"(?<![\w.>])(" + "|".join(sorted(banned)) + r")\s*\(")
        mains = [(first, last) for name, first, last in find_functions(source) if name == "main"]
        for number, line in enumerate(source.code, 1):
            if re.match(r"\s*#\s*define", line):
                continue
            for found in word.finditer(line):
                name = found.group(1)
                if name in ENDINGS.split() and any(first <= number <= last for first, last in mains):
                    continue
                yield source, number, f"{name} is not used here; instead: {banned[name]}"
            if source.path.startswith(SHIPPED) and not source.path.startswith(MAY_PRINT):
                if re.search(r"\bv?fprintf\s*\(\s*std(out|err)\b|\bf(puts|putc|write)\s*\([^;]*\bstd(out|err)\b", line):
                    yield source, number, "writes to the terminal; instead: the log"


if __name__ == "__main__":
    run(rule)
