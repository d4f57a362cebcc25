#!/usr/bin/env python3
"""quoin export, stats and diff: what they say of a volume is held against the statements that it was made from."""
import collections
import gzip
import struct

import volumes
from program import *
from volumes import XSD, iri, line, random_quads, write_set, write_volume


def sorted_lines(quads):
    return ''.join(sorted(map(line, quads), key=str.encode)).encode()


def break_a_quin(t, path):
    """A copy with one bit of the first block's 100th quin turned round."""
    data = bytearray(open(path, 'rb').read())
    data[struct.unpack_from('<Q', data, 56)[0] + 500 + 100 * 48] ^= 1
    return volumes.write_file(t.path('broken.q42'), bytes(data))


# ---------------------------------------------------------------- export
@test
def export_gives_the_statements_in_canonical_order(t):
    quads = random_quads(1, 2500) + [(iri('s'), iri('p'), f'"{text}"', None) for text in ('é', '\\\\', '\\"', '\\n', '\\r', '\t', '\x01', '😀')]
    path = write_volume(t.path('v.q42'), quads)
    t.equal(t.exits(0, 'export', path).out, sorted_lines(quads))
    r = t.exits(0, 'export', path, '--unsorted')
    t.equal(b''.join(sorted(r.out.splitlines(True))), sorted_lines(quads))
    t.equal(t.exits(0, 'export', write_set(t.path('set.q42'), quads, 3, 2)).out, sorted_lines(quads))
    t.equal(t.exits(0, 'export', write_volume(t.path('empty.q42'), [])).out, b'')


@test
def export_sorts_what_does_not_fit_into_its_memory(t):
    quads = [(iri(f's{i}'), iri('p'), f'"{i * 7919 % 100003:06}{"x" * 180}"', None) for i in range(100000)]
    path = write_volume(t.path('v.q42'), quads)
    t.equal(t.exits(0, 'export', path, '--memory', '32M').out, sorted_lines(quads))


@test
def an_exported_file_is_compressed_by_its_name_and_appears_whole(t):
    quads = random_quads(2, 1500)
    path = write_volume(t.path('v.q42'), quads)
    r = t.exits(0, 'export', path, '-o', t.path('a.nq'), '--json').json()
    t.equal(r['statements'], len(quads))
    t.equal(open(t.path('a.nq'), 'rb').read(), sorted_lines(quads))
    t.exits(0, 'export', path, '-o', t.path('a.nq.gz'))
    t.equal(gzip.open(t.path('a.nq.gz')).read(), sorted_lines(quads))
    t.exits(0, 'export', path, '-o', t.path('a.nq.zst'))
    t.equal(open(t.path('a.nq.zst'), 'rb').read(4), b'\x28\xB5\x2F\xFD')
    t.has(t.exits(6, 'export', path, '-o', t.path('a.nq')).err, 'exists', '--force')
    t.exits(0, 'export', path, '-o', t.path('a.nq'), '--force')
    broken = break_a_quin(t, path)
    for more in ((), ('--unsorted',)):
        t.exits(1, 'export', broken, '-o', t.path('b.nq'), *more)
        t.true('b.nq' not in t.files(), 'nothing half-written is left')
    t.has(t.exits(2, 'export', path, '--json').err, '--output')


@test
def a_bare_volume_is_exported_only_when_loss_is_accepted(t):
    quads = [(iri('s'), iri('p'), '"plain"', None), (iri('s'), iri('p'), '"hello"@en', None), (iri('s'), iri('p'), iri('o'), iri('g')),
             ('_:b', iri('p'), '"4.5"^^<%sdecimal>' % XSD, None), ('<x:y>', iri('p'), '<mailto:a@b>', None)]
    path = write_volume(t.path('v.q42'), quads, terms='bare')
    r = t.exits(1, 'export', path)
    t.equal(r.out, b'')
    t.has(r.err, 'bare', '--lossy')
    r = t.exits(0, 'export', path, '--lossy')
    t.equal(r.out.decode().splitlines(), sorted([
        f'{iri("s")} {iri("p")} "plain" .', f'{iri("s")} {iri("p")} "hello@en" .', f'{iri("s")} {iri("p")} {iri("o")} {iri("g")} .',
        f'_:b {iri("p")} "4.500000"^^<{XSD}decimal> .', f'<x:y> {iri("p")} "mailto:a@b" .']))
    t.has(r.err, '4 objects of unknown kind')


@test
def what_rdf_cannot_say_is_counted_or_refused(t):
    quads = [(iri('s'), iri('p'), '"x"', None), ('<not absolute>', iri('p'), '"y"', None)]

    def forget(entries):
        del entries[volumes.key('"x"')]

    path = write_volume(t.path('v.q42'), quads[:1], change=forget)
    t.has(t.exits(1, 'export', path).err, 'has no term', '--lossy')
    r = t.exits(0, 'export', path, '--lossy')
    t.equal(r.out.decode(), f'{iri("s")} {iri("p")} <urn:quoin:hash:{volumes.key(chr(34) + "x" + chr(34)):016x}> .\n')
    t.has(r.err, '1 ids without a term')
    path = write_volume(t.path('w.q42'), quads[1:], terms='bare')
    r = t.exits(0, 'export', path, '--lossy')
    t.has(r.out, '<urn:quoin:bare:not%20absolute>')
    t.has(r.err, '1 texts that are no IRI')


@test
def a_full_output_ends_with_one_message(t):
    path = write_volume(t.path('v.q42'), random_quads(3, 3000))
    for words in (('export', path), ('query', path, '?s ?p ?o'), ('diff', path, write_volume(t.path('w.q42'), random_quads(4, 3000)))):
        with open('/dev/full', 'wb') as full:
            r = t.exits(6, *words, stdout=full)
        t.equal(r.err.count(b'error:'), 1, 'messages')


# ---------------------------------------------------------------- stats
@test
def stats_count_what_is_there(t):
    quads = random_quads(5, 2500)
    for path in (write_volume(t.path('v.q42'), quads), write_set(t.path('set.q42'), quads, 3, 2, block_quins=100)):
        r = t.exits(0, 'stats', path, '--json').json()
        t.equal(r['statements'], len(quads))
        t.equal(r['triples'], len({q[:3] for q in quads}))
        for place, name in enumerate(('subjects', 'predicates', 'objects')):
            t.equal(r[name], len({q[place] for q in quads}), name)
        t.equal(r['graphs'], len({q[3] for q in quads} - {None}))
        t.equal(r['in_default_graph'], sum(q[3] is None for q in quads))
        t.equal({x['term']: x['count'] for x in r['by_predicate']}, dict(collections.Counter(q[1] for q in quads)))
        t.equal([x['count'] for x in r['by_predicate']], sorted((x['count'] for x in r['by_predicate']), reverse=True))
        t.equal({x['term']: x['count'] for x in r['by_graph']}, dict(collections.Counter(q[3] for q in quads if q[3])))
        t.equal(r['inline']['integer'], sum(q[2].endswith('integer>') for q in quads))
        t.equal(r['inline']['decimal'], sum(q[2].endswith('decimal>') for q in quads))
        t.equal(r['terms'], len({x for q in quads for i, x in enumerate(q) if x and (i != 2 or volumes.inline(x) is None)}))
    text = t.exits(0, 'stats', path, '--top', '2').out.decode()
    t.has(text, f'statements        {len(quads)}', '...', 'by predicate')
    t.equal(t.exits(0, 'stats', write_volume(t.path('empty.q42'), []), '--json').json()['statements'], 0)


# ---------------------------------------------------------------- diff
@test
def diff_tells_added_and_removed_statements(t):
    old, new = random_quads(6, 1500), random_quads(7, 1500)
    new = sorted(set(new[:1000]) | set(old[:1400]), key=str)
    a, b = write_volume(t.path('a.q42'), old), write_volume(t.path('b.q42'), new)
    wanted = sorted(['- ' + line(q) for q in set(old) - set(new)] + ['+ ' + line(q) for q in set(new) - set(old)])
    t.equal(sorted(t.exits(1, 'diff', a, b).out.decode().splitlines(True)), wanted)
    r = t.exits(1, 'diff', a, b, '--json').json()
    t.equal((r['added'], r['removed'], r['common'], r['compared_by']),
            (len(set(new) - set(old)), len(set(old) - set(new)), len(set(new) & set(old)), 'ids'))
    t.equal(t.exits(0, 'diff', a, a).out, b'')
    t.equal(t.exits(1, 'diff', a, b, '--brief').out, b'')
    many = write_set(t.path('set.q42'), old, 4, 3, block_quins=100)
    t.equal(t.exits(0, 'diff', a, many).out, b'')
    unmarked = write_volume(t.path('u.q42'), old, mark=False)
    t.equal(t.exits(0, 'diff', a, unmarked, '--json').json()['compared_by'], 'text')
    t.equal(sorted(t.exits(1, 'diff', unmarked, b).out.decode().splitlines(True)), wanted)


@test
def diff_compares_texts_where_keys_do_not_mean_the_same(t):
    a = write_volume(t.path('a.q42'), [(iri('s'), iri('p'), '"x"', None)])
    bare = write_volume(t.path('bare.q42'), [(iri('s'), iri('p'), '"x"', None)], terms='bare')
    t.has(t.exits(2, 'diff', a, bare).err, 'bare', '--lossy')
    t.equal(t.exits(0, 'diff', a, bare, '--lossy').out, b'')


@test
def trouble_in_diff_is_told_apart_from_a_difference(t):
    a = write_volume(t.path('a.q42'), random_quads(8, 900))
    broken = break_a_quin(t, a)
    t.has(t.exits(2, 'diff', a, broken).err, 'broken.q42', 'block')
    t.exits(6, 'diff', a, t.path('nothing.q42'))
    t.has(t.exits(2, 'diff', a).err, 'two volumes')


# ---------------------------------------------------------------- merge
def renamed(quads, number):
    return [tuple(f'_:s{number}_{x[2:]}' if x and x.startswith('_:') else x for x in q) for q in quads]


@test
def merge_keeps_blank_nodes_of_different_volumes_apart(t):
    old, new = random_quads(9, 1500), random_quads(10, 1500)
    new = sorted(set(new) | set(old[:700]), key=str)
    a, b = write_volume(t.path('a.q42'), old), write_set(t.path('b.q42'), new, 3, 2, block_quins=100)
    wanted = set(renamed(old, 1)) | set(renamed(new, 2))
    r = t.exits(0, 'merge', a, b, '-o', t.path('m.q42'), '--json').json()
    t.equal((r['statements'], r['commons'], r['sanctuary']), (len(wanted), False, False))
    t.equal(t.exits(0, 'export', t.path('m.q42')).out, sorted_lines(wanted))
    t.exits(0, 'merge', a, b, '-o', t.path('set.q42'), '--segment-size', '128K')
    t.equal(t.exits(0, 'export', t.path('set.q42')).out, sorted_lines(wanted))
    t.exits(0, 'merge', a, '-o', t.path('one.q42'))
    t.equal(t.exits(0, 'export', t.path('one.q42')).out, sorted_lines(old))
    t.has(t.exits(6, 'merge', a, '-o', t.path('one.q42')).err, 'exists')
    t.has(t.exits(1, 'merge', a, '-o', a, '--force').err, 'read and written at once')
    t.has(t.exits(2, 'merge', a).err, '--output')


@test
def merge_carries_sanctuary_from_one_and_commons_from_all(t):
    quads = random_quads(11, 50)
    a, b = write_volume(t.path('a.q42'), quads, flags=0x20), write_volume(t.path('b.q42'), quads, flags=0x20)
    c, d = write_volume(t.path('c.q42'), quads, flags=0x40), write_volume(t.path('d.q42'), quads)
    for names, commons, sanctuary in (((a, b), True, False), ((a, c), False, True), ((a, d), False, False), ((c, d), False, True)):
        r = t.exits(0, 'merge', *names, '-o', t.path('m.q42'), '--force', '--json').json()
        t.equal((r['commons'], r['sanctuary']), (commons, sanctuary))


@test
def merge_renames_blank_nodes_inside_triples_too(t):
    paths = []
    for name in 'ab':
        entries = {volumes.key(volumes.MARK): volumes.MARK}
        inner = volumes.statement_ids(('_:x', iri('b'), '"c"', None), 'surface', entries)[:3]
        s, p = volumes.key(iri('s')), volumes.key(iri('p'))
        entries.update({s: iri('s').encode(), p: iri('p').encode()})
        quins = [volumes.quin((s, p, volumes.triple_id(inner), 0))]
        paths.append(volumes.write_file(t.path(f'{name}.q42'), volumes.build([quins], volumes.flat_lexicon(entries, [inner]))))
    t.exits(0, 'merge', *paths, '-o', t.path('m.q42'))
    t.equal(sorted(t.exits(0, 'query', t.path('m.q42'), '?s ?p ?o').out.decode().splitlines()),
            [f'{iri("s")} {iri("p")} << _:s{n}_x {iri("b")} "c" >> .' for n in (1, 2)])


@test
def volumes_of_different_conventions_are_not_merged(t):
    quads = random_quads(12, 50)
    a, b = write_volume(t.path('a.q42'), quads), write_volume(t.path('b.q42'), quads, terms='bare')
    t.has(t.exits(1, 'merge', a, b, '-o', t.path('m.q42')).err, 'surface', 'bare', '--lossy')
    t.true('m.q42' not in t.files(), 'nothing is written')
    c = write_volume(t.path('c.q42'), quads[:20], terms='bare')
    t.exits(0, 'merge', b, c, '-o', t.path('m.q42'))
    t.equal(int(t.exits(0, 'query', t.path('m.q42'), '?s ?p ?o', '--count').out), len(set(renamed(quads, 1)) | set(renamed(quads[:20], 2))))


if __name__ == '__main__':
    main()
