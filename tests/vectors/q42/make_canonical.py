#!/usr/bin/env python3
"""Ten frozen files: the five canonical vectors that section 13.7 of the format's document asks for, and five of the profile that this
project writes: surface terms with their mark, a DAG, and a root that is the SHA-256 of the last node's digest.

Made by the encoder of q42_vectors.py, which was written from the document without the C code. Texts become ids here.

    python3 make_canonical.py --write DIR      writes them
    python3 make_canonical.py --check DIR      exit status 1 when a file there differs
"""
import hashlib
import os
import re
import sys

from q42_vectors import TS11, lex_paged, pack_bool, pack_dec, pack_int, q_hash, qchk, quin, write_volume

MARK = 'quoin:terms=surface:1'
XSD = 'http://www.w3.org/2001/XMLSchema#'
BLOCK_QUINS = 850
MEDICAL = 3 << 56
E = 'http://e.example/'


# ---------------------------------------------------------------- statements as surface texts: (s, p, o, g or None)
def iri(name):
    return f'<{E}{name}>'


def typed(value, name):
    return f'"{value}"^^<{XSD}{name}>'


def all_kinds_of_terms():
    """Each kind of object, with what is stored in the object itself beside what is not, each escape, and blank nodes."""
    s, p = iri('s'), iri('p')
    objects = [iri('o'), '_:b0', '"plain"', '""', '"two words"@en', '"zwei W\u00f6rter"@de-AT', '"\u6bcd\u8a9e"', r'"a\"b\\c\nd\re"', '"tab\there"',
               typed('0', 'integer'), typed('-42', 'integer'), typed(2**59 - 1, 'integer'), typed(-2**59, 'integer'),
               typed(2**59, 'integer'), typed('007', 'integer'), typed('+1', 'integer'),
               typed('3.141592', 'decimal'), typed('-0.5', 'decimal'), typed('1.0', 'decimal'), typed('1.50', 'decimal'), typed('0.1234567', 'decimal'),
               typed('true', 'boolean'), typed('false', 'boolean'), typed('1', 'boolean'),
               typed('3.5', 'float'), typed('1.0E0', 'double'), typed('2026-11-30', 'date'), f'"x"^^<{E}type>', '<did:q42:z6MkpTHR8VNs>']
    return [(s, p, o, None) for o in objects] + [('_:b0', p, s, None)]


def two_blocks():
    return [(iri(f's{i}'), iri(f'p{i % 3}'), iri(f'o{i // 2}'), None) for i in range(900)]


def graphs():
    """The same statement in the default graph, in named ones and in a blank one."""
    names = [None, iri('g1'), iri('g2'), '_:g'] + [iri(f'graph{i}') for i in range(40)]
    return [(iri('s'), iri('p'), '"in several graphs"', g) for g in names]


def few():
    return [(iri('alice'), iri('knows'), iri('bob'), None), (iri('alice'), iri('age'), typed('42', 'integer'), None),
            (iri('alice'), iri('name'), '"Alice"@en', iri('people'))]


# ---------------------------------------------------------------- texts and ids
def inline(text):
    """The word of an object that is stored in itself, or None."""
    match = re.fullmatch(r'"([^"\\]*)"\^\^<' + re.escape(XSD) + r'(integer|decimal|boolean)>', text)
    if not match:
        return None
    value, name = match.groups()
    if name == 'boolean':
        return pack_bool(value == 'true') if value in ('true', 'false') else None
    if name == 'integer':
        return pack_int(int(value)) if re.fullmatch(r'0|-?[1-9]\d*', value) and -2**59 <= int(value) < 2**59 else None
    return pack_dec(value) if re.fullmatch(r'-?(0|[1-9]\d*)\.(0|\d{0,5}[1-9])', value) and value != '-0.0' else None


def bare(text):
    """Convention C: no brackets, quotes or datatypes; escapes decoded; the language kept."""
    if text[0] != '"':
        return text[1:-1] if text[0] == '<' else text
    value, language = re.fullmatch(r'"((?:[^"\\]|\\.)*)"(@[\w-]+)?(?:\^\^<.*>)?', text, re.S).groups()
    return re.sub(r'\\(.)', lambda m: {'n': '\n', 'r': '\r'}.get(m.group(1), m.group(1)), value) + (language or '')


def volume(statements, is_surface, metadata=0, **how):
    lexicon = {q_hash(MARK): MARK} if is_surface else {}

    def word(text, is_object):
        stored = inline(text) if is_object else None
        if stored is not None:
            return stored
        hashed = text if is_surface else bare(text)
        lexicon[q_hash(hashed)] = hashed
        return q_hash(hashed)

    quins = {quin(word(s, False), word(p, False), word(o, True), word(g, False) if g else 0, metadata) for s, p, o, g in statements}
    ordered = sorted(quins, key=lambda q: (q[2], q[0], q[1], q[3], q[4]))
    blocks = [ordered[i:i + BLOCK_QUINS] for i in range(0, len(ordered), BLOCK_QUINS)]
    if blocks:
        return write_volume(lex_paged(lexicon), blocks, profile='builder', ts=TS11, **how)
    # Without blocks there is no DAG and the root is zero, as the other profile has it then; an absent section stands at 0.
    empty = bytearray(write_volume(lex_paged(lexicon), blocks, ts=TS11, **how))
    empty[40:48] = empty[56:64] = bytes(8)
    return bytes(empty)


# ---------------------------------------------------------------- files
SURFACE = {'surface-terms.q42': (all_kinds_of_terms, {}), 'surface-blocks.q42': (two_blocks, {}),
           'surface-graphs.q42': (graphs, {'commons': True}), 'surface-sanctuary.q42': (few, {'metadata': MEDICAL}),
           'surface-empty.q42': (list, {})}
CANONICAL = {'canonical-single.q42': (few, {}), 'canonical-blocks.q42': (two_blocks, {}),
             'canonical-commons.q42': (few, {'commons': True}), 'canonical-sanctuary.q42': (few, {'metadata': MEDICAL})}


def files():
    made = {name: volume(make(), False, **how) for name, (make, how) in CANONICAL.items()}
    made['canonical-health.qchk'] = qchk('health', '{"@context": "https://schema.qualia.dev/vocab#", "@id": "urn:example:grant"}')
    made.update({name: volume(make(), True, **how) for name, (make, how) in SURFACE.items()})
    return made


def main():
    if len(sys.argv) != 3 or sys.argv[1] not in ('--write', '--check'):
        sys.exit(__doc__)
    n_different = 0
    for name, data in files().items():
        path = os.path.join(sys.argv[2], name)
        if sys.argv[1] == '--write':
            with open(path, 'wb') as f:
                f.write(data)
        elif not os.path.exists(path) or open(path, 'rb').read() != data:
            n_different += 1
            print(f'{name} differs')
        print(f'{name:24} {len(data):7} bytes  sha256 {hashlib.sha256(data).hexdigest()}')
    sys.exit(1 if n_different else 0)


if __name__ == '__main__':
    main()
