"""What README shows is what happens: runs the commands of its ```console blocks in an empty folder and compares.

A line that begins with "$ " is a command, the lines after it are its output, standard error included. Speeds are not compared. Of a
generated text only the beginning is: kernels of another processor may round the last bit otherwise. Commands that need a model which
is not there (models/…) are left out.

usage: check_readme.py README QUOIN [--update] [--models FOLDER]
  --update   writes what was printed into README
  --models   folder that stands for models/
"""
import argparse
import os
import pathlib
import re
import subprocess
import sys
import tempfile

TEXT_BYTES = 24  # of a generated text that must be equal


def split_blocks(text):
    """Pieces of the file: (is_console, lines)."""
    pieces, at = [], 0
    for match in re.finditer(r"^```console\n(.*?)^```$", text, re.MULTILINE | re.DOTALL):
        pieces.append((False, text[at:match.start(1)]))
        pieces.append((True, match.group(1)))
        at = match.end(1)
    return pieces + [(False, text[at:])]


def split_commands(block):
    """[(command, output)] of one block."""
    found = []
    for line in block.splitlines(keepends=True):
        if line.startswith("$ "):
            found.append([line[2:].rstrip("\n"), ""])
        elif found:
            found[-1][1] += line
    return found


def can_run(command, folder):
    names = re.findall(r"(?<!examples/)\b(models/\S+|smollm2\.p64)", command)
    made_here = re.findall(r"-o (\S+)", command)
    return "get-smollm2" not in command and all((folder / name).exists() or name in made_here for name in names)


def run(command, folder, quoin):
    path = f"{quoin.parent}:{os.environ['PATH']}"
    home = {"PATH": path, "HOME": str(folder), "LC_ALL": "C.UTF-8"}
    done = subprocess.run(["bash", "-c", command], cwd=folder, env=home, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          stdin=subprocess.DEVNULL, check=False)
    return done.stdout


def simplify(command, output):
    if re.match(r"quoin (run|chat)\b", command) and "error:" not in output:
        return output[:TEXT_BYTES]
    return re.sub(r"[\d.]+ GB/s", "N GB/s", output)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("readme", type=pathlib.Path)
    parser.add_argument("quoin", type=pathlib.Path)
    parser.add_argument("--update", action="store_true")
    parser.add_argument("--models", type=pathlib.Path)
    facts = parser.parse_args()
    root = facts.readme.resolve().parent
    if not list((root / "examples" / "models").glob("*.gguf")):
        print("skipped: examples/models holds no model")
        sys.exit(77)
    result, n_wrong, n_run = "", 0, 0
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "examples").symlink_to(root / "examples")
        if facts.models:
            (folder / "models").symlink_to(facts.models.resolve())
        for is_console, piece in split_blocks(facts.readme.read_text()):
            if not is_console:
                result += piece
                continue
            for command, shown in split_commands(piece):
                printed = shown
                if can_run(command, folder):
                    printed = run(command, folder, facts.quoin.resolve())
                    n_run += 1
                if simplify(command, printed) != simplify(command, shown):
                    n_wrong += 1
                    print(f"$ {command}\n--- README\n{shown}--- now\n{printed}")
                else:
                    printed = shown
                result += f"$ {command}\n{printed}"
    if facts.update:
        facts.readme.write_text(result)
        n_wrong = 0
    if n_run == 0:
        print("README has no command that could be run")
    print(f"{n_run} commands run, {n_wrong} differ")
    sys.exit(1 if n_wrong > 0 or n_run == 0 else 0)


main()
