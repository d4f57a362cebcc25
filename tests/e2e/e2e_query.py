#!/usr/bin/env python3
"""quoin query: every answer is held against a plain evaluation of the same patterns over the same statements."""
import json
import os
import random
import re
import struct
import subprocess
import sys
from decimal import Decimal

import volumes
from program import *
from volumes import E, XSD, integer, iri, line, random_quads, write_set, write_volume

# ---------------------------------------------------------------- the plain evaluation
def number(text):
    """Only what the volume holds as a number: an integer or decimal in canonical form."""
    match = re.fullmatch(f'"(.*)"\\^\\^<{XSD}(integer|decimal)>', text or '')
    return Decimal(match.group(1)) if match and volumes.inline(text) is not None else None


OPERATIONS = {'<': lambda a, b: a < b, '<=': lambda a, b: a <= b, '=': lambda a, b: a == b, '!=': lambda a, b: a != b,
              '>=': lambda a, b: a >= b, '>': lambda a, b: a > b}


def match(pattern, quad, row):
    """The row with what the statement binds, or None. '*' is a graph that nobody asked about."""
    row = dict(row)
    for place, (wanted, text) in enumerate(zip(pattern, quad)):
        if wanted == '*':
            continue
        if wanted is not None and wanted.startswith('?'):
            if row.setdefault(wanted, text) != text:
                return None
        elif (None if wanted == 'DEFAULT' else wanted) != text:
            return None
    return row


def evaluate(quads, patterns, filters=()):
    rows = [{}]
    for pattern in patterns:
        rows = [new for row in rows for quad in quads if (new := match(pattern, quad, row)) is not None]
    for left, operation, right in filters:
        def value(word, row):
            return number(row[word]) if word.startswith('?') else Decimal(word)
        rows = [row for row in rows if value(left, row) is not None and value(right, row) is not None
                and OPERATIONS[operation](value(left, row), value(right, row))]
    return rows


def as_text(binding):
    if binding['type'] == 'uri':
        return f'<{binding["value"]}>'
    if binding['type'] == 'bnode':
        return f'_:{binding["value"]}'
    value = binding['value']
    for raw, escaped in (('\\', '\\\\'), ('"', '\\"'), ('\n', '\\n'), ('\r', '\\r')):
        value = value.replace(raw, escaped)
    return f'"{value}"' + (f'@{binding["xml:lang"]}' if 'xml:lang' in binding else
                           f'^^<{binding["datatype"]}>' if 'datatype' in binding else '')


def ask(t, path, patterns, filters=(), *more):
    """Rows of the program as dictionaries of surface texts; a graph without a name is None."""
    words = [' '.join(w for w in p if w != '*') for p in patterns]
    names = list(dict.fromkeys(w for p in patterns for w in p if w.startswith('?')))
    where = [w for f in filters for w in ('--where', ' '.join(f))]
    r = t.exits(0, 'query', path, *words, *where, '--format', 'jsonl', *more)
    rows = [json.loads(x) for x in r.out.decode().splitlines()]
    return [{n: as_text(row[n[1:]]) if n[1:] in row else None for n in names} for row in rows]


def bag(rows):
    return sorted(sorted((k, str(v)) for k, v in row.items()) for row in rows)


def check(t, path, quads, patterns, filters=()):
    got, wanted = ask(t, path, patterns, filters), evaluate(quads, patterns, filters)
    if bag(got) != bag(wanted):
        t.fail(f'{patterns} {filters}: {len(got)} rows, wanted {len(wanted)}')
    return len(wanted)


def random_pattern(r, quads, names):
    quad = r.choice(quads)
    pattern = []
    for place in range(4 if r.random() < 0.5 else 3):
        if r.random() < 0.62:
            pattern.append('?' + r.choice(names))
        else:
            pattern.append(quad[place] or 'DEFAULT')
    return tuple(pattern) + (('*',) if len(pattern) == 3 else ())


def a_volume(t, quads, **how):
    return write_volume(t.path('v.q42'), quads, **how)


# ---------------------------------------------------------------- answers
@test
def every_statement_comes_back_as_canonical_nquads(t):
    quads = random_quads(1, 2500)
    r = t.exits(0, 'query', a_volume(t, quads), '?s ?p ?o')
    t.equal(sorted(r.out.decode().splitlines(True)), sorted(map(line, quads)))


@test
def each_place_alone_and_all_together_find_the_statements_that_have_them(t):
    quads = random_quads(2, 2500)
    path = a_volume(t, quads)
    for seed in range(12):
        quad = quads[seed * 200]
        for mask in range(16):
            pattern = tuple((quad[i] or 'DEFAULT') if mask >> i & 1 else f'?v{i}' for i in range(4))
            check(t, path, quads, [pattern])


@test
def random_joins_agree_with_a_plain_evaluation(t):
    quads = random_quads(3, 260, n_subjects=25)
    path = a_volume(t, quads, block_quins=20)
    r, found = random.Random(33), 0
    for _ in range(150):
        patterns = [random_pattern(r, quads, 'abcd') for _ in range(r.choice((1, 2, 2, 3)))]
        if len(patterns) == 3 and sum(w.startswith('?') for p in patterns for w in p) > 7:
            continue
        found += check(t, path, quads, patterns) > 0
    t.true(found > 40, f'only {found} of the queries found anything')


@test
def random_comparisons_agree_with_a_plain_evaluation(t):
    quads = random_quads(4, 2500)
    path = a_volume(t, quads)
    r = random.Random(44)
    for _ in range(60):
        value = r.choice((str(r.randrange(-32, 32)), f'{r.randrange(-3100, 3100) / 100}', '-0.5', '0', '12.3456789', '-7.0'))
        filters = [('?o', r.choice(list(OPERATIONS)), value)]
        if r.random() < 0.5:
            filters.append((str(r.randrange(-20, 20)), r.choice(list(OPERATIONS)), '?o'))
        pattern = ('?s', r.choice((iri('p1'), '?p')), '?o', '*')
        check(t, path, quads, [pattern], filters)
    small = quads[:300]
    path = write_volume(t.path('small.q42'), small)
    for operation in OPERATIONS:
        check(t, path, small, [('?s', '?p', '?a', '*'), ('?s', '?q', '?b', '*')], [('?a', operation, '?b')])


@test
def comparisons_cross_integers_and_decimals_exactly(t):
    values = [integer(n) for n in (2**59 - 1, -2**59, 0, 10, -10, 9)] + [f'"{v}"^^<{XSD}decimal>' for v in (
        '10.0', '10.000001', '9.999999', '-10.000001', '-9.999999', '0.000001', '-0.000001', '576460752303.423487', '-576460752303.423488')]
    quads = [(iri('s'), iri('p'), v, None) for v in values] + [(iri('s'), iri('p'), v, None) for v in (
        '"10"', iri('o'), f'"10"^^<{XSD}double>', f'"010"^^<{XSD}integer>', f'"true"^^<{XSD}boolean>')]
    path = a_volume(t, quads)
    for value in ('10', '10.0000005', '9.9999999', '-10', '-10.0000015', '0', '576460752303423487', '576460752303423488', '-576460752303423488',
                  '576460752303.4234875', '-576460752303.423488', '1e3', '1E-6', '-1e-7', '99999999999999999999999', '-1e40', '1e-400'):
        for operation in OPERATIONS:
            check(t, path, quads, [('?s', '?p', '?o', '*')], [('?o', operation, value)])


@test
def a_repeated_name_means_the_same_term_inside_one_pattern(t):
    quads = [(iri('a'), iri('p'), iri('a'), None), (iri('a'), iri('p'), iri('b'), iri('a')), (iri('a'), iri('a'), iri('a'), iri('a')),
             (iri('c'), iri('c'), iri('d'), iri('d'))]
    path = a_volume(t, quads)
    for pattern in (('?x', '?p', '?x', '*'), ('?x', '?x', '?x', '?x'), ('?x', '?x', '?o', '*'), ('?s', '?p', '?x', '?x'), ('?x', '?p', '?o', '?x')):
        t.true(check(t, path, quads, [pattern]) > 0, f'{pattern} finds something')


@test
def three_places_ask_in_every_graph_and_default_only_in_the_one_without_a_name(t):
    quads = [(iri('s'), iri('p'), iri('o'), g) for g in (None, iri('g'), '_:g')]
    path = a_volume(t, quads)
    t.equal(t.exits(0, 'query', path, f'{iri("s")} ?p ?o', '--count').out, b'3\n')
    t.equal(t.exits(0, 'query', path, '?s ?p ?o DEFAULT').out.decode(), line(quads[0]))
    t.equal(t.exits(0, 'query', path, f'?s ?p ?o {iri("g")}').out.decode(), line(quads[1]))
    t.equal(t.exits(0, 'query', path, '?s ?p ?o _:g').out.decode(), line(quads[2]))
    t.equal(sorted(t.exits(0, 'query', path, '?s ?p ?o ?g').out.decode().splitlines(True)), sorted(map(line, quads)))


@test
def a_volume_set_answers_as_the_single_volume_does(t):
    quads = random_quads(5, 3000)
    one, many = write_volume(t.path('one.q42'), quads, block_quins=100), write_set(t.path('many.q42'), quads, 5, 3, block_quins=100)
    r = random.Random(55)
    for _ in range(25):
        patterns = [' '.join(w for w in random_pattern(r, quads, 'abcdef') if w != '*') for _ in range(r.choice((1, 1, 2)))]
        more = ('--format', 'tsv', '--limit', '500')
        a, b = t.exits(0, 'query', one, *patterns, *more).out, t.exits(0, 'query', many, *patterns, *more).out
        if len(patterns) == 1:
            t.equal(b, a, str(patterns))
        t.equal(len(b.splitlines()), len(a.splitlines()), str(patterns))
    some = quads[1234]
    r = t.exits(0, 'query', many, f'?s ?p {some[2]}', '--explain')
    t.has(r.err, 'members skipped 4')


@test
def a_bare_volume_is_asked_by_bare_texts(t):
    quads = [(iri('s'), iri('p'), '"text with \\"quotes\\""', None), (iri('s'), iri('p'), '"hello"@en', None),
             (iri('s'), iri('p'), iri('o'), iri('g')), ('<did:q42:zAlice>', iri('knows'), '<did:q42:zBob>', None),
             ('_:b0', iri('p'), f'"9"^^<{XSD}integer>', None), (iri('s'), iri('p'), f'"4.5"^^<{XSD}decimal>', None)]
    path = a_volume(t, quads, terms='bare')
    for quad in quads:
        pattern = ' '.join(w or 'DEFAULT' for w in quad)
        t.equal(t.exits(0, 'query', path, pattern, '--count').out, b'1\n', pattern)
    t.equal(ask(t, path, [('<did:q42:zAlice>', '?p', '?o', '*')]), [{'?p': iri('knows'), '?o': '<did:q42:zBob>'}])
    t.has(t.exits(0, 'query', path, f'?s ?p 4.5', '-f', 'tsv').out, 's>\t')
    t.has(t.exits(0, 'query', path, f'{iri("s")} {iri("p")} ?o DEFAULT', '-f', 'tsv').out, '"4.500000"^^')
    t.equal(t.exits(0, 'query', path, f'{iri("s")} ?p ?o', '--terms', 'surface', '--count').out, b'0\n')


@test
def an_id_without_a_term_is_found_and_shown_by_its_hash(t):
    def forget(entries):
        del entries[volumes.key('"x"')]

    path = a_volume(t, [(iri('s'), iri('p'), '"x"', None)], change=forget)
    t.equal(t.exits(0, 'query', path, '?s ?p "x"', '--count').out, b'1\n')
    r = t.exits(0, 'query', path, '?s ?p ?o')
    t.has(r.out, f'<urn:quoin:hash:{volumes.key(chr(34) + "x" + chr(34)):016x}>')
    t.has(r.err, '1 ids without a term')


@test
def a_term_whose_key_belongs_to_another_text_does_not_match(t):
    here, other = volumes.COLLISION
    t.equal(volumes.key(here), volumes.key(other))
    path = a_volume(t, [(iri('s'), iri('p'), here, None), (iri('s'), iri('p'), '"x"', None)])
    t.equal(t.exits(0, 'query', path, f'?s ?p {here}', '--count').out, b'1\n')
    r = t.exits(0, 'query', path, f'?s ?p {other}', '--count', '--explain')
    t.equal(r.out, b'0\n')
    t.has(r.err, 'belongs to another text')
    t.equal(t.exits(0, 'query', path, '?s ?p ?o', f'?s ?p {other}', '--exists').out, b'false\n')


# ---------------------------------------------------------------- short forms and errors
@test
def turtles_short_forms_stand_for_their_terms(t):
    rdf = '<http://www.w3.org/1999/02/22-rdf-syntax-ns#type>'
    quads = [(iri('s'), rdf, iri('C'), None), (iri('s'), iri('n'), integer(42), None), (iri('s'), iri('n'), integer(-7), None),
             (iri('s'), iri('n'), f'"4.2"^^<{XSD}decimal>', None), (iri('s'), iri('n'), f'"4.2e1"^^<{XSD}double>', None),
             (iri('s'), iri('n'), f'"true"^^<{XSD}boolean>', None), (iri('a.b-c'), iri('n'), f'"+5"^^<{XSD}integer>', None),
             (iri('a(b'), iri('n'), f'"1"^^<{XSD}byte>', None)]
    path = a_volume(t, quads)
    for pattern, n in (('?s a e:C', 1), ('?s e:n 42', 1), ('?s e:n -7', 1), ('?s e:n 4.2', 1), ('?s e:n 4.2e1', 1), ('?s e:n true', 1),
                       ('?s e:n false', 0), ('e:a.b-c e:n +5', 1), ('e:a\\(b ?p "1"^^xsd:byte', 1), ('?s ?p ?o .', 8), ('?s e:n 42.', 1),
                       ('$s e:n ?o', 7), (':s ?p ?o', 6), (f'?s ?p "4\\u002E2"^^<{XSD}decimal>', 1)):
        r = t.exits(0, 'query', path, pattern, '--prefix', f'e={E}', '--prefix', f'xsd:=<{XSD}>', '--prefix', f'={E}', '--count')
        t.equal(r.out, f'{n}\n'.encode(), pattern)


@test
def a_syntax_error_ends_with_status_2_and_points_at_its_column(t):
    path = a_volume(t, [(iri('s'), iri('p'), '"x"', None)])
    for pattern, column, *words in (('?s ?p', 6, '2 of 3'), ('?s ?p "x', 9, 'literal ends'), ('?s ?p ?o ?g ?h', 13, 'ends after'), ('"x" ?p ?o', 1, 'literal'),
                                    ('?s _:p ?o', 4, 'blank node'), ('?s p:x ?o', 4, 'not declared', '--prefix p='), ('?s é x', 4, 'no term'),
                                    ('?s ?p <<?a ?b ?c>>', 7, 'not supported'), ('? ?p ?o', 1, 'name'), ('?s <no colon> ?o', 7, ''),
                                    ('é ?p ?o', 1, 'no term'), ('?é ?p 1e', 8, 'exponent'), ('', 1, '0 of 3'), ('?s ?p "x"@', 11, '')):
        r = t.exits(2, 'query', path, pattern)
        t.has(r.err, f'pattern 1, column {column}:', *words)
        caret = r.err.decode().rstrip('\n').split('\n')[-1]
        t.equal(caret, ' ' * (column + 1) + '^', pattern)
        t.equal(r.out, b'')
    t.has(t.exits(2, 'query', path, '?s ?p ?o', '?s ?p').err, 'pattern 2, column 6')
    for where, column in (('?x > 1', 1), ('?o >', 5), ('1 < 2', 1), ('?o ~ 3', 4), ('?o < 3 4', 8)):
        t.has(t.exits(2, 'query', path, '?s ?p ?o', '--where', where).err, f'column {column}:')
    t.has(t.exits(2, 'query', path, '?s ?p ?o', '--prefix', 'e').err, 'NAME=IRI')
    t.has(t.exits(2, 'query', path, '?s ?p ?o', '--select', '?x').err, '?x is in no pattern')
    t.has(t.exits(2, 'query', path).err, 'at least one PATTERN')


@test
def no_match_is_no_error(t):
    path = a_volume(t, [(iri('s'), iri('p'), '"x"', None)])
    r = t.exits(0, 'query', path, f'{iri("nobody")} ?p ?o')
    t.equal(r.out, b'')
    t.equal(t.exits(0, 'query', path, '?s ?p "y"', '--exists').out, b'false\n')
    t.equal(t.exits(0, 'query', path, '?s ?p "x"', '--exists').out, b'true\n')
    t.equal(t.exits(0, 'query', path, '?s ?p "y"', '--count').out, b'0\n')
    empty = write_volume(t.path('empty.q42'), [])
    t.equal(t.exits(0, 'query', empty, '?s ?p ?o', '--count').out, b'0\n')


# ---------------------------------------------------------------- output
@test
def limit_offset_and_order_are_stable(t):
    path = a_volume(t, random_quads(6, 2000))
    whole = t.exits(0, 'query', path, '?s ?p ?o').out.splitlines()
    for offset, limit in ((0, 1), (5, 10), (1990, 100), (0, 0), (3000, 5)):
        r = t.exits(0, 'query', path, '?s ?p ?o', '--offset', str(offset), '--limit', str(limit))
        t.equal(r.out.splitlines(), whole[offset:offset + limit])
        r = t.exits(0, 'query', path, '?s ?p ?o', '--offset', str(offset), '--limit', str(limit), '--count')
        t.equal(int(r.out), len(whole[offset:offset + limit]))
    joined = [t.exits(0, 'query', path, '?s ?p ?x', '?x ?q ?o', '-f', 'tsv').out for _ in range(2)]
    t.equal(joined[0], joined[1])


@test
def distinct_leaves_repeated_rows_out(t):
    quads = random_quads(7, 1500)
    path = a_volume(t, quads)
    rows = t.exits(0, 'query', path, '?s ?p ?o', '--select', '?p', '--distinct', '-f', 'tsv').out.decode().splitlines()
    t.equal(rows[0], '?p')
    t.equal(sorted(rows[1:]), sorted({q[1] for q in quads}))
    t.equal(int(t.exits(0, 'query', path, '?s ?p ?o', '--select', '?s ?p', '--distinct', '--count').out), len({q[:2] for q in quads}))


@test
def json_is_one_object_as_sparql_writes_results(t):
    quads = [(iri('s'), iri('p'), '"a \\"b\\" \\\\ \\n\t\x01é"@en-GB', iri('g')), ('_:x', iri('p'), integer(5), None)]
    path = a_volume(t, quads)
    r = t.exits(0, 'query', path, '?s ?p ?o ?g', '--json', '--explain').json()
    t.equal(r['head']['vars'], ['s', 'p', 'o', 'g'])
    rows = sorted(r['results']['bindings'], key=lambda b: b['s']['type'])
    t.equal(rows[0], {'s': {'type': 'bnode', 'value': 'x'}, 'p': {'type': 'uri', 'value': E + 'p'},
                      'o': {'type': 'literal', 'value': '5', 'datatype': XSD + 'integer'}})
    t.equal(rows[1]['o'], {'type': 'literal', 'value': 'a "b" \\ \n\t\x01é', 'xml:lang': 'en-GB'})
    t.equal(r['explain']['steps'][0]['decoded'], 1)
    t.equal(t.exits(0, 'query', path, '?s ?p ?o', '--json', '--count').json(), {'count': 2})
    t.equal(t.exits(0, 'query', path, '?s ?p ?o', '--json', '--exists').json(), {'exists': True})
    t.equal(t.exits(0, 'query', path, '?s ?p 6', '--json').json()['results']['bindings'], [])
    error = t.exits(2, 'query', path, '?s ?p', '--json').json()
    t.has(error['error'], 'column 6')


@test
def tsv_and_table_keep_a_row_on_a_line(t):
    path = a_volume(t, [(iri('s'), iri('p'), '"a\tb\\nc"', None), (iri('s'), iri('q'), '"x"', iri('g'))])
    t.equal(t.exits(0, 'query', path, f'?s {iri("p")} ?o ?g', '-f', 'tsv').out.decode(), f'?s\t?o\t?g\n{iri("s")}\t"a\\tb\\nc"\t\n')
    lines = t.exits(0, 'query', path, '?s ?p ?o ?g', '-f', 'table').out.decode().splitlines()
    t.equal(len(lines), 4)
    t.has(lines[0], '?s', '?p', '?o', '?g')
    t.has('\n'.join(lines), 'DEFAULT', iri('g'))


@test
def a_join_writes_the_matched_statements_when_asked_for_nquads(t):
    quads = [(iri('a'), iri('p'), iri('b'), iri('g')), (iri('b'), iri('q'), '"x"', None)]
    path = a_volume(t, quads)
    t.equal(t.exits(0, 'query', path, '?x ?p ?y', '?y ?q "x"', '-f', 'nquads').out.decode(), ''.join(map(line, quads)))
    t.has(t.exits(2, 'query', path, '?x ?p ?y', '--select', '?x', '-f', 'nquads').err, 'whole statements')


@test
def triples_as_terms_are_written_and_are_no_numbers(t):
    entries = {}
    inner = volumes.statement_ids((iri('a'), iri('b'), '"c"', None), 'surface', entries)[:3]
    outer = volumes.statement_ids((iri('s'), iri('p'), integer(3), None), 'surface', entries)
    entries[volumes.key(volumes.MARK)] = volumes.MARK
    quins = volumes.sort_quins([volumes.quin(outer), volumes.quin((outer[0], outer[1], volumes.triple_id(inner), 0)),
                                volumes.quin((volumes.triple_id(inner), outer[1], outer[2], 0))])
    path = volumes.write_file(t.path('v.q42'), volumes.build([quins], volumes.flat_lexicon(entries, [inner])))
    rows = t.exits(0, 'query', path, '?s ?p ?o').out.decode().splitlines()
    triple = f'<< {iri("a")} {iri("b")} "c" >>'
    t.equal(sorted(rows), sorted([f'{iri("s")} {iri("p")} {integer(3)} .', f'{iri("s")} {iri("p")} {triple} .',
                                  f'{triple} {iri("p")} {integer(3)} .']))
    t.equal(t.exits(0, 'query', path, '?s ?p ?o', '--where', '?o > -1e30', '--count').out, b'2\n')
    t.has(t.exits(0, 'query', path, f'?s {iri("p")} 3', '-f', 'jsonl').out, '"type": "triple"')


@test
def a_term_of_triples_in_triples_is_refused_by_its_size_and_needs_no_memory(t):
    entries, triples = {}, []
    s, p, o = volumes.statement_ids((iri('s'), iri('p'), '"%s"' % ('x' * 1000), None), 'surface', entries)[:3]
    entries[volumes.key(volumes.MARK)] = volumes.MARK
    triples.append((s, p, o))
    for _ in range(15):                       # of the last one there are 3^15 texts
        triples.append((volumes.triple_id(triples[-1]),) * 3)
    for depth, fits in ((5, True), (7, False), (15, False)):
        outer = volumes.triple_id(triples[depth])
        path = volumes.write_file(t.path(f'{depth}.q42'), volumes.build([[volumes.quin((s, p, outer, 0))]],
                                                                        volumes.flat_lexicon(entries, triples)))
        for format in ('nquads', 'jsonl', 'tsv', 'table'):
            r = t.exits(0 if fits else 1, 'query', path, '?s ?p ?o', '-f', format)
            t.true(r.peak < 64 << 20 or SANITIZER, f'{r.peak} bytes resident')
            if fits:
                t.true(r.out.count(b'x' * 1000) == 3**depth or format == 'table', r.out[:200])
            else:
                t.has(r.err, f'the quin {s:016x} {p:016x} {outer:016x} DEFAULT', path, 'limit', '1048576 bytes')
                t.true(len(r.err) < 700, r.err)
        t.equal(t.exits(0, 'query', path, '?s ?p ?o', '--count').out, b'1\n')
        t.has(t.exits(0, 'export', path, '--lossy').out, f'<urn:quoin:hash:{outer:016x}> .')
        t.has(t.exits(1, 'export', path).err, 'is a triple')


@test
def every_form_of_lexicon_gives_the_same_terms(t):
    quads = random_quads(16, 1200)
    blocks, entries = volumes.encode(quads)
    for form in (volumes.paged_lexicon, volumes.flat_lexicon, volumes.named_lexicon):
        path = volumes.write_file(t.path(f'{form.__name__}.q42'), volumes.build(blocks, form(entries)))
        t.equal(sorted(t.exits(0, 'query', path, '?s ?p ?o').out.decode().splitlines(True)), sorted(map(line, quads)), form.__name__)
        for quad in quads[::300]:
            t.equal(t.exits(0, 'query', path, ' '.join(w or 'DEFAULT' for w in quad)).out.decode(), line(quad), form.__name__)
    pages = volumes.write_file(t.path('pages.q42'), volumes.build(blocks, volumes.paged_lexicon(entries, page_size=7)))
    t.equal(sorted(t.exits(0, 'query', pages, '?s ?p ?o').out.decode().splitlines(True)), sorted(map(line, quads)))


# ---------------------------------------------------------------- indexes
@test
def an_object_look_up_decodes_only_the_blocks_in_its_interval(t):
    quads = random_quads(8, 6000, n_subjects=3000)
    path = a_volume(t, quads, block_quins=50)
    for quad in quads[::500]:
        r = t.exits(0, 'query', path, f'?s ?p {quad[2]}', '--json', '--explain').json()
        step = r['explain']['steps'][0]
        t.equal(step['indexes'], ['BIDX'])
        t.true(step['decoded'] == step['blocks'] and step['border_checks'] == 0, f'decoded {step}')
        t.equal(len(r['results']['bindings']), sum(q[2] == quad[2] for q in quads))


@test
def explain_tells_index_blocks_and_rows_for_each_pattern(t):
    quads = random_quads(9, 4000)
    path = a_volume(t, quads, block_quins=50)
    r = t.exits(0, 'query', path, '?x ?p ?y', f'?y {iri("p1")} 7', '--explain', '--count')
    t.has(r.err, 'step 1: pattern 2', 'BIDX', 'step 2: pattern 1', 'rows in', 'decoded', 'skipped by FIDX')
    r = t.exits(0, 'query', path, f'{iri("s5")} ?p ?o', '--json', '--explain').json()['explain']['steps'][0]
    t.equal(r['indexes'], ['FIDX', 'PIDX'])
    t.true(r['skipped_pidx'] + r['skipped_fidx'] > 0, 'some blocks are skipped')
    t.equal(r['blocks'], r['decoded'] + r['skipped_pidx'] + r['skipped_fidx'])


@test
def a_volume_without_field_indexes_gives_the_same_answers(t):
    quads = random_quads(10, 1500)
    path = a_volume(t, quads, fields=False, block_quins=100)
    for pattern in ((iri('s5'), '?p', '?o', '*'), ('?s', iri('p1'), '?o', iri('g1')), ('?s', '?p', integer(5), '*')):
        check(t, path, quads, [pattern])


# ---------------------------------------------------------------- broken volumes
@test
def a_lying_block_index_is_an_error_and_no_empty_answer(t):
    quads = random_quads(11, 600, n_subjects=300)
    blocks, entries = volumes.encode(quads, block_quins=50)
    true = [(b[0][2], b[-1][2]) for b in blocks]
    wanted = blocks[5][25][2]
    lie = list(true)
    lie[5] = (true[5][0], true[5][0])        # hides what lies behind its first object
    path = volumes.write_file(t.path('v.q42'), volumes.build(blocks, volumes.paged_lexicon(entries), bidx=lie))
    text = entries.get(wanted, b'').decode() or next(q[2] for q in quads if volumes.inline(q[2]) == wanted)
    r = t.exits(1, 'query', path, f'?s ?p {text}')
    t.has(r.err, 'block 5')
    t.equal(r.out, b'')


@test
def a_broken_block_or_page_is_one_error_with_its_place(t):
    quads = random_quads(12, 2000)
    path = a_volume(t, quads)
    data = bytearray(open(path, 'rb').read())
    at = struct.unpack_from('<Q', data, 56)[0]
    broken = bytes(data[:at + 41300]) + b'\xFF' * 64 + bytes(data[at + 41364:])
    path = volumes.write_file(t.path('block.q42'), broken)
    r = t.exits(1, 'query', path, '?s ?p ?o', '--count')
    t.has(r.err, 'block 1')
    t.equal(r.err.count(b'error:'), 1)
    lex = struct.unpack_from('<Q', data, 8)[0]
    data[lex + 40 + 32 + 16 + 24] ^= 0xFF     # a key out of order
    path = volumes.write_file(t.path('page.q42'), bytes(data))
    t.has(t.exits(1, 'query', path, f'{iri("s1")} ?p ?o').err, 'page')


@test
def what_is_no_volume_is_named_with_what_to_do(t):
    blocks, _ = volumes.encode(random_quads(14, 900))
    raw = volumes.write_file(t.path('raw.q42'), b''.join(volumes.raw_block(b, i) for i, b in enumerate(blocks)))
    t.has(t.exits(1, 'query', raw, '?s ?p ?o').err, 'version 1', 'quoin migrate')
    t.has(t.exits(1, 'query', volumes.write_file(t.path('x.q42'), b'nothing at all'), '?s ?p ?o').err, 'header.magic')
    old = bytearray(open(a_volume(t, random_quads(15, 20)), 'rb').read())
    old[4] = 2
    t.has(t.exits(1, 'query', volumes.write_file(t.path('old.q42'), bytes(old)), '?s ?p ?o').err, 'migrate')


@test
def members_of_a_set_must_be_those_of_its_manifest(t):
    quads = random_quads(13, 1000)
    path = write_set(t.path('v.q42'), quads, 2, 1, block_quins=100)
    name = t.path('v.segment-00001.q42')
    whole = open(name, 'rb').read()
    volumes.write_file(name, whole + b'x')
    t.has(t.exits(1, 'query', path, '?s ?p ?o', '--count').err, 'v.segment-00001.q42', 'bytes')
    os.remove(name)
    t.has(t.exits(6, 'query', path, '?s ?p ?o', '--count').err, 'v.segment-00001.q42')


@test
def readers_see_one_whole_version_while_another_is_renamed_over_it(t):
    versions = [random_quads(100 + i, 1200) for i in range(3)]
    files = [open(write_volume(t.path(f'{i}.q42'), quads), 'rb').read() for i, quads in enumerate(versions)]
    answers = {''.join(sorted(map(line, quads))) for quads in versions}
    path = volumes.write_file(t.path('v.q42'), files[0])
    seen = set()
    for i in range(30):
        readers = [t.start('query', path, '?s ?p ?o') for _ in range(3)]
        for k in range(3):
            volumes.write_file(t.path('new'), files[(i + k) % 3])
            os.rename(t.path('new'), path)
        for reader in readers:
            r = t.finish(reader)
            t.equal(r.status, 0)
            text = ''.join(sorted(r.out.decode().splitlines(True)))
            t.true(text in answers, 'a reader gives one whole version')
            seen.add(text)
    t.true(len(seen) > 1, 'more than one version was seen')


PEAK_OF_CHILD = """import resource, subprocess, sys
subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL, check=True)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024)"""


@test
def a_query_stays_below_its_memory(t):
    if SANITIZER:
        skip('a sanitizer has its own memory')
    quads = [(iri(f's{i % 5000}'), iri(f'p{i % 7}'), iri(f's{(i * 7919) % 5000}'), None) for i in range(40000)]
    path = a_volume(t, quads)
    for patterns in (('?a ?p ?b', '?b ?q ?c'), ('?a ?p ?b', '?c ?p ?d', '?b ?q ?d', '--limit', '100000'), ('?a ?p ?b',)):
        # a small process in between: a child's peak begins with its parent's size
        peak = int(subprocess.run([sys.executable, '-S', '-E', '-c', PEAK_OF_CHILD, PROGRAM, 'query', path, *patterns, '--count'],
                                  capture_output=True, check=True, env=clean_environment()).stdout)
        t.true(peak < (42 << 20) + os.path.getsize(path), f'{patterns}: peak of {peak} bytes')


if __name__ == '__main__':
    main()
