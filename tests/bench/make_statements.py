#!/usr/bin/env python3
"""Many statements as N-Triples on standard output, always the same ones: material for large volumes.

usage: make_statements.py N | quoin ingest - --format nt -o big.q42

22,400,000 of them are 1 GiB of quins. Each item has a type, a label, a number, and links to other items; half of the objects are shared
by many statements, half by one.
"""
import sys

E = 'http://e.example/'
XSD = 'http://www.w3.org/2001/XMLSchema#integer'
PER_ITEM = 8


def item_lines(i):
    s = f'<{E}item/{i}>'
    links = ''.join(f'{s} <{E}link{k}> <{E}item/{(i * 2654435761 + k * 40503) % 4294967291 % (i + 1)}> .\n' for k in range(4))
    return (f'{s} <http://www.w3.org/1999/02/22-rdf-syntax-ns#type> <{E}class/{i % 97}> .\n{s} <{E}label> "item number {i}" .\n'
            f'{s} <{E}size> "{i % 100003}"^^<{XSD}> .\n{s} <{E}near> <{E}place/{i * 7919 % 50021}> .\n{links}')


def main():
    n = int(sys.argv[1])
    out = sys.stdout
    for begin in range(0, (n + PER_ITEM - 1) // PER_ITEM, 1000):
        lines = ''.join(item_lines(i) for i in range(begin, begin + 1000))
        left = n - begin * PER_ITEM
        out.write(lines if left >= 1000 * PER_ITEM else ''.join(lines.splitlines(True)[:left]))


if __name__ == '__main__':
    main()
