#!/usr/bin/env python3
"""Test vectors of the panel layout (formats/doc/panels.md): one container in standard blocks, the same in panels, and changes
that a reader must refuse.

    python3 panel_vectors.py DIR            # writes standard.p64, panels.p64 and manifest.json; Python 3.8+, no packages

The encoder below was written from panels.md, element by element; it shares nothing with the C code. Containers are built by
p64_vectors.py beside it.
"""
import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "p64"))
import p64_vectors as p64  # noqa: E402

ROWS, BLOCK, FIRST = 16, 32, 4096
Q4_0, Q4_1, Q5_0, Q5_1, Q8_0, Q4_K, Q5_K, Q6_K, SOA, TERNARY = 2, 3, 6, 7, 8, 12, 13, 14, 112, 1158
NAMES = {Q4_0: "Q4_0", Q4_1: "Q4_1", Q5_0: "Q5_0", Q5_1: "Q5_1", Q8_0: "Q8_0", Q4_K: "Q4_K", Q5_K: "Q5_K", Q6_K: "Q6_K",
         SOA: "Q4_K_SOA", TERNARY: "TERNARY"}
BITS = {Q4_0: 4, Q4_1: 4, Q5_0: 5, Q5_1: 5, Q8_0: 8, Q4_K: 4, Q5_K: 5, Q6_K: 6, SOA: 4, TERNARY: 2}


def u16(b, at):
    return b[at] | b[at + 1] << 8


def elements_of(dtype, block):
    """(quants as stored, list of scale fields) of one standard block; a field is (section, group within the block, value)."""
    if dtype in (Q4_0, Q4_1, Q5_0, Q5_1):
        has_min, has_fifth = dtype in (Q4_1, Q5_1), dtype in (Q5_0, Q5_1)
        at = 4 if has_min else 2
        fifth = int.from_bytes(block[at:at + 4], "little") if has_fifth else 0
        at += 4 if has_fifth else 0
        q = [(block[at + k % 16] >> (4 * (k // 16)) & 15) | (fifth >> k & 1) << 4 for k in range(32)]
        return q, [("d", 0, u16(block, 0))] + ([("m", 0, u16(block, 2))] if has_min else [])
    if dtype == Q8_0:
        return [b ^ 128 for b in block[2:34]], [("d", 0, u16(block, 0))]
    if dtype == Q6_K:
        q = []
        for k in range(256):
            half, group, l = k // 128, k % 128 // 32, k % 32
            low = block[64 * half + 32 * (group % 2) + l] >> (4 * (group // 2)) & 15
            high = block[128 + 32 * half + l] >> (2 * group) & 3
            q.append(low | high << 4)
        return q, [("d", 0, u16(block, 208))] + [("sub", j, block[192 + j]) for j in range(16)]
    nibbles = {Q4_K: 16, Q5_K: 48, SOA: 0}[dtype]
    q = [block[nibbles + 32 * (k // 64) + k % 32] >> (4 * (k // 32 % 2)) & 15 for k in range(256)]
    if dtype == Q5_K:
        q = [x | (block[16 + k % 32] >> (k // 32) & 1) << 4 for k, x in enumerate(q)]
    if dtype == SOA:
        return q, [("d", j, u16(block, 128 + 2 * j)) for j in range(8)] + [("m", j, u16(block, 144 + 2 * j)) for j in range(8)]
    scales = [p64.q4k_scale_min(block[4:16], j) for j in range(8)]
    return q, ([("d", 0, u16(block, 0)), ("m", 0, u16(block, 2))] + [("sub", j, scales[j][0]) for j in range(8)]
               + [("submin", j, scales[j][1]) for j in range(8)])


def sections_of(dtype, n_blocks):
    """[(section, bytes of an entry, groups)] in the order in which they lie in a panel."""
    supers = dtype in (Q4_K, Q5_K, Q6_K)
    n_halves = n_blocks // 8 if supers else n_blocks
    out = []
    if dtype != TERNARY:
        out.append(("d", 2, n_halves))
    if dtype in (Q4_1, Q5_1, SOA, Q4_K, Q5_K):
        out.append(("m", 2, n_halves))
    if supers:
        out.append(("sub", 1, 2 * n_blocks if dtype == Q6_K else n_blocks))
    if dtype in (Q4_K, Q5_K):
        out.append(("submin", 1, n_blocks))
    low = 4 if BITS[dtype] in (5, 6) else BITS[dtype]
    out.append(("low", 4, n_blocks * low))
    if BITS[dtype] != low:
        out.append(("high", 4, n_blocks * (BITS[dtype] - low)))
    return out


def panel_of(dtype, n_blocks, rows):
    """rows: up to sixteen of (quants of the row, fields of the row)."""
    at, total = {}, 0
    for name, size, groups in sections_of(dtype, n_blocks):
        at[name] = total
        total = p64.align(total + size * ROWS * groups, 64)
    out = bytearray(total)
    if dtype == TERNARY:                                   # a digit of 1 is zero
        rows = rows + [([1] * (n_blocks * BLOCK), [])] * (ROWS - len(rows))
    for r, (quants, fields) in enumerate(rows):
        for name, group, value in fields:
            size = 2 if name in "dm" else 1
            where = at[name] + size * (ROWS * group + r)
            out[where:where + size] = value.to_bytes(size, "little")
        for k, q in enumerate(quants):
            block, vector, lane = k // BLOCK, k % BLOCK // 4, 4 * r + k % 4
            if BITS[dtype] == 8:
                out[at["low"] + 64 * (8 * block + vector) + lane] |= q
            elif BITS[dtype] == 2:
                out[at["low"] + 64 * (2 * block + vector // 4) + lane] |= q << (2 * (vector % 4))
            else:
                out[at["low"] + 64 * (4 * block + vector % 4) + lane] |= (q & 15) << (4 * (vector // 4))
            if BITS[dtype] == 5:
                out[at["high"] + 64 * block + lane] |= (q >> 4) << vector
            elif BITS[dtype] == 6:
                out[at["high"] + 64 * (2 * block + vector // 4) + lane] |= (q >> 4) << (2 * (vector % 4))
    return bytes(out)


def to_panels(dtype, dims, data):
    n_cols, n_rows = dims[0], p64.product(dims[1:])
    n_blocks = (n_cols + BLOCK - 1) // BLOCK
    rows, out = [], b""
    if dtype == TERNARY:
        out = data[:4] + bytes(60)
        digits = [data[4 + i // 5] // 3 ** (i % 5) % 3 for i in range(n_cols * n_rows)]
        rows = [(digits[r * n_cols:(r + 1) * n_cols] + [1] * (n_blocks * BLOCK - n_cols), []) for r in range(n_rows)]
    else:
        elements, size = p64.BLOCKS[dtype]
        per_row = n_cols // elements
        for r in range(n_rows):
            quants, fields = [], []
            for b in range(per_row):
                q, f = elements_of(dtype, data[(r * per_row + b) * size:(r * per_row + b + 1) * size])
                per_block = {"d": 1, "m": 1, "sub": 8, "submin": 8}
                if dtype == SOA:
                    per_block = {"d": 8, "m": 8}
                elif dtype == Q6_K:
                    per_block["sub"] = 16
                quants += q
                fields += [(name, b * per_block[name] + group, value) for name, group, value in f]
            rows.append((quants, fields))
    for first in range(0, n_rows, ROWS):
        out += panel_of(dtype, n_blocks, rows[first:first + ROWS])
    return out


class Bytes:
    """Repeatable bytes."""
    def __init__(self, seed):
        self.x = seed

    def take(self, n):
        out = bytearray()
        for _ in range(n):
            self.x = (self.x * 6364136223846793005 + 1442695040888963407) & (1 << 64) - 1
            out.append(self.x >> 56)
        return bytes(out)


SCALES_AT = {Q4_0: [0], Q4_1: [0, 2], Q5_0: [0], Q5_1: [0, 2], Q8_0: [0], Q4_K: [0, 2], Q5_K: [0, 2], Q6_K: [208],
             SOA: list(range(128, 160, 2))}


def standard_data(dtype, dims, seed):
    source = Bytes(seed)
    n = p64.product(dims)
    if dtype == TERNARY:
        digits = [b % 3 for b in source.take(n)] + [0] * (-n % 5)
        return p64.f32b(0.25) + bytes(sum(digits[i + k] * 3 ** k for k in range(5)) for i in range(0, len(digits), 5))
    elements, size = p64.BLOCKS[dtype]
    blocks = [bytearray(source.take(size)) for _ in range(n // elements)]
    for b in blocks:
        for at in SCALES_AT[dtype]:
            b[at + 1] &= 0xBB                              # a finite half
    return b"".join(bytes(b) for b in blocks)


# name, role, layer, dtype, dims in GGML order
TENSORS = [
    ("blk.0.attn_q.weight", 0, 0, Q4_0, [96, 16]), ("blk.0.attn_k.weight", 1, 0, Q4_1, [96, 5]),
    ("blk.0.attn_v.weight", 2, 0, Q5_0, [96, 19]), ("blk.0.attn_output.weight", 3, 0, Q5_1, [32, 17]),
    ("blk.0.ffn_gate.weight", 4, 0, Q4_K, [256, 18]), ("blk.0.ffn_up.weight", 5, 0, Q5_K, [256, 3]),
    ("blk.0.ffn_down.weight", 6, 0, Q6_K, [256, 17]), ("token_embd.weight", 9, None, Q8_0, [32, 4]),
    ("output.weight", 10, None, Q8_0, [96, 20]), ("extra.soa.weight", 0xFFFE, None, SOA, [256, 2]),
    ("extra.ternary.weight", 0xFFFE, None, TERNARY, [37, 18]), ("extra.cube.weight", 0xFFFE, None, Q4_0, [32, 2, 2]),
]


def is_in_panels(name, dims):
    return name != "token_embd.weight" and len(dims) == 2  # an embedding beside an output, and other ranks, stay


def container(with_panels):
    tensors, offset = [], 0
    for i, (name, role, layer, dtype, dims) in enumerate(TENSORS):
        data = standard_data(dtype, dims, i + 1)
        assert len(data) == p64.tensor_bytes(dtype, dims), name
        stored, number = data, dtype
        if with_panels and is_in_panels(name, dims):
            stored, number = to_panels(dtype, dims, data), FIRST + dtype
        tensors.append(p64.Tensor(name, role, layer, number, dims, stored, offset, p64.fnv1a64(name.encode())))
        offset = p64.align(offset + len(data), 32)
    tensors.sort(key=lambda t: p64.table_key(t.role, t.layer, t.source_offset))
    flags = p64.FLAG_LE | p64.FLAG_MAJOR | p64.FLAG_PACK | p64.FLAG_SCHEDULE | p64.FLAG_SOA | p64.FLAG_TERNARY
    hp = p64.hparams(1, 96, 1, 1, 4, 10000.0, 1.0)
    return p64.build_p64(tensors, 1, hp, b"", flags, 256)


def entry_of(data, name):
    """(place of the entry, index, blob offset, blob size)."""
    table, strings, count = (int.from_bytes(data[at:at + 4], "little") for at in (12, 24, 36))
    for i in range(count):
        at = table + 64 * i
        begin = strings + int.from_bytes(data[at:at + 4], "little")
        if data[begin:data.index(b"\0", begin)] == name.encode():
            return at, i, int.from_bytes(data[at + 32:at + 36], "little"), int.from_bytes(data[at + 36:at + 40], "little")
    raise KeyError(name)


def broken_files(good):
    """[(name, rule, offset, sentence, patches)], checksums made right in the patches."""
    out = []

    def add(name, rule, offset, sentence, tensor, changes):
        data = bytearray(good)
        _, index, blob, size = entry_of(good, tensor)
        for at, new in changes:
            data[at:at + len(new)] = new
        sums = int.from_bytes(good[28:32], "little")
        data[sums + 4 + 4 * index:sums + 8 + 4 * index] = p64.u32(p64.crc32c(bytes(data[blob:blob + size])))
        data[sums:sums + 4] = p64.u32(p64.crc32c(bytes(data[:sums])))
        patches, at = [], 0
        while at < len(good):
            if data[at] != good[at]:
                end = at
                while end < len(good) and data[end] != good[end]:
                    end += 1
                patches.append([at, bytes(data[at:end]).hex()])
                at = end
            at += 1
        out.append(dict(name=name, rule=rule, offset=offset, sentence=sentence, patches=patches))

    def blob_of(tensor):
        return entry_of(good, tensor)[2]

    q, gate, up, down = blob_of("blk.0.attn_q.weight"), blob_of("blk.0.ffn_gate.weight"), blob_of("blk.0.ffn_up.weight"), \
        blob_of("blk.0.ffn_down.weight")
    ternary, v = blob_of("extra.ternary.weight"), blob_of("blk.0.attn_v.weight")
    add("padding_behind_scales", "panel-bits", q + 96, "a byte between d and the quants is 1", "blk.0.attn_q.weight",
        [(q + 96, b"\1")])
    panel_v = 128 + 3 * 256 + 3 * 64                       # 96 bytes of d become 128
    add("scale_of_a_row_too_many", "panel-bits", v + panel_v + 2 * 3, "row 3 of three in the last panel has a scale",
        "blk.0.attn_v.weight", [(v + panel_v + 2 * 3, b"\0\x3c")])
    out[-1]["offset"] += 1
    add("quant_of_a_row_too_many", "panel-bits", v + panel_v + 128 + 4 * 3, "row 3 of three in the last panel has a quant",
        "blk.0.attn_v.weight", [(v + panel_v + 128 + 4 * 3, b"\x10")])
    add("fifth_bit_of_a_row_too_many", "panel-bits", v + panel_v + 128 + 768 + 63, "row 15 of the last panel has a fifth bit",
        "blk.0.attn_v.weight", [(v + panel_v + 128 + 768 + 63, b"\x80")])
    add("seventh_bit_of_a_scale", "panel-bits", gate + 128 + 5, "a 6-bit scale is above 63", "blk.0.ffn_gate.weight",
        [(gate + 128 + 5, bytes([good[gate + 128 + 5] | 0x40]))])
    add("eighth_bit_of_a_minimum", "panel-bits", up + 256, "a 6-bit minimum is above 63", "blk.0.ffn_up.weight",
        [(up + 256, bytes([good[up + 256] | 0x80]))])
    add("padding_behind_superblock_scales", "panel-bits", down + 40, "a byte between d and the 8-bit scales is 255",
        "blk.0.ffn_down.weight", [(down + 40, b"\xff")])
    add("ternary_digit_3", "panel-bits", ternary + 64 + 9, "a digit is 3", "extra.ternary.weight",
        [(ternary + 64 + 9, bytes([good[ternary + 64 + 9] | 3]))])
    add("ternary_behind_the_row", "panel-bits", ternary + 64 + 128 + 64 + 1, "an element behind the end of a row is 0",
        "extra.ternary.weight", [(ternary + 64 + 128 + 64 + 1, b"\x54")])
    add("ternary_behind_the_scale", "panel-bits", ternary + 63, "a byte behind the scale is 7", "extra.ternary.weight",
        [(ternary + 63, b"\7")])
    add("ternary_scale_negative", "ternary-scale", ternary, "the scale is below 0", "extra.ternary.weight",
        [(ternary, p64.f32b(-0.25))])
    entry = entry_of(good, "extra.soa.weight")[0]
    add("soa_panels_without_flag", "dtype-flag", entry + 6, "panels of dtype 112, bit 3 clear", "extra.soa.weight",
        [(6, p64.u16(int.from_bytes(good[6:8], "little") & ~p64.FLAG_SOA))])
    entry = entry_of(good, "blk.0.attn_q.weight")[0]
    add("rows_of_half_a_block", "panel-shape", entry + 16, "rows of 80 elements", "blk.0.attn_q.weight",
        [(entry + 16, p64.u32(80))])
    add("one_row_more_than_panels", "blob-size", entry + 36, "17 rows, bytes of one panel", "blk.0.attn_q.weight",
        [(entry + 20, p64.u32(17))])
    return out


def main(argv):
    if len(argv) != 2:
        sys.exit(__doc__)
    standard, panels = container(False), container(True)
    for name, data in (("standard.p64", standard), ("panels.p64", panels)):
        with open(os.path.join(argv[1], name), "wb") as f:
            f.write(data)
    broken = broken_files(panels)
    assert p64.read_p64(standard, True) is not None
    with open(os.path.join(argv[1], "manifest.json"), "w") as f:
        json.dump(dict(broken=broken), f, indent=1)
        f.write("\n")
    print("%d tensors, %d and %d bytes, %d broken files" % (len(TENSORS), len(standard), len(panels), len(broken)))


if __name__ == "__main__":
    main(sys.argv)
