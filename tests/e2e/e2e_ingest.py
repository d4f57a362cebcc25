#!/usr/bin/env python3
"""quoin ingest: RDF files become a volume, whole or not at all, with the same bytes whatever the machine did on the way."""
import atexit
import glob
import gzip
import hashlib
import os
import random
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time

from models import make_cases, make_tiny
from program import *

EPOCH = {'SOURCE_DATE_EPOCH': '1717286400'}


def write(t, name, text):
    with open(t.path(name), 'wb') as f:
        f.write(text if isinstance(text, bytes) else text.encode())
    return t.path(name)


def lines(n, seed=1):
    """n statements of four places: repeated terms, numbers, languages, graphs."""
    r = random.Random(seed)
    out = []
    for i in range(n):
        o = r.choice(['<http://e.example/o%d>' % r.randrange(n), '"text %d"' % r.randrange(n), '"%d"^^<http://www.w3.org/2001/XMLSchema#integer>' % r.randrange(n),
                      '"wort %d"@de' % r.randrange(99), '_:b%d' % r.randrange(99)])
        g = r.choice(['', ' <http://e.example/g%d>' % r.randrange(60)])
        out.append('<http://e.example/s%d> <http://e.example/p%d> %s%s .\n' % (r.randrange(n // 3 + 1), r.randrange(9), o, g))
    return out


def digest(path):
    with open(path, 'rb') as f:
        return hashlib.sha256(f.read()).hexdigest()


def ingest(t, *args, status=0, **how):
    return t.exits(status, 'ingest', *args, env=EPOCH, **how)


def exported(t, path):
    return sorted(t.exits(0, 'export', path).out.decode().split('\n')[:-1])


def left(t):
    return sorted(os.listdir(t.folder))


# ---------------------------------------------------------------- what goes in comes out
@test
def every_statement_comes_out_again_once(t):
    text = lines(5000)
    source = write(t, 'a.nq', ''.join(text))
    report = ingest(t, source, '-o', t.path('a.q42'), '--json').json()
    t.equal(exported(t, t.path('a.q42')), sorted(set(x.strip() for x in text)))
    t.equal(report['statements'], 5000)
    t.equal(report['quins'], len(set(text)))
    t.equal(report['quins'] + report['duplicates'], 5000)
    t.exits(0, 'verify', '--strict', t.path('a.q42'))


@test
def an_exported_volume_gives_the_same_bytes_when_it_is_loaded_again(t):
    source = write(t, 'a.nq', ''.join(lines(3000)))
    ingest(t, source, '-o', t.path('a.q42'))
    back = write(t, 'b.nq', t.exits(0, 'export', t.path('a.q42')).out)
    ingest(t, back, '-o', t.path('b.q42'))
    t.equal(digest(t.path('a.q42')), digest(t.path('b.q42')))


@test
def repetitions_are_kept_when_that_is_asked_for(t):
    source = write(t, 'a.nt', '<http://e/s> <http://e/p> "x" .\n' * 3)
    t.equal(ingest(t, source, '-o', t.path('a.q42'), '--keep-duplicates', '--json').json()['quins'], 3)


@test
def an_empty_input_makes_a_volume_without_blocks(t):
    report = ingest(t, write(t, 'a.nt', '# nothing\n'), '-o', t.path('a.q42'), '--json').json()
    t.equal((report['quins'], report['blocks'], report['terms']), (0, 0, 0))
    t.exits(0, 'verify', '--strict', t.path('a.q42'))


@test
def labels_of_several_inputs_stay_apart_and_those_of_one_stay(t):
    a, b = write(t, 'a.nt', '_:x <http://e/p> "1" .\n'), write(t, 'b.nt', '_:x <http://e/p> "2" .\n')
    ingest(t, a, b, '-o', t.path('two.q42'))
    t.equal(exported(t, t.path('two.q42')), ['_:s1_x <http://e/p> "1" .', '_:s2_x <http://e/p> "2" .'])
    ingest(t, a, '-o', t.path('one.q42'))
    t.equal(exported(t, t.path('one.q42')), ['_:x <http://e/p> "1" .'])


@test
def turtle_pipes_and_compression_are_read(t):
    turtle = write(t, 'a.ttl', '@prefix e: <http://e/> . e:s e:p 7, "x"@en ; e:q <rel> .\n')
    ingest(t, turtle, '-o', t.path('a.q42'), '--base', 'http://base/')
    t.equal(exported(t, t.path('a.q42')), ['<http://e/s> <http://e/p> "7"^^<http://www.w3.org/2001/XMLSchema#integer> .',
                                           '<http://e/s> <http://e/p> "x"@en .', '<http://e/s> <http://e/q> <http://base/rel> .'])
    packed = write(t, 'b.nt.gz', gzip.compress(b'<http://e/s> <http://e/p> "z" .\n'))
    ingest(t, packed, '-o', t.path('b.q42'))
    t.equal(exported(t, t.path('b.q42')), ['<http://e/s> <http://e/p> "z" .'])


def xxh32(data):
    """For at most three bytes."""
    h = 374761393 + len(data)
    for byte in data:
        h = h + byte * 374761393 & 2**32 - 1
        h = (h << 11 | h >> 21) * 2654435761 & 2**32 - 1
    h = (h ^ h >> 15) * 2246822519 & 2**32 - 1
    h = (h ^ h >> 13) * 3266489917 & 2**32 - 1
    return h ^ h >> 16


def zstd_frame(data):
    """One raw block of at most 255 bytes."""
    return b'\x28\xb5\x2f\xfd\x20' + bytes([len(data)]) + (len(data) << 3 | 1).to_bytes(3, 'little') + data


def lz4_frame(data):
    """One stored block, no checksum of the content."""
    head = b'\x60\x40'
    return b'\x04\x22\x4d\x18' + head + bytes([xxh32(head) >> 8 & 255]) + (len(data) | 1 << 31).to_bytes(4, 'little') + data + bytes(4)


@test
def packed_inputs_are_known_by_their_bytes_and_may_have_several_members(t):
    one, two = b'<http://e/s> <http://e/p> "1" .\n', b'<http://e/s> <http://e/p> "2" .\n'
    for name, pack in (('gz', gzip.compress), ('zst', zstd_frame), ('lz4', lz4_frame)):
        for path in ('a.nt.' + name, 'plain.nt'):
            ingest(t, write(t, path, pack(one) + pack(two)), '-o', t.path('a.q42'), '-f')
            t.equal(exported(t, t.path('a.q42')), [one.decode().strip(), two.decode().strip()], path)
        r = ingest(t, write(t, 'cut.nt.' + name, pack(one)[:-6]), '-o', t.path('b.q42'), status=1)
        t.has(r.err, 'cut.nt.' + name, ('cut short', 'damaged'))
        t.true(not os.path.exists(t.path('b.q42')), 'nothing of a damaged input')


@test
def a_fault_in_a_packed_input_is_told_by_its_own_line(t):
    source = write(t, 'a.nt.gz', gzip.compress(b'# one\n<http://e/s> <http://e/p> oops .\n'))
    t.has(ingest(t, source, '-o', t.path('a.q42'), status=1).err, source, 'line 2, column 27')


@test
def standard_input_is_quads_unless_a_format_is_said(t):
    ingest(t, '-', '-o', t.path('a.q42'), stdin=b'<http://e/s> <http://e/p> "1" <http://e/g> .\n')
    t.equal(exported(t, t.path('a.q42')), ['<http://e/s> <http://e/p> "1" <http://e/g> .'])
    ingest(t, '-', '-o', t.path('b.q42'), '--format', 'ttl', '--base', 'http://e/', stdin=b'<s> <p> 1 .\n')
    t.equal(exported(t, t.path('b.q42')), ['<http://e/s> <http://e/p> "1"^^<http://www.w3.org/2001/XMLSchema#integer> .'])
    ingest(t, '-', '-o', t.path('c.q42'), stdin=gzip.compress(b'<http://e/s> <http://e/p> "3" .\n'))
    t.equal(exported(t, t.path('c.q42')), ['<http://e/s> <http://e/p> "3" .'])
    t.has(ingest(t, '-', '-o', t.path('d.q42'), status=1, stdin=b'\n\n<http://e/s> .\n').err, 'standard input', 'line 3, column')


@test
def trig_keeps_its_graphs_and_relative_names_stand_against_the_base(t):
    trig = write(t, 'a.trig', '@prefix e: <http://e/> .\n<g> { e:s e:p e:o, true . }\ne:s e:p 4.2 .\nGRAPH _:g { e:s e:p <rel> . }\n')
    ingest(t, trig, '-o', t.path('a.q42'), '--base', 'http://base/x', '--graph', 'http://e/default')
    t.equal(exported(t, t.path('a.q42')), sorted([
        '<http://e/s> <http://e/p> <http://e/o> <http://base/g> .',
        '<http://e/s> <http://e/p> "true"^^<http://www.w3.org/2001/XMLSchema#boolean> <http://base/g> .',
        '<http://e/s> <http://e/p> "4.2"^^<http://www.w3.org/2001/XMLSchema#decimal> <http://e/default> .',
        '<http://e/s> <http://e/p> <http://base/rel> _:g .']))
    t.has(ingest(t, trig, '-o', t.path('b.q42'), status=1).err, 'line 2, column 1: ', 'relative', 'base')
    t.has(ingest(t, trig, '-o', t.path('b.q42'), '--base', 'x', status=2).err, '"x"', 'absolute IRI')
    t.has(ingest(t, trig, '-o', t.path('b.q42'), '--base', 'http://b/', '--format', 'ttl', status=1).err, 'line 2', 'TriG')


@test
def the_name_of_an_input_says_its_format_or_it_must_be_said(t):
    source = write(t, 'a.txt', '<http://e/s> <http://e/p> "1" .\n')
    t.has(ingest(t, source, '-o', t.path('a.q42'), status=1).err, 'a.txt', '.nt', 'format')
    ingest(t, source, '-o', t.path('a.q42'), '--format', 'nt')
    quads = write(t, 'a.nt', '<http://e/s> <http://e/p> "1" <http://e/g> .\n')
    t.has(ingest(t, quads, '-o', t.path('b.q42'), status=1).err, 'line 1, column')
    t.has(ingest(t, t.path('missing.nt'), '-o', t.path('b.q42'), status=6).err, 'missing.nt')
    t.has(ingest(t, t.folder, '-o', t.path('b.q42'), '--format', 'nt', status=1).err, 'folder')


@test
def statements_without_a_graph_go_into_the_one_that_is_named(t):
    source = write(t, 'a.nq', '<http://e/s> <http://e/p> "1" .\n<http://e/s> <http://e/p> "2" <http://e/own> .\n')
    ingest(t, source, '-o', t.path('a.q42'), '--graph', 'http://e/g')
    t.equal(exported(t, t.path('a.q42')), ['<http://e/s> <http://e/p> "1" <http://e/g> .', '<http://e/s> <http://e/p> "2" <http://e/own> .'])
    t.has(ingest(t, source, '-o', t.path('b.q42'), '--graph', 'no iri', status=2).err, 'no iri', 'absolute IRI')


@test
def bare_terms_lose_brackets_and_datatypes(t):
    source = write(t, 'a.nt', '<http://e/s> <http://e/p> "a\\"b"@en .\n<did:q42:abc> <http://e/p> "1"^^<http://e/t> .\n')
    ingest(t, source, '-o', t.path('a.q42'), '--terms', 'bare')
    data = open(t.path('a.q42'), 'rb').read()
    for text in (b'http://e/s', b'a"b@en', b'did:q42:abc'):
        t.true(bytes([1, len(text), 0]) + text in data, text)
    t.true(b'quoin:terms' not in data, 'no mark')
    t.exits(0, 'verify', t.path('a.q42'))


# ---------------------------------------------------------------- the same bytes
@test
def the_bytes_do_not_depend_on_threads_memory_or_order(t):
    text = lines(60000)
    source = write(t, 'a.nq', ''.join(text))
    random.Random(2).shuffle(text)
    shuffled = write(t, 'b.nq', ''.join(text))
    digests = set()
    for i, (path, args) in enumerate([(source, ['--jobs', '1']), (source, ['--jobs', '2']), (source, ['--jobs', '5', '--memory', '32M']),
                                      (shuffled, ['--jobs', '3'])]):
        out = t.path('%d.q42' % i)
        ingest(t, path, '-o', out, *args)
        digests.add(digest(out))
    t.equal(len(digests), 1)


@test
def a_load_that_spills_gives_the_same_bytes_as_one_that_does_not(t):
    # 24 bytes a quin and the texts of half a million terms are more than 32 MiB less what the merge keeps for itself.
    with open(t.path('a.nt'), 'w') as f:
        for i in range(400000):
            f.write('<http://e.example/subject/%d> <http://e.example/p%d> "a text of its own, %d" .\n' % (i * 7919 % 400000, i % 5, i))
    small = ingest(t, t.path('a.nt'), '-o', t.path('small.q42'), '--memory', '32M', '--jobs', '2')
    ingest(t, t.path('a.nt'), '-o', t.path('large.q42'), '--jobs', '1')
    t.equal(digest(t.path('small.q42')), digest(t.path('large.q42')))
    if not SANITIZER:
        t.true(small.peak < 64 << 20, f'{small.peak} bytes resident')
    t.equal(left(t), ['a.nt', 'large.q42', 'small.q42'])


# ---------------------------------------------------------------- faults of the input
@test
def a_fault_is_told_with_file_line_and_column_and_nothing_is_written(t):
    source = write(t, 'a.nt', '<http://e/s> <http://e/p> "1" .\n<http://e/s> <http://e/p> oops .\n')
    r = ingest(t, source, '-o', t.path('a.q42'), status=1)
    t.has(r.err, source, 'line 2, column 27')
    t.equal(left(t), ['a.nt'])


@test
def the_first_fault_of_the_text_is_told_whatever_the_number_of_workers(t):
    text = lines(60000)
    for n in (20000, 40000, 59000):
        text[n] = 'oops\n'
    source = write(t, 'a.nq', ''.join(text))
    for jobs in ('1', '2', '6'):
        t.has(ingest(t, source, '-o', t.path('a.q42'), '--jobs', jobs, status=1).err, 'line 20001, column 1')
    t.equal(left(t), ['a.nq'])


@test
def faulty_statements_are_listed_in_order_when_a_list_is_asked_for(t):
    text = lines(60000)
    for n in (20, 40000, 59000):
        text[n] = 'oops %d\n' % n
    source = write(t, 'a.nq', ''.join(text))
    for jobs in ('1', '4'):
        r = ingest(t, source, '-o', t.path('a.q42'), '--reject', t.path('rejects'), '-f', '--jobs', jobs, '--json').json()
        t.equal((r['rejected'], r['statements']), (3, 59997))
        listed = open(t.path('rejects')).read().splitlines()
        t.equal(listed[1::2], ['oops 20', 'oops 40000', 'oops 59000'])
        t.has(listed[0], source, 'line 21, column 1')


@test
def what_follows_a_rejected_line_keeps_its_own_subject(t):
    source = write(t, 'a.nt', '<http://e.example/one> <http://e.example/p> "1" .\n<http://e.example/two> <http://e.example/p> oops .\n'
                   '<http://e.example/two> <http://e.example/p> "3" .\n')
    ingest(t, source, '-o', t.path('a.q42'), '--reject', t.path('rejects'))
    t.equal(exported(t, t.path('a.q42')), ['<http://e.example/one> <http://e.example/p> "1" .', '<http://e.example/two> <http://e.example/p> "3" .'])


@test
def a_term_that_is_too_long_is_refused_with_its_line_or_rejected(t):
    source = write(t, 'a.nt', '<http://e/s> <http://e/p> "short" .\n<http://e/s> <http://e/p> "%s" .\n' % ('x' * 65534))
    r = ingest(t, source, '-o', t.path('a.q42'), status=1)
    t.has(r.err, 'line 2', '65535')
    ingest(t, source, '-o', t.path('a.q42'), '--reject', t.path('rejects'), status=1)
    t.equal(left(t), ['a.nt'])
    report = ingest(t, source, '-o', t.path('a.q42'), '--reject', t.path('rejects'), '--long-literals', 'reject', '--json').json()
    t.equal((report['rejected'], report['too_long'], report['quins']), (1, 1, 1))
    longest = write(t, 'b.nt', '<http://e/s> <http://e/p> "%s" .\n' % ('x' * 65533))
    ingest(t, longest, '-o', t.path('b.q42'))
    t.exits(0, 'verify', '--strict', t.path('b.q42'))


@test
def two_terms_with_one_hash_are_refused_by_both_names(t):
    pair = ('http://e.example/GzeYBQx0Wg', 'http://e.example/euTpLg1ZOq')
    source = write(t, 'a.nt', ''.join('<%s> <http://e.example/p> "%d" .\n' % (iri, i) for i, iri in enumerate(pair)))
    r = ingest(t, source, '-o', t.path('a.q42'), status=1)
    t.has(r.err, *pair, 'rename', 'split', source + ': line 2, column 1: ')
    # In two lanes, or with a spill between them, only the merge sees it.
    filler = ''.join('<http://e.example/f%d> <http://e.example/p> "%d" .\n' % (i, i) for i in range(60000))
    apart = write(t, 'b.nt', '<%s> <http://e.example/p> "x" .\n' % pair[1] + filler + '<%s> <http://e.example/p> "x" .\n' % pair[0])
    for jobs in ('1', '2', '4'):
        r = ingest(t, apart, '-o', t.path('a.q42'), '--jobs', jobs, status=1)
        t.has(r.err, *pair, 'rename', apart + ': line 60002, column 1')
    t.equal(left(t), ['a.nt', 'b.nt'])
    ingest(t, source, '-o', t.path('bare.q42'), '--terms', 'bare')


@test
def a_collision_is_told_with_line_and_column_of_both_terms(t):
    pair = ['<http://e.example/GzeYBQx0Wg>', '<http://e.example/euTpLg1ZOq>']
    first = write(t, 'a.nq', '# caf\u00e9\n_:l <http://e/p> "caf\u00e9"@fr %s .\n' % pair[0])
    second = write(t, 'b.ttl', '@prefix e: <http://e.example/> .\n<http://e/s> <http://e/p> 1 ;\n  <http://e/q> "\u00e9" , e:euTpLg1ZOq .\n')
    filler = write(t, 'c.nt', ''.join('<http://e.example/f%d> <http://e.example/p> "a text of its own, %d" .\n' % (i, i * 7919)
                                      for i in range(500000)))
    for inputs in ((first, second), (first, filler, second)):
        r = ingest(t, *inputs, '-o', t.path('x.q42'), '--jobs', '1', '--memory', '32M', status=1)
        t.has(r.err, second + ': line 3, column 22', 'the terms ', *pair)
        t.true((first + ': line 2, column 28' in r.err.decode()) == (filler in inputs), r.err.decode())
    text = b''.join(open(name, 'rb').read() for name in (first, filler)) + b'<http://e/s> <http://e/p> %s .\n' % pair[1].encode()
    r = ingest(t, '-', '-o', t.path('x.q42'), '--jobs', '1', '--memory', '32M', status=1, stdin=text)
    t.has(r.err, *pair, 'cannot be read again')


@test
def statements_of_rdf_1_2_are_not_supported_yet_and_their_line_is_told(t):
    text = ['<http://e/s> <http://e/p> <<( <http://e/a> <http://e/b> <http://e/c> )>> .', '<<<http://e/a> <http://e/b> <http://e/c>>> <http://e/p> "x" .',
            '<< <http://e/a> <http://e/b> <http://e/c> >> <http://e/p> "x" .', '<http://e/s> <http://e/p> "x"@en--ltr .', 'VERSION "1.2"']
    for format, endings in (('nt', text), ('nq', text), ('ttl', text), ('trig', text)):
        for line in endings:
            source = write(t, 'a.' + format, f'# here\n<http://e/s> <http://e/p> "1" .\n{line}\n')
            t.has(ingest(t, source, '-o', t.path('a.q42'), status=1).err, source, 'line 3, column', 'RDF 1.2', 'not supported yet')
            os.unlink(source)
            t.equal(left(t), [])


@test
def faults_of_several_inputs_are_listed_with_the_lines_of_each(t):
    nt = write(t, 'a.nt', '<http://e/s> <http://e/p> "1" .\noops .\n\n<http://e/s> <http://e/p> "2" .\n<http://e/s> <rel> "3" .\n')
    ttl = write(t, 'b.ttl', '@prefix e: <http://e/> .\ne:s e:p "4" .\ne:s f:p "5" .\ne:s e:p "6" .\n')
    r = ingest(t, nt, ttl, '-o', t.path('a.q42'), '--reject', t.path('rejects'), '--json').json()
    listed = open(t.path('rejects')).read()
    t.equal((r['rejected'], r['quins']), (3, 4))
    t.has(listed, f'{nt}: ', 'line 2, column 1', 'line 5, column 14', f'{ttl}: ', 'line 3, column 5: ')
    values = [line.split('"')[1] for line in exported(t, t.path('a.q42'))]
    t.equal(values, ['1', '2', '4', '6'])
    t.has(ingest(t, nt, '-o', t.path('b.q42'), '--reject', t.path('rejects'), status=6).err, 'rejects', 'exists')
    t.equal(left(t), ['a.nt', 'a.q42', 'b.ttl', 'rejects'])


# ---------------------------------------------------------------- the tests of the W3C
def read_manifest(folder):
    """(kind, path) of each test; kind is as the manifest says, without the prefix."""
    with open(os.path.join(folder, 'manifest.ttl'), encoding='utf-8') as f:
        found = re.findall(r'rdft:Test(?:NTriples|NQuads)(PositiveSyntax|NegativeSyntax)\b.*?mf:action\s*<([^>]+)>', f.read(), re.S)
    return [(kind, os.path.join(folder, name)) for kind, name in found]


@test
def the_tests_of_rdf_1_1_behave_as_their_manifests_say(t):
    for name, n in (('rdf-n-triples', 70), ('rdf-n-quads', 87)):
        tests = read_manifest(corpus(f'data/rdf-tests/rdf/rdf11/{name}'))
        t.true(len(tests) >= n, f'{len(tests)} tests in {name}')
        for kind, path in tests:
            if kind == 'PositiveSyntax':
                ingest(t, path, '-o', t.path('a.q42'), '-f')
                t.exits(0, 'verify', '--strict', t.path('a.q42'))
                os.unlink(t.path('a.q42'))
            else:
                t.has(ingest(t, path, '-o', t.path('a.q42'), status=1).err, path, 'line', 'column')
            t.equal(left(t), [])


# Nothing that the grammar of RDF 1.1 refuses: rdf:langString and rdf:dirLangString as a written datatype, a subtag of nine letters or more.
ONLY_1_2_REFUSES = ('ntriples-langdir-bad-3.nt', 'ntriples-langdir-bad-4.nt', 'ntriples-langdir-bad-5.nt')


@test
def the_tests_of_rdf_1_2_are_read_or_said_to_be_not_supported_yet(t):
    n_unsupported = 0
    for name in ('rdf-n-triples', 'rdf-n-quads'):
        tests = read_manifest(corpus(f'data/rdf-tests/rdf/rdf12/{name}/syntax'))
        t.true(len(tests) > 0, f'no tests in {name}')
        for kind, path in tests:
            r = t.quoin('ingest', path, '-o', t.path('a.q42'), '-f', env=EPOCH)
            if kind == 'PositiveSyntax' and r.status != 0:
                t.has(r.err, path, 'line', 'RDF 1.2', 'not supported yet')
                n_unsupported += 1
            t.true(r.status == 1 or kind == 'PositiveSyntax' or os.path.basename(path) in ONLY_1_2_REFUSES, r.describe())
    t.true(n_unsupported > 10, f'{n_unsupported} are not supported')


# ---------------------------------------------------------------- the generated cases
N_STATEMENTS = {'nok-01': 2, 'nok-02': 2, 'nok-04': 1, 'nok-05': 2, 'nok-07': 1, 'nok-08': 1, 'nok-10': 1, 'nok-11': 2, 'nok-13': 6,
                'nok-14': 1, 'nok-16': 1, 'nok-17': 1, 'nok-19': 1, 'nok-20': 2}


def check_accepted(t, case):
    inputs = [case['path']] if os.path.isfile(case['path']) else sorted(glob.glob(os.path.join(case['path'], '*')))
    r = ingest(t, *inputs, '-o', t.path('a.q42'), '--json')
    t.exits(0, 'verify', '--strict', t.path('a.q42'))
    t.equal(r.json()['quins'], N_STATEMENTS[case['id'][:6]])
    t.equal(len(exported(t, t.path('a.q42'))), r.json()['quins'])
    back = write(t, 'back.nq', t.exits(0, 'export', t.path('a.q42')).out)
    ingest(t, back, '-o', t.path('b.q42'))
    t.equal(digest(t.path('a.q42')), digest(t.path('b.q42')))


def check_rejected(t, case):
    r = ingest(t, case['path'], '-o', t.path('a.q42'), status=1)
    errors = [line for line in r.err.decode().splitlines() if line.startswith('error: ')]
    t.equal(len(errors), 1, 'messages')
    t.has(errors[0], case['path'], 'line', 'column')
    t.true(len(errors[0]) < 900, 'the message is too long to be read')
    t.equal(left(t), [])


def define_cases():
    folder = tempfile.mkdtemp(prefix='quoin-ingest-cases-')
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    texts = [case for family in ('ntriples', 'q42') for case in make_cases(family, folder)
             if os.path.isdir(case['path']) or case['file'].endswith(('.nt', '.nq'))]
    for case in texts:
        if case['expect'] in ('accept', 'reject'):
            check, what = (check_accepted, 'accepted') if case['expect'] == 'accept' else (check_rejected, 'rejected')
            add_test(re.sub(r'\W+', '_', case['id']) + f'_is_{what}', lambda t, case=case, check=check: check(t, case))


# ---------------------------------------------------------------- labels of the volume
@test
def tiers_make_a_sanctuary_and_graph_names_do_not(t):
    graphs = ''.join('<http://e/s> <http://e/p> "1" <http://e/g%d> .\n' % i for i in range(300))
    source = write(t, 'a.nq', graphs)
    t.equal(ingest(t, source, '-o', t.path('a.q42'), '--commons', '--json').json()['sanctuary'], False)
    for tier in range(5):
        r = ingest(t, source, '-o', t.path('t%d.q42' % tier), '--tier', str(tier), '--json').json()
        t.equal(r['sanctuary'], tier >= 2, tier)
    t.equal(ingest(t, source, '-o', t.path('s.q42'), '--sanctuary', '--json').json()['sanctuary'], True)
    t.exits(2, 'ingest', source, '-o', t.path('x.q42'), '--commons', '--sanctuary')
    t.exits(2, 'ingest', source, '-o', t.path('x.q42'), '--commons', '--tier', '3')


# ---------------------------------------------------------------- whole or not at all
@test
def an_existing_volume_is_replaced_only_by_force(t):
    source = write(t, 'a.nt', '<http://e/s> <http://e/p> "1" .\n')
    ingest(t, source, '-o', t.path('a.q42'))
    before = digest(t.path('a.q42'))
    t.has(ingest(t, source, '-o', t.path('a.q42'), status=6).err, 'exists', '--force')
    t.equal(digest(t.path('a.q42')), before)
    ingest(t, source, '-o', t.path('a.q42'), '-f')


@test
def the_companion_of_a_model_is_never_replaced(t):
    model = make_tiny(t.path('m.gguf'))
    t.exits(0, 'convert', model, '-o', t.path('m.p64'))
    before, source = digest(t.path('m.q42')), write(t, 'a.nt', '<http://e/s> <http://e/p> "1" .\n')
    t.exits(6, 'ingest', source, '-o', t.path('m.q42'))
    r = t.quoin('ingest', source, '-o', t.path('m.q42'), '--force')
    t.true(r.status not in (0, 2), r.describe())
    t.has(r.err, 'm.q42', 'model')
    ingest(t, source, '-o', t.path('a.q42'))
    ingest(t, source, '-o', t.path('public.q42'), '--commons')
    old = bytearray(open(t.path('a.q42'), 'rb').read())
    old[4:6] = b'\2\0'
    write(t, 'old.q42', bytes(old))
    for words in (['merge', t.path('a.q42'), t.path('a.q42')], ['compact', t.path('a.q42')]):
        t.has(t.exits(1, *words, '-o', t.path('m.q42'), '--force').err, 'm.q42', 'model')
    for words in (['export', t.path('a.q42'), '-o'], ['ingest', source, '-o', t.path('b.q42'), '--reject'],
                  ['migrate', t.path('old.q42'), '-o'], ['publish', 'torrent', t.path('public.q42'), '-o'],
                  ['publish', 'car', t.path('public.q42'), '-o']):
        t.has(t.exits(1, *words, t.path('m.q42'), '--force').err, 'm.q42', 'is the companion volume of a model')
        t.equal(digest(t.path('m.q42')), before)
    t.equal(digest(t.path('m.q42')), before)


def big_source(t):
    with open(t.path('big.nt'), 'w') as f:
        for i in range(300000):
            f.write('<http://e.example/subject/%d> <http://e.example/p%d> "a text of its own, %d" .\n' % (i, i % 5, i))
    return t.path('big.nt')


def check_ended(t, number, after, old):
    source = t.path('big.nt')
    child = subprocess.Popen([PROGRAM, 'ingest', source, '-o', t.path('a.q42'), '-f', '--memory', '32M', '-q'], env={**os.environ, **EPOCH},
                             stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    time.sleep(after)
    child.send_signal(number)
    child.wait()
    names = set(left(t)) - {'big.nt'}
    t.equal(names, {'a.q42'} if old is not None or child.returncode == 0 else set(), f'after {after} s')
    if child.returncode != 0 and old is not None:
        t.equal(digest(t.path('a.q42')), old)
    return child.returncode


@test
def a_load_that_is_ended_at_any_moment_leaves_nothing_and_can_be_run_again(t):
    source = big_source(t)
    for number in (signal.SIGKILL, signal.SIGTERM, signal.SIGINT):
        for after in (0.02, 0.1, 0.2, 0.3):
            status = check_ended(t, number, after, None)
            if status == 0:
                os.unlink(t.path('a.q42'))
    ingest(t, source, '-o', t.path('a.q42'))
    old = digest(t.path('a.q42'))
    for after in (0.02, 0.1, 0.2, 0.3, 0.4):
        check_ended(t, signal.SIGKILL, after, old)
    t.exits(0, 'verify', t.path('a.q42'))


@test
def a_full_disk_is_told_and_leaves_nothing(t):
    source = big_source(t)
    for limit in (4096, 1 << 20, 6 << 20, 12 << 20, 16 << 20):
        def confine():
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
        r = subprocess.run([PROGRAM, 'ingest', source, '-o', t.path('a.q42'), '--memory', '32M'], env={**os.environ, **EPOCH},
                           stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, preexec_fn=confine)
        t.equal(r.returncode, 6, f'{limit} bytes: {r.stderr.decode()}')
        t.has(r.stderr, 'too large')
        t.equal(left(t), ['big.nt'])


@test
def a_load_that_dies_while_it_writes_any_byte_leaves_the_old_file_or_none(t):
    # The signal of a file that grows too large, which nothing catches: a kill at a place that is known.
    source, old = big_source(t), None
    for turn in range(2):
        for limit in (1, 4096, 1 << 20, 6 << 20, 12 << 20, 16 << 20):
            for more in ((), ('--segment-size', '24M')):
                def confine():
                    signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
                    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
                    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
                r = subprocess.run([PROGRAM, 'ingest', source, '-o', t.path('a.q42'), '-f', '--memory', '32M', '-q', *more],
                                   env={**os.environ, **EPOCH}, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, preexec_fn=confine)
                t.true(r.returncode in (-signal.SIGXFSZ, 6), f'{limit} bytes: {r.returncode} {r.stderr.decode()}')
                t.equal(left(t), ['big.nt'] if old is None else ['a.q42', 'big.nt'])
        if turn == 0:
            ingest(t, source, '-o', t.path('a.q42'))
            old = digest(t.path('a.q42'))
    t.equal(digest(t.path('a.q42')), old)


# ---------------------------------------------------------------- sets
@test
def a_set_holds_the_same_statements_in_files_of_at_most_the_asked_size(t):
    text = lines(60000)
    source = write(t, 'a.nq', ''.join(text))
    r = ingest(t, source, '-o', t.path('set.q42'), '--segment-size', '256K', '--json').json()
    files = sorted(glob.glob(t.path('set*.q42')))
    t.equal(len(files), r['files'])
    t.true(all(os.path.getsize(f) <= 256 << 10 for f in files), [os.path.getsize(f) for f in files])
    t.true(t.path('set.segment-00000.q42') in files and t.path('set.lex-00000.q42') in files, files)
    t.true(len([f for f in files if 'segment' in f]) > 3, files)
    t.exits(0, 'verify', '--strict', t.path('set.q42'))
    t.equal(exported(t, t.path('set.q42')), sorted(set(x.strip() for x in text)))
    few = lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (8, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
    t.exits(0, 'export', t.path('set.q42'), preexec=few)   # the soft limit is no limit


@test
def a_set_has_the_same_bytes_whatever_the_threads_and_the_memory(t):
    source = write(t, 'a.nq', ''.join(lines(60000)))
    found = set()
    for i, args in enumerate((['--jobs', '1'], ['--jobs', '4', '--memory', '32M'])):
        os.mkdir(t.path(str(i)))
        ingest(t, source, '-o', os.path.join(t.path(str(i)), 'set.q42'), '--segment-size', '300000', *args)
        found.add(tuple((os.path.basename(f), digest(f)) for f in sorted(glob.glob(os.path.join(t.path(str(i)), '*')))))
    t.equal(len(found), 1)


@test
def a_set_that_cannot_be_finished_leaves_no_file(t):
    source = write(t, 'a.nq', ''.join(lines(60000)))
    os.mkdir(t.path('set.segment-00003.q42'))
    ingest(t, source, '-o', t.path('set.q42'), '--segment-size', '256K', status=6)
    t.equal(left(t), ['a.nq', 'set.segment-00003.q42'])


@test
def a_set_that_cannot_be_replaced_stays_whole(t):
    large, small = write(t, 'a.nq', ''.join(lines(60000))), write(t, 'b.nq', ''.join(lines(6000, 3)))
    ingest(t, small, '-o', t.path('set.q42'), '--segment-size', '256K')
    before = {f: digest(t.path(f)) for f in left(t)}
    for limit in (1000, 100000, 200000):
        def confine():
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
        r = t.quoin('ingest', large, '-o', t.path('set.q42'), '--segment-size', '256K', '-f', preexec=confine)
        t.equal(r.status, 6)
        t.equal({f: digest(t.path(f)) for f in left(t)}, before)
    t.exits(0, 'verify', '--strict', t.path('set.q42'))


def run_until(t, n, *args, environment={}):
    """Kills the program before its n-th change of a name; its exit status, negative when it was killed."""
    return subprocess.run([PROGRAM, *args, '-q'], stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL, env={
        **os.environ, **EPOCH, **environment, 'KILL_AT_NAME': str(n), 'LD_PRELOAD': os.path.join(BINARY, 'tests', 'kill_at_name.so'),
        'ASAN_OPTIONS': 'verify_asan_link_order=0:detect_leaks=0'}).returncode


def kill_everywhere(t, prepare, args, whole, again):
    """Ends a load before each change of a name. After each the target is one of `whole` (None: no file), and the load that follows
    leaves nothing but its own files."""
    n, killed = 0, -signal.SIGKILL
    while killed == -signal.SIGKILL:
        n += 1
        for name in left(t):
            if name.startswith('set'):
                os.unlink(t.path(name))
        prepare()
        killed = run_until(t, n, *args)
        t.true(killed in (0, -signal.SIGKILL), f'change {n}: {killed}')
        if os.path.exists(t.path('set.q42')):
            t.exits(0, 'verify', '--strict', t.path('set.q42'))
            found = exported(t, t.path('set.q42'))
        else:
            found = None
        t.true(found in whole, f'killed before change {n}: neither the old volume nor the new one')
        r = ingest(t, *again, '--json').json()
        t.exits(0, 'verify', '--strict', t.path('set.q42'))
        t.equal(len([f for f in left(t) if f.startswith('set')]), r['files'], f'killed before change {n}: {left(t)}')
        t.true(n < 100, 'it never ends')
    t.true(n > 4, f'{n - 1} changes of names')


@test
def a_set_that_is_killed_between_any_two_names_is_the_old_one_or_the_new_one_and_the_next_load_tidies_up(t):
    old, new = lines(9000, 3), lines(20000)
    source, other = write(t, 'old.nq', ''.join(old)), write(t, 'new.nq', ''.join(new))
    before, after = [sorted(set(x.strip() for x in text)) for text in (old, new)]
    target, segments = ['-o', t.path('set.q42')], ['--segment-size', '256K']
    put_old = lambda: ingest(t, source, *target, *segments)
    load = ['ingest', other, *target, *segments]
    again = [other, *target, *segments, '-f']
    kill_everywhere(t, lambda: None, load, [None, after], again)                            # nothing there
    kill_everywhere(t, put_old, [*load, '-f'], [before, after], again)                      # a set by a set
    kill_everywhere(t, put_old, ['ingest', other, *target, '-f'], [before, after], again)   # a set by one file
    kill_everywhere(t, put_old, [*load, '-f'], [before, after], [source, *target, '-f'])    # tidied up by a load of one file


@test
def what_tidies_up_may_be_killed_too(t):
    source = write(t, 'new.nq', ''.join(lines(20000)))
    args = ['ingest', source, '-o', t.path('set.q42'), '--segment-size', '256K', '-f']
    for n in range(1, 40):
        run_until(t, 6, *args)
        if run_until(t, n, *args) == 0:
            break
        t.true(n < 39, 'it never ends')
    ingest(t, *args[1:])
    r = ingest(t, *args[1:], '--json').json()
    t.equal(len([f for f in left(t) if f.startswith('set')]), r['files'], left(t))


@test
def a_file_that_no_killed_load_has_written_is_kept_whatever_its_name(t):
    source = write(t, 'new.nq', ''.join(lines(20000)))
    args = ['ingest', source, '-o', t.path('set.q42'), '--segment-size', '256K', '-f']
    t.equal(run_until(t, 6, *args), -signal.SIGKILL)
    names = [f for f in left(t) if f.startswith('set')]
    members, roots = [f for f in names if f.startswith(('set.lex', 'set.seg'))], [f for f in names if f.endswith('.tmp')]
    t.true(len(members) >= 2 and len(roots) == 1, names)
    with open(t.path(members[0]), 'r+b') as f:      # the user's now: one byte is another
        f.seek(-1, os.SEEK_END)
        last = f.read(1)
        f.seek(-1, os.SEEK_END)
        f.write(bytes([last[0] ^ 1]))
    shutil.copy(t.path(members[1]), t.path('set.segment-00777.q42'))
    shutil.copy(t.path(members[1]), t.path('other.segment-00000.q42'))
    kept = [members[0], 'set.segment-00777.q42', 'other.segment-00000.q42', 'set.q42.999999999-0.tmp', f'set.q42.{os.getpid()}-0.tmp',
            'set.q42.tmp', 'set.q42.1-x.tmp', 'set.lex-0.q42.999999999-0.tmp']
    write(t, kept[3], 'a note of mine')
    for name in kept[4:]:
        shutil.copy(t.path(roots[0]), t.path(name))
    before = {name: digest(t.path(name)) for name in kept}
    r = ingest(t, *args[1:])
    t.equal({name: digest(t.path(name)) for name in kept}, before)
    t.has(r.err, members[0], 'it is kept')
    t.has(r.err, 'set.segment-00777.q42', 'no root lists it')
    t.true(members[1].encode() not in r.err and not os.path.exists(t.path(roots[0])), 'what it could prove')
    t.exits(0, 'verify', '--strict', t.path('set.q42'))


@test
def members_that_nobody_lists_are_in_nobodys_way(t):
    source = write(t, 'a.nq', ''.join(lines(20000)))
    for name in ('set.lex-00000.q42', 'set.lex-00001.q42', 'set.segment-00000.q42'):
        write(t, name, 'left')
    ingest(t, source, '-o', t.path('set.q42'), '--segment-size', '256K')
    t.exits(0, 'verify', '--strict', t.path('set.q42'))
    t.true(os.path.exists(t.path('set.segment-00002.q42')), left(t))
    t.equal({open(t.path(f), 'rb').read(5) == b'left' for f in ('set.lex-00000.q42', 'set.lex-00001.q42', 'set.segment-00000.q42')}, {True})


@test
def a_set_that_is_replaced_leaves_no_stale_files(t):
    large, small = write(t, 'a.nq', ''.join(lines(60000))), write(t, 'b.nq', ''.join(lines(6000, 3)))
    ingest(t, large, '-o', t.path('set.q42'), '--segment-size', '256K')
    ingest(t, small, '-o', t.path('set.q42'), '--segment-size', '256K', '-f')
    t.exits(0, 'verify', '--strict', t.path('set.q42'))
    named = [f for f in left(t) if f.startswith('set')]
    t.true(len(named) < 8, named)
    ingest(t, small, '-o', t.path('set.q42'), '-f')
    t.equal([f for f in left(t) if f.startswith('set')], ['set.q42'])


@test
def a_set_whose_last_page_of_terms_holds_one_is_whole(t):
    source = write(t, 'a.nt', ''.join('<http://e/s> <http://e/p> "lit%d" .\n' % i for i in range(4095)))   # 4,097 terms
    ingest(t, source, '-o', t.path('a.q42'), '--segment-size', '1G')
    t.equal(t.exits(0, 'verify', t.path('a.q42'), '--json').json()['valid'], True)


@test
def no_file_is_read_and_replaced_and_no_two_results_have_one_name(t):
    text = '<http://e/s> <http://e/p> "1" .\n'
    source = write(t, 'a.nt', text)
    os.link(source, t.path('linked.nt'))
    for words in (['-o', source, '--force'], ['-o', t.path('linked.nt'), '--force'], ['-o', t.path('v.q42'), '--reject', source, '--force'],
                  ['-o', t.path('v.q42'), '--reject', t.path('v.q42'), '--force'],
                  ['-o', t.path('v.q42'), '--reject', t.folder + '/./v.q42', '--force']):
        ingest(t, source, *words, status=2)
        t.equal(open(source).read(), text, 'the input')
        t.equal(left(t), ['a.nt', 'linked.nt'])
    ingest(t, source, '-o', t.path('v.q42'), '--commons')
    before = digest(t.path('v.q42'))
    t.exits(2, 'export', t.path('v.q42'), '-o', t.path('v.q42'), '--force')
    for what in ('torrent', 'car'):
        t.has(t.exits(1, 'publish', what, t.path('v.q42'), '-o', t.path('v.q42'), '--force').err, 'is what is published')
    t.equal(digest(t.path('v.q42')), before, 'the volume')


@test
def a_wrong_command_line_is_a_usage_error(t):
    source = write(t, 'a.nt', '')
    for args in ([source], ['-o', t.path('x.q42')], [source, '-o', t.path('x.q42'), '--memory', '1M'], ['-', '-', '-o', t.path('x.q42')],
                 [source, '-o', t.path('x.q42'), '--segment-size', '1000'], [source, '-o', t.path('x.q42'), '--long-literals', 'reject'],
                 [source, '-o', t.path('x.q42'), '--tier', '5']):
        t.exits(2, 'ingest', *args)
    t.equal(left(t), ['a.nt'])


define_cases()
if __name__ == '__main__':
    main()
