#!/usr/bin/env python3
"""Every generated hostile or tricky volume (tests/cases) through the program, as its manifest and this table say.

accept      verify and export exit 0
reject      verify exits 1, and so does whatever would copy the volume; nothing is written
and always: one message, less than 2 seconds of processor time, less than 64 MiB plus the file, no signal, no sanitizer report.
"""
import atexit
import os
import re
import shutil
import tempfile

from models import make_cases
from program import *

MEMORY = 64 << 20
SECONDS = 2.0

# The rule that refuses a volume, and what its message holds, by the beginning of the case's name.
RULES = {
    'qbad-01': ('header', ['51 34 33 00']), 'qbad-02': (None, ['version 2', 'migrate']), 'qbad-04': ('section', ['lexicon']),
    'qbad-05': ('section', ['lexicon']), 'qbad-07': ('section', ['data']), 'qbad-08': ('header', ['16', '2']),
    'qbad-10': ('header', ['4096', '40960']), 'qbad-11': ('header', ['851', '850']), 'qdir-01': ('directory', ['block 0', '1000000']),
    'qdir-03': ('directory', ['4294967295']), 'qdir-04': ('directory', ['3']), 'qlz-01': ('blocks', ['block 0', '4294967295']),
    'qlz-02': ('blocks', ['block 0', '100']), 'qlz-': ('blocks', ['block 0']), 'qblk-02': ('blocks', ['block 0', 'slot 0', 'parity']),
    'qblk-03': ('blocks', ['block 0', 'slot 2']), 'qblk-05': ('blocks', ['block 0']), 'qlex-02': ('lexicon', []),
    'qlex-03': ('lexicon', ['thref']), 'qlex-05': ('lexicon', []), 'qlex-06': ('lexicon', ['1152921504606846976']),
    'qidx-01': ('bidx', ['block 0']), 'qidx-02': ('blocks', ['block 0']), 'qidx-04': ('bidx', ['4294967295']),
}
NOTED = {'qbad-13-trailing': 1, 'qblk-06-dup-quin': 1}   # a note; --strict refuses

def by_beginning(table, name):
    keys = [key for key in table if name.startswith(key)]
    return table[max(keys, key=len)]


def check_means(t, case, result):
    t.true(result.cpu < SECONDS * SLOWNESS, f'{result.cpu:.2f} s of processor time')
    if not SANITIZER:
        t.true(result.peak < MEMORY + case['bytes'], f'{result.peak >> 20} MiB of memory')


def the_error(t, case, result):
    errors = [line for line in result.err.decode().splitlines() if line.startswith('error: ')]
    t.equal(len(errors), 1, 'lines that begin with "error: "')
    t.has(errors[0], case['file'])
    t.true(len(errors[0]) < 900, 'the message is too long to be read')
    return errors[0]


def check_good_volume(t, case):
    r = t.exits(0, 'verify', case['path'])
    check_means(t, case, r)
    verdict = t.exits(0, 'verify', case['path'], '--json').json()
    t.equal(len(verdict['notes']), NOTED.get(case['id'], 0), 'notes')
    t.exits(1 if case['id'] in NOTED else 0, 'verify', case['path'], '--strict')
    t.exits(0, 'export', case['path'])


def check_bad_volume(t, case):
    rule, words = by_beginning(RULES, case['id'])
    r = t.exits(1, 'verify', case['path'])
    check_means(t, case, r)
    error = the_error(t, case, r)
    t.has(error, *words)
    if rule is not None:
        t.has(error, 'byte ', f'(rule {rule}')
    r = t.exits(1, 'verify', case['path'], '--json')
    t.true(isinstance(r.json(), dict), 'one object')
    for copy in (['compact', case['path'], '-o', t.path('out.q42')], ['export', case['path'], '-o', t.path('out.nq')]):
        r = t.quoin(*copy)
        check_means(t, case, r)
        if r.status == 0:   # what only a full check sees: the copy must be whole
            t.true(case['id'].startswith(('qblk-05', 'qlex-03', 'qlex-02', 'qidx-02')), f'{copy[0]} copied it')
        else:
            t.equal(r.status, 1, 'exit status of ' + copy[0])
            the_error(t, case, r)
            t.equal(t.files(), [], 'files in the output folder')
        for name in t.files():
            os.unlink(t.path(name))


folder = tempfile.mkdtemp(prefix='quoin-graph-cases-')
atexit.register(shutil.rmtree, folder, ignore_errors=True)
for each in make_cases('q42', folder):
    if each['file'].endswith('.q42'):
        sentence = re.sub(r'\W+', '_', each['id']) + {'accept': '_is_accepted', 'reject': '_is_rejected'}[each['expect']]
        check = check_good_volume if each['expect'] == 'accept' else check_bad_volume
        add_test(sentence, lambda t, c=each, f=check: f(t, c))

if __name__ == '__main__':
    main()
