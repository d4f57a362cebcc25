"""quoin prove, check and run --prove: what they write, what they print, and each way in which a check can end."""
import os

from models import make_tiny
from program import *

FAR = 4_000_000_000_000
IDS = 'urn:qualia:gen:sha256:'


def make_key(t, name):
    """(file, public text)."""
    r = t.quoin('key', 'new', t.path(name + '.key'), '--json')
    t.equal(r.status, 0, r.describe())
    return t.path(name + '.key'), r.json()['public']


def make_model(t):
    """(container, source) of a tiny model."""
    source, container = make_tiny(t.path('m.gguf')), t.path('m.p64')
    t.equal(t.quoin('convert', source, '-o', container).status, 0)
    return container, source


def trust(t, **names):
    with open(t.path('keys.txt'), 'w', encoding='utf-8') as f:
        f.writelines(f'{key} {name}\n' for name, key in names.items())
    return t.path('keys.txt')


def verdicts(r):
    return {one['name']: one['verdict'] for one in r.json()['results']}


def codes(r):
    return {one['name']: one['code'] for one in r.json()['results']}


def prove(t, container, *options):
    r = t.quoin('prove', container, '--json', *options)
    t.equal(r.status, 0, r.describe())
    return r.json()


# ---------------------------------------------------------------- volumes
@test
def a_container_proved_with_its_source_and_a_key_holds_level_4(t):
    container, source = make_model(t)
    key, public = make_key(t, 'maker')
    said = prove(t, container, '--source', source, '-k', key)
    t.equal((said['policy'], said['byte_parity'], said['signed_by']), ('byte-preserving', True, public))
    r = t.quoin('check', container, '--source', source, '--trusted-keys', trust(t, maker=public), '--json')
    t.equal(r.status, 7, r.describe())  # no backend was named, so no kernel was looked at
    t.equal((r.json()['level'], r.json()['authenticated'], r.json()['digest']), (4, True, said['digest']))
    t.equal(sorted(set(verdicts(r).values())), ['NOT CHECKED', 'PASS'])
    r = t.quoin('check', container, '--source', source, '--trusted-keys', t.path('keys.txt'), '--require', '4', '--require-signature')
    t.equal(r.status, 0, r.describe())
    t.equal(t.quoin('verify', t.path('m.prov.q42')).status, 0)


@test
def the_same_input_gives_the_same_bytes(t):
    container, source = make_model(t)
    for name in 'a', 'b':
        prove(t, container, '--source', source, '--time', '1750000000000', '-o', t.path(name + '.prov.q42'))
    prove(t, container, '--source', source, '--time', '1750000000000', '--profile', 'compact', '-o', t.path('c.prov.q42'))
    first, second, third = (open(t.path(n + '.prov.q42'), 'rb').read() for n in 'abc')
    t.equal(first, second)
    t.true(first != third, 'compact is as full')


@test
def an_unsigned_volume_is_called_unauthenticated(t):
    container, _ = make_model(t)
    prove(t, container)
    r = t.quoin('check', container, '--require', '3')
    t.equal(r.status, 0, r.describe())
    t.has(r.out, 'level 3, unauthenticated')
    r = t.quoin('check', container, '--require', '3', '--require-signature')
    t.equal(r.status, 1)
    t.has(r.out, 'what is required does not hold: unsigned')


@test
def without_a_volume_a_check_is_incomplete_and_a_requirement_fails(t):
    container, _ = make_model(t)
    r = t.quoin('check', container, '--json')
    t.equal((r.status, r.json()['level'], set(codes(r).values())), (7, 0, {'MISSING'}), r.describe())
    t.equal(t.quoin('check', container, '--require', '1').status, 1)


@test
def a_changed_volume_source_or_signature_is_found(t):
    container, source = make_model(t)
    key, public = make_key(t, 'maker')
    prove(t, container, '--source', source, '-k', key)
    keys = trust(t, maker=public)
    with open(t.path('m.prov.sig'), 'r+b') as f:
        f.seek(170)
        f.write(b'\0\0\0')
    r = t.quoin('check', container, '--trusted-keys', keys, '--json')
    t.equal((r.status, r.json()['level'], codes(r)['signature + consent']), (1, 0, 'BAD_SIGNATURE'), r.describe())
    prove(t, container, '--source', source, '-k', key, '-f')
    other = t.path('other.gguf')
    with open(source, 'rb') as f:
        data = bytearray(f.read())
    data[-9] ^= 1
    with open(other, 'wb') as f:
        f.write(data)
    r = t.quoin('check', container, '--source', other, '--json')
    t.equal((r.status, r.json()['level'], codes(r)['source']), (1, 3, 'DIGEST_MISMATCH'), r.describe())
    with open(t.path('m.prov.q42'), 'rb') as f:
        whole = f.read()
    for at in (108, len(whole) - 100):  # in the root, and where no statement stands: neither is in the digest
        with open(t.path('m.prov.q42'), 'wb') as f:
            f.write(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1:])
        r = t.quoin('check', container, '--json')
        t.equal((r.status, r.json()['level'], codes(r)['container']), (1, 0, 'PARSE'), r.describe())
    with open(t.path('m.prov.q42'), 'wb') as f:
        f.write(whole[:3000])
    r = t.quoin('check', container, '--json')
    t.equal((r.status, codes(r)['container']), (1, 'PARSE'), r.describe())


@test
def a_volume_of_another_container_proves_nothing(t):
    container, _ = make_model(t)
    t.equal(t.quoin('convert', t.path('m.gguf'), '-o', t.path('n.p64'), '--layout', 'plain').status, 0)
    prove(t, container)
    r = t.quoin('check', t.path('n.p64'), '--volume', t.path('m.prov.q42'), '--json')
    t.equal((r.status, r.json()['level'], codes(r)['container']), (1, 0, 'DIGEST_MISMATCH'), r.describe())


@test
def an_existing_volume_is_kept_and_an_old_signature_goes_with_the_volume(t):
    container, _ = make_model(t)
    key, _ = make_key(t, 'maker')
    prove(t, container, '-k', key)
    r = t.quoin('prove', container)
    t.equal(r.status, 6, r.describe())
    t.true(os.path.exists(t.path('m.prov.sig')), 'no signature')
    prove(t, container, '--force')
    t.true(not os.path.exists(t.path('m.prov.sig')), 'an old signature')


@test
def what_cannot_be_proved_is_refused_and_leaves_nothing(t):
    container, source = make_model(t)
    with open(t.path('other.gguf'), 'wb') as f:
        data = bytearray(open(source, 'rb').read())
        data[-9] ^= 1
        f.write(data)
    for words, status in ((['prove', source], 1), (['prove', container, '--source', t.path('other.gguf')], 1),
                          (['prove', container, '--spdx', 'MIT'], 2), (['prove'], 2),
                          (['prove', container, '--licence', source, '--permits', 'everything'], 1),
                          (['prove', container, '--key', t.path('none.key')], 6)):
        r = t.quoin(*words)
        t.equal(r.status, status, r.describe())
    t.true(not os.path.exists(t.path('m.prov.q42')), 'a volume')
    with open(container, 'r+b') as f:
        f.seek(-100, os.SEEK_END)
        f.write(b'\xff')
    t.equal(t.quoin('prove', container).status, 1)


# ---------------------------------------------------------------- consent
def write_consent(t, **more):
    facts = {'granted_by': 'did:web:a', 'granted_to': 'did:web:b', 'scope': 'commercial', 'valid_from': 0, 'valid_until': FAR, **more}
    with open(t.path('consent.txt'), 'w', encoding='utf-8') as f:
        f.writelines(f'{name} = {value}\n' for name, value in facts.items())
    return t.path('consent.txt')


@test
def a_consent_counts_when_it_is_signed_valid_and_about_this_model(t):
    container, _ = make_model(t)
    key, public = make_key(t, 'owner')
    keys = trust(t, owner=public)
    for more, is_signed, verdict, code in (({}, True, 'PASS', ''), ({}, False, 'NOT CHECKED', 'UNSIGNED'),
                                           ({'valid_until': 5}, True, 'FAIL', 'CONSENT_EXPIRED'),
                                           ({'scope': 'urn:qualia:p64:sha256:' + '0' * 64}, True, 'FAIL', 'CONSENT_EXPIRED')):
        consent = write_consent(t, **more)
        if is_signed:
            t.equal(t.quoin('prove', '--sign-consent', consent, '-k', key).status, 0)
        prove(t, container, '--consent', consent, '-k', key, '-f')
        r = t.quoin('check', container, '--trusted-keys', keys, '--json')
        t.equal((verdicts(r)['signature + consent'], codes(r)['signature + consent']), (verdict, code), r.describe())


# ---------------------------------------------------------------- answers
def ask(t, container, *options, status=0):
    with open(t.path('prompt.txt'), 'w', encoding='utf-8') as f:
        f.write('abc')
    r = t.quoin('run', container, '-f', t.path('prompt.txt'), '-n', '6', '-b', 'reference', '--prove', t.path('log'), '--json', *options)
    t.equal(r.status, status, r.describe())
    t.true(r.json()['generation'].startswith(IDS), r.describe())
    return r.json()['generation']


def answers(r):
    return {one['name']: one['verdict'] for one in r.json()['generation']['results']}


@test
def an_answer_is_recorded_signed_and_replayed(t):
    container, _ = make_model(t)
    key, public = make_key(t, 'agent')
    t.equal(t.quoin('key', 'new', '--mac', t.path('mac.key')).status, 0)
    ask(t, container, '-k', key, '--mac-key', t.path('mac.key'), '--temp', '0.9', '--seed', '7')
    keys = trust(t, agent=public)
    r = t.quoin('check', container, '--log', t.path('log'), '--replay', '-p', t.path('prompt.txt'), '--mac-key', t.path('mac.key'),
                '--trusted-keys', keys, '--json')
    t.equal(answers(r), {'record': 'PASS', 'log': 'PASS', 'model': 'PASS', 'prompt': 'PASS', 'context': 'NOT CHECKED', 'replay': 'PASS'},
            r.describe())
    with open(t.path('prompt.txt'), 'w', encoding='utf-8') as f:
        f.write('abd')
    r = t.quoin('check', container, '--log', t.path('log'), '-p', t.path('prompt.txt'), '--mac-key', t.path('mac.key'), '--json')
    t.equal((r.status, answers(r)['prompt'], answers(r)['log']), (1, 'FAIL', 'NOT CHECKED'), r.describe())


@test
def a_stored_prompt_is_replayed_without_a_file_and_of_two_records_the_id_decides(t):
    container, source = make_model(t)
    first = ask(t, container, '--unsigned', '--store-prompt')
    second = ask(t, source, '--unsigned', '--store-prompt')
    t.true(first != second, first)
    r = t.quoin('check', container, '--log', t.path('log'), '--generation', first, '--replay', '--json')
    t.equal((answers(r)['replay'], answers(r)['model']), ('PASS', 'PASS'), r.describe())
    r = t.quoin('check', container, '--log', t.path('log'), '--json')
    t.equal((r.status, answers(r)['model']), (1, 'FAIL'), r.describe())
    r = t.quoin('check', source, '--log', t.path('log'), '--replay', '--json')
    t.equal((r.status, answers(r)['model'], answers(r)['replay']), (7, 'PASS', 'PASS'), r.describe())


@test
def a_replay_with_other_threads_or_another_backend_is_not_comparable(t):
    container, _ = make_model(t)
    ask(t, container, '--unsigned', '--store-prompt', '-t', '1')
    for options in (['-t', '2'], ['-b', 'cpu']):
        r = t.quoin('check', container, '--log', t.path('log'), '--replay', '--json', *options)
        t.equal((r.status, answers(r)['replay']), (7, 'NOT CHECKED'), r.describe())
        t.has(r.out, 'not comparable')


@test
def an_answer_with_a_constraint_or_rules_is_not_comparable(t):
    container, _ = make_model(t)
    for option, words, text in (('--grammar', 'a constraint', 'root ::= [a-z ]+ "."\n'),
                                ('--sentinel', 'rules over each token', '[deny]\naction = resample\nids = 264\n')):
        with open(t.path('rules'), 'w', encoding='utf-8') as f:
            f.write(text)
        name = ask(t, container, option, t.path('rules'), '--unsigned', status=7 if option == '--grammar' else 0)
        r = t.quoin('check', container, '--log', t.path('log'), '--generation', name, '--replay', '-p', t.path('prompt.txt'))
        t.has(r.out, f'replay               NOT CHECKED  not comparable: {words}')


@test
def a_log_that_was_changed_is_told(t):
    container, _ = make_model(t)
    ask(t, container, '--unsigned')
    at = t.path('log/' + next(name for name in os.listdir(t.path('log')) if name.endswith('.qwal')))
    with open(at, 'r+b') as f:
        f.seek(5000)
        byte = f.read(1)
        f.seek(5000)
        f.write(bytes([byte[0] ^ 4]))
    t.has(t.exits(6, 'check', container, '--log', t.path('log')).err, 'bytes are of no whole transaction')


@test
def a_record_in_a_checkpoint_volume_is_checked_like_one_in_the_log(t):
    container, _ = make_model(t)
    ask(t, container, '--unsigned', '--store-prompt')
    made = t.quoin('wal', 'checkpoint', t.path('log'), '--json').json()['volume']
    r = t.quoin('check', container, '--generation', made, '--replay', '--json')
    t.equal((answers(r)['record'], answers(r)['replay'], answers(r)['log']), ('PASS', 'PASS', 'NOT CHECKED'), r.describe())


@test
def an_answer_behind_facts_is_replayed_only_with_them(t):
    container, _ = make_model(t)
    with open(t.path('g.nt'), 'w', encoding='utf-8') as f:
        f.write('<http://e.example/abc> <http://e.example/p> "abc" .\n')
    t.equal(t.quoin('ingest', t.path('g.nt'), '-o', t.path('g.q42')).status, 0)
    t.equal(t.quoin('key', 'new', '--mac', t.path('mac.key')).status, 0)
    for stored, replay in (([], 'NOT CHECKED'), (['--store-prompt'], 'PASS')):
        record = ask(t, container, '--unsigned', '-c', '200', '--graph', t.path('g.q42'), '--mac-key', t.path('mac.key'), *stored)
        r = t.quoin('check', container, '--log', t.path('log'), '--generation', record, '--replay', '-p', t.path('prompt.txt'), '--json')
        t.equal(answers(r)['replay'], replay, r.describe())
    with open(t.path('other.txt'), 'w', encoding='utf-8') as f:
        f.write('another context')
    r = t.quoin('check', container, '--log', t.path('log'), '--context', t.path('other.txt'), '--mac-key', t.path('mac.key'), '--json')
    t.equal((r.status, answers(r)['context']), (1, 'FAIL'), r.describe())


@test
def recording_asks_for_a_key_or_for_the_word_unsigned(t):
    container, _ = make_model(t)
    for options in (['--prove', t.path('log')], ['--unsigned'], ['--prove', t.path('log'), '--unsigned', '-k', 'x']):
        r = t.quoin('run', container, '-p', 'a', '-n', '1', '-b', 'reference', *options)
        t.equal(r.status, 2, r.describe())
    t.true(not os.path.exists(t.path('log')), 'a log')
    t.equal(t.quoin('check', container, '--replay').status, 2)
    t.equal(t.quoin('check', container, '--log', t.path('log')).status, 6)


if __name__ == '__main__':
    main()
