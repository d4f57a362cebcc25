#!/usr/bin/env python3
"""The frozen volumes of tests/vectors/q42/make_canonical.py through the program: what is exported, loaded and published."""
import hashlib
import os
import shutil
import struct
import subprocess
import sys

from program import *

VECTORS = os.path.join(SOURCE, 'tests', 'vectors', 'q42')
sys.path.insert(0, VECTORS)
from make_canonical import CANONICAL, MARK, MEDICAL, SURFACE  # noqa: E402

EPOCH = {'SOURCE_DATE_EPOCH': '1717286400'}
WAYS = ('check', 'magnet', 'torrent', 'cid', 'car')


def read(path):
    with open(path, 'rb') as f:
        return f.read()


def nquads(statements):
    return ''.join(' '.join(filter(None, quad)) + ' .\n' for quad in statements)


def copy(t, name):
    return shutil.copy(os.path.join(VECTORS, name), t.folder)


def sections(data):
    """What does not depend on the compressor: flags, time, root, and the bytes of each section but directory and data."""
    found = {'flags': data[4:8], 'time': data[136:144], 'root': data[104:136]}
    for name, field in (('lexicon', 8), ('bidx', 24), ('fidx', 192), ('pidx', 208), ('dag', 144)):
        offset, length = struct.unpack_from('<QQ', data, field)
        found[name] = data[offset:offset + length]
    return found


@test
def the_script_still_makes_the_frozen_bytes(t):
    done = subprocess.run([sys.executable, '-B', os.path.join(VECTORS, 'make_canonical.py'), '--check', VECTORS], capture_output=True)
    t.equal(done.returncode, 0, done.stdout.decode())


@test
def every_frozen_file_verifies_to_the_letter(t):
    for name in (*CANONICAL, *SURFACE, 'canonical-health.qchk'):
        t.exits(0, 'verify', '--strict', os.path.join(VECTORS, name))


@test
def a_surface_volume_exports_the_statements_that_it_was_made_of(t):
    for name, (make, _) in SURFACE.items():
        out = t.exits(0, 'export', os.path.join(VECTORS, name)).out.decode()
        t.equal(sorted(out.splitlines()), sorted(nquads(make()).splitlines()), name)


@test
def loading_those_statements_makes_every_section_alike(t):
    for table, terms in ((SURFACE, 'surface'), (CANONICAL, 'bare')):
        for name, (make, how) in table.items():
            with open(t.path('in.nq'), 'w', encoding='utf-8') as f:
                f.write(nquads(make()))
            labels = (['--commons'] if how.get('commons') else []) + (['--tier', '3'] if how.get('metadata') == MEDICAL else [])
            t.exits(0, 'ingest', t.path('in.nq'), '-o', t.path('a.q42'), '-f', '--terms', terms, *labels, env=EPOCH)
            got, wanted = sections(read(t.path('a.q42'))), sections(read(os.path.join(VECTORS, name)))
            for part in wanted:
                t.true(got[part] == wanted[part], f'{name}: {part} differs')
            t.equal(MARK.encode() in got['lexicon'], terms == 'surface')


@test
def the_public_volumes_mint_a_magnet(t):
    for name in ('canonical-commons.q42', 'surface-graphs.q42'):
        volume = copy(t, name)
        link = t.exits(0, 'publish', 'magnet', volume).out.decode().strip()
        t.has(link, 'magnet:?xt=urn:btih:', f'&dn={name}', f'&xl={os.path.getsize(volume)}')
        t.true(hashlib.sha1(read(volume)).digest() in read(volume + '.torrent'), 'the torrent has the hash of the one piece')


@test
def the_sanctuary_volumes_are_refused_in_every_way_with_the_reason(t):
    for name in ('canonical-sanctuary.q42', 'surface-sanctuary.q42'):
        volume = copy(t, name)
        for way in WAYS:
            t.has(t.exits(1, 'publish', way, volume).err, 'not public', 'sanctuary')
    t.equal(t.files(), ['canonical-sanctuary.q42', 'surface-sanctuary.q42'])


@test
def clearing_the_sanctuary_flag_opens_nothing(t):
    volume = copy(t, 'canonical-sanctuary.q42')
    data = bytearray(read(volume))
    data[6] = data[6] & ~0x40 | 0x20
    with open(volume, 'wb') as f:
        f.write(data)
    for way in WAYS:
        t.has(t.exits(1, 'publish', way, volume).err, 'not public', 'block 0, slot 0')


@test
def the_volumes_that_declare_nothing_stay_here(t):
    for name in ('canonical-single.q42', 'canonical-blocks.q42', 'surface-terms.q42'):
        t.has(t.exits(1, 'publish', 'magnet', os.path.join(VECTORS, name)).err, 'not public', 'Commons is not declared')


if __name__ == '__main__':
    main()
