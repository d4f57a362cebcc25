#!/usr/bin/env python3
"""What queries over a large volume keep resident beyond the mapping, and how long they take.

usage: query_memory.py VOLUME [--make N] [--build build/dev]

VOLUME is one of make_statements.py; with --make it is made first, of N statements (22,400,000 are 1 GiB of quins), and removed at the end.
Each query runs in a process of its own, whose anonymous memory is read every few milliseconds. The
exit status is 1 when a query passes 42 MB.
"""
import argparse
import pathlib
import subprocess
import sys
import time

LIMIT = 42 << 20
E = 'http://e.example/'
TYPE = f'a <{E}class/5>'
QUERIES = [[f'?s <{E}size> 77777'], [f'?s <{E}near> <{E}place/77>', f'?s <{E}label> ?l'], [f'<{E}item/77> ?p ?o'], [f'?s {TYPE}'],
           [f'?s {TYPE}', f'?s <{E}size> ?n', '--where', '?n >= 99990'], [f'?s {TYPE}', f'?s <{E}link0> ?t', f'?t {TYPE}'],
           [f'?s <{E}size> ?n', '--where', '?n < 5'], ['?s ?p ?o', '--select', '?p', '--distinct'], ['?s ?p ?o', '--offset', '1000000']]


def anonymous_bytes(pid):
    try:
        for line in pathlib.Path(f'/proc/{pid}/status').read_text().splitlines():
            if line.startswith('RssAnon:'):
                return int(line.split()[1]) * 1024
    except (OSError, ValueError):
        pass
    return 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('volume', type=pathlib.Path)
    parser.add_argument('--build', type=pathlib.Path, default=pathlib.Path('build/dev'))
    parser.add_argument('--make', type=int, default=0, metavar='N')
    facts = parser.parse_args()
    if facts.make:
        make_volume(facts)
    try:
        worst = measure(facts)
    finally:
        if facts.make:
            facts.volume.unlink(missing_ok=True)
    print(f'most: {worst / 1e6:.1f} MB of {LIMIT / 1e6:.1f} MB beyond the mapping')
    sys.exit(worst > LIMIT)


def make_volume(facts):
    begin = time.monotonic()
    maker = subprocess.Popen([sys.executable, pathlib.Path(__file__).with_name('make_statements.py'), str(facts.make)], stdout=subprocess.PIPE)
    subprocess.run([facts.build / 'bin' / 'quoin', 'ingest', '-', '--format', 'nt', '-o', facts.volume, '-q'], stdin=maker.stdout, check=True)
    print(f'{facts.make} statements, {facts.volume.stat().st_size / 1e9:.2f} GB, made in {time.monotonic() - begin:.0f} s', flush=True)


def measure(facts):
    worst = 0
    for words in QUERIES:
        begin, peak = time.monotonic(), 0
        child = subprocess.Popen([facts.build / 'bin' / 'quoin', 'query', facts.volume, *words, '--count'], stdout=subprocess.PIPE)
        while child.poll() is None:
            peak = max(peak, anonymous_bytes(child.pid))
            time.sleep(0.003)
        rows = child.stdout.read().decode().strip()
        worst = max(worst, peak)
        print(f'{peak / 1e6:6.1f} MB  {time.monotonic() - begin:7.2f} s  {rows:>10} rows  {" ".join(words)}', flush=True)
    return worst


if __name__ == '__main__':
    main()
