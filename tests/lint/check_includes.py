"""check_includes.py ROOT — who may include whom.

    abi       nothing but itself
    formats   itself
    host      abi, formats, and inside: base <- backends, text <- model <- decode <- engine <- cli, serve; convert, graph and keys stand
              on base and formats, adapt on model, ground, rules and wal on graph, constrain on graph and decode,
              govern on ground, keys, rules and wal, convert also uses what model and text know; prove
              on convert, wal and decode; certify on decode, and on the decoder of blocks of conform's oracle
    plugins   abi, <quoin/blocks.h> and <quoin/panels.h> with what they include, and their own folder; those for devices also what they share, in plugins/gpu
    conform   abi, <quoin/blocks.h>, <quoin/panels.h> and itself; but for core and ops also host's base and backends
    tests, examples   anything
"""
import os
import re

from source_tree import run

INCLUDE = re.compile(r'^\s*#\s*include\s*(["<])([^">]+)[">]')
BLOCKS = {"quoin/blocks.h", "quoin/panels.h", "quoin/fmt.h"}

# Modules of host/ and those each may use besides itself.
HOST = {
    "base": set(),
    "backends": {"base"},
    "model": {"base", "text"},
    "text": {"base"},
    "convert": {"base", "model", "text"},
    "adapt": {"base", "model", "text"},
    "graph": {"base"},
    "ground": {"base", "graph"},
    "keys": {"base"},
    "wal": {"base", "graph", "keys"},
    "rules": {"base", "graph"},
    "decode": {"base", "backends", "model", "text"},
    "bench": {"base", "backends", "model", "text", "decode"},
    "prove": {"base", "model", "convert", "graph", "keys", "wal", "decode"},
    "certify": {"base", "backends", "model", "text", "decode"},
    "sentinel": {"base", "text", "decode"},
    "residency": {"base"},
    "constrain": {"base", "backends", "model", "text", "graph", "decode"},
    "govern": {"base", "graph", "ground", "keys", "model", "prove", "rules", "wal"},
    "engine": {"base", "backends", "model", "text", "decode", "govern", "convert", "adapt"},
    "cli": {"base", "backends", "model", "text", "decode", "bench", "govern", "convert", "graph", "ground", "rules", "constrain", "engine", "keys", "wal",
            "adapt", "sentinel", "residency", "prove", "certify"},
    "serve": {"base", "backends", "model", "text", "decode", "govern", "engine"},
}
CONFORM_HOST = {"base", "backends", "cli"}
# Plugins that are made of the common core in plugins/gpu; inside it, files of every folder see each other.
DEVICE_PLUGINS = {"gpu", "opencl", "vulkan", "cuda"}
PLUGIN_FORBIDDEN = re.compile(r"^(syslog|locale|setjmp|signal|spawn|netdb|sys/socket|sys/wait)\.h$")


def public_headers(root):
    """name as included -> folder that owns it."""
    owners = {}
    for folder in ("abi", "formats", "host"):
        base = os.path.join(root, folder, "include")
        for at, _, files in os.walk(base):
            for name in files:
                owners[os.path.relpath(os.path.join(at, name), base)] = folder
    return owners


def judge(folder, module, target, owner, quoted, path, root):
    """A sentence when the include breaks the direction, otherwise None."""
    if folder == "abi":
        return None if owner in (None, "abi") and not quoted else "abi/ includes only <quoin/...> of its own and the C library"
    if folder == "formats":
        if owner in ("abi", "host"):
            return f"formats/ does not know <{target}> of {owner}/"
        is_own = os.path.exists(os.path.join(root, "formats", target)) or os.path.exists(os.path.join(root, os.path.dirname(path), target))
        return None if not quoted or is_own else f'formats/ includes "{target}", which is not its own'
    if folder == "plugins":
        if owner == "host" or (owner == "formats" and target not in BLOCKS):
            return f"a plugin sees abi/, <quoin/blocks.h> and <quoin/panels.h> only, not <{target}>"
        if PLUGIN_FORBIDDEN.match(target):
            return f"a plugin has no business with <{target}>"
        is_own = os.path.exists(os.path.join(root, os.path.dirname(path), target)) or os.path.exists(
            os.path.join(root, "plugins", module, target))
        is_own = is_own or (module in DEVICE_PLUGINS and any(
            os.path.exists(os.path.join(root, "plugins", "gpu", inner, target)) for inner in ("", "core", "lower", "kernels", "emulator")))
        return None if not quoted or is_own else f'a plugin includes "{target}", which is not in its folder'
    if folder == "conform":
        first = target.split("/")[0]
        is_host = owner == "host" or (quoted and first in HOST)
        if is_host and (module in ("", "core", "ops") or (quoted and first not in CONFORM_HOST)):
            return f'conform/{module} does not use "{target}" of host/'
        if owner == "formats" and target not in BLOCKS and not (is_host or target == "quoin/span.h"):
            return f"conform/ sees <quoin/blocks.h> and <quoin/panels.h> of formats/ alone, not <{target}>"
        return None
    if folder == "host" and quoted:
        first = target.split("/")[0]
        if "/" in target and first in HOST:
            allowed = HOST.get(module, set()) | {module}
            return None if first in allowed else f"host/{module} may not use host/{first}: it stands to its right"
    return None


def rule(sources, root):
    owners = public_headers(root)
    for source in sources:
        parts = source.path.split(os.sep)
        folder, module = parts[0], parts[1] if len(parts) > 2 else ""
        if folder in ("tests", "examples"):
            continue
        if folder == "host" and module not in HOST and module != "include":
            yield source, 1, f"host/{module} is not a module of the house; name it in check_includes.py with what it may use"
        for number, line in enumerate(source.lines, 1):
            found = INCLUDE.match(line)
            if found:
                target = found.group(2)
                text = judge(folder, module, target, owners.get(target), found.group(1) == '"', source.path, root)
                if text:
                    yield source, number, text


if __name__ == "__main__":
    run(rule)
