#!/usr/bin/env python3
"""Loading N-Triples into a Q42 volume, beside pyoxigraph's bulk loader and beside serdi, which only parses, with the same statements.

usage: q42_ingest.py SCHEMA.nt [--copies 112] [--runs 5] [--folder DIR] [--build build/release]

The statements are copies of the file with subjects of their own (repeat_statements.py). Each round runs all of them one after another, so
that what disturbs one disturbs all. pyoxigraph is told to be lenient, for a copy of a subject with a fragment has two. Prints medians, and ratios as the median of the ratios of the rounds. pyoxigraph is imported by the
interpreter that runs this; without it, or without serdi, their lines are missing.
"""
import argparse
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
BULK_LOAD = '''
import sys, pyoxigraph
store = pyoxigraph.Store(sys.argv[2])
store.bulk_load(path=sys.argv[1], format=pyoxigraph.RdfFormat.N_TRIPLES, lenient=True)
store.flush()
'''


def run(*command):
    """Wall seconds and CPU seconds of one run."""
    begin, before = time.monotonic(), os.times()
    subprocess.run([str(word) for word in command], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    after = os.times()
    return time.monotonic() - begin, after.children_user + after.children_system - before.children_user - before.children_system


def make_contestants(facts, text):
    volume, store = facts.folder / 'statements.q42', facts.folder / 'oxigraph'
    quoin = facts.build / 'bin' / 'quoin'

    def ingest(jobs):
        volume.unlink(missing_ok=True)
        return run(quoin, 'ingest', text, '-o', volume, '--jobs', jobs)

    def bulk_load():
        shutil.rmtree(store, ignore_errors=True)
        return run(sys.executable, '-c', BULK_LOAD, text, store)

    found = {f'quoin --jobs {jobs}': lambda jobs=jobs: ingest(jobs) for jobs in (1, 2)}
    try:
        import pyoxigraph
        found[f'pyoxigraph {pyoxigraph.__version__}'] = bulk_load
    except ImportError:
        print('pyoxigraph is not installed: pip install pyoxigraph')
    if shutil.which('serdi'):
        found['serdi'] = lambda: run('serdi', '-i', 'ntriples', '-o', 'ntriples', text)
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('source', type=pathlib.Path)
    parser.add_argument('--copies', type=int, default=112)
    parser.add_argument('--runs', type=int, default=5)
    parser.add_argument('--folder', type=pathlib.Path, default=pathlib.Path('/tmp/quoin-ingest'))
    parser.add_argument('--build', type=pathlib.Path, default=pathlib.Path('build/release'))
    facts = parser.parse_args()
    facts.folder.mkdir(parents=True, exist_ok=True)
    text = facts.folder / 'statements.nt'
    subprocess.run([sys.executable, str(HERE.parent / 'repeat_statements.py'), str(facts.source), str(facts.copies), str(text)], check=True)
    text.read_bytes()  # in the page cache for all
    contestants = make_contestants(facts, text)
    times = {name: [] for name in contestants}
    for _ in range(facts.runs):
        for name, contest in contestants.items():
            times[name].append(contest())
    for name, rounds in times.items():
        wall, cpu = (statistics.median(part) for part in zip(*rounds))
        ratios = ', '.join(f'{statistics.median(own[0] / other[0] for own, other in zip(rounds, times[base])):.2f} of {base}'
                           for base in times if base != name)
        print(f'{name:18} {wall:6.2f} s wall, {cpu:6.2f} s CPU; {ratios}')
    shutil.rmtree(facts.folder)


if __name__ == '__main__':
    main()
