"""Q42 volumes for tests, written here from the format's document and by nothing of the project: what the readers give back is held
against what was put in.

    quads = [('<http://e.example/s>', '<http://e.example/p>', '"x"@en', None)]     surface texts; None is the default graph
    write_volume(path, quads)                       one block for each 850 statements, sorted
    write_volume(path, quads, terms='bare')         bare IRIs and values are hashed, no mark
    write_set(path, quads, n_segments=3, n_shards=2)

Blocks hold literals only (no compressor), so that the bytes depend on nothing. There is no DAG.
"""
import hashlib
import os
import random
import re
import struct
from decimal import Decimal

MARK = b'quoin:terms=surface:1'
XSD = 'http://www.w3.org/2001/XMLSchema#'
MASK60, MASK64 = 2**60 - 1, 2**64 - 1
BLOCK_QUINS, BLOCK_BYTES = 850, 40960


def fnv(data):
    h = 0xCBF29CE484222325
    for byte in data:
        h = (h ^ byte) * 0x100000001B3 & MASK64
    return h


def key(text):
    return fnv(text if isinstance(text, bytes) else text.encode()) & MASK60


def inline(text):
    """Object word of an inline literal's surface text, or None."""
    for tag, name, form in ((1, 'integer', r'0|-?[1-9][0-9]*'),
                            (2, 'decimal', r'(?!-0\.0$)-?(?:0|[1-9][0-9]*)\.(?:[0-9]{0,5}[1-9]|0)'),
                            (3, 'boolean', r'true|false')):
        match = re.fullmatch(f'"({form})"\\^\\^<{XSD}{name}>', text)
        if match:
            value = {1: lambda v: int(v), 2: lambda v: int(Decimal(v) * 10**6), 3: lambda v: int(v == 'true')}[tag](match.group(1))
            return tag << 60 | value & MASK60 if -2**59 <= value < 2**59 else None
    return None


def unescape(text):
    return re.sub(r'\\(.)', lambda m: {'n': '\n', 'r': '\r'}.get(m.group(1), m.group(1)), text)


def bare(text):
    """The bare text of a surface text."""
    if text[0] == '<':
        return text[1:-1]
    if text[0] == '_':
        return text
    value, language = re.fullmatch(r'"((?:[^"\\]|\\.)*)"(@[\w-]+|\^\^<.*>)?', text, re.S).groups()
    return unescape(value) + (language if language and language[0] == '@' else '')


def statement_ids(quad, terms, lexicon):
    """Four ids; puts the texts that were hashed into the lexicon."""
    ids = []
    for place, text in enumerate(quad):
        if text is None:
            ids.append(0)
            continue
        word = inline(text) if place == 2 else None
        if word is None:
            hashed = text if terms == 'surface' else bare(text)
            word = key(hashed)
            if terms == 'bare' and hashed.startswith('did:q42:') and place in (0, 2):
                word = key(hashed[8:]) | 1 << 63
            lexicon[word] = hashed.encode()
        ids.append(word)
    return tuple(ids)


def quin(ids, metadata=0):
    s, p, o, c = ids
    return (s, p, o, c, metadata, s ^ p ^ o ^ c ^ metadata)


def sort_quins(quins):
    return sorted(set(quins), key=lambda q: (q[2], q[0], q[1], q[3], q[4]))


# ---------------------------------------------------------------- sections
def paged_lexicon(entries, page_size=4096):
    items = sorted(entries.items())
    pages = [items[i:i + page_size] for i in range(0, len(items), page_size)]
    directory, body = b'', b''
    at = 40 + 32 * len(pages)
    for page in pages:
        index, blob = b'', b''
        for word, text in page:
            index += struct.pack('<QQ', word, len(blob))
            blob += b'\x01' + struct.pack('<H', len(text)) + text
        data = struct.pack('<IIQ', len(page), 0, 16 + len(index)) + index + blob
        directory += struct.pack('<QQQII', page[0][0], at + len(body), len(data), len(page), 0)
        body += data
    return b'Q42LEX\0\0' + struct.pack('<QQQQ', len(items), 32, 2, len(pages)) + directory + body


def flat_lexicon(entries, triples=()):
    """Format 1 with kinds: strings, and triples of three ids."""
    items = {word: b'\x01' + struct.pack('<H', len(text)) + text for word, text in entries.items()}
    for ids in triples:
        items[triple_id(ids)] = b'\x02' + struct.pack('<QQQ', *ids)
    index, blob = b'', b''
    for word, entry in sorted(items.items()):
        index += struct.pack('<QQ', word, len(blob))
        blob += entry
    return b'Q42LEX\0\0' + struct.pack('<QQQ', len(items), 32 + len(index), 1) + index + blob


def triple_id(ids):
    return key(struct.pack('<QQQ', *ids)) | 1 << 60


def raw_block(quins, sequence):
    head = struct.pack('<QQQIIQ', sequence, 0, len(quins), 0, 0, 0) + bytes(120)
    return (head + b''.join(struct.pack('<6Q', *q) for q in quins)).ljust(BLOCK_BYTES, b'\0')


def payload(raw):
    """Size word and one LZ4 sequence of literals."""
    rest = len(raw) - 15
    return struct.pack('<I', len(raw)) + b'\xF0' + b'\xFF' * (rest // 255) + bytes([rest % 255]) + raw


def varint(value):
    out = b''
    while value > 127:
        out += bytes([value & 127 | 128])
        value >>= 7
    return out + bytes([value])


def postings(values):
    distinct = sorted(set(values))
    deltas = b''.join(varint(b - a) for a, b in zip([0] + distinct, distinct))
    if len(distinct) <= 8 or 2 + len(deltas) <= 257:
        return b'\0' + struct.pack('<H', len(distinct)) + deltas
    bits = bytearray(256)
    for v in distinct:
        a, b = v * 0x9E3779B97F4A7C15 & MASK64, (~v & MASK64) * 0xBF58476D1CE4E5B9 & MASK64
        for h in (a, b, a + b & MASK64, a ^ (b << 17 & MASK64 | b >> 47)):
            bits[h % 2048 // 8] |= 1 << h % 8
    return b'\1' + bytes(bits)


def index_header(magic, n):
    return magic + struct.pack('<III', 1, n, 0)


def build(blocks, lexicon, manifest=b'', flags=0, fields=True, bidx=None, fidx=None):
    """A whole file from sorted blocks of quins and the bytes of its lexicon. bidx and fidx replace what is true."""
    n = len(blocks)
    ranges = [(b[0][2], b[-1][2]) for b in blocks] if bidx is None else bidx
    sections = {'lexicon': lexicon, 'manifest': manifest,
                'bidx': index_header(b'BIDX', n) + b''.join(struct.pack('<QQ', *r) for r in ranges)}
    flags |= 0x0003 | (0x0004 if manifest else 0)
    if fields and not manifest:
        flags |= 0x0018
        sections['fidx'] = index_header(b'FIDX', n) + (fidx if fidx is not None else b''.join(
            struct.pack('<QQ', min(q[f] for q in b), max(q[f] for q in b)) for b in blocks for f in (0, 1, 3)))
        lists = [b''.join(postings([q[f] for q in b]) for f in (0, 1, 3)) for b in blocks]
        table = [sum(map(len, lists[:i])) for i in range(n + 1)] if n < 500 else list(running_sums(lists))
        sections['pidx'] = index_header(b'PIDX', n) + struct.pack(f'<{n + 1}I', *table) + b''.join(lists)
    payloads = [payload(raw_block(b, i)) for i, b in enumerate(blocks)]
    starts = list(running_sums(payloads))
    sections['directory'] = b''.join(struct.pack('<QII', starts[i], len(p), BLOCK_BYTES) for i, p in enumerate(payloads))
    sections['data'] = b''.join(payloads)
    at, places, body = 256, {}, b''
    for name in ('lexicon', 'manifest', 'bidx', 'fidx', 'pidx', 'directory', 'data'):
        data = sections.get(name, b'')
        places[name] = (at if data else 0, len(data))
        at += len(data)
    zero = (0, 0)
    header = b'Q42\0' + struct.pack('<HH', 3, flags) + struct.pack(
        '<9QII', *places['lexicon'], *places['bidx'], *places['directory'], *places['data'], n, BLOCK_BYTES, BLOCK_QUINS)
    header += struct.pack('<QQ', *zero) + bytes(32) + struct.pack('<QQQ', 1717286400000, *zero) + bytes(16)
    header += struct.pack('<6Q', *places['manifest'], *places.get('fidx', zero), *places.get('pidx', zero)) + bytes(32)
    return header + b''.join(sections.get(name, b'') for name in ('lexicon', 'manifest', 'bidx', 'fidx', 'pidx', 'directory', 'data'))


def running_sums(parts):
    at = 0
    yield at
    for part in parts:
        at += len(part)
        yield at


# ---------------------------------------------------------------- files
def encode(quads, terms='surface', mark=None, block_quins=BLOCK_QUINS):
    """Blocks of quins and lexicon entries of statements given as surface texts."""
    entries = {}
    quins = sort_quins(quin(statement_ids(q, terms, entries)) for q in quads)
    if mark if mark is not None else terms == 'surface':
        entries[key(MARK)] = MARK
    return [quins[i:i + block_quins] for i in range(0, len(quins), block_quins)], entries


def write_file(path, data):
    with open(path, 'wb') as f:
        f.write(data)
    return path


def write_volume(path, quads, terms='surface', mark=None, block_quins=BLOCK_QUINS, change=None, page_size=4096, **how):
    """`change` may change the lexicon's entries before they are written; `how` goes to build."""
    blocks, entries = encode(quads, terms, mark, block_quins)
    if change:
        change(entries)
    return write_file(path, build(blocks, paged_lexicon(entries, page_size), **how))


def write_set(path, quads, n_segments=2, n_shards=1, block_quins=BLOCK_QUINS):
    """Root, STEM.segment-N.q42 and STEM.lex-N.q42."""
    blocks, entries = encode(quads, block_quins=block_quins)
    stem = os.path.basename(path)[:-4]
    folder = os.path.dirname(path)
    records = b''

    def add(name, data, first, last, n_quins):
        write_file(os.path.join(folder, name), data)
        record = struct.pack('<QQQ', len(data), first, last) + (struct.pack('<Q', n_quins) if n_quins else b'')
        return record + hashlib.sha256(data).digest() + struct.pack('<H', len(name)) + name.encode()

    cut = [len(blocks) * i // n_segments for i in range(n_segments + 1)]
    n = 0
    for i, part in enumerate(filter(None, (blocks[a:b] for a, b in zip(cut, cut[1:])))):
        records += add(f'{stem}.segment-{i:05}.q42', build(part, paged_lexicon({})), part[0][0][2], part[-1][-1][2], sum(map(len, part)))
        n += 1
    items = sorted(entries.items())
    cut = [len(items) * i // n_shards for i in range(n_shards + 1)]
    for i, (a, b) in enumerate(zip(cut, cut[1:])):
        records += add(f'{stem}.lex-{i:05}.q42', build([], paged_lexicon(dict(items[a:b]))), items[a][0], items[b - 1][0], 0)
    manifest = b'Q42VOL\0\0' + struct.pack('<HHIQQ', 2, 0, n, 1, n_shards) + records
    return write_file(path, build([], paged_lexicon({}), manifest=manifest))


def line(quad):
    """The statement as canonical N-Quads."""
    return ' '.join(text for text in quad if text is not None) + ' .\n'


# ---------------------------------------------------------------- statements
E = 'http://e.example/'


def iri(name):
    return f'<{E}{name}>'


def integer(n):
    return f'"{n}"^^<{XSD}integer>'


def decimal(hundredths):
    text = f'{Decimal(hundredths) / 100:.2f}'.rstrip('0')
    text += '0' if text.endswith('.') else ''
    return f'"{"0.0" if text == "-0.0" else text}"^^<{XSD}decimal>'


def random_quads(seed, n, n_subjects=120):
    """Statements in which subjects are also objects and graphs, so that joins and repeated names find something."""
    r = random.Random(seed)
    subjects = [iri(f's{i}') for i in range(n_subjects)] + [f'_:b{i}' for i in range(10)]
    predicates = [iri(f'p{i}') for i in range(5)] + [iri('s1'), iri('s2')]
    graphs = [None, None, iri('g1'), iri('s3'), '_:b1']

    def an_object():
        kind = r.randrange(7)
        return [r.choice(subjects), integer(r.randrange(-30, 30)), decimal(r.randrange(-3000, 3000)), f'"t{r.randrange(20)}"@en',
                f'"x\\n{r.randrange(20)}"', r.choice(predicates), r.choice(subjects)][kind]

    quads = set()
    while len(quads) < n:
        quads.add((r.choice(subjects), r.choice(predicates), an_object(), r.choice(graphs)))
    return sorted(quads, key=str)
