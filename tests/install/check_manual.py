"""Help, man pages and bash completion say the same.

For each command that `quoin --help` lists: every option of its own table stands in its man page and in the completion, and nothing
stands there that the table has not. The options that all commands share stand in quoin(1) and in the completion's common list. Each
page has the sections that a reader expects and is free of errors for groff, where groff is installed.

quoin-conform is a program of its own, with its own page and completion.

usage: check_manual.py QUOIN HOST_CLI_FOLDER QUOIN_CONFORM CONFORM_FOLDER
"""
import pathlib
import re
import shutil
import subprocess
import sys

SECTIONS = ("NAME", "SYNOPSIS", "DESCRIPTION", "JSON", "EXIT STATUS", "EXAMPLES", "SEE ALSO")
TOP_SECTIONS = ("NAME", "SYNOPSIS", "DESCRIPTION", "PROMISES", "ENVIRONMENT", "FILES", "EXIT STATUS", "EXAMPLES", "SEE ALSO")
problems = []


def complain(text):
    problems.append(text)


def run_help(quoin, *words):
    return subprocess.run([quoin, *words, "--help"], text=True, capture_output=True, check=True).stdout


def parse_options(text):
    """{"--name"} and {"-x"} of the lines of one help table."""
    found = set()
    for line in text.splitlines():
        match = re.match(r"  (?:(-\w),|   ) (--[\w-]+)", line)
        if match:
            found.update(option for option in match.groups() if option)
    return found


def read_help(quoin, command):
    """The command's own options and those that all commands share."""
    own, _, common = run_help(quoin, command).partition("common options:")
    return parse_options(own), parse_options(common)


def read_page_options(page):
    """Options that have an entry (.It Fl …) in a page; `Fl -name` is mdoc for --name."""
    found = set()
    for line in page.read_text().splitlines():
        if line.startswith(".It Fl "):
            for name in re.findall(r"Fl (\S+)", line):
                found.add("-" + name)
    return found


def read_completion_options(script, command):
    source = f". {script}; _quoin_options {command}" if command else f". {script}; echo $_quoin_options_common"
    done = subprocess.run(["bash", "-c", source], text=True, capture_output=True, check=True)
    return set(done.stdout.split())


def compare(where, listed, expected):
    for option in sorted(expected - listed):
        complain(f"{where}: {option} is missing")
    for option in sorted(listed - expected):
        complain(f"{where}: {option} is not an option")


def check_page(page, sections):
    if not page.exists():
        complain(f"{page.name}: there is no such page")
        return
    headings = re.findall(r"^\.Sh (.*)$", page.read_text(), re.MULTILINE)
    for section in sections:
        if section not in headings:
            complain(f"{page.name}: no section {section}")
    if shutil.which("groff"):
        done = subprocess.run(["groff", "-mdoc", "-Tutf8", "-ww", "-z", str(page)], text=True, capture_output=True, check=False)
        if done.returncode != 0 or done.stderr:
            complain(f"{page.name}: groff: {done.stderr.strip()}")


def check_policy(page, room):
    """Every key of a policy stands in its section of the page, every gate in its list, and nothing else does."""
    text = page.read_text()
    rows = set(re.findall(r'^ROW\((\w+), "(\w+)"', (room / "policy_rows.def").read_text(), re.MULTILINE))
    told = set()
    for section, body in re.findall(r"^\.Ss \[(\w+)[^\n]*\n(.*?)(?=^\.S[sh] )", text, re.MULTILINE | re.DOTALL):
        for line in re.findall(r"^\.It Cm (.*)$", body, re.MULTILINE):
            told.update((section.upper(), word) for word in re.findall(r"\w+", line))
    for section, key in sorted(rows ^ told):
        complain(f"{page.name}: [{section.lower()}] {key} stands in only one of the page and policy_rows.def")
    codes = re.findall(r'^CODE\(\w+, UINT64_C\((\w+)\), "([\w-]+)"', (room / "gate_codes.def").read_text(), re.MULTILINE)
    reasons = re.findall(r"^\.It ([\w-]+)\n([0-9a-f]{16}):", text.partition(".Sh REASONS")[2], re.MULTILINE)
    if [(word, int(number, 16)) for number, word in codes if word != "none"] != [(word, int(number, 16)) for word, number in reasons]:
        complain(f"{page.name}: the reasons are not those of gate_codes.def")
    gates = re.findall(r'^    \{"(\w+)", GATE_', (room / "gate.c").read_text(), re.MULTILINE)
    listed = re.findall(r"^\.It (\w+)$", text.partition(".Sh GATES")[2].partition(".El")[0], re.MULTILINE)
    if gates != listed:
        complain(f"{page.name}: the gates are {gates}")


def check_references(folder):
    pages = {path.name for path in folder.iterdir()}
    for page in folder.iterdir():
        for name, section in re.findall(r"^\.?(?:It )?Xr (\S+) (\d)", page.read_text(), re.MULTILINE):
            if f"{name}.{section}" not in pages:
                complain(f"{page.name}: refers to {name}({section}), which does not exist")


def check_conform(program, room, pages):
    page, script = room / "man" / "quoin-conform.1", room / "completion" / "quoin-conform.bash"
    options = parse_options(run_help(program))
    check_page(page, SECTIONS)
    compare(page.name, read_page_options(page), options)
    done = subprocess.run(["bash", "-c", f". {script}; echo $_quoin_conform_options"], text=True, capture_output=True, check=True)
    compare("completion of quoin-conform", set(done.stdout.split()), options)
    for name, section in re.findall(r"^\.?(?:It )?Xr (\S+) (\d)", page.read_text(), re.MULTILINE):
        if not (pages / f"{name}.{section}").exists():
            complain(f"{page.name}: refers to {name}({section}), which does not exist")


def main():
    quoin, room = sys.argv[1], pathlib.Path(sys.argv[2])
    man, script = room / "man", room / "completion" / "quoin.bash"
    commands = re.findall(r"^  (\w+) +\S", run_help(quoin).partition("example:")[0], re.MULTILINE)
    if len(commands) < 7:
        complain(f"--help lists only {commands}")
    shared = set()
    for command in commands:
        own, common = read_help(quoin, command)
        shared |= common  # commands that run no model leave out the options of backends
        if not own and command != "backends":
            complain(f"{command}: --help lists no options")
        check_page(man / f"quoin-{command}.1", SECTIONS)
        compare(f"quoin-{command}.1", read_page_options(man / f"quoin-{command}.1"), own)
        compare(f"completion of {command}", read_completion_options(script, command), own)
    check_page(man / "quoin.1", TOP_SECTIONS)
    check_page(man / "quoin.conf.5", ("NAME", "DESCRIPTION", "EXAMPLES", "SEE ALSO"))
    check_page(man / "quoin-policy.5", ("NAME", "DESCRIPTION", "GATES", "REASONS", "EXAMPLES", "SEE ALSO"))
    check_policy(man / "quoin-policy.5", room.parent / "govern")
    compare("quoin.1", read_page_options(man / "quoin.1"), shared)
    compare("completion's common options", read_completion_options(script, ""), shared)
    for page in man.glob("quoin-*.1"):
        if page.stem[len("quoin-"):] not in commands:
            complain(f"{page.name}: there is no such command")
    check_references(man)
    check_conform(sys.argv[3], pathlib.Path(sys.argv[4]), man)
    for problem in problems:
        print(problem)
    print(f"{len(commands)} commands, {len(problems)} problems")
    sys.exit(1 if problems else 0)


main()
