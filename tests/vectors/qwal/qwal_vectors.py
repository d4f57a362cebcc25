#!/usr/bin/env python3
"""Frozen logs of governed commits, QWAL version 2: one file for each type of record, and the two older forms.

An encoder of its own, written from the format's table without the C code; Ed25519 as RFC 8032 defines it, so that the signatures
are real. Keys are made from fixed seeds and are worth nothing.

    python3 qwal_vectors.py --write DIR      writes them
    python3 qwal_vectors.py --check DIR      exit status 1 when a file there differs
"""
import hashlib
import os
import struct
import sys

MASK64 = 2**64 - 1
BEGIN, END = 1, 2
QUINS, SIGNATURE, COMMIT, SUSPEND, CONSENT, ABORT, CHECKPOINT, AUDIT, TERM = range(1, 10)
SIGNED, UNSIGNED, AGREED = 1, 2, 3
NOW = 1_750_000_000_000


# ---------------------------------------------------------------- hashes
def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


def q_hash(text):
    h = 0xCBF29CE484222325
    for byte in text.encode():
        h = (h ^ byte) * 0x100000001B3 & MASK64
    return h & 2**60 - 1


# ---------------------------------------------------------------- Ed25519: points are (x, y) with x, y below P
P = 2**255 - 19
ORDER = 2**252 + 27742317777372353535851937790883648493
D = -121665 * pow(121666, P - 2, P) % P


def plus(a, b):
    product = D * a[0] * b[0] * a[1] * b[1] % P
    return ((a[0] * b[1] + a[1] * b[0]) * pow(1 + product, P - 2, P) % P, (a[1] * b[1] + a[0] * b[0]) * pow(1 - product, P - 2, P) % P)


def times(n, point):
    total = (0, 1)
    while n:
        if n & 1:
            total = plus(total, point)
        point, n = plus(point, point), n >> 1
    return total


def even_root(y):
    square = (y * y - 1) * pow(D * y * y + 1, P - 2, P) % P
    x = pow(square, (P + 3) // 8, P)
    if x * x % P != square:
        x = x * pow(2, (P - 1) // 4, P) % P
    return x if x % 2 == 0 else P - x


BASE_Y = 4 * pow(5, P - 2, P) % P
BASE = (even_root(BASE_Y), BASE_Y)


def pack_point(point):
    return (point[1] | (point[0] & 1) << 255).to_bytes(32, 'little')


class Key:
    def __init__(self, seed):
        wide = hashlib.sha512(seed).digest()
        self.scalar = int.from_bytes(wide[:32], 'little') & 2**254 - 8 | 2**254
        self.prefix, self.public = wide[32:], pack_point(times(self.scalar, BASE))
        self.id = hashlib.sha256(self.public).digest()

    def sign(self, message):
        def number(*parts):
            return int.from_bytes(hashlib.sha512(b''.join(parts)).digest(), 'little') % ORDER
        r = number(self.prefix, message)
        point = pack_point(times(r, BASE))
        return point + ((r + number(point, self.public, message) * self.scalar) % ORDER).to_bytes(32, 'little')


ALICE, BOB = Key(bytes([1]) * 32), Key(bytes([2]) * 32)


# ---------------------------------------------------------------- payloads
def quin(s, p, o, c=0, m=0):
    return struct.pack('<6Q', s, p, o, c, m, s ^ p ^ o ^ c ^ m)


def term(text):
    data = text.encode()
    return struct.pack('<QI', q_hash(text), len(data)) + data


def commit(authority, n_records, agreement=0):
    return struct.pack('<IIQQ', authority, n_records, NOW, agreement)


def suspend(agreement, proposer, expires, threshold, signers, quins, digest=bytes(32)):
    return (struct.pack('<QQQQBBHI', agreement, proposer, NOW, expires, threshold, len(signers), 0, len(quins)) + digest +
            b''.join(struct.pack('<Q', s) for s in sorted(signers)) + b''.join(quins))


def audit(policy, version, entries):
    out = struct.pack('<Q', NOW) + policy + struct.pack('<II', version, len(entries))
    for gate, verdict, code, detail in entries:
        text = gate.encode() + detail.encode()
        out += struct.pack('<HHIQ', verdict, len(gate.encode()), len(detail.encode()), code) + text + bytes(-len(text) % 8)
    return out


def unit_digest(records):
    """SHA-256 over type, size and payload of each (type, payload)."""
    data = b'QWAL2\0\0\0'
    for kind, payload in records:
        data += struct.pack('<HHI', kind, 0, len(payload)) + payload
    return hashlib.sha256(data).digest()


# ---------------------------------------------------------------- files
class Log:
    def __init__(self, checkpoint=bytes(32), sequence=1, transaction=1):
        head = b'QWAL' + struct.pack('<HHI', 2, 0, 64) + checkpoint + struct.pack('<QQ', NOW, 0)
        self.data, self.sequence, self.transaction = head + struct.pack('<I', crc32c(head)), sequence, transaction

    def unit(self, *records, transaction=None):
        """One write of (type, payload)s; answers its transaction."""
        number = transaction or self.transaction
        self.transaction += transaction is None
        for i, (kind, payload) in enumerate(records):
            flags = (BEGIN if i == 0 else 0) | (END if i == len(records) - 1 else 0)
            head = struct.pack('<IIHHQQ', 0x52575151, len(payload), kind, flags, self.sequence, number)
            self.data += head + struct.pack('<I', crc32c(head + bytes(4) + payload)) + payload + bytes(-len(payload) % 8)
            self.sequence += 1
        return number


S, O = 'http://e.example/s', 'http://e.example/\u6f6e'
P1 = 'http://e.example/p'
Q1, Q2 = quin(q_hash(S), q_hash(P1), q_hash(O)), quin(q_hash(S), q_hash(P1), 1 << 60 | 7, q_hash(S), 3 << 56)


def unsigned(log, quins, terms=()):
    records = [(TERM, term(t)) for t in terms] + [(QUINS, b''.join(quins))]
    log.unit(*records, (COMMIT, commit(UNSIGNED, len(records))))


def suspended(log, expires=NOW + 86_400_000):
    """A unit that waits for Alice and Bob; answers its transaction and the digest."""
    signers = [q_hash('did:example:alice'), q_hash('did:example:bob'), q_hash('did:example:carol')]
    payload = (0xA11CE, q_hash('did:example:agent'), expires, 2, signers, [Q1, Q2])
    terms = [(TERM, term(S))]
    digest = unit_digest(terms + [(SUSPEND, suspend(*payload))])
    return log.unit(*terms, (SUSPEND, suspend(*payload, digest))), digest


def consent(name, key, digest):
    return struct.pack('<QQQ', 0xA11CE, q_hash('did:example:' + name), NOW + 1000) + key.id + key.sign(digest)


def make_files():
    files = {}
    log = Log()
    files['empty.qwal'] = log.data
    unsigned(log, [Q1])
    files['quins_commit.qwal'] = log.data

    log = Log()
    unsigned(log, [Q1, Q2], [S, P1, O])
    files['term.qwal'] = log.data

    log = Log()
    records = [(TERM, term(S)), (QUINS, Q1)]
    digest = unit_digest(records)
    log.unit(*records, (SIGNATURE, ALICE.id + ALICE.sign(digest) + digest), (COMMIT, commit(SIGNED, 3)))
    files['signature.qwal'] = log.data

    log = Log()
    number, digest = suspended(log)
    files['suspend.qwal'] = log.data
    unsigned(log, [Q2])  # others go on meanwhile
    log.unit((CONSENT, consent('alice', ALICE, digest)), transaction=number)
    files['consent.qwal'] = log.data
    log.unit((CONSENT, consent('bob', BOB, digest)), (COMMIT, commit(AGREED, 1, 0xA11CE)), transaction=number)
    files['consent_commit.qwal'] = log.data

    log = Log()
    number, digest = suspended(log, NOW + 1)
    log.unit((ABORT, struct.pack('<QQII', 0xA11CE, NOW + 2, 1, 0)), transaction=number)
    files['abort.qwal'] = log.data

    volume = hashlib.sha256(b'volume').digest()
    log = Log(volume, 41, 9)
    unsigned(log, [Q1])
    log.unit((CHECKPOINT, volume + struct.pack('<Q', 42)))
    files['checkpoint.qwal'] = log.data

    log = Log()
    entries = [('intent', 1, 0, ''), ('egress', 0, 0x2002, 'tier 3 is above the ceiling of this destination')]
    log.unit((AUDIT, audit(hashlib.sha256(b'policy').digest(), 7, entries)))
    files['audit.qwal'] = log.data

    spoiled = bytearray(Q2)
    spoiled[40] ^= 1
    files['old_bare.wal'] = Q1 + bytes(spoiled) + Q2
    files['old_headed.wal'] = volume + Q1 + bytes(48) + Q2
    files['old_headed_zero.wal'] = bytes(32) + Q1 + Q2[:16]
    return files


def main():
    if len(sys.argv) != 3 or sys.argv[1] not in ('--write', '--check'):
        sys.exit(__doc__)
    differing = 0
    for name, data in make_files().items():
        path = os.path.join(sys.argv[2], name)
        if sys.argv[1] == '--write':
            with open(path, 'wb') as file:
                file.write(data)
        else:
            with open(path, 'rb') as file:
                if file.read() != data:
                    print(f'{path} differs')
                    differing += 1
    sys.exit(differing > 0)


if __name__ == '__main__':
    main()
