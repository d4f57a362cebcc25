#!/usr/bin/env python3
"""quoin verify and inspect on Q42 volumes, volume sets and the files around them, built by the independent encoder of tests/vectors/q42.

Exit statuses: 0 everything passed, 1 a check failed, 7 nothing failed and something is missing."""
import atexit
import hashlib
import os
import shutil
import struct
import sys
import tempfile

from models import make_cases
from program import *

sys.path.insert(0, source('tests/vectors/q42'))
import q42_vectors as q42

# What the message about a rejected case must hold, and the rule that refuses it, by the beginning of its name.
WORDS = {
    'qbad-01': ('header.magic', '51 34 33 00'), 'qbad-02': ('header.version_old', 'version 2', 'quoin migrate'),
    'qbad-04': ('section.bounds', 'lexicon', '1099511627776'), 'qbad-05': ('section.bounds', 'lexicon', '18446744073709551600'),
    'qbad-07': ('section.bounds', 'block data', 'byte 0'), 'qbad-08': ('header.directory_length', '16 bytes', '2 blocks'),
    'qbad-10': ('header.block_size', '4096'), 'qbad-11': ('header.quins_per_block', '851'),
    'qdir-01': ('directory.offset', 'block 0', '1000000'), 'qdir-03': ('directory.decoded_size', '4294967295'),
    'qdir-04': ('directory.size', '3 bytes'), 'qlz-01': ('blocks.size_word', '4294967295'), 'qlz-02': ('blocks.size_word', '100 bytes'),
    'qlz-04': ('blocks.lz4', 'block 0'), 'qlz-05': ('blocks.lz4', 'distance 0'), 'qlz-07': ('blocks.lz4', 'block 0'),
    'qlz-08': ('blocks.lz4', '100005'), 'qlz-10': ('blocks.lz4', 'block 0'), 'qlz-11': ('blocks.lz4', '0 bytes'),
    'qblk-02': ('blocks.parity', 'block 0, slot 0'), 'qblk-03': ('blocks.order', 'block 0, slot 2'),
    'qblk-05': ('blocks.tail', 'slot 3'), 'qlex-02': ('lexicon.order', 'again'), 'qlex-03': ('lexicon.keys', 'thref'),
    'qlex-05': ('lexicon.entry', 'page 0'), 'qlex-06': ('lexicon.count', '1152921504606846976'), 'qidx-01': ('bidx.range', 'block 0'),
    'qidx-02': ('blocks.bidx', 'BIDX'), 'qidx-04': ('bidx.header', '4294967295'),
}
NOTES = {'qbad-13': 'file.trailing', 'qblk-06': 'blocks.duplicate'}  # a note by default, refused strictly


def prefix_of(case):
    return '-'.join(case['id'].split('-')[:2])


def check_rejected(t, case):
    rule, *words = WORDS[prefix_of(case)]
    r = t.exits(1, 'verify', case['path'])
    errors = [line for line in r.err.decode().splitlines() if line.startswith('error: ')]
    t.equal(len(errors), 1, 'lines that begin with "error: "')
    t.has(errors[0], case['file'], *words)
    verdict = t.exits(1, 'verify', case['path'], '--json').json()
    t.equal((verdict['valid'], verdict['rule']), (False, rule))
    t.has(verdict['message'], f'byte {verdict["offset"]}', f'rule {rule}')
    t.true(r.cpu < 2 * SLOWNESS, f'{r.cpu:.2f} s of processor time')


def check_accepted(t, case):
    note = NOTES.get(prefix_of(case))
    verdict = t.exits(0, 'verify', case['path'], '--json').json()
    t.equal((verdict['valid'], verdict['verdict'], verdict['rule']), (True, 'pass', None))
    t.equal([n['rule'] for n in verdict['notes']], [note] if note else [])
    if note:
        t.equal(t.exits(1, 'verify', '--strict', case['path'], '--json').json()['rule'], note)
    else:
        t.exits(0, 'verify', '--strict', case['path'])


def case_test(case):
    return lambda t: (check_rejected if case['expect'] == 'reject' else check_accepted)(t, case)


def checks(t, status, path, *args, member=0):
    """{check: verdict} of one file of the report."""
    report = t.exits(status, 'verify', path, '--json', *args).json()
    return {c['check']: c['verdict'] for c in report['files'][member]['checks']}


def write(t, name, data):
    with open(t.path(name), 'wb') as f:
        f.write(data)
    return t.path(name)


# ------------------------------------------------------------------------------------------------ one volume
S, P = q42.q_hash('http://ex/s'), q42.q_hash('http://ex/p')
NAMES = {q42.q_hash(n): n for n in ['http://ex/s', 'http://ex/p'] + [f'http://ex/o{i}' for i in range(40)]}
OBJECTS = sorted(k for k, n in NAMES.items() if n.startswith('http://ex/o'))
QUINS = [q42.quin(S, P, o) for o in OBJECTS]


def volume(**how):
    return q42.write_volume(q42.lex_paged(NAMES), [QUINS[:25], QUINS[25:]], profile='builder', ts=1, **how)


@test
def each_level_makes_its_own_checks(t):
    path = write(t, 'a.q42', volume())
    structure = {'structure.open', 'structure.object_sorted', 'structure.merkle'}
    blocks = {'blocks.decode', 'blocks.tail', 'dag.chain', 'merkle.value'}
    lexicon, indexes = {'lexicon.entries', 'lexicon.keys'}, {'indexes.bidx', 'indexes.field_ranges', 'indexes.postings'}
    content = {'indexes.fidx_content', 'indexes.pidx_content', 'lexicon.coverage'}
    wanted = {'structure': structure, 'blocks': structure | blocks, 'lexicon': structure | lexicon, 'indexes': structure | indexes,
              'full': structure | blocks | lexicon | indexes | content}
    for level, names in wanted.items():
        found = checks(t, 0, path, '--level', level)
        t.equal(set(found), names, f'checks of level {level}')
        t.equal(set(found.values()), {'pass'}, 'verdicts')
    t.equal(set(checks(t, 0, path)), wanted['full'], 'checks by default')
    t.equal(set(checks(t, 0, path, '--level', 'blocks', '--check-all')), wanted['full'], 'checks of --check-all')
    t.exits(2, 'verify', path, '--level', 'some')


@test
def a_level_does_not_see_what_another_would(t):
    raw = bytearray(volume())
    lexicon_at = struct.unpack_from('<Q', raw, 8)[0]
    raw[lexicon_at + 40 + 32 + 16 + 16 * len(NAMES) + 3] ^= 0x20                  # a letter of the first term
    path = write(t, 'a.q42', bytes(raw))
    t.exits(0, 'verify', path, '--level', 'blocks')
    t.exits(0, 'verify', path, '--level', 'indexes')
    t.equal(checks(t, 1, path, '--level', 'lexicon')['lexicon.keys'], 'fail')


@test
def all_threads_find_the_first_fault(t):
    blocks = [[q42.quin(S, P, 1000 * i + k + 1) for k in range(3)] for i in range(300)]
    for b in (117, 201):
        blocks[b][1] = (*blocks[b][1][:5], 0)
    path = write(t, 'a.q42', q42.write_volume(q42.lex_paged({}), blocks, profile='builder'))
    for n in (1, 2, 4):
        report = t.exits(1, 'verify', path, '--level', 'blocks', '--json', '--threads', n).json()
        t.has(report['message'], 'block 117, slot 1')
        t.equal(report['rule'], 'blocks.parity')


@test
def missing_terms_are_incomplete_without_the_mark_and_fail_with_it(t):
    names = dict(NAMES)
    del names[OBJECTS[7]]
    path = write(t, 'a.q42', q42.write_volume(q42.lex_paged(names), [QUINS]))
    t.equal(checks(t, 7, path)['lexicon.coverage'], 'incomplete')
    r = t.exits(7, 'verify', path)
    t.has(r.err, 'quins name 1 ids', f'{OBJECTS[7]:016x}')
    t.has(r.out, 'incomplete')
    mark = 'quoin:terms=surface:1'
    names[q42.q_hash(mark)] = mark
    path = write(t, 'b.q42', q42.write_volume(q42.lex_paged(names), [QUINS]))
    t.equal(checks(t, 1, path)['lexicon.coverage'], 'fail')
    t.exits(0, 'verify', path, '--level', 'lexicon')


@test
def many_ids_are_sorted_in_little_memory(t):
    blocks = [[q42.quin(q42.q_hash(f's{i}.{k}'), P, 850 * i + k + 1) for k in range(850)] for i in range(60)]
    path = write(t, 'a.q42', q42.write_volume(q42.lex_paged({}), blocks, profile='builder'))
    for memory in ('1M', '256M'):
        r = t.exits(7, 'verify', path, '--memory', memory)
        t.has(r.err, f'quins name {60 * 850 * 2 + 1} ids')


@test
def inline_values_pointers_and_the_default_graph_need_no_terms(t):
    quins = sorted([q42.quin(S, P, q42.pack_int(5)), q42.quin(S, P, q42.pack_bool(1)), q42.quin(S, P, q42.did_q42('did:q42:x')),
                    q42.quin(q42.embedded_id(1, 2, 3), P, S)], key=lambda q: q[2])
    names = {S: 'http://ex/s', P: 'http://ex/p'}
    t.exits(0, 'verify', write(t, 'a.q42', q42.write_volume(q42.lex_paged(names), [quins])))


@test
def a_volume_without_root_indexes_or_terms_is_incomplete(t):
    raw = bytearray(q42.write_volume(q42.lex_paged({}), [QUINS]))
    raw[104:136] = bytes(32)
    raw[6] &= 0x07                                                              # no FIDX, no PIDX
    found = checks(t, 7, write(t, 'a.q42', bytes(raw)))
    for name in ('structure.merkle', 'lexicon.entries', 'indexes.field_ranges', 'indexes.postings', 'lexicon.coverage'):
        t.equal(found[name], 'incomplete', name)
    t.equal(found['blocks.decode'], 'pass')


@test
def a_wrong_link_of_the_dag_is_found(t):
    raw = bytearray(volume())
    raw[len(raw) - 88] ^= 1                                                     # parent of the second node
    found = checks(t, 1, write(t, 'a.q42', bytes(raw)), '--level', 'blocks')
    t.equal((found['dag.chain'], found['merkle.value'], found['blocks.decode']), ('fail', 'fail', 'pass'))


# ------------------------------------------------------------------------------------------------ sets
def make_set(t, **break_it):
    """root.q42 with two data children and two lexicon shards. break_it: 'child' and 'manifest' are called on what they name."""
    children = [q42.write_volume(q42.lex_paged({}), [part], profile='builder', ts=1) for part in (QUINS[:25], QUINS[25:])]
    keys = sorted(NAMES)
    shards = [q42.write_volume(q42.lex_paged({k: NAMES[k] for k in part}), [], profile='builder') for part in (keys[:20], keys[20:])]
    segments = [[f'root.segment-{i:05d}.q42', len(c), p[0][2], p[-1][2], len(p), hashlib.sha256(c).digest()]
                for i, (c, p) in enumerate(zip(children, (QUINS[:25], QUINS[25:])))]
    lexicons = [[f'root.lex-{i:05d}.q42', len(s), p[0], p[-1], hashlib.sha256(s).digest()]
                for i, (s, p) in enumerate(zip(shards, (keys[:20], keys[20:])))]
    if 'manifest' in break_it:
        break_it['manifest'](segments, lexicons)
    manifest = q42.manifest_v2(1, segments, lexicons)
    for record, data in zip(segments + lexicons, children + shards):
        if os.sep not in record[0] and '://' not in record[0]:
            write(t, record[0], data)
    return write(t, 'root.q42', q42.write_volume(q42.lex_paged({}), [], profile='builder', manifest=manifest))


@test
def a_whole_set_passes_and_each_file_has_its_role(t):
    report = t.exits(0, 'verify', make_set(t), '--json').json()
    t.equal([f['role'] for f in report['files']], ['root', 'child', 'child', 'shard', 'shard'])
    t.equal([f['verdict'] for f in report['files']], ['pass'] * 5)
    root = {c['check']: c['verdict'] for c in report['files'][0]['checks']}
    t.equal((root['set.digests'], root['lexicon.coverage'], root['blocks.decode']), ('pass', 'pass', 'not_applicable'))
    t.equal(sum(f['quins'] for f in report['files']), 40)
    t.equal(report['notes'][0]['path'], t.path('root.q42'))                       # the unused bytes of this encoder's roots


@test
def a_set_is_found_beside_its_root_from_any_folder(t):
    make_set(t)
    t.exits(0, 'verify', 'root.q42')
    t.exits(0, 'verify', os.path.join('..', os.path.basename(t.folder), 'root.q42'))


@test
def a_missing_member_is_named(t):
    path = make_set(t)
    os.remove(t.path('root.segment-00001.q42'))
    r = t.exits(1, 'verify', path)
    t.has(r.err, 'member 1', 'root.segment-00001.q42', 'No such file', 'rule set.member')
    found = checks(t, 1, path)
    t.equal((found['set.member'], found['lexicon.coverage']), ('fail', 'not_checked'))


@test
def one_changed_byte_of_a_member_breaks_its_digest(t):
    path = make_set(t)
    with open(t.path('root.segment-00000.q42'), 'r+b') as f:
        f.seek(136)                                                              # the time stamp: nothing else looks at it
        f.write(b'\x07')
    report = t.exits(1, 'verify', path, '--json').json()
    t.equal(report['rule'], 'set.digests')
    t.has(report['message'], 'member 0', 'root.segment-00000.q42')


def spoil(which, index, field, value):
    def change(segments, lexicons):
        (segments if which == 'segment' else lexicons)[index][field] = value
    return change


for name, change, words in [
        ('another_length', spoil('segment', 0, 1, 99), ['member 0', '99']),
        ('another_first_object', spoil('segment', 0, 2, 1), ['member 0', 'goes from']),
        ('another_count_of_quins', spoil('segment', 1, 4, 16), ['member 1', '15 quins', '16']),
        ('another_last_key', spoil('shard', 1, 3, 2**60 - 1), ['member 3', 'goes from']),
        ('a_remote_member', spoil('segment', 0, 0, 'ipfs://bafyfoo'), ['member 0', 'ipfs'])]:
    def changed(t, change=change, words=words):
        t.has(t.exits(1, 'verify', make_set(t, manifest=change)).err, 'rule set.member', *words)
    add_test(f'a_manifest_that_tells_{name}_is_refused', changed)


@test
def a_damaged_child_of_a_set_is_named_with_its_rule(t):
    path = make_set(t)
    with open(t.path('root.segment-00001.q42'), 'r+b') as f:
        f.seek(4)
        f.write(b'\x09')
    report = t.exits(1, 'verify', path, '--json').json()
    t.equal([f['verdict'] for f in report['files']], ['fail', 'pass', 'fail', 'pass', 'pass'])
    t.equal(report['files'][2]['checks'][0]['rule'], 'header.version')


@test
def a_member_that_is_the_root_again_is_refused(t):
    path = make_set(t)
    shutil.copy(path, t.path('root.segment-00000.q42'))
    t.has(t.exits(1, 'verify', path).err, 'rule set.')
    t.equal(checks(t, 1, path)['set.member'], 'fail')


# ------------------------------------------------------------------------------------------------ other kinds
@test
def files_around_volumes_are_told_apart(t):
    quin = q42.quin(S, P, 7)
    raw = q42.superblock(0, [quin])
    payload = q42.payload(q42.quin_bytes(quin))
    kinds = {
        'Q42LEX sidecar': q42.lex_v1(NAMES, False), 'BIDX sidecar': q42.bidx([QUINS]), 'QCHK envelope': q42.qchk('health', '{}'),
        'Q42J journal': q42.q42j_header(1, 0, bytes(32), 0), 'CAR archive': q42.car([b'intact']),
        'framed Q42 transport': struct.pack('<QII', 0, len(payload), 48) + payload,
    }
    for name, data in kinds.items():
        t.equal(t.exits(0, 'verify', write(t, 'file', data), '--json').json()['format'], name)
    report = t.exits(7, 'verify', write(t, 'raw.q42', raw), '--json').json()     # no sidecars beside it
    t.equal(report['format'], 'Q42 version 1 blocks')


@test
def bare_quins_are_read_only_when_asked_for(t):
    path = write(t, 'dump.q42', q42.quin_bytes(QUINS[0]) * 2)
    t.exits(1, 'verify', path)
    report = t.exits(0, 'verify', '--flat', path, '--json').json()
    t.equal((report['format'], report['files'][0]['quins']), ('bare quins', 2))


@test
def a_magic_that_matched_is_final(t):
    raw = q42.superblock(0, [q42.quin(S, P, 7)])
    for magic, word in ((b'Q42\0', 'version'), (b'Q42J', 'journal'), (b'QCHK', 'envelope'), (b'Q42W', 'Q42W'), (b'QKVP', 'KV')):
        t.has(t.exits(1, 'verify', write(t, 'x', magic + raw[len(magic):])).err, 'error')
        t.lacks(t.last.out, 'ok')


@test
def the_real_sidecars_of_version_1_pass(t):
    for name in ('schemaorg-current-https.q42.lex', 'schemaorg-current-https.q42.bidx'):
        t.exits(0, 'verify', corpus('data/schemaorg-legacy/' + name))


@test
def an_empty_and_a_missing_file_are_told_apart(t):
    t.has(t.exits(1, 'verify', write(t, 'empty.q42', b'')).err, '0 bytes')
    t.has(t.exits(6, 'verify', t.path('absent.q42')).err, 'absent.q42')


# ------------------------------------------------------------------------------------------------ inspect
def inspect(t, path, *args):
    return t.exits(0, 'inspect', path, '--json', *args).json()


@test
def inspect_names_sections_flags_and_what_is_missing(t):
    shown = inspect(t, write(t, 'a.q42', volume(commons=True)))
    t.equal(shown['flag_names'], ['lz4', 'object-sorted', 'field-ranges', 'field-postings', 'permissive-commons'])
    t.equal([s['name'] for s in shown['sections']],
            ['header', 'lexicon', 'bidx', 'field-ranges', 'field-postings', 'block-directory', 'block-data', 'merkle-dag'])
    t.equal((shown['block_count'], shown['quins'], shown['lexicon_entries']), (2, 40, len(NAMES)))
    t.equal((shown['publication_class'], shown['may_public_magnet'], shown['merkle_kind']), ('permissive-commons', True, 'dag'))
    raw = bytearray(q42.write_volume(q42.lex_paged({}), [QUINS]))
    raw[6] &= 0x0f
    shown = inspect(t, write(t, 'b.q42', bytes(raw)))
    t.has(' '.join(shown['honesty']), 'no terms', 'no postings', 'not declared public')
    t.equal(shown['publication_class'], 'unmarked-local')


@test
def inspect_explains_which_quin_closes_a_volume(t):
    quins = sorted([*QUINS[:10], q42.quin(S, P, OBJECTS[20], 0, 3 << 56)], key=lambda q: q[2])
    path = write(t, 'a.q42', q42.write_volume(q42.lex_paged(NAMES), [quins], profile='builder', commons=True))
    shown = inspect(t, path, '--explain')
    t.equal((shown['publication_class'], shown['may_public_magnet']), ('sanctuary', False))
    slot = [q[4] for q in quins].index(3 << 56)
    t.equal((shown['explain']['ours']['block'], shown['explain']['ours']['slot']), (0, slot))
    t.equal(shown['explain']['ours']['object']['term'], NAMES[OBJECTS[20]])
    t.equal(shown['explain']['ours']['metadata'], '0300000000000000')


@test
def a_graph_name_whose_hash_looks_like_a_label_closes_nothing_by_our_rule(t):
    name = next(n for n in (f'http://ex/g{i}' for i in range(10000)) if q42.q_hash(n) >> 56 in (1, 2))
    names = {**NAMES, q42.q_hash(name): name}
    quins = [q42.quin(q[0], q[1], q[2], q42.q_hash(name)) for q in QUINS]
    raw = bytearray(q42.write_volume(q42.lex_paged(names), [quins], profile='builder'))
    raw[6] = raw[6] & ~0x40 | 0x20
    shown = inspect(t, write(t, 'a.q42', bytes(raw)))
    t.equal((shown['publication_class'], shown['may_public_magnet']), ('permissive-commons', True))
    t.equal((shown['reference_class'], shown['reference_may_public_magnet']), ('mixed-fail-closed', False))
    t.has(shown['reference_quin'], 'block 0, slot 0', f'{q42.q_hash(name):016x}')


@test
def both_flags_at_once_close_a_volume(t):
    raw = bytearray(volume(commons=True))
    raw[6] |= 0x40
    shown = inspect(t, write(t, 'a.q42', bytes(raw)))
    t.equal((shown['publication_class'], shown['may_public_magnet']), ('mixed-fail-closed', False))
    raw[6] &= ~0x60
    t.equal(inspect(t, write(t, 'b.q42', bytes(raw)))['publication_class'], 'unmarked-local')


@test
def inspect_shows_the_members_of_a_set(t):
    path = make_set(t)
    shown = inspect(t, path)
    t.equal((shown['manifest']['segments'], shown['manifest']['lexicon_shards'], shown['quins']), (2, 2, 40))
    t.has(' '.join(shown['honesty']), '2 files', 'volume root')
    os.remove(t.path('root.segment-00001.q42'))
    shown = inspect(t, path)
    t.equal((shown['publication_class'], shown['may_public_magnet']), (None, False))
    t.has(shown['publication_reason'], 'root.segment-00001.q42')


@test
def inspect_shows_the_files_around_volumes(t):
    quin = q42.quin(S, P, 7)
    payload = q42.payload(q42.quin_bytes(quin))
    for name, data, wanted in [
            ('lex', q42.lex_v1(NAMES, False), {'entries': len(NAMES), 'form': 'flat, untagged (1)'}),
            ('bidx', q42.bidx([QUINS]), {'blocks': 1}), ('qchk', q42.qchk('health', '{}'), {'profile_name': 'health', 'payload': '{}'}),
            ('q42j', q42.q42j_header(1, 0, bytes(32), 7), {'base_generation': 7, 'transactions': 0, 'privacy': 'sanctuary'}),
            ('car', q42.car([b'intact']), {'blocks': 1, 'roots': 0, 'content_bytes': 6}),
            ('c.q42', struct.pack('<QII', 0, len(payload), 48) + payload, {'chunks': 1, 'quins': 1}),
            ('raw', q42.superblock(0, [quin]), {'blocks': 1, 'quins': 1})]:
        shown = inspect(t, write(t, 'file.' + name, data))
        t.equal({k: shown[k] for k in wanted}, wanted, name)
    flat = write(t, 'dump', q42.quin_bytes(quin))
    t.equal(inspect(t, flat, '--flat')['quin_list'][0]['object'], f'{7:016x}')
    t.exits(1, 'inspect', flat)


@test
def inspect_refuses_what_verify_refuses_at_open(t):
    raw = volume()
    t.has(t.exits(1, 'inspect', write(t, 'a.q42', raw[:-1])).err, 'rule section.bounds')
    t.has(t.exits(1, 'inspect', write(t, 'b.q42', raw[:4] + b'\2\0' + raw[6:])).err, 'quoin migrate')
    broken = bytearray(raw)
    broken[struct.unpack_from('<Q', raw, 56)[0]] ^= 1
    path = write(t, 'c.q42', bytes(broken))
    t.equal(inspect(t, path)['publication_class'], 'sanctuary')                 # what cannot be read is not given away
    t.has(t.exits(1, 'inspect', path, '--check-all').err, 'rule blocks.size_word')


folder = tempfile.mkdtemp(prefix='quoin-cases-')
atexit.register(shutil.rmtree, folder, ignore_errors=True)
for case in make_cases('q42', folder):
    if case['file'].endswith('.q42'):
        add_test(case['id'], case_test(case))

if __name__ == '__main__':
    main()
