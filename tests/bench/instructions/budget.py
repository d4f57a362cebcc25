#!/usr/bin/env python3
"""Instructions of one decode step, per format and instruction set, held against a budget: more than 5 % above it fails.

    budget.py COUNTER PLUGIN-FOLDER BUDGET [--update] [--only FORMAT]

COUNTER is count_instructions; the models are random ones of shape tiny. Levels up to AVX2 are counted by valgrind, the others by
single-stepping, which takes minutes. --update writes what was counted as the new budget: do it in the
commit that means it, and say why. The numbers belong to one compiler and one build type; with another the run says so and is skipped.
Python standard library only.
"""
import argparse
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
FORMATS = ('q4_0', 'q8_0', 'q4_k', 'q6_k', 'f16')
LEVELS = {'c': None, 'avx2': 'avx2', 'avx512': 'avx512bw', 'avx512vnni': 'avx512_vnni'}
SKIPPED = 77
ALLOWED = 1.05


def levels_here():
    flags = set()
    with open('/proc/cpuinfo', encoding='ascii', errors='replace') as f:
        for line in f:
            if line.startswith('flags'):
                flags = set(line.split())
                break
    return [level for level, flag in LEVELS.items() if flag is None or flag in flags]


def read_budget(path):
    """{(format, level): count}, and the line that says what it belongs to."""
    counts, build = {}, None
    if path.exists():
        for line in path.read_text(encoding='utf-8').splitlines():
            if line.startswith('# build: '):
                build = line.removeprefix('# build: ')
            elif line and not line.startswith('#'):
                kind, level, count = line.split()
                counts[kind, level] = int(count)
    return counts, build


def write_budget(path, counts, build):
    lines = ['# Instructions of one decode step of a random model of shape tiny on one thread (budget.py --update).', f'# build: {build}',
             '# format level instructions']
    lines += [f'{kind:6} {level:10} {count:>10}' for (kind, level), count in sorted(counts.items())]
    path.write_text('\n'.join(lines) + '\n', encoding='utf-8')


def run(words, level):
    done = subprocess.run(words, env=dict(os.environ, QUOIN_CPU_MASK=level), text=True, capture_output=True, check=False)
    if done.returncode == SKIPPED:
        print(done.stderr.strip())
        sys.exit(SKIPPED)
    if done.returncode != 0:
        sys.exit(f'{" ".join(words)} at {level}: {done.stderr.strip()}')
    return done


def count(options, model, level):
    """By callgrind where it knows the instructions, otherwise one by one."""
    counter = [options.counter, model, options.plugins]
    if level not in ('c', 'avx2'):
        return int(run(counter, level).stdout)
    words = ['valgrind', '--tool=callgrind', '--callgrind-out-file=/dev/null', '--toggle-collect=counted_step', *counter, 'run']
    found = re.search(r'Collected : (\d+)', run(words, level).stderr)
    if not found:
        sys.exit('valgrind: no total')
    return int(found.group(1))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('counter')
    parser.add_argument('plugins')
    parser.add_argument('budget', type=pathlib.Path)
    parser.add_argument('--build', default='', help='compiler and build type')
    parser.add_argument('--update', action='store_true')
    parser.add_argument('--only', choices=FORMATS)
    options = parser.parse_args()
    if shutil.which('valgrind') is None:
        print('skipped: needs valgrind')
        sys.exit(SKIPPED)
    budget, build = read_budget(options.budget)
    if not options.update and build != options.build:
        print(f'skipped: the budget belongs to {build}, this is {options.build}')
        sys.exit(SKIPPED)
    seen, failures = dict(budget), []
    with tempfile.TemporaryDirectory() as folder:
        for kind in [options.only] if options.only else FORMATS:
            model = os.path.join(folder, kind + '.gguf')
            subprocess.run([sys.executable, str(HERE.parent / 'random_model.py'), model, '--shape', 'tiny', '--format', kind, '--context', '64'],
                           check=True, stdout=subprocess.DEVNULL)
            for level in levels_here():
                now, before = count(options, model, level), budget.get((kind, level))
                change = f'{now / before - 1:+.1%} of {before}' if before else 'no budget'
                print(f'{kind:6} {level:10} {now:>10}  {change}', flush=True)
                seen[kind, level] = now
                if not options.update and (before is None or now > ALLOWED * before):
                    failures.append(f'{kind} {level}')
    if options.update:
        write_budget(options.budget, seen, options.build)
    if failures:
        sys.exit(f'over the budget or without one: {", ".join(failures)}')


if __name__ == '__main__':
    main()
