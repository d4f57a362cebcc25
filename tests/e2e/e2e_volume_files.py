#!/usr/bin/env python3
"""The commands around volumes: journals, compacting, publishing, migrating, vaults.

Files that the program reads are made here from the format's document alone: version 1 blocks, framed transport, version 2 headers. What the
program writes is read back here without it: torrents, archives, journals.
"""
import base64
import fcntl
import hashlib
import os
import resource
import signal
import struct
import time

from program import *
from volumes import build, flat_lexicon, key, quin, triple_id

SECRET = 'the name that nobody may find'
STATEMENTS = (f'<http://e.example/s> <http://e.example/p> "{SECRET}" .\n'
              '<http://e.example/s> <http://e.example/p> <http://e.example/o> .\n'
              '<http://e.example/s> <http://e.example/p> "42"^^<http://www.w3.org/2001/XMLSchema#integer> .\n'
              '<http://e.example/t> <http://e.example/p> "kept"@en <http://e.example/g> .\n')


def write(path, data):
    with open(path, 'wb') as file:
        file.write(data if isinstance(data, bytes) else data.encode())
    return path


def read(path):
    with open(path, 'rb') as file:
        return file.read()


def make_volume(t, name='a.q42', text=STATEMENTS, *options):
    source = write(t.path(name + '.nq'), text)
    t.exits(0, 'ingest', source, '-o', t.path(name), *options)
    os.remove(source)
    return t.path(name)


def export(t, path, *options):
    return sorted(t.exits(0, 'export', path, *options).out.decode().splitlines())


# ---------------------------------------------------------------- journals
@test
def an_added_statement_is_in_the_volume_after_a_checkpoint(t):
    volume, journal = make_volume(t), t.path('a.q42j')
    added = '<http://e.example/n> <http://e.example/p> "new" <http://e.example/g2> .'
    t.equal(t.exits(0, 'journal', 'append', volume, journal, '-s', added, '--json').json()['added'], 1)
    before = export(t, volume)
    t.equal(t.exits(0, 'journal', 'replay', volume, journal).out.decode(), f'A {added}\n')
    r = t.exits(0, 'journal', 'checkpoint', volume, journal, '--json').json()
    t.equal((r['added'], r['removed'], r['quins']), (1, 0, 5))
    t.equal(export(t, volume), sorted(before + [added]))
    t.exits(0, 'verify', volume)


@test
def a_removed_statement_leaves_nothing_in_the_bytes(t):
    volume, journal = make_volume(t), t.path('a.q42j')
    t.true(SECRET.encode() in read(volume), 'the text stands in the lexicon at first')
    t.exits(0, 'journal', 'remove', volume, journal, '-s', STATEMENTS.splitlines()[0])
    t.exits(0, 'journal', 'checkpoint', volume, journal)
    t.true(SECRET.encode() not in read(volume), 'nothing of it may be left in the volume')
    t.true(SECRET.encode() not in read(journal), 'nothing of it may be left in the journal')
    t.equal(len(export(t, volume)), 3)
    t.equal(t.files(), ['a.q42', 'a.q42j'])


@test
def a_checkpoint_begins_the_journal_anew_about_the_new_volume(t):
    volume, journal = make_volume(t), t.path('a.q42j')
    t.exits(0, 'journal', 'append', volume, journal, '-s', '<http://e.example/a> <http://e.example/b> <http://e.example/c>')
    t.exits(0, 'journal', 'checkpoint', volume, journal)
    data = read(journal)
    t.equal(len(data), 128)
    t.equal(data[24:56], hashlib.sha256(read(volume)).digest(), 'base digest')
    t.equal(t.exits(0, 'journal', 'replay', volume, journal).out, b'')
    t.exits(0, 'journal', 'append', volume, journal, '-s', '<http://e.example/a> <http://e.example/b> <http://e.example/d>')


@test
def what_changes_nothing_is_counted_and_not_written(t):
    volume, journal = make_volume(t), t.path('a.q42j')
    first = STATEMENTS.splitlines()[1]
    r = t.exits(0, 'journal', 'append', volume, journal, '-s', first, '--json').json()
    t.equal((r['added'], r['already_there']), (0, 1))
    r = t.exits(0, 'journal', 'remove', volume, journal, '-s', '<http://e.example/x> <http://e.example/y> "z"', '--json').json()
    t.equal((r['removed'], r['not_there']), (0, 1))
    t.equal(len(read(journal)), 128)


@test
def removing_and_adding_again_is_no_change(t):
    volume, journal = make_volume(t), t.path('a.q42j')
    first = STATEMENTS.splitlines()[1]
    t.exits(0, 'journal', 'remove', volume, journal, '-s', first)
    t.equal(t.exits(0, 'journal', 'replay', volume, journal).out.decode(), f'D {first}\n')
    t.exits(0, 'journal', 'append', volume, journal, '-s', first)
    t.exits(0, 'journal', 'checkpoint', volume, journal, '-o', t.path('b.q42'))
    t.equal(export(t, t.path('b.q42')), export(t, volume))


@test
def statements_come_from_files_and_standard_input(t):
    volume, journal = make_volume(t), t.path('a.q42j')
    more = write(t.path('more.nq'), '<http://e.example/1> <http://e.example/p> "1" .\n')
    r = t.exits(0, 'journal', 'append', volume, journal, more, '-', '--json', stdin=b'<http://e.example/2> <http://e.example/p> "2" .\n').json()
    t.equal(r['added'], 2)


@test
def a_wrong_statement_writes_nothing_and_names_line_and_column(t):
    volume, journal = make_volume(t), t.path('a.q42j')
    bad = write(t.path('bad.nq'), '<http://e.example/1> <http://e.example/p> "1" .\n<http://e.example/2> nonsense .\n')
    t.has(t.exits(1, 'journal', 'append', volume, journal, bad).err, 'bad.nq', 'line 2', 'column')
    t.equal(os.path.exists(journal), False, 'a journal that was made for it')
    t.exits(0, 'journal', 'append', volume, journal, '-s', '<http://e.example/1> <http://e.example/p> "1" .')
    before = read(journal)
    t.has(t.exits(2, 'journal', 'append', volume, journal, '-s', '<http://e.example/1> nonsense').err, '--statement', 'column')
    t.equal(read(journal), before, 'a journal that was there')


@test
def a_torn_tail_is_a_note_strict_refuses_it_and_appending_takes_it_away(t):
    volume, journal = make_volume(t), t.path('a.q42j')
    for n in '12':
        t.exits(0, 'journal', 'append', volume, journal, '-s', f'<http://e.example/{n}> <http://e.example/p> "{n}" .')
    os.truncate(journal, os.path.getsize(journal) - 5)
    t.has(t.exits(0, 'verify', journal).err, 'note', 'journal-tail')
    t.has(t.exits(1, 'verify', journal, '--strict').err, 'journal-tail', 'byte ')
    t.exits(0, 'journal', 'append', volume, journal, '-s', '<http://e.example/3> <http://e.example/p> "3" .')
    t.lacks(t.exits(0, 'verify', journal, '--strict').err, 'note')


@test
def a_journal_of_another_volume_is_refused(t):
    volume, journal = make_volume(t), t.path('a.q42j')
    t.exits(0, 'journal', 'append', volume, journal, '-s', '<http://e.example/a> <http://e.example/b> "c"')
    other = make_volume(t, 'b.q42', STATEMENTS.splitlines()[1] + '\n')
    before = read(other)
    for words in (('journal', 'checkpoint', other, journal), ('journal', 'replay', other, journal),
                  ('journal', 'append', other, journal, '-s', '<http://e.example/a> <http://e.example/b> "d"'),
                  ('compact', other, '--journal', journal, '-o', t.path('c.q42'))):
        t.has(t.exits(1, *words).err, 'SHA-256', 'journal-base')
    t.equal(read(other), before)
    t.equal(t.files(), ['a.q42', 'a.q42j', 'b.q42'])


@test
def what_a_crash_left_is_cut_off_before_the_next_transaction(t):
    volume, journal = make_volume(t), t.path('a.q42j')
    t.exits(0, 'journal', 'append', volume, journal, '-s', '<http://e.example/a> <http://e.example/b> "1"')
    whole = read(journal)
    t.exits(0, 'journal', 'append', volume, journal, '-s', '<http://e.example/a> <http://e.example/b> "2"')
    torn = read(journal)[:-20]
    write(journal, torn)
    t.has(t.exits(0, 'journal', 'show', journal).err, f'{len(torn) - len(whole)} bytes', 'not finished')
    t.exits(0, 'journal', 'append', volume, journal, '-s', '<http://e.example/a> <http://e.example/b> "3"')
    frames = t.exits(0, 'journal', 'show', journal, '--json').json()['frames']
    t.equal([f['sequence'] for f in frames], list(range(1, len(frames) + 1)), 'sequence goes on')
    t.true(read(journal).startswith(whole), 'the first transaction stands as it stood')
    t.lacks(t.exits(0, 'journal', 'replay', volume, journal).out, '"2"')


@test
def a_damaged_journal_is_refused_with_the_frame(t):
    volume, journal = make_volume(t), t.path('a.q42j')
    t.exits(0, 'journal', 'append', volume, journal, '-s', '<http://e.example/a> <http://e.example/b> "1"')
    data = bytearray(read(journal))
    data[-40] ^= 1
    write(journal, bytes(data))
    t.has(t.exits(1, 'journal', 'show', journal).err, 'checksum', 'frame')


@test
def a_second_writer_is_refused_while_the_first_holds_the_journal(t):
    volume, journal = make_volume(t), t.path('a.q42j')
    t.exits(0, 'journal', 'append', volume, journal, '-s', '<http://e.example/a> <http://e.example/b> "1"')
    before = read(journal)
    with open(journal, 'r+b') as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        t.has(t.exits(1, 'journal', 'append', volume, journal, '-s', '<http://e.example/a> <http://e.example/b> "2"').err,
              'another process')
    t.equal(read(journal), before)


@test
def a_tier_is_stamped_and_closes_the_volume(t):
    volume, journal = make_volume(t), t.path('a.q42j')
    t.exits(0, 'journal', 'append', volume, journal, '--tier', '3', '-s', '<http://e.example/a> <http://e.example/b> "1"')
    change = t.exits(0, 'journal', 'replay', volume, journal, '--json').json()['changes'][0]
    t.equal(change['metadata'], '0300000000000000')
    t.has(t.exits(1, 'journal', 'checkpoint', volume, journal, '--commons').err, 'legal, medical or fiduciary')
    t.true(t.exits(0, 'journal', 'checkpoint', volume, journal, '--json').json()['flags'] & 0x40, 'Sanctuary is set')


@test
def a_private_journal_takes_commons_away_and_says_so(t):
    volume, journal = make_volume(t, 'a.q42', STATEMENTS, '--commons'), t.path('a.q42j')
    t.exits(0, 'publish', 'check', volume)
    t.exits(0, 'journal', 'append', volume, journal, '-s', '<http://e.example/a> <http://e.example/b> "1"')
    t.has(t.exits(0, 'journal', 'checkpoint', volume, journal).err, 'Commons', 'private')
    t.exits(1, 'publish', 'check', volume)
    public = make_volume(t, 'b.q42', STATEMENTS, '--commons')
    t.exits(0, 'journal', 'append', public, t.path('b.q42j'), '--privacy', 'commons', '-s', '<http://e.example/a> <http://e.example/b> "1"')
    t.exits(0, 'journal', 'checkpoint', public, t.path('b.q42j'))
    t.exits(0, 'publish', 'check', public)


@test
def a_journal_command_without_its_words_is_a_usage_error(t):
    volume = make_volume(t)
    for words in ((), ('burn', volume, 'j'), ('append', volume), ('append', volume, 'j'), ('show',), ('replay', volume)):
        t.has(t.exits(2, 'journal', *words).err, 'journal')


# ---------------------------------------------------------------- compact
@test
def compact_gives_the_same_statements_and_the_same_bytes_again(t):
    volume = make_volume(t)
    t.exits(0, 'compact', volume, '-o', t.path('b.q42'), env={'SOURCE_DATE_EPOCH': 1})
    t.exits(0, 'compact', t.path('b.q42'), '-o', t.path('c.q42'), env={'SOURCE_DATE_EPOCH': 1})
    t.equal(export(t, t.path('b.q42')), export(t, volume))
    t.equal(read(t.path('b.q42')), read(t.path('c.q42')))


@test
def compact_in_place_needs_no_other_file(t):
    volume = make_volume(t)
    before = export(t, volume)
    t.exits(0, 'compact', volume, '--in-place')
    t.equal(export(t, volume), before)
    t.equal(t.files(), ['a.q42'])


@test
def compact_makes_a_set_and_one_file_of_it_again(t):
    lines = [f'<http://e.example/s{i}> <http://e.example/p{i % 7}> "value {i} of many" .\n' for i in range(12000)]
    volume = make_volume(t, 'a.q42', ''.join(lines))
    r = t.exits(0, 'compact', volume, '-o', t.path('set.q42'), '--segment-size', '256K', '--json').json()
    t.true(r['files'] > 3, 'several files')
    t.exits(0, 'verify', t.path('set.q42'))
    t.exits(0, 'compact', t.path('set.q42'), '-o', t.path('one.q42'), '--segment-size', '0')
    t.equal(export(t, t.path('one.q42')), export(t, volume))
    t.has(t.exits(1, 'compact', t.path('set.q42'), '--in-place').err, 'several files')


@test
def sanctuary_is_carried_over_and_commons_cannot_be_declared_on_it(t):
    volume = make_volume(t, 'a.q42', STATEMENTS, '--sanctuary')
    t.true(t.exits(0, 'compact', volume, '-o', t.path('b.q42'), '--json').json()['flags'] & 0x40, 'Sanctuary')
    t.has(t.exits(1, 'compact', volume, '--commons', '-o', t.path('c.q42')).err, 'Sanctuary')
    t.equal(t.files(), ['a.q42', 'b.q42'])


def read_flat_lexicon(path):
    """{key: entry} of a lexicon of format 1 with kinds."""
    data = read(path)
    at, size = struct.unpack_from('<QQ', data, 8)
    lexicon = data[at:at + size]
    count, strings, version = struct.unpack_from('<QQQ', lexicon, 8)
    if version != 1:
        raise Failed(f'the lexicon has format {version}')
    index = [struct.unpack_from('<QQ', lexicon, 32 + 16 * i) for i in range(count)]
    ends = [offset for _, offset in index[1:]] + [size - strings]
    return {word: lexicon[strings + offset:strings + end] for (word, offset), end in zip(index, ends)}


@test
def triples_that_double_at_every_depth_end_at_sixteen(t):
    names = {n: f'<http://e.example/{n}>' for n in 'sp'}
    ids = {n: key(text) for n, text in names.items()}
    triples = [(ids['s'], ids['p'], ids['s'])]
    while len(triples) < 40:
        inner = triple_id(triples[-1])
        triples.append((inner, ids['p'], inner))
    for depth, status in ((15, 0), (39, 1)):
        block = [quin((ids['s'], ids['p'], triple_id(triples[depth]), 0))]
        write(t.path('a.q42'), build([block], flat_lexicon({key(n): n.encode() for n in names.values()}, triples[:depth + 1])))
        r = t.exits(status, 'compact', t.path('a.q42'), '-o', t.path(f'{depth}.q42'))
        if status:
            t.has(r.err, 'more than 16 triples inside each other')


@test
def triples_used_as_terms_stay_with_what_they_are_made_of_and_others_go(t):
    names = {n: f'<http://e.example/{n}>' for n in 'spoxyzuvw'}
    ids = {n: key(text) for n, text in names.items()}
    used, unused = (ids['x'], ids['y'], ids['z']), (ids['u'], ids['v'], ids['w'])
    entries = {key(text): text.encode() for text in names.values()}
    mark = b'quoin:terms=surface:1'
    entries[key(mark)] = mark
    block = [quin((ids['s'], ids['p'], triple_id(used), 0))]
    write(t.path('a.q42'), build([block], flat_lexicon(entries, [used, unused])))
    r = t.exits(0, 'compact', t.path('a.q42'), '-o', t.path('b.q42'), '--json').json()
    t.equal((r['quins'], r['terms_before'], r['terms']), (1, 11, 6))
    found = read_flat_lexicon(t.path('b.q42'))
    t.equal(found[triple_id(used)], b'\x02' + struct.pack('<QQQ', *used))
    t.equal(set(found), {ids[n] for n in 'spxyz'} | {triple_id(used), key(mark)})
    t.true(names['u'].encode() not in read(t.path('b.q42')), 'nothing of the unused triple is left')


@test
def a_wrong_parity_is_refused_with_its_place_and_mended_by_rewrite(t):
    names = [f'<http://e.example/{n}>' for n in 'spo']
    words = list(quin(tuple(key(n) for n in names) + (0,)))
    words[5] = 0
    write(t.path('a.q42'), build([[tuple(words)]], flat_lexicon({key(n): n.encode() for n in names})))
    t.has(t.exits(1, 'compact', t.path('a.q42'), '-o', t.path('b.q42')).err, 'slot 0', 'parity')
    t.equal(t.files(), ['a.q42'])
    t.equal(t.exits(0, 'compact', t.path('a.q42'), '--rewrite', '-o', t.path('b.q42'), '--json').json()['parity_fixed'], 1)
    t.exits(0, 'verify', t.path('b.q42'))


@test
def a_dry_run_writes_nothing(t):
    volume = make_volume(t)
    t.equal(t.exits(0, 'compact', volume, '--dry-run', '--json').json()['quins_read'], 4)
    t.equal(t.files(), ['a.q42'])


def small_files():
    """Files end at 2 KiB, as on a full disk."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (2048, resource.getrlimit(resource.RLIMIT_FSIZE)[1]))


@test
def a_full_disk_leaves_volume_and_journal_as_they_were(t):
    lines = [f'<http://e.example/s{i}> <http://e.example/p> "value {i}" .\n' for i in range(500)]
    volume, journal = make_volume(t, 'a.q42', ''.join(lines), '--commons'), t.path('a.q42j')
    t.exits(0, 'journal', 'append', volume, journal, '-s', '<http://e.example/a> <http://e.example/b> "1"')
    before = (read(volume), read(journal))
    for words in (('journal', 'checkpoint', volume, journal), ('compact', volume, '--in-place'), ('publish', 'car', volume)):
        t.exits(6, *words, preexec=small_files)
        t.equal((read(volume), read(journal)), before, ' '.join(words[:2]))
        t.equal(t.files(), ['a.q42', 'a.q42j'])


@test
def a_kill_at_any_moment_leaves_the_old_volume_or_the_new_one(t):
    lines = [f'<http://e.example/s{i}> <http://e.example/p{i % 5}> "value {i}" .\n' for i in range(20000)]
    volume, journal = make_volume(t, 'a.q42', ''.join(lines)), t.path('a.q42j')
    t.exits(0, 'journal', 'append', volume, journal, '-s', '<http://e.example/a> <http://e.example/b> "1"')
    before = read(volume)
    for step in range(12):
        child = t.start('journal', 'checkpoint', volume, journal)
        time.sleep(0.004 * step * SLOWNESS)
        child.kill()
        t.finish(child)
        t.equal(t.files(), ['a.q42', 'a.q42j'], 'files')
        if read(volume) != before:
            t.equal(len(export(t, volume)), 20001)
            break
    t.exits(0, 'verify', volume)


@test
def readers_see_one_whole_version_while_others_replace_it(t):
    lines = [f'<http://e.example/s{i}> <http://e.example/p> "value {i}" .\n' for i in range(4000)]
    volume, journal = make_volume(t, 'a.q42', ''.join(lines)), t.path('a.q42j')
    for step in range(4):
        readers = [t.start('export', volume) for _ in range(3)]
        t.exits(0, 'journal', 'append', volume, journal, '-s', f'<http://e.example/new{step}> <http://e.example/p> "1"')
        t.exits(0, 'journal', 'checkpoint', volume, journal)
        for r in [t.finish(reader) for reader in readers]:
            t.equal(r.status, 0)
            t.true(r.out.count(b'\n') in (4000 + step, 4001 + step), 'one version, and whole')


@test
def an_existing_output_is_not_replaced_without_force(t):
    volume = make_volume(t)
    write(t.path('b.q42'), 'precious')
    t.has(t.quoin('compact', volume, '-o', t.path('b.q42')).err, '--force')
    t.true(t.last.status != 0, 'refused')
    t.equal(read(t.path('b.q42')), b'precious')
    t.exits(0, 'compact', volume, '-o', t.path('b.q42'), '--force')
    t.has(t.exits(1, 'compact', volume, '-o', volume, '--force').err, '--in-place')


# ---------------------------------------------------------------- publish
def bdecode(data, at=0):
    c = data[at:at + 1]
    if c == b'i':
        end = data.index(b'e', at)
        return int(data[at + 1:end]), end + 1
    if c in b'ld':
        items, at = [], at + 1
        while data[at:at + 1] != b'e':
            item, at = bdecode(data, at)
            items.append(item)
        return (items if c == b'l' else dict(zip(items[::2], items[1::2]))), at + 1
    colon = data.index(b':', at)
    size = int(data[at:colon])
    return data[colon + 1:colon + 1 + size], colon + 1 + size


def cid_of(data):
    return 'b' + base64.b32encode(b'\x01\x55\x12\x20' + hashlib.sha256(data).digest()).decode().lower().rstrip('=')


@test
def an_unmarked_volume_is_not_published_in_any_way(t):
    volume = make_volume(t)
    for what in ('check', 'magnet', 'torrent', 'cid', 'car'):
        t.has(t.exits(1, 'publish', what, volume).err, 'not public', 'Commons is not declared')
    t.equal(t.files(), ['a.q42'])


@test
def a_forged_flag_does_not_open_what_the_quins_close(t):
    volume, journal = make_volume(t), t.path('a.q42j')
    t.exits(0, 'journal', 'append', volume, journal, '--tier', '2', '-s', '<http://e.example/a> <http://e.example/b> "1"')
    t.exits(0, 'journal', 'checkpoint', volume, journal)
    data = bytearray(read(volume))
    data[6] = data[6] & ~0x40 | 0x20
    write(volume, bytes(data))
    t.has(t.exits(1, 'publish', 'magnet', volume).err, 'mixed-fail-closed', 'tier', 'block 0, slot')
    data[6] |= 0x40
    write(volume, bytes(data))
    t.has(t.exits(1, 'publish', 'cid', volume).err, 'mixed-fail-closed')


@test
def hash_of_a_graph_name_closes_the_volume_only_for_the_reference(t):
    graph = next(f'<http://e.example/g{i}>' for i in range(10000) if key(f'<http://e.example/g{i}>') >> 56 == 2)
    volume = make_volume(t, 'a.q42', f'<http://e.example/s> <http://e.example/p> "o" {graph} .\n', '--commons')
    r = t.exits(0, 'publish', 'check', volume, '--json').json()
    t.equal((r['verdict']['public'], r['reference_verdict']['public']), (True, False))
    t.has(r['reference_verdict']['witness'], f'context {key(graph):016x}')
    t.has(t.exits(1, 'publish', 'check', volume, '--strict').err, f'{key(graph):016x}')


@test
def a_label_that_names_no_graph_closes_the_volume(t):
    names = [f'<http://e.example/{n}>' for n in 'spo']
    ids = tuple(key(n) for n in names)
    volume = write(t.path('a.q42'), build([[quin(ids + (1 << 56 | 77,))]], flat_lexicon({key(n): n.encode() for n in names}), flags=0x20))
    t.has(t.exits(1, 'publish', 'check', volume).err, 'restricted or classified', 'block 0, slot 0')


@test
def a_block_that_cannot_be_read_closes_the_volume(t):
    volume = make_volume(t, 'a.q42', STATEMENTS, '--commons')
    data = bytearray(read(volume))
    at = struct.unpack_from('<Q', data, 56)[0]
    data[at] ^= 1
    write(volume, bytes(data))
    t.has(t.exits(1, 'publish', 'check', volume).err, 'cannot be read')


@test
def a_torrent_has_the_files_pieces_and_its_hash_is_in_the_link(t):
    volume = make_volume(t, 'a b.q42', STATEMENTS, '--commons')
    link = t.exits(0, 'publish', 'magnet', volume, '--web-seed', 'https://e.example/{name}').out.decode().strip()
    torrent = read(volume + '.torrent')
    meta, end = bdecode(torrent)
    t.equal(end, len(torrent))
    info = meta[b'info']
    at = torrent.index(b'4:info') + 6
    info_hash = hashlib.sha1(torrent[at:bdecode(torrent, at)[1]]).hexdigest()
    t.equal(link, f'magnet:?xt=urn:btih:{info_hash}&dn=a%20b.q42&xl={os.path.getsize(volume)}&ws=https%3A%2F%2Fe.example%2Fa%20b.q42')
    t.equal((info[b'name'], info[b'length']), (b'a b.q42', os.path.getsize(volume)))
    t.equal(info[b'pieces'], hashlib.sha1(read(volume)).digest())


@test
def the_reference_link_is_over_the_whole_file_and_writes_nothing(t):
    volume = make_volume(t, 'a.q42', STATEMENTS, '--commons')
    link = t.exits(0, 'publish', 'magnet', volume, '--reference-magnet').out.decode().strip()
    t.equal(link, f'magnet:?xt=urn:btih:{hashlib.sha1(read(volume)).hexdigest()}&dn=a.q42&xl={os.path.getsize(volume)}')
    t.equal(t.files(), ['a.q42'])


@test
def an_archive_gives_the_file_back_and_its_root_is_the_cid(t):
    volume = make_volume(t, 'a.q42', STATEMENTS, '--commons')
    cid = t.exits(0, 'publish', 'cid', volume).out.decode().strip()
    t.equal(cid, cid_of(read(volume)))
    t.equal(t.exits(0, 'publish', 'car', volume, '-o', t.path('a.car')).out.decode().strip(), cid)
    car = read(t.path('a.car'))
    raw = b'\x01\x55\x12\x20' + hashlib.sha256(read(volume)).digest()
    t.equal(car[:59], b'\x3a\xa2\x65roots\x81\xd8\x2a\x58\x25\x00' + raw + b'\x67version\x01')
    t.true(car.endswith(raw + read(volume)), 'one block: address and bytes')


@test
def an_archive_of_a_large_file_gives_it_back_leaf_by_leaf(t):
    lines = [f'<http://e.example/{hashlib.sha1(str(i).encode()).hexdigest()}> <http://e.example/p> "{hashlib.sha512(str(i).encode()).hexdigest()}" .\n'
             for i in range(12000)]
    volume = make_volume(t, 'a.q42', ''.join(lines), '--commons')
    t.true(os.path.getsize(volume) > 1 << 20, 'more than one leaf')
    cid = t.exits(0, 'publish', 'car', volume).out.decode().strip()
    car, at, data, last = read(volume + '.car'), 59, b'', b''
    while at < len(car):
        size = shift = 0
        while True:
            byte = car[at]
            size, shift, at = size | (byte & 127) << shift, shift + 7, at + 1
            if byte < 128:
                break
        section, at = car[at:at + size], at + size
        last, block = section[:36], section[36:]
        t.equal(last[4:], hashlib.sha256(block).digest(), 'digest of a block')
        data += block if last[1] == 0x55 else b''
    t.true(data == read(volume), 'the leaves are the file')
    t.equal('b' + base64.b32encode(last).decode().lower().rstrip('='), cid)


@test
def every_file_of_a_set_is_published_and_a_changed_one_refused(t):
    lines = [f'<http://e.example/s{i}> <http://e.example/p> "value {i}" .\n' for i in range(9000)]
    volume = make_volume(t, 'a.q42', ''.join(lines))
    t.exits(0, 'compact', volume, '--commons', '--segment-size', '256K', '-o', t.path('set.q42'))
    r = t.exits(0, 'publish', 'cid', t.path('set.q42'), '--json').json()
    roles = [f['role'] for f in r['files']]
    t.equal((roles[0], roles.count('root')), ('root', 1))
    t.true('segment' in roles and 'shard' in roles, 'segments and shards')
    for f in r['files']:
        t.equal(f['cid'], cid_of(read(f['file'])))
    shard = [f['file'] for f in r['files'] if f['role'] == 'shard'][0]
    data = bytearray(read(shard))
    data[-1] ^= 1
    write(shard, bytes(data))
    t.exits(1, 'publish', 'cid', t.path('set.q42'))
    t.has(t.last.err, os.path.basename(shard))


# ---------------------------------------------------------------- migrate
def fnv(data):
    h = 0xcbf29ce484222325
    for byte in data:
        h = (h ^ byte) * 0x100000001b3 & (1 << 64) - 1
    return h


def strip_token(token):
    if token.startswith('<') and token.endswith('>'):
        return token[1:-1]
    if token.startswith('"'):
        i, b = 1, token.encode()
        while i < len(b) and b[i] != 0x22:
            i += 2 if b[i] == 0x5c else 1
        return b[1:i].decode('utf-8', 'replace')
    return token


def make_raw(quins):
    """Version 1: sorted by object, 850 a block, without parity."""
    quins, out = sorted(quins, key=lambda q: q[2]), b''
    for i in range(0, len(quins), 850):
        part = quins[i:i + 850]
        body = b''.join(struct.pack('<6Q', *q, 0, 0, 0) for q in part)
        out += struct.pack('<QQQ', i // 850, 0, len(part)).ljust(160, b'\0') + body.ljust(40800, b'\0')
    return out


@test
def the_real_version_1_files_migrate_with_all_their_terms(t):
    folder = os.path.dirname(corpus('data/schemaorg-legacy/schema.nt'))
    quins = []
    with open(os.path.join(folder, 'schema.nt'), encoding='utf-8') as file:
        for line in file:
            tokens = line.split()
            if len(tokens) >= 3 and not line.startswith('#'):
                quins.append(tuple(fnv(strip_token(x).encode()) for x in tokens[:3]))
    raw = write(t.path('s.q42'), make_raw(quins))
    t.equal(os.path.getsize(raw), 22 * 40960)
    for ending in ('lex', 'bidx'):
        write(raw + '.' + ending, read(os.path.join(folder, 'schemaorg-current-https.q42.' + ending)))
    r = t.exits(0, 'migrate', raw, '-o', t.path('new.q42'), '--json').json()
    t.equal((r['kind'], r['quins_read'], r['terms_before'], r['unresolved']), ('raw', len(quins), 6891, 0))
    t.equal((r['quins'], r['terms']), (len(set(quins)), 6891))
    t.exits(0, 'verify', t.path('new.q42'))
    t.has(t.exits(1, 'stats', raw).err, 'version 1 blocks', 'quoin migrate')
    changed = bytearray(read(raw + '.bidx'))
    changed[16] ^= 1
    write(raw + '.bidx', bytes(changed))
    t.exits(1, 'migrate', raw, '-o', t.path('other.q42'))
    t.has(t.last.err, 'raw-')


@test
def a_framed_file_migrates_and_padding_is_left_out(t):
    quin = struct.pack('<6Q', 11, 20, 30, 0, 0, 0)
    plain = quin + bytes(48)
    literals = bytes([0xF0, len(plain) - 15]) + plain
    framed = write(t.path('a.c.q42'), struct.pack('<QIII', 0, len(literals) + 4, len(plain), len(plain)) + literals)
    r = t.exits(0, 'migrate', framed, '-o', t.path('a.q42'), '--json').json()
    t.equal((r['kind'], r['quins'], r['parity_fixed']), ('framed', 1, 1))
    t.quoin('verify', t.path('a.q42'))
    t.true(t.last.status in (0, 7), 'right, or incomplete for want of terms')


@test
def bare_quins_are_read_only_when_asked_for(t):
    flat = write(t.path('a.bin'), struct.pack('<6Q', 1, 2, 3, 0, 0, 0) * 2)
    t.has(t.exits(1, 'migrate', flat, '-o', t.path('a.q42')).err, '--flat')
    r = t.exits(0, 'migrate', flat, '--flat', '-o', t.path('a.q42'), '--json').json()
    t.equal((r['quins_read'], r['quins'], r['duplicates']), (2, 1, 1))


@test
def a_version_2_header_becomes_version_3_in_place(t):
    volume = make_volume(t)
    data = bytearray(read(volume))
    data[4:6] = b'\x02\0'
    data[88:256] = b'\xee' * 168
    write(volume, bytes(data))
    t.has(t.exits(1, 'verify', volume).err + t.last.out, 'migrate')
    t.exits(0, 'migrate', volume, '--dry-run')
    t.equal(read(volume), bytes(data), 'a dry run')
    t.exits(0, 'migrate', volume)
    after = read(volume)
    t.equal((after[4:8], after[88:256]), (b'\x03\0\x03\0', bytes(168)))
    t.true(after[8:88] == data[8:88] and after[256:] == data[256:], 'nothing else has changed')
    t.equal(len(export(t, volume)), 4)
    t.has(t.exits(0, 'migrate', volume).out, 'nothing to do')
    # Its indexes of version 2 have become bytes of no section.
    for words in (['verify', '--strict', volume], ['export', '--strict', volume]):
        t.exits(1, *words)
        t.has(t.last.err + t.last.out, 'belong to no section', 'a volume migrated from version 2', 'quoin compact')
    t.has(t.exits(7, 'verify', volume).out + t.last.err, 'note', 'quoin compact')
    t.exits(0, 'compact', volume, '--in-place')
    t.exits(0, 'verify', '--strict', volume)
    t.equal(t.files(), ['a.q42'])


@test
def a_version_2_file_that_would_not_open_is_left_alone(t):
    volume = make_volume(t)
    data = bytearray(read(volume))
    data[4:6] = b'\x02\0'
    data[48:56] = bytes(8)
    write(volume, bytes(data))
    t.has(t.exits(1, 'migrate', volume).err, 'left alone')
    t.equal(read(volume), bytes(data))
    t.equal(t.files(), ['a.q42'])


@test
def an_early_import_is_refused_by_name(t):
    header = bytearray(256 + 16)
    header[:8] = b'Q42\0\3\0\3\0'
    struct.pack_into('<QQ', header, 40, 256, 16)
    struct.pack_into('<Q', header, 72, 1)
    struct.pack_into('<I', header, 256 + 12, 393216)
    t.has(t.exits(1, 'migrate', write(t.path('e.q42'), bytes(header)), '-o', t.path('x.q42')).err, 'early import')


@test
def other_kinds_are_refused_by_their_name(t):
    for name, data, words in (('j', b'Q42J' + bytes(200), 'journal'), ('c', b'QCHK' + bytes(20), 'envelope'), ('t', b'hello', 'unknown')):
        t.has(t.exits(1, 'migrate', write(t.path(name), data)).err, words)


# ---------------------------------------------------------------- vaults
PREFIX = '@prefix q: <https://schema.qualia.dev/vocab#> .\n'


def make_vault(t, values, name='v.qualia'):
    return write(t.path(name), f'{PREFIX}<#v> a q:VaultManifest ; q:vaultName "Books" ; {values} .\n')


@test
def a_vault_that_is_right_is_listed_and_verified(t):
    os.mkdir(t.path('data'))
    volume = make_volume(t)
    os.rename(volume, t.path('data/a.q42'))
    payload = b'{"a": 1}'
    write(t.path('e.qchk'), b'QCHK' + struct.pack('<QI', 1, len(payload)) + payload)
    vault = make_vault(t, 'q:includesDataFile <data/a.q42> ; q:includesCapabilityEnvelope "e.qchk" ; q:includesLexiconFile <data/a.q42.lex>')
    for word, state in (('list', 'there'), ('verify', 'right')):
        r = t.exits(0, 'vault', word, vault, '--json').json()
        t.equal((r['name'], r['count'], r['faults']), ('Books', 3, 0))
        t.equal([f['state'] for f in r['files']], [state, state, 'absent'])
    t.has(t.exits(0, 'vault', 'verify', vault).out, 'data/a.q42: data, right', '0 faults')


@test
def a_damaged_volume_of_a_vault_is_found_by_verify(t):
    volume = make_volume(t)
    data = bytearray(read(volume))
    at = struct.unpack_from('<Q', data, 56)[0]
    data[at + 30] ^= 1
    write(volume, bytes(data))
    vault = make_vault(t, 'q:includesDataFile <a.q42>')
    t.exits(0, 'vault', 'list', vault)
    t.has(t.exits(1, 'vault', 'verify', vault).out, 'a.q42', 'fault')


@test
def missing_and_foreign_files_are_faults(t):
    write(t.path('x.q42'), 'hello')
    vault = make_vault(t, 'q:includesDataFile <none.q42>, <x.q42> ; q:includesCapabilityEnvelope <x.q42>')
    r = t.exits(1, 'vault', 'verify', vault, '--json').json()
    t.equal([f['state'] for f in r['files']], ['missing', 'fault', 'fault'])
    t.equal(r['faults'], 3)


@test
def no_path_leads_out_of_the_vault(t):
    outside = make_volume(t, 'outside.q42')
    os.mkdir(t.path('in'))
    os.symlink(outside, t.path('in/link.q42'))
    os.symlink(t.folder, t.path('in/up'))
    for value in (f'"{outside}"', '<../outside.q42>', '<%2e%2e/outside.q42>', '<link.q42>', '<up/outside.q42>', '"a\\\\b"', '<file:outside.q42>'):
        vault = make_vault(t, f'q:includesDataFile {value}', 'in/v.qualia')
        r = t.exits(1, 'vault', 'list', vault, '--json').json()
        t.equal([f['state'] for f in r['files']], ['fault' if 'error' in r['files'][0] and not r['files'][0]['path'] else 'missing'], value)
        t.true('bytes' not in r['files'][0], f'{value} was opened')


@test
def a_wrong_manifest_is_refused_with_line_and_column(t):
    t.has(t.exits(1, 'vault', 'list', write(t.path('a.qualia'), PREFIX + '<#v> q:includesDataFile ( <a> ) .')).err, 'line 2', 'collection')
    t.has(t.exits(1, 'vault', 'list', write(t.path('b.qualia'), PREFIX + '<#v> q:vaultName "x" .')).err, 'includesDataFile')
    t.exits(6, 'vault', 'list', t.path('none.qualia'))
    t.exits(2, 'vault', 'burn', t.path('a.qualia'))


@test
def members_of_a_set_in_a_vault_are_held_against_their_digests(t):
    lines = [f'<http://e.example/s{i}> <http://e.example/p> "value {i}" .\n' for i in range(9000)]
    volume = make_volume(t, 'a.q42', ''.join(lines))
    t.exits(0, 'compact', volume, '--segment-size', '256K', '-o', t.path('set.q42'))
    vault = make_vault(t, 'q:includesDataFile <set.q42>')
    r = t.exits(0, 'vault', 'verify', vault, '--json').json()
    t.true(r['count'] > 2 and all(f['member'] for f in r['files'][1:]), 'members are listed')
    member = t.path(r['files'][-1]['path'])
    data = bytearray(read(member))
    struct.pack_into('<Q', data, 136, 12345)
    write(member, bytes(data))
    r = t.exits(1, 'vault', 'verify', vault, '--json').json()
    t.has(r['files'][-1]['error'], 'SHA-256')


if __name__ == '__main__':
    main()
