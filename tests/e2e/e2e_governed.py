"""quoin run --governed: outcomes, exit statuses, what is shown and what is not, the log that every run leaves, and --explain."""
import json
import os
import socket
import subprocess
import threading

from governed import *
from models import make_tiny


@test
def text_is_completed_said_to_be_ungrounded_and_in_the_log(t):
    plain = t.quoin('run', make_tiny(t.path('tiny.gguf')), *ASK)
    r = t.quoin('run', t.path('tiny.gguf'), *ASK, '--governed', policy(t))
    t.equal(r.status, 0, r.describe())
    t.equal(r.out, plain.out)
    t.has(r.err, 'UNGROUNDED', 'COMPLETED', 'temperature')
    last = audits(t)[-1]
    t.equal(last[0]['gate'], 'request')
    t.equal(last[-1]['gate'], 'outcome')
    t.equal(last[-1]['detail'], 'COMPLETED')
    t.lacks(json.dumps(last), 'hello world')


@test
def json_has_outcome_audit_receipt_policy_and_times_apart(t):
    object = ask(t)
    t.equal(object['outcome'], 'COMPLETED')
    t.equal([one['gate'] for one in object['audit']][:8], ['cancel', 'thermal', 'intent', 'scope', 'licence', 'facts', 'egress', 'identity'])
    t.equal(object['policy']['version'], 3)
    t.equal(len(object['policy']['digest']), 64)
    t.equal(object['citations'], [])
    t.equal(len(object['identity']), 2)
    t.equal(object['receipt']['signed'], False)
    t.true(object['timings']['gate_seconds_before'] < 0.5 * SLOWNESS, 'gates in front are slow')
    t.true(object['timings']['gate_seconds_after'] < 1.0 * SLOWNESS, 'gates behind are slow')
    t.true(object['request']['token'] not in json.dumps(object['citations']), 'the token is cited')


@test
def every_record_has_the_policy_with_its_version(t):
    """Completed, blocked and failed alike."""
    wanted = [ask(t)['policy'], ask(t, '--intent', 'llm:WriteGraph', status=12)['policy'], ask(t, '--sieve', t.path('none'), status=13, version=4)['policy']]
    records = [one for one in t.exits(0, 'wal', 'show', t.path('log'), '--records', '--json').json()['records'] if one['type'] == 'AUDIT']
    t.equal([(one['policy'], one['policy_version']) for one in records], [(one['digest'], one['version']) for one in wanted])
    t.equal([one['policy_version'] for one in records], [3, 3, 4])


@test
def what_is_blocked_shows_nothing_and_is_recorded(t):
    object = ask(t, '--intent', 'llm:WriteGraph', status=12)
    t.equal(object['outcome'], 'BLOCKED')
    t.equal(object['reason'], 'frame')
    t.equal(object['code'], 'a1b2c3d4e5f60007')
    t.equal(object['answer']['text'], None)
    t.equal(audits(t)[-1][-1]['detail'], 'BLOCKED')
    r = t.quoin('run', t.path('tiny.gguf'), *ASK, '--governed', t.path('policy.ini'), '--intent', 'llm:WriteGraph')
    t.equal((r.status, r.out), (12, b''))
    t.has(r.err, 'BLOCKED', 'frame', 'llm:WriteGraph')


@test
def conduct_is_a_statement_in_the_log(t):
    ask(t, '--intent', 'llm:DiscriminatoryOperation', status=12)
    r = t.quoin('wal', 'show', t.path('log'), '--quins')
    t.has(r.out, 'q42:conductViolation', '"80"', 'did:example:agent', 'did:example:ana', 'q42:conductTimeMs')


@test
def a_sanctuary_is_refused_unless_the_policy_names_its_digest(t):
    volume(t, '--sanctuary')
    scope = f'[scope {GRAPH}]\nvolume = harbour.q42\n'
    object = ask(t, '--scope', GRAPH, status=12, more=scope)
    t.equal((object['reason'], object['code']), ('sanctuary', 'a1b2c3d4e5f60002'))
    digest = subprocess.run(['sha256sum', t.path('harbour.q42')], capture_output=True, text=True, check=True).stdout.split()[0]
    object = ask(t, '--scope', GRAPH, more=scope + f'digest = {digest}\n')
    t.equal(object['outcome'], 'COMPLETED')
    t.has(result(object, 'scope')['detail'], '1 of them Sanctuary')


@test
def a_scope_can_be_served_by_another_volume_but_not_when_a_digest_says_no(t):
    volume(t)
    volume(t, '--tier', '1', name='other.q42')
    digest = subprocess.run(['sha256sum', t.path('harbour.q42')], capture_output=True, text=True, check=True).stdout.split()[0]
    t.equal(ask(t, '--scope', f'{GRAPH}={t.path("other.q42")}', more=f'[scope {GRAPH}]\n')['outcome'], 'COMPLETED')
    object = ask(t, '--scope', f'{GRAPH}={t.path("other.q42")}', status=12, more=f'[scope {GRAPH}]\ndigest = {digest}\n')
    t.equal(object['reason'], 'scope-changed')
    object = ask(t, '--scope', f'{GRAPH}={t.path("other.q42")}', status=12, more=SCOPE)
    t.equal(object['reason'], 'scope-changed')
    t.equal(ask(t, '--scope', f'{GRAPH}={t.path("harbour.q42")}', more=SCOPE)['outcome'], 'COMPLETED')
    t.equal(ask(t, '--scope', 'http://elsewhere.example/', status=12)['reason'], 'scope-unknown')


@test
def seventeen_scopes_are_refused(t):
    volume(t)
    object = ask(t, *['--scope', GRAPH] * 17, status=12, more=f'[scope {GRAPH}]\nvolume = harbour.q42\n')
    t.equal(object['reason'], 'too-many-scopes')


@test
def a_hot_machine_blocks_and_one_without_sensors_says_so(t):
    os.makedirs(t.path('hwmon/hwmon0'))
    for name, text in (('name', 'coretemp\n'), ('temp1_input', '91000\n')):
        with open(t.path(f'hwmon/hwmon0/{name}'), 'w', encoding='ascii') as file:
            file.write(text)
    heat = '[thermal]\nhwmon = hwmon\nzones = none\nnvml = none\n'
    object = ask(t, status=12, more=heat)
    t.equal((object['reason'], object['code']), ('thermal', '00000000deadbeef'))
    t.equal(ask(t, more=heat + '[intent]\ncritical = llm:ReadGraph\n')['outcome'], 'COMPLETED')
    object = ask(t, more=heat.replace('hwmon = hwmon', 'hwmon = none'))
    t.has(result(object, 'thermal')['detail'], 'unknown')


@test
def heat_that_comes_while_decoding_ends_the_answer(t):
    """A false library whose device gets hotter each time it is asked."""
    more = f'[thermal]\nhwmon = none\nzones = none\nnvml = {os.path.abspath(os.path.join(BINARY, "tests", "fake_nvml.so"))}\nevery = 1\n'
    r = t.quoin('run', make_tiny(t.path('tiny.gguf')), '--prompt', 'a', '-n', '50', '--backend', 'reference', '--governed', policy(t, more),
                '--json', env={'FAKE_NVML_CELSIUS': '+78 40'})
    object = r.json()
    t.equal(object['outcome'], 'COMPLETED')
    t.equal((object['answer']['stop_reason'], object['answer']['partial']), ('thermal', True))
    t.true(0 < object['answer']['tokens'] < 20, 'tokens before the heat')
    t.equal(t.quoin('run', t.path('tiny.gguf'), '--prompt', 'a', '-n', '50', '--backend', 'reference', '--governed',
                    policy(t, more + '[intent]\ncritical = llm:ReadGraph\n[limits]\ndeadline = 5m\n'), '--json',
                    env={'FAKE_NVML_CELSIUS': '+78 40'}).json()['answer']['stop_reason'], 'length')


@test
def the_destination_is_that_of_standard_output(t):
    """A peer on this machine is local; the tier of unlabeled words is told with it."""
    server = socket.create_server(('127.0.0.1', 0))
    got = []

    def receive():
        peer, _ = server.accept()
        with peer, peer.makefile('rb') as stream:
            got.append(stream.read())

    thread = threading.Thread(target=receive)
    thread.start()
    with socket.create_connection(server.getsockname()) as out:
        r = t.quoin('run', make_tiny(t.path('tiny.gguf')), *ASK, '--governed', policy(t), '--json', stdout=out)
    thread.join()
    server.close()
    t.equal(r.status, 0, r.describe())
    t.equal(json.loads(got[0])['request']['destination'], 'local')


@test
def a_tier_above_the_ceiling_is_blocked(t):
    object = ask(t, status=12, more='[egress]\nlocal = 0\n')
    t.equal(object['reason'], 'egress')
    t.equal(ask(t, more='[egress]\nlocal = 0\n[request]\nlabel = 0\n')['outcome'], 'COMPLETED')


@test
def no_model_no_text(t):
    r = t.quoin('run', t.path('absent.gguf'), *ASK, '--governed', policy(t), '--json')
    t.equal(r.status, 13, r.describe())
    t.equal(r.json()['reason'], 'backend-unavailable')
    t.equal(r.json()['answer']['text'], None)
    t.equal(audits(t)[-1][-1]['detail'], 'FAILED')


@test
def a_request_that_does_not_fit_the_model_is_refused_before_it_computes(t):
    r = t.quoin('run', make_tiny(t.path('tiny.gguf')), '--prompt', 'a', '-n', '64', '--backend', 'reference', '--governed', policy(t), '--json')
    t.equal(r.status, 13, r.describe())
    t.equal(r.json()['reason'], 'setup')


@test
def a_deadline_gives_part_of_the_text_and_says_so(t):
    object = ask(t, '--deadline', '0.000001')
    t.equal(object['outcome'], 'COMPLETED')
    t.equal((object['answer']['stop_reason'], object['answer']['partial']), ('deadline', True))


@test
def reading_and_answering_have_deadlines_of_their_own(t):
    long = ['--prompt', 'hello world ' * 300, '--ctx', '2048', '--chunk', '64']
    object = ask(t, *long, more='[limits]\ndeadline = 5m\nprefill = 1ms\n')
    t.equal((object['answer']['stop_reason'], object['answer']['partial'], object['answer']['tokens']), ('deadline', True, 0))
    t.true(object['answer']['prompt_tokens'] >= 64, 'a chunk was read')
    object = ask(t, '--prompt', 'a', '--ctx', '2048', '-n', '1900', more='[limits]\ndeadline = 5m\nprefill = 1m\ndecode = 2ms\n')
    t.equal((object['answer']['stop_reason'], object['answer']['partial']), ('deadline', True))
    t.true(object['answer']['tokens'] > 0, 'the answer began')


@test
def statements_that_were_asked_for_and_are_not_there_block(t):
    t.equal(ask(t, status=13, more='[request]\noutput = graph\n')['reason'], 'sieve')
    t.equal(ask(t, status=12, more='[request]\noutput = n3\n')['reason'], 'n3')


# ---------------------------------------------------------------- statements
@test
def a_statement_that_is_a_fact_is_committed_with_its_authors(t):
    object = state(t)
    t.equal(object['outcome'], 'COMMITTED')
    t.equal(object['claims'][0]['grounding'], 'supported')
    t.equal(len(object['citations']), 1)
    statements = held(t)
    t.true(object['claims'][0]['statement'] in [s.strip() for s in statements], statements)
    t.equal(sum('wasAttributedTo' in s for s in statements), 2)
    t.equal(audits(t)[-1][-1]['detail'], 'COMMITTED')


@test
def a_statement_that_facts_contradict_waits_for_somebodys_eyes(t):
    volume(t, '-g', GRAPH)
    sieve(t, object='bo')
    object = state(t, status=10, more=f'[predicate {GRAPH}skipper]\nfunctional = yes\n')
    t.equal((object['outcome'], object['reason']), ('REVIEW', 'contradicted'))
    t.equal(held(t), [])
    r = t.quoin('wal', 'show', t.path('log'), '--review', '--json')
    t.equal(r.json()['review'][0]['statements'], [object['claims'][0]['statement']])
    t.equal(r.json()['review'][0]['reasons'][0]['reason'], 'contradicted')
    t.has(t.quoin('wal', 'show', t.path('log'), '--review').out, 'contradicted', 'harbour.example/bo')


@test
def a_statement_that_no_fact_supports_is_blocked(t):
    volume(t, '-g', GRAPH)
    sieve(t, subject='skua', predicate='by', object='Landing')
    object = state(t, status=12, more='[grounding]\nweak = 0.9\n')
    t.equal((object['outcome'], object['reason'], object['claims']), ('BLOCKED', 'grounding', []))


@test
def a_suspended_statement_holds_when_two_signers_agree(t):
    keys = {name: t.quoin('key', 'new', t.path(name + '.key'), '--json').json()['public'] for name in ('ana', 'bo')}
    with open(t.path('trusted'), 'w', encoding='ascii') as file:
        file.writelines(f'{public} did:example:{name}\n' for name, public in keys.items())
    object = state(t, status=11, more=f'[predicate {GRAPH}skipper]\nsuspend = yes\nsigners = did:example:ana did:example:bo\n')
    t.equal((object['outcome'], object['reason']), ('SUSPENDED', 'signers'))
    t.equal(held(t), [])
    consent = ['wal', 'consent', t.path('log'), object['receipt']['agreement'], '--trusted', t.path('trusted'), '--json', '--key']
    t.equal(t.quoin(*consent, t.path('ana.key')).json()['standing'], 'pending')
    t.equal(t.quoin(*consent, t.path('bo.key')).json()['standing'], 'committed')
    t.true(object['claims'][0]['statement'] in [s.strip() for s in held(t)], held(t))


@test
def a_text_that_cites_a_fact_of_the_prompt_says_which(t):
    volume(t, '-g', GRAPH)
    with open(t.path('cite.gbnf'), 'w', encoding='ascii') as file:
        file.write('root ::= "a [1]."\n')
    object = json.loads(t.exits(0, 'run', make_tiny(t.path('tiny.gguf')), '--ctx', '1024', '--prompt', 'Petrel', '--facts', '1', '--backend', 'reference',
                                '--grammar', t.path('cite.gbnf'), '--graph', t.path('harbour.q42'), '--governed', policy(t, SCOPE), '--json').out)
    t.equal((object['outcome'], object['answer']['text']), ('COMPLETED', 'a [1].'))
    t.has(object['citations'][0]['text'], '[1]', 'Petrel')
    t.equal(result(object, 'output')['verdict'], 'pass')


@test
def shapes_of_the_policy_block_what_they_do_not_allow(t):
    with open(t.path('shapes.ttl'), 'w', encoding='ascii') as file:
        file.write(f'@prefix sh: <http://www.w3.org/ns/shacl#> .\n@prefix h: <{GRAPH}> .\n'
                   'h:S sh:targetSubjectsOf h:skipper ; sh:property [ sh:path h:skipper ; sh:nodeKind sh:Literal ] .\n')
    object = state(t, status=12, more='[rules]\nshapes = shapes.ttl\n')
    t.equal(object['reason'], 'n3')
    t.has(result(object, 'rules')['detail'], 'NodeKind')


@test
def a_sieve_of_a_volume_that_was_not_granted_is_blocked(t):
    volume(t, '-g', GRAPH)
    volume(t, '-g', GRAPH, '--sanctuary', name='secret.q42')
    with open(sieve(t), 'r+', encoding='ascii') as file:
        text = file.read().replace('harbour.q42', 'secret.q42')
        file.seek(0)
        file.write(text)
        file.truncate()
    object = state(t, status=12)
    t.equal((object['reason'], object['claims']), ('scope-unknown', []))


@test
def a_sieve_that_cannot_be_built_is_no_free_text(t):
    volume(t, '-g', GRAPH)
    sieve(t, object='nobody')
    object = state(t, status=13)
    t.equal((object['reason'], object['answer']['text']), ('sieve', None))


@test
def a_statement_cut_by_its_budget_is_never_committed(t):
    object = state(t, '--deadline', '0.000001', status=12)
    t.equal(object['reason'], 'partial')
    t.equal(held(t), [])


@test
def a_signed_log_is_verified_with_the_agents_key(t):
    made = t.quoin('key', 'new', t.path('agent.key'), '--json').json()
    ask(t, '--intent', 'llm:DishonestOperation', status=12, commit='key = agent.key')
    with open(t.path('trusted'), 'w', encoding='ascii') as file:
        file.write(made['public'] + ' did:example:agent\n')
    r = t.quoin('wal', 'verify', t.path('log'), '--trusted', t.path('trusted'), '--json')
    t.equal((r.status, r.json()['result'], r.json()['signatures']['valid']), (0, 'pass', 1))


@test
def a_log_that_cannot_be_written_is_failed_and_nothing_is_shown(t):
    with open(t.path('log'), 'w', encoding='ascii') as file:
        file.write('no folder')
    r = t.quoin('run', make_tiny(t.path('tiny.gguf')), *ASK, '--governed', policy(t))
    t.equal((r.status, r.out), (13, b''))
    t.has(r.err, 'FAILED', 'audit')


@test
def a_policy_that_is_wrong_is_told_with_line_and_column(t):
    r = t.quoin('run', make_tiny(t.path('tiny.gguf')), *ASK, '--governed', policy(t, '[limits]\ndeadlin = 3s\n'))
    t.equal((r.status, r.out), (1, b''))
    t.has(r.err, 'line 12, column 1', 'deadlin', 'did you mean deadline?')
    t.equal(t.quoin('run', t.path('tiny.gguf'), *ASK, '--governed', t.path('none.ini')).status, 6)


@test
def options_of_governed_runs_need_a_policy(t):
    for options in (['--explain'], ['--intent', 'llm:Chat'], ['--scope', 'a'], ['--frame', 'f'], ['--profile', 'p']):
        r = t.quoin('run', make_tiny(t.path('tiny.gguf')), *ASK, *options)
        t.equal(r.status, 2)
        t.has(r.err, options[0], '--governed')


@test
def explain_needs_no_model_and_leaves_no_log(t):
    r = t.quoin('run', '--governed', policy(t, '[intent]\nallow = llm:Chat\n'), '--explain', '--json')
    t.equal(r.status, 0, r.describe())
    gates = {one['gate']: one for one in r.json()['gates']}
    t.equal((gates['intent']['verdict'], gates['intent']['reason']), ('block', 'intent'))
    t.equal(gates['infer']['verdict'], 'skipped')
    t.true(all(one['asks'].endswith('?') for one in gates.values()), 'each gate asks something')
    t.true(not os.path.exists(t.path('log')), 'a log was made')
    t.has(t.quoin('run', '--governed', t.path('policy.ini'), '--explain').out, 'commit', 'would go to log, unsigned')


@test
def a_file_that_the_policy_names_is_part_of_its_digest(t):
    digests = []
    for text in ('@prefix a: <http://a.example/> .\n', '@prefix b: <http://b.example/> .\n'):
        with open(t.path('trusted'), 'w', encoding='ascii') as file:
            file.write('# ' + text)
        r = t.quoin('run', '--governed', policy(t, '[provenance]\ntrusted_keys = trusted\n'), '--explain', '--json')
        digests.append(r.json()['policy']['digest'])
    t.true(digests[0] != digests[1], 'the digest is the same')


# ---------------------------------------------------------------- what is known of the model
def container(t):
    """A P64 of the tiny model with its companion, provenance signed by maker.key, and the list of keys that count."""
    t.exits(0, 'convert', make_tiny(t.path('tiny.gguf')), '-o', t.path('tiny.p64'), '-q')
    made = t.quoin('key', 'new', t.path('maker.key'), '--json').json()['public']
    with open(t.path('trusted'), 'w', encoding='ascii') as file:
        file.write(made + ' did:example:maker\n')
    with open(t.path('licence.txt'), 'w', encoding='ascii') as file:
        file.write('for tests\n')
    return t.path('tiny.p64')


def prove(t, *options):
    t.exits(0, 'prove', t.path('tiny.p64'), '--profile', 'full', '--licence', t.path('licence.txt'), '--permits', 'local-inference', '--force', '-q',
            *options)


def ask_container(t, more, status=0, *options, **how):
    r = t.quoin('run', t.path('tiny.p64'), *ASK, '--governed', policy(t, '[provenance]\n' + more, **how), '--json', *options)
    t.equal(r.status, status, r.describe())
    return r.json()


@test
def a_model_of_which_too_little_is_known_is_blocked(t):
    container(t)
    t.equal(ask_container(t, 'require_provenance = 1\n', 12)['reason'], 'model-provenance')
    prove(t)
    t.equal(ask_container(t, 'require_provenance = 3\n')['outcome'], 'COMPLETED')
    object = ask_container(t, 'require_provenance = 4\n', 12)
    t.equal(object['reason'], 'model-provenance')
    object = ask_container(t, 'require_provenance = 3\nrequire_signature = yes\ntrusted_keys = trusted\n', 12)
    t.equal(object['reason'], 'model-provenance')
    prove(t, '--key', t.path('maker.key'))
    object = ask_container(t, 'require_provenance = 3\nrequire_signature = yes\ntrusted_keys = trusted\n')
    t.has(result(object, 'licence')['detail'], 'level 3')
    with open(t.path('tiny.p64'), 'r+b') as file:
        file.seek(-1, os.SEEK_END)
        last = file.read(1)
        file.seek(-1, os.SEEK_END)
        file.write(bytes([last[0] ^ 1]))
    t.equal(ask_container(t, 'require_provenance = 1\n', 12)['reason'], 'model-provenance')


@test
def a_use_that_the_licence_does_not_permit_is_blocked(t):
    container(t)
    prove(t)
    t.equal(ask_container(t, 'uses = local-inference\n')['outcome'], 'COMPLETED')
    object = ask_container(t, 'uses = local-inference commercial\n', 12)
    t.equal(object['reason'], 'licence')
    t.has(result(object, 'licence')['detail'], 'commercial')


def consent(t, name, is_signed=True, to='did:example:ana', scope='local-inference', until=4102444800000):
    with open(t.path(name), 'w', encoding='ascii') as file:
        file.write(f'granted_by = did:example:maker\ngranted_to = {to}\nscope = {scope}\nvalid_from = 0\nvalid_until = {until}\n')
    if is_signed:
        t.exits(0, 'prove', '--sign-consent', t.path(name), '--key', t.path('maker.key'), '-q')
    return t.path(name)


@test
def a_consent_has_to_be_for_who_asks_hold_now_and_be_signed(t):
    container(t)
    need = 'require_consent = yes\ntrusted_keys = trusted\n'
    prove(t)
    t.equal(ask_container(t, need, 12)['reason'], 'consent')
    for how in ({'to': 'did:example:eve'}, {'until': 1000}):
        prove(t, '--consent', consent(t, 'no.consent', **how))
        t.equal(ask_container(t, need, 12)['reason'], 'consent')
    prove(t, '--consent', consent(t, 'bare.consent', is_signed=False))
    t.equal(ask_container(t, need, 12)['reason'], 'consent')
    prove(t, '--consent', consent(t, 'yes.consent'))
    t.equal(ask_container(t, need)['outcome'], 'COMPLETED')


@test
def a_scope_with_a_consent_is_used_only_by_whom_it_is_for(t):
    container(t)
    volume(t, '-g', GRAPH)
    more = 'trusted_keys = trusted\n' + SCOPE + 'consent = scope.consent\n'
    for to, scope, status in (('did:example:ana', GRAPH, 0), ('did:example:eve', GRAPH, 12), ('did:example:ana', 'http://elsewhere.example/', 12)):
        consent(t, 'scope.consent', to=to, scope=scope)
        object = ask_container(t, more, status, '--scope', GRAPH, '--facts', '1')
        t.equal(object['reason'], 'consent' if status else 'none')


@test
def kernels_without_certificates_are_blocked_before_they_compute(t):
    container(t)
    prove(t)
    object = ask_container(t, 'require_certified_kernels = yes\n', 12)
    t.equal((object['reason'], object['answer']['text']), ('model-provenance', None))
    t.has(result(object, 'infer')['detail'], 'kernel', 'certificate')


@test
def a_record_of_the_answer_can_be_checked_and_computed_again(t):
    container(t)
    prove(t)
    volume(t, '-g', GRAPH)
    object = ask_container(t, 'record = yes\n' + SCOPE, 0, '--ctx', '1024', '--graph', t.path('harbour.q42'), '--facts', '1', '--prompt', 'Petrel')
    for name, text in (('prompt', 'Petrel'), ('context', object['answer']['context'])):
        with open(t.path(name), 'w', encoding='utf-8') as file:
            file.write(text)
    r = t.quoin('check', t.path('tiny.p64'), '--log', t.path('log'), '--generation', object['receipt']['generation'].split(':')[-1], '--replay',
                '--prompt', t.path('prompt'), '--context', t.path('context'), '--backend', 'reference', '--json')
    answers = {one['name']: one for one in r.json()['generation']['results']}
    t.equal([answers[name]['verdict'] for name in ('record', 'model', 'replay')], ['PASS', 'PASS', 'PASS'], answers)


# ---------------------------------------------------------------- while it computes
@test
def a_sentinel_of_the_policy_ends_an_answer_that_is_then_not_shown(t):
    with open(t.path('rules.ini'), 'w', encoding='ascii') as file:
        file.write('[phrase]\naction = abort\nphrase = "world"\n')
    r = t.quoin('run', make_tiny(t.path('tiny.gguf')), *ASK, '--governed', policy(t, '[sentinel]\nfile = rules.ini\n'), '--json')
    t.equal(r.status, 12, r.describe())
    t.equal((r.json()['reason'], r.json()['answer']['text']), ('sentinel', None))
    r = t.quoin('run', t.path('tiny.gguf'), *ASK, '--governed', t.path('policy.ini'), '--sentinel', t.path('rules.ini'))
    t.equal(r.status, 13)
    t.has(r.err, 'sentinel of its own')


@test
def an_interrupt_ends_a_run_with_nothing_shown_and_a_record(t):
    make_tiny(t.path('tiny.gguf'))
    more = f'[thermal]\nhwmon = none\nzones = none\nnvml = {os.path.abspath(os.path.join(BINARY, "tests", "fake_nvml.so"))}\nevery = 1\n'
    child = t.start('run', t.path('tiny.gguf'), '--prompt', 'a', '-n', '2000', '--ctx', '4096', '--backend', 'reference', '--governed',
                    policy(t, more + 'critical = 200\nwarm = 1\n'), '--json', env={'FAKE_NVML_CELSIUS': '50 50'})
    time.sleep(0.5 * SLOWNESS)
    child.send_signal(signal.SIGINT)
    r = t.finish(child)
    t.equal((r.status, r.json()['reason'], r.json()['answer']['text']), (12, 'cancelled', None))
    t.equal(audits(t)[-1][-1]['detail'], 'BLOCKED')


if __name__ == '__main__':
    main()
