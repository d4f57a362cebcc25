#!/usr/bin/env python3
"""Look-ups by object in a Q42 volume, beside pyoxigraph with the same statements and the same objects.

usage: q42_lookup.py [--statements N] [--lookups N] [--folder DIR] [--build build/dev]

Makes the statements (22,400,000 are 1 GiB of quins), loads them with `quoin ingest` and with pyoxigraph's bulk loader when that package
is installed, and asks both for the same random objects, at most 100 rows each. Prints median and p99 of both.
"""
import argparse
import itertools
import pathlib
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent


def run(*command, **more):
    return subprocess.run([str(word) for word in command], check=True, **more)


def make_volume(facts):
    text, volume = facts.folder / 'statements.nt', facts.folder / 'statements.q42'
    if not text.exists():
        with open(text, 'wb') as out:
            run(sys.executable, HERE.parent / 'make_statements.py', facts.statements, stdout=out)
    if not volume.exists():
        begin = time.monotonic()
        run(facts.build / 'bin' / 'quoin', 'ingest', text, '-o', volume)
        print(f'quoin ingest: {time.monotonic() - begin:.1f} s, {volume.stat().st_size / 1e6:.0f} MB', flush=True)
    return text, volume


def percentile(times, part):
    return sorted(times)[int(len(times) * part)] * 1e6


def measure_oxigraph(facts, text, terms):
    try:
        import pyoxigraph
    except ImportError:
        print('pyoxigraph is not installed: pip install pyoxigraph')
        return
    store = pyoxigraph.Store(str(facts.folder / 'oxigraph'))
    if len(store) == 0:
        begin = time.monotonic()
        store.bulk_load(path=str(text), format=pyoxigraph.RdfFormat.N_TRIPLES)
        print(f'pyoxigraph bulk load: {time.monotonic() - begin:.1f} s', flush=True)
    parse = [next(iter(pyoxigraph.parse(f'<urn:s> <urn:p> {line} .', format=pyoxigraph.RdfFormat.N_TRIPLES))).object for line in terms]
    times, n_rows = [], 0
    for term in parse:
        begin = time.perf_counter()
        rows = [str(quad) for quad in itertools.islice(store.quads_for_pattern(None, None, term), 100)]
        times.append(time.perf_counter() - begin)
        n_rows += len(rows)
    print(f'pyoxigraph  {len(times)} look-ups: median {percentile(times, 0.5):.1f} us, p99 {percentile(times, 0.99):.1f} us; {n_rows} rows')


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--statements', type=int, default=22400000)
    parser.add_argument('--lookups', type=int, default=10000)
    parser.add_argument('--folder', type=pathlib.Path, default=pathlib.Path('/tmp/quoin-lookup'))
    parser.add_argument('--build', type=pathlib.Path, default=pathlib.Path('build/dev'))
    facts = parser.parse_args()
    facts.folder.mkdir(parents=True, exist_ok=True)
    text, volume = make_volume(facts)
    terms = facts.folder / 'terms'
    run(facts.build / 'tests' / 'bench_q42_lookup', volume, facts.lookups, terms)
    measure_oxigraph(facts, text, terms.read_text().splitlines())


if __name__ == '__main__':
    main()
