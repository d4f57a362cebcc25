"""quoin wal and quoin key: what they print, what they refuse, and a writer that is killed before each of its calls."""
import glob
import os
import re
import shutil
import signal
import stat
import subprocess
import sys

from program import *

VECTORS = os.path.join(SOURCE, 'tests', 'vectors', 'qwal')
STORY = os.path.join(BINARY, 'tests', 'wal_story')
SHIM = os.path.join(BINARY, 'tests', 'kill_at_call.so')


def story(directory, *words, **environment):
    """(exit status, numbers that were acknowledged, lines) of a writer."""
    r = subprocess.run([STORY, directory, *map(str, words)], capture_output=True, text=True, check=False, env={
        **os.environ, **{k: str(v) for k, v in environment.items()},
        **({'LD_PRELOAD': SHIM, 'ASAN_OPTIONS': 'verify_asan_link_order=0:detect_leaks=0'} if environment else {})})
    lines = r.stdout.splitlines()
    return r.returncode, [int(x.split()[1]) for x in lines if x.startswith('acknowledged ')], lines


def subjects(t, directory):
    """Numbers of the subjects that hold, in order."""
    r = t.quoin('wal', 'show', directory, '--quins', '--json')
    t.equal(r.status, 0, r.describe())
    return [int(re.match(r'<urn:quoin:hash:([0-9a-f]{16})>', line).group(1), 16) for line in r.json()['statements']]


def make_key(t, name, *options):
    r = t.quoin('key', 'new', t.path(name + '.key'), '--json', *options)
    t.equal(r.status, 0, r.describe())
    return r.json()['public']


def vector_log(t, name, first=1):
    """A log of one file, which is one of the frozen ones."""
    os.mkdir(t.path('log'))
    shutil.copy(os.path.join(VECTORS, name), t.path(f'log/wal-{first:016x}.qwal'))
    return t.path('log')


# ---------------------------------------------------------------- keys
@test
def a_new_key_is_for_its_owner_alone_and_shown_by_its_text(t):
    public = make_key(t, 'alice')
    t.true(re.fullmatch('ed25519:[0-9a-f]{64}', public) is not None, public)
    t.equal(stat.S_IMODE(os.stat(t.path('alice.key')).st_mode), 0o600)
    with open(t.path('alice.key'), encoding='ascii') as file:
        t.has(file.read(), '-----BEGIN PRIVATE KEY-----')
    shown = t.quoin('key', 'show', t.path('alice.key'), '--json').json()
    t.equal(shown['public'], public)
    t.equal(t.quoin('key', 'show', public, '--json').json()['id'], shown['id'])
    r = t.quoin('key', 'new', t.path('alice.key'))
    t.equal(r.status, 1)
    t.has(r.err, 'not replaced')


@test
def a_key_that_the_group_can_read_is_refused(t):
    make_key(t, 'alice')
    for mode in (0o640, 0o604, 0o620):
        os.chmod(t.path('alice.key'), mode)
        r = t.quoin('key', 'show', t.path('alice.key'))
        t.equal(r.status, 6)
        t.has(r.err, f'mode {mode:04o}')
        t.equal(r.out, b'')


@test
def a_sealed_key_wants_its_passphrase(t):
    for name, text in (('right', 'spring tide\n'), ('wrong', 'neap tide\n')):
        with open(os.open(t.path(name), os.O_WRONLY | os.O_CREAT, 0o600), 'w') as file:
            file.write(text)
    public = make_key(t, 'alice', '--passphrase-file', t.path('right'))
    r = t.quoin('key', 'show', t.path('alice.key'))
    t.equal(r.status, 1)
    t.has(r.err, '--passphrase-file')
    t.equal(t.quoin('key', 'show', t.path('alice.key'), '--passphrase-file', t.path('wrong')).status, 1)
    t.equal(t.quoin('key', 'show', t.path('alice.key'), '--passphrase-file', t.path('right'), '--json').json()['public'], public)
    t.equal(t.quoin('key', 'show', t.path('alice.key'), '--passphrase-file', '-', '--json', stdin=b'spring tide').json()['public'], public)
    os.chmod(t.path('right'), 0o644)
    t.equal(t.quoin('key', 'show', t.path('alice.key'), '--passphrase-file', t.path('right')).status, 6)


@test
def a_mac_key_shows_its_id_and_never_itself(t):
    made = t.quoin('key', 'new', '--mac', t.path('mac.key'), '--json').json()
    with open(t.path('mac.key'), encoding='ascii') as file:
        secret = file.read().strip().split(':')[1]
    r = t.quoin('key', 'show', '--mac', t.path('mac.key'), '--json')
    t.equal(r.json()['id'], made['id'])
    t.true(secret.encode() not in r.out + r.err, 'the secret is printed')
    t.equal(t.quoin('key', 'show', t.path('mac.key')).status, 1)
    t.equal(t.quoin('key', 'revoke', '--mac', t.path('mac.key')).status, 2)


@test
def a_key_is_revoked_once_with_its_reason(t):
    public = make_key(t, 'alice')
    arguments = ('key', 'revoke', public, '--list', t.path('revoked'), '--reason', 'lost at sea')
    t.equal(t.quoin(*arguments, '--json', env={'SOURCE_DATE_EPOCH': 1750000000}).json()['added'], True)
    t.equal(t.quoin(*arguments, '--json').json()['added'], False)
    with open(t.path('revoked'), encoding='ascii') as file:
        t.equal(file.read(), f'{public} 2025-06-15T15:06:40Z lost at sea\n')
    t.equal(t.quoin('key', 'revoke', public).status, 2)
    t.equal(t.quoin('key', 'revoke', 'ed25519:12', '--list', t.path('revoked')).status, 1)


# ---------------------------------------------------------------- the log
@test
def show_and_verify_tell_what_a_log_holds(t):
    log = vector_log(t, 'term.qwal')
    r = t.quoin('wal', 'show', log, '--quins')
    t.equal(r.status, 0, r.describe())
    t.has(r.out, '1 transactions (1 unsigned), 2 quins, 0 pending, last record 5')
    t.has(r.out, '<http://e.example/s> <http://e.example/p> <http://e.example/\u6f6e> .')
    t.has(r.out, '"7"^^<http://www.w3.org/2001/XMLSchema#integer> <http://e.example/s> .')
    shown = t.quoin('wal', 'show', log, '--records', '--json').json()
    t.equal([x['type'] for x in shown['records']], ['TERM', 'TERM', 'TERM', 'QUINS', 'COMMIT'])
    t.equal(t.quoin('wal', 'verify', log, '--json').json()['result'], 'pass')


@test
def a_text_that_is_no_iri_does_not_break_its_line(t):
    sys.path.insert(0, VECTORS)
    from qwal_vectors import Log, q_hash, quin, unsigned
    log, text = Log(), 'two\nlines'
    unsigned(log, [quin(q_hash(text), q_hash('p'), q_hash(text))], [text, 'p'])
    os.mkdir(t.path('log'))
    with open(t.path('log/wal-0000000000000001.qwal'), 'wb') as file:
        file.write(log.data)
    lines = t.exits(0, 'wal', 'show', t.path('log'), '--quins').out.splitlines()
    t.equal(lines[1:], [b'"two\\nlines" "p" "two\\nlines" .'])


@test
def one_file_of_a_log_is_verified_and_inspected_like_other_files(t):
    log = vector_log(t, 'consent_commit.qwal')
    path = os.path.join(log, 'wal-0000000000000001.qwal')
    t.has(t.exits(0, 'verify', '--strict', path).out, 'QWAL log')
    t.equal(t.exits(0, 'inspect', path, '--json').json()['commits'], 2)
    with open(path, 'r+b') as file:
        file.seek(120)
        file.write(b'!')
    t.has(t.exits(1, 'verify', path).err, 'wal-damage')


@test
def a_signature_is_judged_by_the_keys_that_are_given(t):
    log = vector_log(t, 'signature.qwal')
    key = 'ed25519:8a88e3dd7409f195fd52db2d3cba5d72ca6709bf1d94121bf3748801b40f6f5c'
    with open(t.path('trusted'), 'w', encoding='ascii') as file:
        file.write(f'{key} did:example:alice\n')
    r = t.quoin('wal', 'verify', log, '--json')
    t.equal((r.status, r.json()['signatures']['unknown']), (7, 1))
    r = t.quoin('wal', 'verify', log, '--trusted', t.path('trusted'), '--json')
    t.equal((r.status, r.json()['signatures']['valid']), (0, 1), r.describe())
    t.equal(t.quoin('key', 'revoke', key, '--list', t.path('revoked')).status, 0)
    r = t.quoin('wal', 'verify', log, '--trusted', t.path('trusted'), '--revoked', t.path('revoked'), '--json')
    t.equal((r.status, r.json()['signatures']['revoked']), (7, 1))


@test
def the_frozen_agreement_is_verified_and_its_quins_hold(t):
    log = vector_log(t, 'consent_commit.qwal')
    with open(t.path('trusted'), 'w', encoding='ascii') as file:
        file.write('ed25519:8a88e3dd7409f195fd52db2d3cba5d72ca6709bf1d94121bf3748801b40f6f5c did:example:alice\n'
                   'ed25519:8139770ea87d175f56a35466c34c7ecccb8d8a91b4ee37a25df60f5b8fc9b394 did:example:bob\n')
    r = t.quoin('wal', 'verify', log, '--trusted', t.path('trusted'), '--json')
    t.equal((r.status, r.json()['consents']['valid']), (0, 2), r.describe())
    shown = t.quoin('wal', 'show', log, '--json').json()
    t.equal((shown['agreements'][0]['standing'], shown['quins'], shown['pending']), ('committed', 3, 0))
    with open(t.path('trusted'), 'w', encoding='ascii') as file:  # the names exchanged
        file.write('ed25519:8a88e3dd7409f195fd52db2d3cba5d72ca6709bf1d94121bf3748801b40f6f5c did:example:bob\n')
    r = t.quoin('wal', 'verify', log, '--trusted', t.path('trusted'), '--json')
    t.equal((r.status, r.json()['consents']['wrong'], r.json()['result']), (1, 1, 'fail'))


@test
def damage_is_told_by_file_byte_and_rule(t):
    log = t.path('log')
    t.equal(story(log, 'commit', 3)[0], 0)
    path = os.path.join(log, 'wal-0000000000000001.qwal')
    with open(path, 'r+b') as file:
        file.seek(100)
        byte = file.read(1)
        file.seek(100)
        file.write(bytes([byte[0] ^ 1]))
    for word in ('show', 'verify', 'checkpoint'):
        r = t.quoin('wal', word, log, '--json')
        t.equal((r.status, r.json()['rule'], r.json()['offset']), (1, 'wal-damage', 64), r.describe())
        t.has(r.err, path)


@test
def what_a_crash_left_is_a_note_until_a_writer_cuts_it_off(t):
    log = t.path('log')
    t.equal(story(log, 'commit', 2)[0], 0)
    path = os.path.join(log, 'wal-0000000000000001.qwal')
    with open(path, 'ab') as file:
        file.write(b'QQWR and a little more')
    r = t.quoin('wal', 'verify', log, '--json')
    t.equal((r.status, r.json()['torn_bytes'], r.json()['result']), (7, 22, 'incomplete'))
    t.equal(t.quoin('wal', 'verify', log, '--strict').status, 1)
    t.equal(story(log, 'commit', 1)[0], 0)
    t.equal(t.quoin('wal', 'verify', log, '--strict').status, 0)
    t.equal(subjects(t, log), [2, 3, 4, 5, 2, 3])


@test
def older_logs_are_imported_signed_or_said_to_be_unsigned(t):
    old = os.path.join(VECTORS, 'old_bare.wal')
    t.equal(t.quoin('wal', 'import', t.path('log'), old).status, 2)
    t.true(not os.path.exists(t.path('log')), 'a log was made')
    r = t.quoin('wal', 'import', t.path('log'), old, '--unsigned', '--json').json()
    t.equal((r['quins'], r['wrong_parities'], r['had_digest']), (3, 1, False))
    public = make_key(t, 'alice')
    r = t.quoin('wal', 'import', t.path('log'), os.path.join(VECTORS, 'old_headed.wal'), '--key', t.path('alice.key'), '--json').json()
    t.equal((r['quins'], r['empty'], r['had_digest']), (2, 1, True))
    with open(t.path('trusted'), 'w', encoding='ascii') as file:
        file.write(f'{public} alice\n')
    r = t.quoin('wal', 'verify', t.path('log'), '--trusted', t.path('trusted'), '--json').json()
    t.equal((r['result'], r['unsigned'], r['signatures']['valid']), ('pass', 1, 1))
    with open(t.path('cut.wal'), 'wb') as file:
        file.write(b'x' * 100)
    r = t.quoin('wal', 'import', t.path('log'), t.path('cut.wal'), '--unsigned', '--json')
    t.equal((r.status, r.json()['rule']), (1, 'wal-old-size'))
    t.equal(t.quoin('wal', 'import', '.', old, '--unsigned').status, 1)


@test
def a_checkpoint_is_a_volume_that_can_be_queried_and_older_files_go(t):
    log = t.path('log')
    shutil.rmtree(log, ignore_errors=True)
    vector_log(t, 'term.qwal')
    r = t.quoin('wal', 'checkpoint', log, '--json').json()
    t.equal((r['made'], r['transactions'], r['quins'], r['terms']), (True, 1, 2, 3))
    t.exits(0, 'verify', r['volume'])
    found = t.quoin('query', r['volume'], '?s <http://e.example/p> ?o', '--terms', 'bare', '--json')
    t.equal(found.status, 0, found.describe())
    t.equal(t.quoin('wal', 'verify', log, '--json').json()['volumes'], 1)
    t.equal(t.quoin('wal', 'checkpoint', log, '--json').json()['made'], False)
    t.equal(story(log, 'commit', 40)[0], 0)
    r = t.quoin('wal', 'checkpoint', log, '--keep', 0, '--json').json()
    t.true(r['removed_files'] > 0, r)
    t.equal(t.quoin('wal', 'verify', log, '--strict').status, 0)
    with open(r['volume'], 'r+b') as file:
        file.seek(300)
        file.write(b'!')
    r = t.quoin('wal', 'verify', log, '--json')
    t.equal((r.status, r.json()['wrong_volumes']), (1, 1))


# ---------------------------------------------------------------- agreements
def trust(t, names):
    with open(t.path('trusted'), 'w', encoding='ascii') as file:
        for name in names:
            file.write(f'{make_key(t, name)} did:example:{name}\n')


def consent(t, name, *more):
    return t.quoin('wal', 'consent', t.path('log'), 'a11ce', '--key', t.path(name + '.key'), '--trusted', t.path('trusted'), '--json', *more)


@test
def two_signers_release_a_suspended_transaction(t):
    trust(t, ['alice', 'bob', 'carol'])
    t.equal(story(t.path('log'), 'suspend', 'did:example:alice', 'did:example:bob')[0], 0)
    t.equal(subjects(t, t.path('log')), [])
    r = consent(t, 'alice')
    t.equal((r.status, r.json()['standing'], r.json()['consents']), (0, 'pending', 1), r.describe())
    r = consent(t, 'alice')
    t.equal(r.status, 1)
    t.has(r.err, 'already')
    r = consent(t, 'carol')
    t.equal(r.status, 1)
    t.has(r.err, 'no signer')
    t.equal(subjects(t, t.path('log')), [])
    r = consent(t, 'bob')
    t.equal((r.status, r.json()['standing']), (0, 'committed'), r.describe())
    t.equal(subjects(t, t.path('log')), [100, 101])
    r = t.quoin('wal', 'verify', t.path('log'), '--trusted', t.path('trusted'), '--json')
    t.equal((r.status, r.json()['consents']['valid']), (0, 2))
    r = consent(t, 'bob')
    t.equal(r.status, 1)
    t.has(r.err, 'committed already')


@test
def a_revoked_key_and_a_withdrawn_agreement_are_refused(t):
    trust(t, ['alice', 'bob'])
    t.equal(story(t.path('log'), 'suspend', 'did:example:alice', 'did:example:bob')[0], 0)
    t.equal(t.quoin('key', 'revoke', t.path('alice.key'), '--list', t.path('revoked')).status, 0)
    r = consent(t, 'alice', '--revoked', t.path('revoked'))
    t.equal(r.status, 1)
    t.has(r.err, 'revoked')
    r = t.quoin('wal', 'consent', t.path('log'), '0xa11ce', '--withdraw', '--json')
    t.equal((r.status, r.json()['standing']), (0, 'withdrawn'))
    t.equal(consent(t, 'bob').status, 1)
    t.equal(t.quoin('wal', 'consent', t.path('log'), 'beef', '--withdraw').status, 1)
    t.equal(t.quoin('wal', 'consent', t.path('log'), 'no id', '--withdraw').status, 2)
    t.equal(t.quoin('wal', 'consent', t.path('log'), 'a11ce').status, 2)


# ---------------------------------------------------------------- crashes
def kill_everywhere(t, run, check, least):
    """Runs a writer again and again, killed before its first call, its second, and so on to its end."""
    n, status = 0, -signal.SIGKILL
    while status == -signal.SIGKILL:
        n += 1
        shutil.rmtree(t.path('log'), ignore_errors=True)
        status, acknowledged, lines = run(n)
        t.true(status in (0, -signal.SIGKILL), f'call {n}: {status} {lines}')
        check(n, acknowledged, lines)
        t.true(n < 1000, 'it never ends')
    t.true(n > least, f'only {n} calls')


@test
def a_writer_that_is_killed_before_any_call_loses_nothing_acknowledged_and_shows_no_half(t):
    n_commits = 18  # 4096 bytes hold fifteen: one change of files

    def check(n, acknowledged, _):
        holds = subjects(t, t.path('log')) if glob.glob(t.path('log/wal-*')) else []
        t.equal(acknowledged, list(range(1, len(acknowledged) + 1)))
        t.equal(holds, list(range(2, 2 + len(holds))), f'killed before call {n}')
        t.true(len(holds) % 2 == 0 and len(holds) // 2 - len(acknowledged) in (0, 1), f'call {n}: {acknowledged} {holds}')
        status, again, lines = story(t.path('log'), 'commit', 1)  # the next writer goes on
        t.equal((status, again), (0, [1]), f'after call {n}: {lines}')
        if n % 8 == 0:
            t.equal(t.quoin('wal', 'verify', '--strict', t.path('log')).status, 0, f'after call {n}')

    kill_everywhere(t, lambda n: story(t.path('log'), 'commit', n_commits, KILL_AT_CALL=n), check, 3 * n_commits)
    t.equal(len(glob.glob(t.path('log/wal-*'))), 2)


@test
def a_write_that_stops_in_the_middle_shows_nothing_of_its_transaction(t):
    for part in (1, 31, 32, 64, 200, 255):
        def check(n, acknowledged, _, part=part):
            holds = subjects(t, t.path('log')) if glob.glob(t.path('log/wal-*')) else []
            t.true(len(holds) // 2 - len(acknowledged) in (0, 1) and len(holds) % 2 == 0, f'{part} bytes, call {n}: {acknowledged} {holds}')

        kill_everywhere(t, lambda n, part=part: story(t.path('log'), 'commit', 2, KILL_AT_CALL=n, KILL_SHORT=part), check, 6)


@test
def a_consent_that_is_killed_before_any_call_counts_once_or_not_at_all(t):
    trust(t, ['alice'])
    n, status = 0, -signal.SIGKILL
    while status == -signal.SIGKILL:
        n += 1
        shutil.rmtree(t.path('log'), ignore_errors=True)
        t.equal(story(t.path('log'), 'suspend', 'did:example:alice')[0], 0)
        status = subprocess.run([PROGRAM, 'wal', 'consent', t.path('log'), 'a11ce', '--key', t.path('alice.key'), '--trusted',
                                 t.path('trusted'), '-q'], capture_output=True, check=False, env={
                                     **os.environ, 'KILL_AT_CALL': str(n), 'LD_PRELOAD': SHIM,
                                     'ASAN_OPTIONS': 'verify_asan_link_order=0:detect_leaks=0'}).returncode
        t.true(status in (0, -signal.SIGKILL), f'call {n}: {status}')
        shown = t.quoin('wal', 'show', t.path('log'), '--json').json()
        t.true((shown['agreements'][0]['standing'], shown['quins']) in (('pending', 0), ('committed', 2)), f'call {n}: {shown}')
        if shown['pending'] == 1:
            t.true(status != 0, 'it said that it was done')
            t.equal(consent(t, 'alice').json()['standing'], 'committed', f'call {n}')
        t.true(n < 200, 'it never ends')
    t.true(n > 5, f'{n} calls')


@test
def a_checkpoint_that_is_killed_before_any_call_loses_no_transaction(t):
    n, status = 0, -signal.SIGKILL
    t.equal(story(t.path('made'), 'commit', 5)[0], 0)
    wanted = subjects(t, t.path('made'))
    while status == -signal.SIGKILL:
        n += 1
        shutil.rmtree(t.path('log'), ignore_errors=True)
        shutil.copytree(t.path('made'), t.path('log'))
        status = subprocess.run([PROGRAM, 'wal', 'checkpoint', t.path('log'), '--keep', '0', '-q', '--threads', '1'], capture_output=True,
                                check=False, env={**os.environ, 'KILL_AT_CALL': str(n), 'LD_PRELOAD': SHIM,
                                                  'ASAN_OPTIONS': 'verify_asan_link_order=0:detect_leaks=0'}).returncode
        t.true(status in (0, -signal.SIGKILL), f'call {n}: {status}')
        shown = t.quoin('wal', 'show', t.path('log'), '--quins', '--json').json()
        if shown['checkpoint'] is None:
            t.equal(len(shown['statements']), len(wanted), f'call {n}')
        else:
            t.true(os.path.exists(t.path(f'log/checkpoint-{shown["checkpoint"]["last_sequence"]:016x}.q42')), f'call {n}')
        r = t.quoin('wal', 'checkpoint', t.path('log'), '--json')
        t.equal(r.status, 0, f'call {n}: {r.describe()}')
        t.equal(t.quoin('wal', 'verify', t.path('log'), '--json').json()['wrong_volumes'], 0, f'call {n}')
        t.true(n < 300, 'it never ends')
    t.true(n > 12, f'{n} calls')


@test
def a_failed_sync_is_no_acknowledgement_and_ends_the_writer(t):
    n = 0
    seen = 0
    while True:
        n += 1
        shutil.rmtree(t.path('log'), ignore_errors=True)
        status, acknowledged, lines = story(t.path('log'), 'keep-going', 3, KILL_AT_CALL=n, FAIL_SYNC=1)
        refused = [x for x in lines if x.startswith('refused')]
        if status == 0 and refused:
            seen += 1
            t.equal(acknowledged, list(range(1, 4 - len(refused))), f'call {n}: {lines}')
            t.equal(subjects(t, t.path('log')), list(range(2, 2 + 2 * len(acknowledged))), f'call {n}')
        if status == 0 and len(acknowledged) == 3 and n > 30:
            break
        t.true(n < 100, 'it never ends')
    t.equal(seen, 3)


if __name__ == '__main__':
    main()
