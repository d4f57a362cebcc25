"""What the tests of the installed package share: their arguments, running commands, and saying what is wrong."""
import argparse
import os
import pathlib
import subprocess
import sys


def parse_facts(argv):
    parser = argparse.ArgumentParser()
    for name in ("cmake", "cc", "build", "source", "prefix", "libdir", "work"):
        parser.add_argument("--" + name, required=True)
    facts = parser.parse_args(argv)
    for name in ("build", "source", "prefix", "work"):
        setattr(facts, name, pathlib.Path(getattr(facts, name)))
    facts.lib = facts.prefix / facts.libdir
    return facts


def fail(text):
    print("failed: " + text)
    sys.exit(1)


def skip(text):
    print("skipped: " + text)
    sys.exit(77)


def environment(facts):
    """A clean one: nothing of the build tree or of the user may help."""
    kept = {name: os.environ[name] for name in ("PATH", "HOME", "TMPDIR", "CCACHE_DIR") if name in os.environ}
    kept["PKG_CONFIG_PATH"] = str(facts.lib / "pkgconfig")
    kept["LD_LIBRARY_PATH"] = str(facts.lib)
    kept["LC_ALL"] = "C.UTF-8"
    return kept


def run(facts, command, expect=0, **more):
    """Runs a command; returns its standard output. Anything but the expected status is the end."""
    words = [str(word) for word in command]
    print("+ " + " ".join(words), flush=True)
    done = subprocess.run(words, env=environment(facts), text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False, **more)
    sys.stdout.write(done.stdout)
    sys.stdout.write(done.stderr)
    sys.stdout.flush()
    if done.returncode != expect:
        fail(f"exit status {done.returncode}, expected {expect}")
    return done


def find_model(facts):
    """The model that comes with the project, or the small one of the corpus."""
    corpus = os.environ.get("QUOIN_CORPUS") or os.environ.get("QUOIN_CORPUS_DEFAULT") or "../shared"
    candidates = sorted((facts.source / "examples" / "models").glob("*.gguf"))
    candidates += sorted((pathlib.Path(corpus) / "data" / "stories260k").glob("*.gguf"))
    return candidates[0] if candidates else None
