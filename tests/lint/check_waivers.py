"""check_waivers.py ROOT — every waiver still waives something, and says why."""
import check_banned
import check_includes
import check_lengths
import check_names
import check_style
from source_tree import Source, WAIVER, finish, read_sources
import sys


def main():
    root = sys.argv[1] if len(sys.argv) > 1 else "."
    sources = read_sources(root)
    hit = set()
    for rule in (check_banned.rule, check_includes.rule, check_lengths.rule, check_names.rule, check_style.rule):
        hit |= {(source.path, line) for source, line, _ in rule(sources, root) if isinstance(source, Source)}
    findings = []
    for source in sources:
        for number, line in enumerate(source.lines, 1):
            found = WAIVER.search(line)
            if found and len(found.group(1)) < 10:
                findings.append(f"{source.path}:{number}: a waiver needs a reason")
            elif found and (source.path, number) not in hit:
                findings.append(f"{source.path}:{number}: this waiver waives nothing; take it out")
    finish(findings)


if __name__ == "__main__":
    main()
