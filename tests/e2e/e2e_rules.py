"""quoin rules check: what it prints, its exit statuses, and what it refuses."""
from program import *

PREFIXES = '@prefix ex: <http://e/> . @prefix math: <http://www.w3.org/2000/10/swap/math#> .\n'
SHAPES = ('@prefix sh: <http://www.w3.org/ns/shacl#> . @prefix ex: <http://e/> . @prefix xsd: <http://www.w3.org/2001/XMLSchema#> .\n'
          'ex:S sh:targetClass ex:Person ; sh:property [ sh:path ex:age ; sh:datatype xsd:integer ; sh:minCount 1 ; sh:minInclusive 0 ] ,\n'
          '  [ sh:path ex:mail ; sh:pattern "@" ; sh:severity sh:Warning ; sh:message "no mail address" ] .\n')
RULES = PREFIXES + ('[anc] { ?a ex:parent ?b } => { ?a ex:anc ?b } .\n[more] { ?a ex:anc ?b . ?b ex:parent ?c } => { ?a ex:anc ?c } .\n'
                    '[loop] { ?a ex:anc ?a } => { ?a <urn:quoin:denied> "own ancestor" } .\n')


def write(t, name, text):
    with open(t.path(name), 'w', encoding='utf-8') as file:
        file.write(text)
    return t.path(name)


def check(t, *options):
    return t.quoin('rules', 'check', *options)


@test
def statements_that_conform_end_with_0(t):
    data = write(t, 'd.n3', PREFIXES + 'ex:a a ex:Person ; ex:age 5 ; ex:mail "a@e" .')
    r = check(t, '--shapes', write(t, 's.ttl', SHAPES), '--rules', write(t, 'r.n3', RULES), data)
    t.equal(r.status, 0, r.describe())
    t.has(r.out, 'rules: OK: 0 facts derived', 'conforms: 3 statements, 1 checks, 0 violations, 0 warnings')
    t.equal(r.err, b'')


@test
def a_violation_names_node_path_value_and_constraint(t):
    data = write(t, 'd.ttl', PREFIXES + 'ex:a a ex:Person ; ex:age -5 ; ex:mail "a" . ex:b a ex:Person .')
    shapes = write(t, 's.ttl', SHAPES)
    r = check(t, '--shapes', shapes, data)
    t.equal(r.status, 1)
    t.has(r.out, 'violation: <http://e/a> <http://e/age> "-5"^^<http://www.w3.org/2001/XMLSchema#integer>: MinInclusive: the value is below',
          'warning: <http://e/a> <http://e/mail> "a": Pattern: no mail address',
          'violation: <http://e/b> <http://e/age>: MinCount: 0 values, at least 1 are needed', 'does not conform')
    value = check(t, '--shapes', shapes, '--json', data).json()
    t.equal([value[k] for k in ('conforms', 'statements', 'violations', 'warnings')], [False, 4, 2, 1])
    t.equal(value['results'][0]['component'], 'MinInclusive')
    t.equal(value['results'][2], {'severity': 'violation', 'component': 'MinCount', 'focus': '<http://e/b>', 'path': '<http://e/age>',
                                  'value': None, 'shape': value['results'][2]['shape'], 'message': '0 values, at least 1 are needed'})
    t.equal(value['rules'], None)


@test
def a_warning_alone_conforms(t):
    data = write(t, 'd.n3', PREFIXES + 'ex:a a ex:Person ; ex:age 5 ; ex:mail "a" .')
    r = check(t, '--shapes', write(t, 's.ttl', SHAPES), data)
    t.equal(r.status, 0)
    t.has(r.out, '1 warnings')


@test
def unknown_predicates_are_told_or_with_closed_refused(t):
    data = write(t, 'd.n3', PREFIXES + 'ex:a ex:other 1 .')
    shapes = write(t, 's.ttl', SHAPES)
    r = check(t, '--shapes', shapes, data)
    t.equal(r.status, 0)
    t.has(r.out, 'info: <http://e/a> <http://e/other>', 'UnknownPredicate')
    t.equal(check(t, '--shapes', shapes, '--closed', data).status, 1)


@test
def a_denial_tells_rule_text_and_bindings(t):
    data = write(t, 'd.n3', PREFIXES + 'ex:a ex:parent ex:b . ex:b ex:parent ex:a .')
    rules = write(t, 'r.n3', RULES)
    r = check(t, '--rules', rules, data)
    t.equal(r.status, 1)
    t.has(r.out, 'rules: FAIL: rule loop denies "own ancestor": ?a = <http://e/a>')
    value = check(t, '--rules', rules, '--json', data).json()['rules']
    t.equal([value['outcome'], value['rule'], value['bindings']], ['FAIL', 'loop', [{'name': 'a', 'value': '<http://e/a>'}]])


@test
def limits_do_not_conform(t):
    data = write(t, 'd.n3', PREFIXES + ''.join(f'ex:n{i} ex:parent ex:n{i + 1} .\n' for i in range(20)))
    rules = write(t, 'r.n3', RULES)
    t.equal(check(t, '--rules', rules, data).status, 0)
    r = check(t, '--rules', rules, '--depth', 5, data)
    t.equal(r.status, 1)
    t.has(r.out, 'rules: LIMIT: nothing final after 15 runs')
    r = check(t, '--rules', rules, '--max-facts', 50, data)
    t.equal(r.status, 1)
    t.has(r.out, 'rules: LIMIT: the table of 50 facts is full')
    t.has(check(t, '--rules', rules, '--max-facts', 10, data).out, 'rules: LIMIT: more than 10 facts')


@test
def derived_statements_are_printed_with_their_proof(t):
    data = write(t, 'd.n3', PREFIXES + 'ex:a ex:parent ex:b . ex:b ex:parent ex:c .')
    rules = write(t, 'r.n3', RULES)
    r = check(t, '--rules', rules, '--derived', data)
    t.has(r.out, '<http://e/a> <http://e/anc> <http://e/c> . # fact 5, by rule more from 3, 2')
    facts = check(t, '--rules', rules, '--derived', '--json', data).json()['rules']['facts']
    t.equal(facts[4], {'fact': 5, 'terms': ['<http://e/a>', '<http://e/anc>', '<http://e/c>'], 'rule': 'more', 'definite': True, 'premises': [3, 2]})
    t.equal(facts[0]['rule'], None)


@test
def a_rule_in_the_data_is_a_proposal_and_changes_nothing(t):
    data = write(t, 'd.n3', PREFIXES + 'ex:a ex:parent ex:b .\n[mine] { ?x ex:parent ?y } => false .')
    r = check(t, '--rules', write(t, 'r.n3', RULES), data)
    t.equal(r.status, 0)
    t.has(r.out, 'd.n3: line 3: proposes the rule mine, which is not installed', '1 rules proposed')
    t.equal(check(t, '--json', data).json()['proposals'], [{'file': data, 'line': 3, 'id': 'mine', 'arrow': '=>'}])


@test
def blank_nodes_of_two_files_are_not_the_same(t):
    one, two = write(t, 'a.n3', PREFIXES + '_:x a ex:Person ; ex:age 1 .'), write(t, 'b.ttl', PREFIXES + '_:x a ex:Person .')
    r = check(t, '--shapes', write(t, 's.ttl', SHAPES), one, two)
    t.equal(r.status, 1)
    t.has(r.out, 'violation: _:s2_x')
    t.lacks(r.out, 'violation: _:s1_x')


@test
def faults_of_files_are_told_with_their_place(t):
    good = write(t, 'd.n3', PREFIXES + 'ex:a ex:p 1 .')
    rows = [(('--shapes', write(t, '1.ttl', SHAPES + 'ex:S sh:or ( ) .'), good), '1.ttl: line 4: sh:or is not offered'),
            (('--rules', write(t, '2.n3', PREFIXES + '[r] { ?x ex:p 1 } => { ?y ex:q 1 } .'), good), '2.n3: line 2: rule r: ?y is in the conclusion'),
            ((write(t, '3.n3', PREFIXES + 'ex:a ex:p [] .'),), '3.n3: line 2, column 11'),
            ((write(t, '4.ttl', 'x'),), '4.ttl'),
            ((write(t, '5.nq', '<urn:a> <urn:b> <urn:c> <urn:g> .\n'),), 'named graph'),
            ((write(t, '6.xyz', ''),), '6.xyz')]
    for options, words in rows:
        r = check(t, *options)
        t.equal(r.status, 1, r.describe())
        t.has(r.err, words)
        t.equal(r.out, b'')
        t.has(check(t, '--json', *options).json()['error'], words)
    t.equal(check(t, t.path('none.n3')).status, 6)
    t.equal(check(t, '--shapes', t.path('none.ttl'), good).status, 6)


@test
def what_cannot_be_meant_is_refused(t):
    good = write(t, 'd.n3', PREFIXES + 'ex:a ex:p 1 .')
    for arguments in [(), ('check',), ('see', good), ('check', '--closed', good), ('check', '--derived', good), ('check', '--depth', 0, good),
                      ('check', '--max-facts', 65537, good)]:
        t.equal(t.quoin('rules', *arguments).status, 2, str(arguments))


@test
def messages_of_files_cannot_move_the_cursor(t):
    data = write(t, 'd.n3', PREFIXES + 'ex:a a ex:Person ; ex:age 1 ; ex:mail "\\u001B[2J" .')
    r = check(t, '--shapes', write(t, 's.ttl', SHAPES.replace('no mail', '\\u001B[2J mail')), data)
    t.true(b'\x1b' not in r.out, 'an escape sequence went through')


if __name__ == '__main__':
    main()
