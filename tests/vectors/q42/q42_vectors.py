#!/usr/bin/env python3
"""Independent test-vector generator for the q42 container family.

Written from the format's document only, without the C code.  Usage:
    python3 q42_vectors.py                 # print all vectors
    python3 q42_vectors.py --write DIR     # write those that are files into DIR
    python3 q42_vectors.py --legacy DIR    # also validate the legacy v1 sidecars in DIR
        DIR must hold schema.nt, schemaorg-current-https.q42.lex, ....q42.bidx, test.q42
"""
import hashlib, os, struct, sys

M64 = (1 << 64) - 1
M60 = (1 << 60) - 1
MSB = 1 << 63
TAG_INT, TAG_DEC, TAG_BOOL, TAG_BLOB, TAG_FLOAT = (t << 60 for t in (1, 2, 3, 4, 5))
TAG_EMBEDDED = 1 << 60
QPB, QSZ, SBH, SBS, HDR = 850, 48, 160, 40960, 256
F_LZ4, F_SORT, F_ROOT, F_FIDX, F_PIDX, F_COMMONS, F_SANCT, F_PAYLOAD = (1 << i for i in range(8))

# ---------------------------------------------------------------- hashing
def fnv64(b):
    h = 0xcbf29ce484222325
    for x in b:
        h = ((h ^ x) * 0x100000001b3) & M64
    return h

def q_hash(s):
    return fnv64(s.encode() if isinstance(s, str) else s) & M60

def did_q42(uri):
    assert uri.startswith("did:q42:") and len(uri) > 8
    return q_hash(uri[8:]) | MSB

def strip_token(t):
    if t.startswith("<") and t.endswith(">"):
        return t[1:-1]
    if t.startswith('"'):
        i = 1
        b = t.encode()
        while i < len(b):
            if b[i] == 0x5c:
                i += 2
                continue
            if b[i] == 0x22:
                break
            i += 1
        return b[1:i].decode("utf-8", "replace")
    return t

def hash_token(t):
    s = strip_token(t)
    return did_q42(s) if s.startswith("did:q42:") and len(s) > 8 else q_hash(s)

def pack_int(n):
    assert -(1 << 59) <= n < (1 << 59)
    return TAG_INT | (n & M60)

def pack_dec(x):
    import math
    s = float(x) * 1e6
    r = math.floor(abs(s) + 0.5) * (1 if s >= 0 else -1)     # round half away from zero
    return TAG_DEC | (int(r) & M60)

def pack_bool(v):
    return TAG_BOOL | (1 if v else 0)

def pack_float(f):
    return TAG_FLOAT | struct.unpack("<I", struct.pack("<f", f))[0]

def embedded_id(s, p, o):
    return q_hash(struct.pack("<QQQ", s, p, o)) | TAG_EMBEDDED

# ---------------------------------------------------------------- quins
def quin(s, p, o, c=0, m=0):
    return (s, p, o, c, m, s ^ p ^ o ^ c ^ m)

def quin_bytes(q):
    return struct.pack("<6Q", *q)

def requires_sanctuary(q):
    return (q[3] >> 56) in (1, 2) or ((q[4] >> 56) & 15) in (2, 3, 4) or ((q[4] >> 61) & 3) == 2

# ---------------------------------------------------------------- superblock + LZ4
def superblock(seq, quins):
    assert 1 <= len(quins) <= QPB
    h = struct.pack("<QQQIIQ", seq, 0, len(quins), 0, 0, 0) + bytes(120)
    body = b"".join(quin_bytes(q) for q in quins)
    return h + body + bytes(SBS - SBH - len(body))

def lz4_literal_block(raw):
    """One LZ4 sequence holding only literals: legal, deterministic, compressor-free."""
    n, out = len(raw), bytearray()
    if n < 15:
        out.append(n << 4)
    else:
        out.append(0xF0)
        r = n - 15
        while r >= 255:
            out.append(255)
            r -= 255
        out.append(r)
    return bytes(out) + raw

def lz4_decode(src, n):
    out, i = bytearray(), 0
    while i < len(src):
        t = src[i]; i += 1
        l = t >> 4
        if l == 15:
            while True:
                b = src[i]; i += 1; l += b
                if b != 255: break
        out += src[i:i + l]; i += l
        if i >= len(src): break
        off = src[i] | src[i + 1] << 8; i += 2
        assert 0 < off <= len(out)
        m = (t & 15) + 4
        if t & 15 == 15:
            while True:
                b = src[i]; i += 1; m += b
                if b != 255: break
        for _ in range(m):
            out.append(out[-off])
    assert len(out) == n
    return bytes(out)

def payload(raw):
    return struct.pack("<I", len(raw)) + lz4_literal_block(raw)

# ---------------------------------------------------------------- lexicon
LEXM = b"Q42LEX\0\0"

def lex_v1(entries, tagged):
    """entries: {hash: str | ('triple',s,p,o) | ('webizen',str)}"""
    idx, blob = b"", b""
    for h in sorted(entries):
        e = entries[h]
        idx += struct.pack("<QQ", h, len(blob))
        if isinstance(e, str):
            b = e.encode()
            blob += (b"\x01" if tagged else b"") + struct.pack("<H", len(b)) + b
        elif e[0] == "triple":
            blob += b"\x02" + struct.pack("<QQQ", *e[1:])
        else:
            b = e[1].encode()
            blob += b"\x03" + struct.pack("<H", len(b)) + b
    return LEXM + struct.pack("<QQQ", len(entries), 32 + len(idx), 1) + idx + blob

def lex_paged(entries, per_page=4096, v4=False):
    hs = sorted(entries)
    pages = [hs[i:i + per_page] for i in range(0, len(hs), per_page)]
    head = LEXM + struct.pack("<QQQQ", len(hs), 32, 4 if v4 else 2, len(pages))
    dirs, body = b"", b""
    base = len(head) + 32 * len(pages)
    for pg in pages:
        ns_of, members = {}, {}
        def split(t):
            k = max(t.rfind("/"), t.rfind("#"), t.rfind(":"))
            return None if k < 0 else (t[:k + 1], t[k + 1:])
        ids = {}
        table = b""
        if v4:
            for h in pg:
                sp = split(entries[h])
                if sp: members[sp[0]] = members.get(sp[0], 0) + 1
            for n, m in members.items():               # first-appearance order
                ln = len(n.encode())
                if ln >= 3 and m * (ln - 2) > ln + 2:
                    ids[n] = len(ids)
                    table += struct.pack("<H", ln) + n.encode()
        blob_off = 16 + 16 * len(pg)
        idx, blob = b"", table
        for h in pg:
            t = entries[h]
            idx += struct.pack("<QQ", h, len(blob))
            sp = split(t) if v4 else None
            if sp and sp[0] in ids:
                l = sp[1].encode()
                blob += b"\x04" + struct.pack("<HH", ids[sp[0]], len(l)) + l
            else:
                b = t.encode()
                blob += b"\x01" + struct.pack("<H", len(b)) + b
        page = struct.pack("<IIQ", len(pg), len(ids), blob_off) + idx + blob
        dirs += struct.pack("<QQQII", pg[0], base + len(body), len(page), len(pg), 0)
        body += page
    return head + dirs + body

def lex_parse(d):
    """-> (profile, {hash: bytes|('triple',..)|('webizen',bytes)})"""
    assert d[:8] == LEXM
    n, so, v = struct.unpack_from("<QQQ", d, 8)
    out = {}
    if v == 1:
        assert so == 32 + 16 * n
        ix = [struct.unpack_from("<QQ", d, 32 + 16 * i) for i in range(n)]
        assert all(ix[i][0] < ix[i + 1][0] for i in range(n - 1))
        def tagged(off):
            p = so + off
            if p >= len(d): return None
            t = d[p]
            if t == 2:
                return (p + 25, ("triple",) + struct.unpack_from("<QQQ", d, p + 1)) if p + 25 <= len(d) else None
            if t not in (1, 3) or p + 3 > len(d): return None
            l = struct.unpack_from("<H", d, p + 1)[0]
            if p + 3 + l > len(d): return None
            b = d[p + 3:p + 3 + l]
            return p + 3 + l, (b if t == 1 else ("webizen", b))
        def plain(off):
            p = so + off
            if p + 2 > len(d): return None
            l = struct.unpack_from("<H", d, p)[0]
            return (p + 2 + l, d[p + 2:p + 2 + l]) if p + 2 + l <= len(d) else None
        for name, f in (("v1-tagged", tagged), ("v1-untagged", plain)):
            res = [f(o) for _, o in ix]
            ends = sorted(so + o for _, o in ix)[1:] + [len(d)]
            order = sorted(range(n), key=lambda i: ix[i][1])
            if all(res) and [res[i][0] for i in order] == ends:
                return name, {ix[i][0]: res[i][1] for i in range(n)}
        raise ValueError("v1 lexicon matches neither profile")
    assert v in (2, 4) and so == 32
    npg = struct.unpack_from("<Q", d, 32)[0]
    for k in range(npg):
        first, po, pl, cnt, _ = struct.unpack_from("<QQQII", d, 40 + 32 * k)
        c2, nns, bo = struct.unpack_from("<IIQ", d, po)
        assert c2 == cnt and bo == 16 + 16 * cnt
        ns, cur = [], po + bo
        for _ in range(nns):
            l = struct.unpack_from("<H", d, cur)[0]
            ns.append(d[cur + 2:cur + 2 + l]); cur += 2 + l
        for i in range(cnt):
            h, rel = struct.unpack_from("<QQ", d, po + 16 + 16 * i)
            assert i or h == first
            p = po + bo + rel
            if d[p] == 1:
                l = struct.unpack_from("<H", d, p + 1)[0]
                out[h] = d[p + 3:p + 3 + l]
            else:
                assert d[p] == 4 and v == 4
                nid, l = struct.unpack_from("<HH", d, p + 1)
                out[h] = ns[nid] + d[p + 5:p + 5 + l]
    assert len(out) == n
    return "v%d" % v, out

# ---------------------------------------------------------------- indexes
def bidx(blocks):
    return b"BIDX" + struct.pack("<III", 1, len(blocks), 0) + b"".join(
        struct.pack("<QQ", b[0][2], b[-1][2]) for b in blocks)

def fidx(blocks):
    out = b"FIDX" + struct.pack("<III", 1, len(blocks), 0)
    for b in blocks:
        for f in (0, 1, 3):
            v = [q[f] for q in b]
            out += struct.pack("<QQ", min(v), max(v))
    return out

def varint(v):
    o = bytearray()
    while True:
        b = v & 127; v >>= 7
        o.append(b | (128 if v else 0))
        if not v: return bytes(o)

def bloom_bits(v):
    rotl = lambda x, r: ((x << r) | (x >> (64 - r))) & M64
    a = v * 0x9E3779B97F4A7C15 & M64
    b = (~v & M64) * 0xBF58476D1CE4E5B9 & M64
    return [h % 2048 for h in (a, b, (a + b) & M64, a ^ rotl(b, 17))]

def pidx_field(vals):
    u = sorted(set(vals))
    deltas, prev = b"", 0
    for v in u:
        deltas += varint(v - prev); prev = v
    if len(u) > 8 and 2 + len(deltas) > 257:
        bl = bytearray(256)
        for v in u:
            for k in bloom_bits(v):
                bl[k // 8] |= 1 << (k % 8)
        return b"\x01" + bytes(bl)
    return b"\x00" + struct.pack("<H", len(u)) + deltas

def pidx(blocks):
    pl = [b"".join(pidx_field([q[f] for q in b]) for f in (0, 1, 3)) for b in blocks]
    offs = [0]
    for p in pl: offs.append(offs[-1] + len(p))
    return b"PIDX" + struct.pack("<III", 1, len(blocks), 0) + struct.pack("<%dI" % len(offs), *offs) + b"".join(pl)

def pidx_may_contain(p, field, value):
    i = 0
    for f in range(3):
        if p[i] == 0:
            n = struct.unpack_from("<H", p, i + 1)[0]; i += 3; cur = 0; hit = False
            for _ in range(n):
                s = v = 0
                while True:
                    b = p[i]; i += 1; v |= (b & 127) << s; s += 7
                    if not b & 128: break
                cur += v; hit |= cur == value
        else:
            bl = p[i + 1:i + 257]; i += 257
            hit = all(bl[k // 8] >> (k % 8) & 1 for k in bloom_bits(value))
        if f == field: return hit

# ---------------------------------------------------------------- DAG
def quins_merkle(qs):
    return hashlib.sha256(b"".join(struct.pack("<4Q", *q[:4]) for q in qs)).digest()

def dag_node(parent, qs, did, ts, msg, flags):
    return parent + quins_merkle(qs) + struct.pack("<QQII", did, ts, q_hash(msg) & 0xffffffff, flags)

def dag(blocks, did, ts):
    nodes, parent = [], bytes(32)
    for i, b in enumerate(blocks):
        nd = dag_node(parent, b, did, ts, "ingest block %d" % i, 2 if i == 0 else 0)
        nodes.append(nd); parent = hashlib.sha256(nd).digest()
    sec = struct.pack("<Q", len(nodes)) + b"".join(nodes)
    root = hashlib.sha256(parent).digest() if nodes else bytes(32)
    return sec, root

# ---------------------------------------------------------------- volume
def header(version, flags, lex, man, bi, fi, pi, bdir, data, nblk, merkle, ts, dag_off, dag_len):
    """lex..data are (offset,length)"""
    h = b"Q42\0" + struct.pack("<HH", version, flags)
    h += struct.pack("<QQQQQQQQQII", *lex, *bi, *bdir, *data, nblk, SBS, QPB)
    h += struct.pack("<QQ", 0, 0) + merkle + struct.pack("<QQQQQ", ts, dag_off, dag_len, 0, 0)
    h += struct.pack("<QQQQQQ", *man, *fi, *pi) + bytes(32)
    assert len(h) == HDR
    return h

def write_volume(lex_bytes, blocks, profile="stream", version=3, commons=False, sanctuary=False,
                 manifest=b"", did=0, ts=0):
    """profile 'stream' = chained Merkle root, no DAG; 'builder' = DAG section, root = SHA256(tip)."""
    pays = [payload(superblock(i, b)) for i, b in enumerate(blocks)]
    data = b"".join(pays)
    bi, fi, pi = bidx(blocks), fidx(blocks), pidx(blocks)
    bdir, off = b"", 0
    for p in pays:
        bdir += struct.pack("<QII", off, len(p), SBS); off += len(p)
    flags = F_LZ4 | F_SORT
    if sanctuary or any(requires_sanctuary(q) for b in blocks for q in b): flags |= F_SANCT
    elif commons: flags |= F_COMMONS
    if blocks or profile == "stream": flags |= F_FIDX | F_PIDX
    if manifest: flags |= F_ROOT
    pos = HDR
    lx = (pos, len(lex_bytes)); pos += len(lex_bytes)
    mn = (pos, len(manifest)) if manifest else (0, 0); pos += len(manifest)
    b_ = (pos, len(bi)); pos += len(bi)
    f_ = (pos, len(fi)) if flags & F_FIDX else (0, 0); pos += len(fi)
    p_ = (pos, len(pi)) if flags & F_PIDX else (0, 0); pos += len(pi)
    d_ = (pos, len(bdir)); pos += len(bdir)
    dt = (pos, len(data)); pos += len(data)
    if profile == "builder":
        sec, root = dag(blocks, did, ts)
        dag_off, dag_len = pos, len(sec)
    else:
        sec, root, dag_off, dag_len = b"", bytes(32), 0, 0
        for p in pays:
            root = hashlib.sha256(root + p).digest()
    h = header(version, flags, lx, mn, b_, f_, p_, d_, dt, len(blocks), root, ts, dag_off, dag_len)
    return h + lex_bytes + manifest + bi + fi + pi + bdir + data + sec

def manifest_v2(generation, segs, lexs):
    """segs: (locator, bytes, first, last, count, sha)   lexs: (locator, bytes, first, last, sha)"""
    out = b"Q42VOL\0\0" + struct.pack("<HHIQQ", 2, 0, len(segs), generation, len(lexs))
    for loc, ln, a, z, n, sha in segs:
        out += struct.pack("<QQQQ", ln, a, z, n) + sha + struct.pack("<H", len(loc)) + loc.encode()
    for loc, ln, a, z, sha in lexs:
        out += struct.pack("<QQQ", ln, a, z) + sha + struct.pack("<H", len(loc)) + loc.encode()
    return out

# ---------------------------------------------------------------- publication helpers
def pct(s):
    keep = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.~"
    return "".join(chr(b) if b in keep else "%%%02X" % b for b in s.encode())

def magnet(blob, name, ws=None):
    u = "magnet:?xt=urn:btih:%s&dn=%s&xl=%d" % (hashlib.sha1(blob).hexdigest(), pct(name), len(blob))
    return u + ("&ws=%s&xs=%s" % (pct(ws), pct(ws)) if ws else "")

def cid_raw(block):
    raw = b"\x01\x55\x12\x20" + hashlib.sha256(block).digest()
    al, bits, nb, o = "abcdefghijklmnopqrstuvwxyz234567", 0, 0, "b"
    for b in raw:
        bits = bits << 8 | b; nb += 8
        while nb >= 5:
            nb -= 5; o += al[bits >> nb & 31]
        bits &= (1 << nb) - 1
    if nb: o += al[bits << (5 - nb) & 31]
    return raw, o

def car(blocks):
    h = b"\xa2\x67version\x01\x65roots\x80"
    out = varint(len(h)) + h
    for b in blocks:
        c = cid_raw(b)[0]
        out += varint(len(c) + len(b)) + c + b
    return out

def qchk(name, payload_):
    p = payload_.encode()
    return b"QCHK" + struct.pack("<QI", q_hash("profile:" + name), len(p)) + p

# ---------------------------------------------------------------- journal
def crc32c(d):
    c = 0xffffffff
    for b in d:
        c ^= b
        for _ in range(8):
            c = c >> 1 ^ (0x82F63B78 if c & 1 else 0)
    return c ^ 0xffffffff

def q42j_header(profile, world, base, gen, privacy=0):
    return (b"Q42J" + struct.pack("<HHBB", 1, profile, privacy, 0) + bytes(6) +
            struct.pack("<Q", world) + base + struct.pack("<QI", gen, 1) + bytes(32) + bytes(28))

def q42j_frame(ft, seq, tick, tx, pay):
    return struct.pack("<B3xIQQII", ft, len(pay), seq, tick, tx, crc32c(pay)) + pay

# ---------------------------------------------------------------- printing
def hx(b, w=32):
    b = bytes(b)
    return "\n".join("    " + b[i:i + w].hex() for i in range(0, len(b), w))

def sec(t): print("\n## " + t)

def check_volume(v):
    """Minimal open-time checks + decode + parity + Merkle; returns list of blocks."""
    assert v[:4] == b"Q42\0"
    ver, flags = struct.unpack_from("<HH", v, 4)
    lo, ll, bo, bl, do, dl, xo, xl, n, bs, qp = struct.unpack_from("<9QII", v, 8)
    to, tl = struct.unpack_from("<QQ", v, 88)
    root = v[104:136]
    ts, go, gl = struct.unpack_from("<QQQ", v, 136)
    mo, ml, fo, fl, po, pl = struct.unpack_from("<6Q", v, 176)
    assert flags & F_LZ4 and bs == SBS and qp == QPB and dl == 16 * n
    secs = [(lo, ll), (bo, bl), (do, dl), (xo, xl), (to, tl), (go, gl)]
    for bit, o, l in ((F_ROOT, mo, ml), (F_FIDX, fo, fl), (F_PIDX, po, pl)):
        if flags & bit:
            assert l; secs.append((o, l))
    secs = sorted(x for x in secs if x[1])
    assert all(o >= HDR and o + l <= len(v) for o, l in secs)
    assert all(a[0] + a[1] <= b[0] for a, b in zip(secs, secs[1:]))
    blocks, off, chain = [], 0, bytes(32)
    for i in range(n):
        r, c, u = struct.unpack_from("<QII", v, do + 16 * i)
        assert r == off and u == SBS and c >= 4; off += c
        p = v[xo + r:xo + r + c]
        assert struct.unpack_from("<I", p)[0] == SBS
        raw = lz4_decode(p[4:], SBS)
        live = struct.unpack_from("<Q", raw, 16)[0]
        assert 1 <= live <= QPB
        qs = [struct.unpack_from("<6Q", raw, SBH + QSZ * k) for k in range(live)]
        assert all(q[5] == q[0] ^ q[1] ^ q[2] ^ q[3] ^ q[4] for q in qs)
        assert (qs[0][2], qs[-1][2]) == struct.unpack_from("<QQ", v, bo + 16 + 16 * i)
        blocks.append(qs); chain = hashlib.sha256(chain + p).digest()
    assert off == xl
    if gl:
        k = struct.unpack_from("<Q", v, go)[0]
        assert gl == 8 + 88 * k
        tip = hashlib.sha256(v[go + 8 + 88 * (k - 1):go + 8 + 88 * k]).digest() if k else None
        assert root == (hashlib.sha256(tip).digest() if k else bytes(32))
    else:
        assert root == chain
    if flags & F_PIDX:
        tbl = struct.unpack_from("<%dI" % (n + 1), v, po + 16)
        base = po + 16 + 4 * (n + 1)
        for i in range(n):
            e = v[base + tbl[i]:base + tbl[i + 1]]
            for q in blocks[i]:
                assert all(pidx_may_contain(e, f, q[k]) for f, k in ((0, 0), (1, 1), (2, 3)))
    lex_parse(v[lo:lo + ll])
    return blocks

def main():
    sec("V1 hashing (FNV-1a 64 then & 0x0FFFFFFFFFFFFFFF)")
    for s in ["", "a", "Alice", "knows", "Bob", "http://ex/s", "http://ex/p", "http://ex/o",
              "http://www.w3.org/1999/02/22-rdf-syntax-ns#type", "_:b0", "hello", "hello@en",
              "profile:health", "ingest block 0", "z6MkpTHR8VNs", "urn:qualia:context:temporal",
              "na\u00efve\u2014pri\u00e8re\u2014\u6bcd\u8a9e"]:
        print("  %-50s fnv64=%016x q_hash=%016x" % (repr(s), fnv64(s.encode()), q_hash(s)))
    for t in ["<http://ex/o>", '"hello"', '"hello"@en', '"he\\"y"', "<did:q42:z6MkpTHR8VNs>", "_:b0"]:
        print("  hash_token %-34s -> %016x" % (t, hash_token(t)))
    sec("V2 inline objects")
    for n, v in [("int 0", pack_int(0)), ("int 99", pack_int(99)), ("int -42", pack_int(-42)),
                 ("int 2^59-1", pack_int((1 << 59) - 1)), ("int -2^59", pack_int(-(1 << 59))),
                 ("dec 3.141592", pack_dec("3.141592")), ("dec -3.141592", pack_dec("-3.141592")),
                 ("bool true", pack_bool(1)), ("bool false", pack_bool(0)), ("float 3.5", pack_float(3.5)),
                 ("embedded(1,2,3)", embedded_id(1, 2, 3))]:
        print("  %-18s %016x" % (n, v))
    sec("V3 NQuin (11,22,33,44,55)")
    print(hx(quin_bytes(quin(11, 22, 33, 44, 55)), 48))
    S, P, O = q_hash("http://ex/s"), q_hash("http://ex/p"), q_hash("http://ex/o")
    q = quin(S, P, O)
    sec("V4 NQuin <http://ex/s> <http://ex/p> <http://ex/o>")
    print(hx(quin_bytes(q), 48))
    sec("V5 SuperBlock seq=0 one quin (V4)")
    sb = superblock(0, [q])
    print("  first 208 bytes:"); print(hx(sb[:208]))
    print("  sha256(40960 bytes) =", hashlib.sha256(sb).hexdigest())
    pl = payload(sb)
    assert lz4_decode(pl[4:], SBS) == sb
    print("  literal-only LZ4 payload: %d bytes, first 8 = %s, sha256=%s" % (len(pl), pl[:8].hex(), hashlib.sha256(pl).hexdigest()))
    lex = {S: "http://ex/s", P: "http://ex/p", O: "http://ex/o"}
    sec("V6 Q42LEX for the three terms")
    for n, b in [("v1 untagged (legacy sidecar)", lex_v1(lex, False)), ("v1 tagged", lex_v1(lex, True)),
                 ("v2 paged", lex_paged(lex)), ("v4 namespaced (read-only support)", lex_paged(lex, v4=True)),
                 ("v2 empty", lex_paged({}))]:
        print("  %s: %d bytes" % (n, len(b))); print(hx(b))
        prof, got = lex_parse(b)
        assert {k: v.decode() for k, v in got.items()} == (lex if "empty" not in n else {}), n
    e = {1: "s", embedded_id(1, 2, 3): ("triple", 1, 2, 3), 9: ("webizen", "w")}
    b = lex_v1(e, True)
    print("  v1 tagged with triple + webizen: %d bytes" % len(b)); print(hx(b)); lex_parse(b)
    sec("V7 indexes for one block holding V4")
    for n, b in [("BIDX", bidx([[q]])), ("FIDX", fidx([[q]])), ("PIDX", pidx([[q]]))]:
        print("  %s: %d bytes" % (n, len(b))); print(hx(b))
    small = [quin(10, 1, 5, 100), quin(20, 1, 6, 101), quin(10, 2, 7, 102)]
    print("  PIDX of quins S/P/C (10,1,100)(20,1,101)(10,2,102): "); print(hx(pidx([small])))
    print("  PIDX empty (0 blocks):", pidx([]).hex(), " FIDX empty:", fidx([]).hex(), " BIDX empty:", bidx([]).hex())
    sec("V8 PIDX Bloom: subjects i*1000003+17 for i in 0..399")
    bf = pidx_field([i * 1000003 + 17 for i in range(400)])
    print("  kind=%d len=%d sha256=%s" % (bf[0], len(bf), hashlib.sha256(bf).hexdigest()))
    print("  bits(0)=%s bits(1)=%s bits(0x0123456789abcdef)=%s" % (bloom_bits(0), bloom_bits(1), bloom_bits(0x0123456789abcdef)))
    bs = bytearray(256)
    for k in bloom_bits(1): bs[k // 8] |= 1 << (k % 8)
    print("  bloom of {1}: non-zero bytes", {i: "%02x" % x for i, x in enumerate(bs) if x})
    for n in (8, 31, 32):
        vs = [(i + 1) << 54 for i in range(n)]
        print("  threshold: %d values spaced 2^54 -> posting_len %d -> kind %d" % (n, 2 + 8 * n, pidx_field(vs)[0]))
    print("  (each delta 2^54 takes %d varint bytes)" % len(varint(1 << 54)))
    sec("V9 DAG: one block V4, author 0, ts=1717286400000")
    s9, r9 = dag([[q]], 0, 1717286400000)
    print(hx(s9, 48)); print("  quins_merkle =", quins_merkle([q]).hex())
    print("  node digest  =", hashlib.sha256(s9[8:]).hexdigest()); print("  header root  =", r9.hex())
    sec("V10 whole volume, stream profile, version 3, LEX v2, one block, commons, ts=0 (literal-only LZ4)")
    v = write_volume(lex_paged(lex), [[q]], commons=True)
    print("  length", len(v), "sha256", hashlib.sha256(v).hexdigest()); print("  header:"); print(hx(v[:256]))
    print("  chained merkle = sha256(32 zero bytes || payload) =", hashlib.sha256(bytes(32) + pl).hexdigest())
    sec("V11 same, builder profile, author 0, ts=1717286400000, unmarked")
    w = write_volume(lex_paged(lex), [[q]], profile="builder", ts=1717286400000)
    print("  length", len(w), "sha256", hashlib.sha256(w).hexdigest()); print("  header:"); print(hx(w[:256]))
    sec("V12 two-block volume: 851 quins (i+1, 7, i+1, 0), i=0..850, empty LEX v2, stream")
    qs = [quin(i + 1, 7, i + 1) for i in range(851)]
    two = write_volume(lex_paged({}), [qs[:850], qs[850:]], commons=False)
    print("  length", len(two), "sha256", hashlib.sha256(two).hexdigest()); print("  header:"); print(hx(two[:256]))
    print("  BIDX:", bidx([qs[:850], qs[850:]]).hex())
    pp = pidx([qs[:850], qs[850:]])
    print("  PIDX: %d bytes, sha256 %s, table %s" % (len(pp), hashlib.sha256(pp).hexdigest(), struct.unpack_from("<3I", pp, 16)))
    for x in (v, w, two): check_volume(x)
    print("  self-check of V10, V11, V12 passed (sections, decode, parity, BIDX, PIDX, Merkle)")
    sec("V13 sanctuary: metadata medical tier (3<<56), bilateral lane (2<<61), context top byte 1")
    for q3 in (quin(1, 2, 3, 0, 3 << 56), quin(1, 2, 3, 0, 2 << 61), quin(1, 2, 3, 1 << 56, 0), quin(1, 2, 3, 0, 1 << 56)):
        f = struct.unpack_from("<H", write_volume(lex_paged({}), [[q3]], commons=True), 6)[0]
        print("  ctx=%016x meta=%016x parity=%016x sanctuary=%s flags=%04x" % (q3[3], q3[4], q3[5], requires_sanctuary(q3), f))
    sec("V14 manifest v2 (generation 7, one segment, one lexicon shard)")
    mf = manifest_v2(7, [("a.q42", 100, 1, 9, 3, bytes([0x11]) * 32)], [("a.lex.q42", 50, 2, 8, bytes([0x22]) * 32)])
    print(hx(mf)); rt = write_volume(lex_paged({}), [], profile="builder", commons=True, manifest=mf, ts=1)
    check_volume(rt)
    print("  root volume: length", len(rt), "flags %04x" % struct.unpack_from("<H", rt, 6)[0], "sha256", hashlib.sha256(rt).hexdigest())
    print("  root header:"); print(hx(rt[:256]))
    sec("V15 magnet / CID / CAR")
    print("  magnet V10:", magnet(v, "demo volume.q42"))
    hsh = hashlib.sha1(v).hexdigest()
    print("  with ws   :", magnet(v, "demo.q42", "http://127.0.0.1:4242/torrent/webseed/" + hsh))
    raw, txt = cid_raw(b"hello-q42"); print("  CID raw('hello-q42') hex=f%s b32=%s" % (raw.hex(), txt))
    raw, txt = cid_raw(b"q42-superblock-bytes"); print("  CID raw('q42-superblock-bytes') b32=%s" % txt)
    print("  CAR of one block 'intact':"); print(hx(car([b"intact"])))
    sec("V16 QCHK health '{}'")
    print(hx(qchk("health", "{}")))
    sec("V17 Q42J")
    base = bytes([0x55]) * 32
    print("  crc32c('')=%08x crc32c('123456789')=%08x crc32c(16 zero bytes)=%08x crc32c(aaaaaaaa)=%08x" % (crc32c(b""), crc32c(b"123456789"), crc32c(bytes(16)), crc32c(b"\xaa" * 4)))
    hd = q42j_header(3, 0x9999, base, 1); print("  header (profile 3, world 0x9999, base 55.., gen 1):"); print(hx(hd))
    qa = quin(100, 200, 300, 400, 500)
    fr = (q42j_frame(1, 1, 10, 1, struct.pack("<QQ", 0xABCD, 0x1111)) +
          q42j_frame(4, 2, 10, 1, struct.pack("<Q", q_hash("a")) + b"a") +
          q42j_frame(2, 3, 10, 1, quin_bytes(qa)) + q42j_frame(0xFF, 4, 10, 1, b"\xaa" * 4))
    print("  tx 1, tick 10, command 0xABCD, actor 0x1111, bind q_hash('a')->'a', add (100,200,300,400,500):"); print(hx(fr))
    sec("V18 framed legacy transport (one chunk, one V4 quin)")
    raw = quin_bytes(q); p = payload(raw)
    print(hx(struct.pack("<QII", 0, len(p), len(raw)) + p))
    sec("V19 v2 header -> v3 migration")
    v2 = bytearray(v[:256]); v2[4:6] = b"\x02\0"; v2[6:8] = struct.pack("<H", 0x7f); v2[88:] = b"\xee" * 168
    m = bytearray(v2); m[4:6] = b"\x03\0"; m[6:8] = struct.pack("<H", struct.unpack_from("<H", v2, 6)[0] & 3); m[88:] = bytes(168)
    print("  before[0:8]=%s after[0:8]=%s after[88:256] all zero=%s" % (bytes(v2[:8]).hex(), bytes(m[:8]).hex(), not any(m[88:])))
    sec("V20 well-known hashes")
    for t in ["urn:qualia:context:temporal", "urn:qualia:context:agent", "urn:qualia:context:branches",
              "urn:qualia:dag:branchTip", "urn:qualia:dag:parent", "http://www.w3.org/ns/prov#generatedAtTime",
              "http://www.w3.org/ns/prov#startedAtTime", "http://www.w3.org/ns/prov#endedAtTime",
              "http://www.w3.org/ns/prov#wasAttributedTo", "http://www.w3.org/ns/prov#wasInvalidatedBy",
              "http://www.w3.org/ns/prov#invalidatedAtTime", "profile:general", "profile:health", "profile:chemistry",
              "profile:research", "profile:legal", "profile:financial"]:
        print("  %-52s %016x" % (t, q_hash(t)))
    if len(sys.argv) > 2 and sys.argv[1] == "--legacy":
        legacy(sys.argv[2])

def legacy(d):
    sec("Legacy validation against " + d)
    lexb = open(os.path.join(d, "schemaorg-current-https.q42.lex"), "rb").read()
    prof, ent = lex_parse(lexb)
    ok64 = sum(fnv64(t) == h for h, t in ent.items()); ok60 = sum((fnv64(t) & M60) == h for h, t in ent.items())
    print("  lex profile %s entries %d  key==fnv64(text): %d  key==fnv64&mask60: %d" % (prof, len(ent), ok64, ok60))
    rebuilt = lex_v1({h: t.decode() for h, t in ent.items()}, False)
    print("  re-encode v1-untagged byte-identical:", rebuilt == lexb)
    terms, objs, skipped = {}, [], 0
    for line in open(os.path.join(d, "schema.nt"), encoding="utf-8"):
        line = line.strip()
        if not line or line.startswith("#"): skipped += 1; continue
        t = line.split()
        if len(t) < 3: skipped += 1; continue
        hs = []
        for tok in t[:3]:
            s = strip_token(tok)
            h = fnv64(s.encode()); terms.setdefault(h, s); hs.append(h)
        objs.append(hs[2])
    objs.sort()
    print("  nt triples %d skipped %d distinct terms %d" % (len(objs), skipped, len(terms)))
    print("  lexicon key set equals naive 3-token tokenisation:", set(terms) == set(ent))
    print("  lexicon texts equal:", all(ent[h].decode() == terms.get(h) for h in ent))
    b = open(os.path.join(d, "schemaorg-current-https.q42.bidx"), "rb").read()
    mg, ver, n, r = struct.unpack_from("<4sIII", b)
    rng = [struct.unpack_from("<QQ", b, 16 + 16 * i) for i in range(n)]
    mine = [(objs[i], objs[min(i + 849, len(objs) - 1)]) for i in range(0, len(objs), 850)]
    print("  bidx magic %r version %d blocks %d reserved %d size ok %s" % (mg, ver, n, r, len(b) == 16 + 16 * n))
    print("  recomputed block ranges: %d, equal: %s (first mismatch %s)" % (len(mine), mine == rng, next((i for i, (x, y) in enumerate(zip(mine, rng)) if x != y), None)))
    t = open(os.path.join(d, "test.q42"), "rb").read()
    qq = struct.unpack("<6Q", t)
    print("  test.q42: %d bytes, flat quin: %s" % (len(t), ["%016x" % x for x in qq]))
    cand = ["Alice", "Bob", "knows", "ex:subject", "ex:predicate", "ex:object", "subject", "predicate", "object"] + list(terms.values())
    m = {fnv64(c.encode()): c for c in cand}
    print("  test.q42 fields found among candidates:", [m.get(x) for x in qq[:3]])


# ---------------------------------------------------------------- files
TS11 = 1717286400000

def files():
    """{name: bytes}: the vectors that are whole files."""
    s, p, o = q_hash("http://ex/s"), q_hash("http://ex/p"), q_hash("http://ex/o")
    q = quin(s, p, o)
    lex = {s: "http://ex/s", p: "http://ex/p", o: "http://ex/o"}
    mixed = {1: "s", embedded_id(1, 2, 3): ("triple", 1, 2, 3), 9: ("webizen", "w")}
    qs = [quin(i + 1, 7, i + 1) for i in range(851)]
    mf = manifest_v2(7, [("a.q42", 100, 1, 9, 3, bytes([0x11]) * 32)], [("a.lex.q42", 50, 2, 8, bytes([0x22]) * 32)])
    return {
        "v6-untagged.lex": lex_v1(lex, False), "v6-tagged.lex": lex_v1(lex, True), "v6-paged.lex": lex_paged(lex),
        "v6-named.lex": lex_paged(lex, v4=True), "v6-empty.lex": lex_paged({}), "v6-mixed.lex": lex_v1(mixed, True),
        "v7-lists.pidx": pidx([[quin(10, 1, 5, 100), quin(20, 1, 6, 101), quin(10, 2, 7, 102)]]),
        "v8-filter.pidx": pidx([[quin(i * 1000003 + 17, 7, i) for i in range(400)], [quin(1, 7, 400)]]),
        "v10-stream.q42": write_volume(lex_paged(lex), [[q]], commons=True),
        "v10-version4.q42": write_volume(lex_paged(lex, v4=True), [[q]], version=4, commons=True),
        "v10-untagged.q42": write_volume(lex_v1(lex, False), [[q]], commons=True),
        "v11-dag.q42": write_volume(lex_paged(lex), [[q]], profile="builder", ts=TS11),
        "v12-two-blocks.q42": write_volume(lex_paged({}), [qs[:850], qs[850:]]),
        "v14-manifest.bin": mf,
        "v14-root.q42": write_volume(lex_paged({}), [], profile="builder", commons=True, manifest=mf, ts=1),
    }


def write_files(folder):
    os.makedirs(folder, exist_ok=True)
    for name, data in files().items():
        with open(os.path.join(folder, name), "wb") as f:
            f.write(data)
        print("%-20s %6d bytes  sha256 %s" % (name, len(data), hashlib.sha256(data).hexdigest()))


if __name__ == "__main__":
    if len(sys.argv) > 2 and sys.argv[1] == "--write":
        write_files(sys.argv[2])
    else:
        main()
