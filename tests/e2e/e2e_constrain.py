#!/usr/bin/env python3
"""run --grammar, --json-schema, --sieve: what a model writes under them, judged by code that shares nothing with them."""
import json
import re

from program import *
from volumes import E, iri, key, write_volume

STORIES = 'data/stories260k/stories260k-q8_0.gguf'
PROMPT = 'Once upon a time'


def run(t, *args):
    return t.quoin('run', corpus(STORIES), '--backend', 'reference', '--no-weight-check', '--prompt', PROMPT, *args)


def a_file(t, name, text):
    with open(t.path(name), 'wb') as f:
        f.write(text if isinstance(text, bytes) else text.encode())
    return t.path(name)


# ---------------------------------------------------------------- schemas: a plain validator
def is_type(value, name):
    if isinstance(value, bool):
        return name == 'boolean'
    kinds = {'null': type(None), 'string': str, 'array': list, 'object': dict, 'integer': int, 'number': (int, float)}
    return isinstance(value, kinds.get(name, ()))


def is_valid(value, schema, root):
    if isinstance(schema, bool):
        return schema
    if '$ref' in schema:
        target = root
        for step in schema['$ref'].split('/')[1:]:
            target = target[step]
        return is_valid(value, target, root)
    if 'anyOf' in schema:
        return any(is_valid(value, s, root) for s in schema['anyOf'])
    if 'enum' in schema and value not in schema['enum']:
        return False
    if 'type' in schema:
        types = schema['type'] if isinstance(schema['type'], list) else [schema['type']]
        if not any(is_type(value, name) for name in types):
            return False
    if isinstance(value, str):
        if not schema.get('minLength', 0) <= len(value) <= schema.get('maxLength', 1 << 30):
            return False
        if 'pattern' in schema and not re.search(schema['pattern'], value):
            return False
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        if not schema.get('minimum', -1e30) <= value <= schema.get('maximum', 1e30):
            return False
    if isinstance(value, list):
        if not schema.get('minItems', 0) <= len(value) <= schema.get('maxItems', 1 << 30):
            return False
        return all(is_valid(v, schema.get('items', True), root) for v in value)
    if isinstance(value, dict):
        listed = schema.get('properties', {})
        if any(name not in value for name in schema.get('required', [])):
            return False
        others = schema.get('additionalProperties', True)
        return all(is_valid(v, listed.get(k, others), root) for k, v in value.items())
    return True


SCHEMAS = {
    'a record': {'type': 'object', 'required': ['name', 'age'], 'additionalProperties': False, 'properties': {
        'name': {'type': 'string', 'minLength': 1, 'maxLength': 6}, 'age': {'type': 'integer', 'minimum': -3, 'maximum': 140},
        'tags': {'type': 'array', 'items': {'enum': ['red', 'blue']}, 'minItems': 1, 'maxItems': 2}}},
    'a tree': {'$ref': '#/$defs/node', '$defs': {'node': {'type': 'object', 'properties': {
        'v': {'type': ['boolean', 'null']}, 'n': {'anyOf': [{'enum': [1, 2, 3]}, {'$ref': '#/$defs/node'}]}}, 'required': ['v', 'n']}}},
    'a choice': {'anyOf': [{'type': 'string', 'pattern': '^[A-Z][a-z]{2,4}(-\\d)?$'}, {'type': 'number', 'minimum': -2, 'maximum': 7}]},
    'a list': {'type': 'array', 'items': {'type': 'number', 'minimum': -5, 'maximum': 12}, 'minItems': 2, 'maxItems': 4},
}


def check_schema(name):
    def check(t):
        schema = SCHEMAS[name]
        path, n_whole = a_file(t, 's.json', json.dumps(schema)), 0
        for seed in range(3):
            r = run(t, '--json-schema', path, '--temp', '0.8', '--seed', seed, '-n', '120', '--json')
            t.true(r.status in (0, 7), f'exit status {r.status}')
            told = r.json()
            t.equal(told['constraint'], {'kind': 'json-schema', 'complete': r.status == 0})
            if r.status == 0:
                n_whole += 1
                t.true(is_valid(json.loads(told['text']), schema, schema), f'seed {seed}: {told["text"]} is not valid')
                t.true(told['stop_reason'] in ('complete', 'stop'), told['stop_reason'])
        t.true(n_whole > 0, 'no text became whole')
    add_test('a_model_writes_only_what_a_schema_allows: ' + name, check)


for schema_name in SCHEMAS:
    check_schema(schema_name)


# ---------------------------------------------------------------- grammars
@test
def a_model_writes_only_sentences_of_a_grammar(t):
    path = a_file(t, 'g.gbnf', 'root ::= "He" (" said " | " saw ") thing{1,3} "."\nthing ::= [a-zé]{2,5} (", " | "")\n')
    wanted = re.compile('He( said | saw )([a-zé]{2,5}(, )?){1,3}\\.')
    for seed in range(3):
        r = run(t, '--grammar', path, '--temp', '1.5', '--seed', seed, '--json')
        t.equal(r.status, 0, 'exit status')
        t.true(wanted.fullmatch(r.json()['text']), r.json()['text'])
        t.equal(r.json()['constraint'], {'kind': 'grammar', 'complete': True})


@test
def a_text_that_is_cut_off_is_told_by_its_own_exit_status(t):
    path = a_file(t, 'g.gbnf', 'root ::= "abc" [a-z]{40}\n')
    r = run(t, '--grammar', path, '-n', '5')
    t.equal(r.status, 7, 'exit status')
    t.has(r.err, 'no whole one of the grammar', 'after 5 tokens (length)', '-n')
    t.true(r.out.startswith(b'abc'), 'the text so far is printed')
    r = run(t, '--grammar', path, '-n', '5', '--json')
    t.equal(r.json()['constraint'], {'kind': 'grammar', 'complete': False})


@test
def a_chat_answer_is_constrained_from_its_first_printed_letter(t):
    path = a_file(t, 'g.gbnf', 'root ::= "Yes" | "No"\n')
    r = run(t, '--grammar', path, '--chat', '--template', 'llama2', '--json')
    if r.status == 2 or b'template' in r.err and r.status == 1:
        skip('this template is not known')
    t.equal(r.status, 0, 'exit status')
    t.true(r.json()['text'] in ('Yes', 'No'), r.json()['text'])


@test
def guesses_that_run_ahead_change_nothing(t):
    path = a_file(t, 's.json', json.dumps(SCHEMAS['a record']))
    plain = run(t, '--json-schema', path, '--json').json()
    drafted = run(t, '--json-schema', path, '--drafts', '4', '--json').json()
    t.true(drafted['drafts']['taken'] > 0, 'no guess was taken')
    t.equal((plain['tokens'], plain['constraint']), (drafted['tokens'], drafted['constraint']))


# ---------------------------------------------------------------- what is refused
def check_refused(name, option, text, status, *words):
    def check(t):
        path = a_file(t, 'f.txt', text)
        r = run(t, option, path)
        t.equal(r.status, status, 'exit status')
        t.has(r.err, *words)
        t.equal(r.out, b'')
        t.true(r.wall < 5 * SLOWNESS, f'{r.wall:.1f} s')
    add_test('refused: ' + name, check)


check_refused('an undefined rule', '--grammar', 'root ::= "a"\n  b ::= "c" d\n', 1, 'line 2, column 13', 'rule d')
check_refused('left recursion', '--grammar', 'root ::= root "a" | "b"', 1, 'line 1, column 1', 'left recursion')
check_refused('a large repetition', '--grammar', 'root ::= "a"{0,999999999}', 1, '999999999', 'limit is 4096')
check_refused('deep groups', '--grammar', 'root ::= ' + '(' * 100000, 1, 'more than 64 deep')
check_refused('a grammar of ten megabytes', '--grammar', b'root ::= "a"\n#' + b'x' * 10000000, 1, 'at most 1048576')
check_refused('an unknown keyword', '--json-schema', '{"properties":{"a":{"not":{}}}}', 1, '#/properties/a/not')
check_refused('a deep schema', '--json-schema', '{"items":' * 1000 + '{}' + '}' * 1000, 1, 'more than 64 deep')
check_refused('a schema that is too deep for any parser', '--json-schema', '{"items":' * 90000 + '{}' + '}' * 90000, 1, 'is no JSON')
check_refused('a schema that only refers to itself', '--json-schema', '{"$ref":"#"}', 1, 'begins with itself')
check_refused('a sieve without candidates', '--sieve', '[subject]\nterm = <e:a>\n', 1, '[predicate] has no candidates')
check_refused('a sieve of any bytes', '--sieve', bytes(range(1, 256)), 1, 'line ')


@test
def two_constraints_are_a_wrong_use(t):
    r = run(t, '--grammar', 'a', '--sieve', 'b')
    t.equal(r.status, 2, 'exit status')
    t.has(r.err, 'exclude each other')


@test
def a_missing_file_is_named(t):
    for option in ('--grammar', '--json-schema', '--sieve'):
        r = run(t, option, t.path('none'))
        t.equal(r.status, 6, 'exit status')
        t.has(r.err, t.path('none'))


# ---------------------------------------------------------------- sieves
LISTED = '''[sieve]
prefix = ex=http://e.example/
%s
[subject]
term = ex:tom
label = Tom
term = ex:lily
label = Lily
term = ex:ann
label = Lily Ann
[predicate]
term = ex:likes
label = likes
[object]
term = "the dog"@en
label = the dog
term = 42
label = a cat
'''
TERMS = {'Tom': '<http://e.example/tom>', 'Lily': '<http://e.example/lily>', 'Lily Ann': '<http://e.example/ann>',
         'likes': '<http://e.example/likes>', 'the dog': '"the dog"@en', 'a cat': '"42"^^<http://www.w3.org/2001/XMLSchema#integer>'}


def check_told(t, told):
    """The text is the three labels; the quin is theirs."""
    sieve = told['constraint']
    t.true(sieve['complete'] and sieve['kind'] == 'sieve', str(sieve))
    labels = [sieve[slot]['text'] for slot in ('subject', 'predicate', 'object')]
    terms = [sieve[slot]['term'] for slot in ('subject', 'predicate', 'object')]
    t.equal(told['text'].strip(' '), ' '.join(labels))
    t.equal(terms, [TERMS.get(label, label) for label in labels])
    words = [int(w, 16) for w in sieve['quin_words']]
    t.equal(words[:2], [key(terms[0]), key(terms[1])])
    t.equal(words[0] ^ words[1] ^ words[2] ^ words[3] ^ words[4], words[5], 'parity')
    t.equal(sieve['quin'], ' '.join(terms) + ' .')
    return labels


@test
def a_sieve_makes_three_listed_terms_and_their_quin(t):
    path = a_file(t, 's.ini', LISTED % '')
    seen = set()
    for seed in range(5):
        r = run(t, '--sieve', path, '--temp', '2', '--seed', seed, '--json')
        t.equal(r.status, 0, 'exit status')
        seen.add(check_told(t, r.json())[0])
    t.true(len(seen) > 1, f'always {seen}')
    r = run(t, '--sieve', path)
    t.has(r.err, '<http://e.example/likes>')


@test
def a_beam_gives_the_same_answer_each_time_and_no_less_likely_than_the_walk(t):
    walk = run(t, '--sieve', a_file(t, 's.ini', LISTED % ''), '--json').json()
    path = a_file(t, 'b.ini', LISTED % 'beam = 8')
    beams = [run(t, '--sieve', path, '--json').json() for _ in range(2)]
    check_told(t, beams[0])
    t.equal(beams[0]['tokens'], beams[1]['tokens'])
    t.equal(beams[0]['constraint'], beams[1]['constraint'])
    t.true(beams[0]['constraint']['log_probability'] > walk['constraint']['log_probability'] - 1.0, 'the beam is far less likely')


@test
def a_margin_below_the_threshold_asks_for_review(t):
    r = run(t, '--sieve', a_file(t, 's.ini', LISTED % 'review = 1000'))
    t.has(r.err, 'review this')
    t.true(run(t, '--sieve', a_file(t, 's.ini', LISTED % 'review = 1000'), '--json').json()['constraint']['needs_review'], 'no review')
    t.true(not run(t, '--sieve', a_file(t, 's.ini', LISTED % ''), '--json').json()['constraint']['needs_review'], 'review')


@test
def a_budget_below_that_of_the_sieve_is_refused_before_anything_is_made(t):
    r = run(t, '--sieve', a_file(t, 's.ini', LISTED % ''), '-n', '2')
    t.equal(r.status, 1, 'exit status')
    t.has(r.err, 'longest terms of the sieve take', 'and 2 may')
    t.equal(r.out, b'')


@test
def candidates_come_from_a_volume_by_pattern(t):
    quads = [(iri('tom'), iri('likes'), iri('dog'), None), (iri('lily'), iri('likes'), iri('cat'), None), (iri('x'), iri('y'), iri('z'), None)]
    write_volume(t.path('v.q42'), quads)
    text = f'[sieve]\nvolume = v.q42\n[subject]\npattern = ?s {iri("likes")} ?o\n[predicate]\nterm = {iri("likes")}\n[object]\npattern = {iri("tom")} ?p ?o\npattern = ?s ?p ?o\n'
    for seed in range(2):
        r = run(t, '--sieve', a_file(t, 's.ini', text), '--temp', '3', '--seed', seed, '--json')
        t.equal(r.status, 0, 'exit status')
        labels = check_told(t, r.json())
        t.true(labels[0] in (iri('tom'), iri('lily')) and labels[2] == iri('dog'), str(labels))


@test
def a_term_that_the_volume_does_not_know_is_refused(t):
    write_volume(t.path('v.q42'), [(iri('tom'), iri('likes'), iri('dog'), None)])
    text = f'[sieve]\nvolume = v.q42\n[subject]\nterm = {iri("nobody")}\n'
    r = run(t, '--sieve', a_file(t, 's.ini', text))
    t.true(r.status != 0, 'accepted')
    t.has(r.err, 'line 4', iri('nobody'), 'is not in the lexicon')
    text = f'[sieve]\nvolume = v.q42\n[subject]\npattern = ?s {iri("hates")} ?o\n'
    r = run(t, '--sieve', a_file(t, 's.ini', text))
    t.equal(r.status, 1, 'exit status')
    t.has(r.err, '[subject] has no candidates', 'find nothing')


if __name__ == '__main__':
    main()
