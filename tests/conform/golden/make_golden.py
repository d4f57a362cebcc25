"""make_golden.py — small fixed cases of every op with a computed meaning, written with numpy's double precision straight from the formulas in the
op sheets, vectorised and through complex numbers where the oracle of conform/ops loops, so that the two share no step.

    python3 make_golden.py        rewrites golden_<op>.bin beside it; the committed files were made by numpy 1.24

A file is magic "QNGOLD00", then records to its end: name (24 bytes, zero-padded), kind (u32: 0 f32, 1 f64, 2 i32, 3 u8), count (u32), the
values, zeros up to a multiple of 8. Records of one case begin with the record "case", which has no values. All little-endian.
"""
import os

import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
KINDS = {np.dtype("<f4"): 0, np.dtype("<f8"): 1, np.dtype("<i4"): 2, np.dtype("u1"): 3}


def write(name, cases):
    out = bytearray(b"QNGOLD00")
    for case in cases:
        for key, values in [("case", np.zeros(0, "<f4"))] + list(case.items()):
            values = np.asarray(values)
            values = values.astype("<f4") if values.dtype == np.float32 else (
                values.astype("<f8") if values.dtype == np.float64 else values if values.dtype == np.uint8 else values.astype("<i4"))
            out += key.encode().ljust(24, b"\0") + np.array([KINDS[values.dtype], values.size], "<u4").tobytes()
            out += values.tobytes() + bytes(-values.nbytes % 8)
    with open(os.path.join(HERE, f"golden_{name}.bin"), "wb") as file:
        file.write(out)


def f32(*values):
    return np.array(values, np.float32)


def draw(rng, *shape, size=2.0):
    return ((rng.random(shape) * 2 - 1) * size).astype(np.float32)


def wide(x):
    return x.astype(np.float64)


def matmul(rng):
    for t, n, k, has_bias in ((1, 3, 7, False), (4, 5, 40, True)):
        w, x, bias = draw(rng, n, k), draw(rng, t, k), draw(rng, n)
        y = np.einsum("tk,nk->tn", wide(x), wide(w)) + (wide(bias) if has_bias else 0)
        yield {"shape": np.array([t, n, k, has_bias]), "w": w, "x": x, "bias": bias, "y": y}


def rms_norm(rng):
    for t, n, group, epsilon in ((2, 12, 12, 1e-5), (3, 16, 4, 1e-6), (1, 6, 6, 0.0)):
        x, weight = draw(rng, t, n), draw(rng, group)
        grouped = wide(x).reshape(t, n // group, group)
        y = grouped * (np.mean(grouped ** 2, axis=2, keepdims=True) + np.float64(np.float32(epsilon))) ** -0.5 * wide(weight)
        yield {"shape": np.array([t, n, group]), "epsilon": f32(epsilon), "x": x, "weight": weight, "y": y.reshape(t, n)}


def rope_case(rng, pairing, n_head, head_dim, n_rot, base, scale=1.0, ext=0.0, attn=1.0, has_factors=False):
    positions = np.array([0, 1, 5, 300, 70000])
    x, factors = draw(rng, len(positions), n_head, head_dim), np.abs(draw(rng, n_rot // 2)) + np.float32(0.5)
    base, scale, ext, attn = np.float32(base), np.float32(scale), np.float32(ext), np.float32(attn)
    pair = np.arange(n_rot // 2)
    theta = np.outer(positions, np.float64(base) ** (-2.0 * pair / n_rot))
    if has_factors:
        theta = theta / wide(factors)
    angle, magnitude = theta * np.float64(scale), np.float64(attn)
    if ext != 0:
        corner = lambda beta: n_rot * np.log(4096 / (2 * np.pi * beta)) / (2 * np.log(np.float64(base)))
        start, end = max(0.0, np.floor(corner(32.0))), min(n_rot - 1.0, np.ceil(corner(1.0)))
        mix = (1 - np.clip((pair - start) / max(0.001, end - start), 0, 1)) * np.float64(ext)
        angle = angle * (1 - mix) + theta * mix
        magnitude *= 1 + 0.1 * np.log(1 / np.float64(scale))
    turn = magnitude * np.exp(1j * angle)[:, None, :]
    y = wide(x)
    if pairing == 0:
        z = (y[..., 0:n_rot:2] + 1j * y[..., 1:n_rot:2]) * turn
        y[..., 0:n_rot:2], y[..., 1:n_rot:2] = z.real, z.imag
    else:
        half = n_rot // 2
        z = (y[..., :half] + 1j * y[..., half:n_rot]) * turn
        y[..., :half], y[..., half:n_rot] = z.real, z.imag
    return {"shape": np.array([len(positions), n_head, head_dim, n_rot, pairing, 4096, has_factors]),
            "numbers": f32(base, scale, ext, attn, 32, 1), "positions": positions, "factors": factors, "x": x, "y": y}


def rope(rng):
    yield rope_case(rng, 0, 2, 8, 8, 10000)
    yield rope_case(rng, 1, 3, 10, 6, 1e6, has_factors=True)
    yield rope_case(rng, 1, 1, 16, 16, 10000, scale=0.125)
    yield rope_case(rng, 0, 2, 64, 64, 10000, scale=0.25, ext=1.0)
    yield rope_case(rng, 1, 2, 64, 64, 500000, scale=0.5, ext=0.5, attn=1.25, has_factors=True)


def attention(rng):
    for n_head, n_kv, dim, value_dim, n, cap in ((1, 1, 4, 4, 1, 0), (4, 2, 6, 5, 9, 0), (6, 2, 8, 8, 17, 3.0)):
        q, k, v = draw(rng, n_head, dim), draw(rng, n, n_kv, dim), draw(rng, n, n_kv, value_dim)
        scale = np.float64(np.float32(dim ** -0.5))
        heads_k, heads_v = (np.repeat(wide(each), n_head // n_kv, axis=1) for each in (k, v))
        score = scale * np.einsum("hd,nhd->hn", wide(q), heads_k)
        if cap:
            score = cap * np.tanh(score / cap)
        p = np.exp(score) / np.exp(score).sum(axis=1, keepdims=True)
        y = np.einsum("hn,nhd->hd", p, heads_v)
        yield {"shape": np.array([n_head, n_kv, dim, value_dim, n]), "numbers": f32(dim ** -0.5, cap), "q": q, "k": k, "v": v, "y": y}


def add(rng):
    a, b, c = draw(rng, 3, 5), draw(rng, 3, 5), draw(rng, 5)
    yield {"period": np.array([0]), "a": a, "b": b, "y": wide(a) + wide(b)}
    yield {"period": np.array([5]), "a": a, "b": c, "y": wide(a) + wide(c)}


def scale(rng):
    x = draw(rng, 11)
    yield {"factor": f32(0.3), "x": x, "y": wide(x) * np.float64(np.float32(0.3))}


def gated(rng):
    gate, up = draw(rng, 24, size=9), draw(rng, 24)
    g = wide(gate)
    yield {"kind": np.array([0]), "gate": gate, "up": up, "y": g * 0.5 * (1 + np.tanh(g / 2)) * wide(up)}
    inner = np.sqrt(2 / np.pi) * (g + 0.044715 * g ** 3)
    yield {"kind": np.array([1]), "gate": gate, "up": up, "y": g / (1 + np.exp(-2 * inner)) * wide(up)}


def softcap(rng):
    x = draw(rng, 24, size=90)
    for cap in (30.0, 1.5):
        e = np.exp(2 * wide(x) / cap)
        yield {"cap": f32(cap), "x": x, "y": cap * (e - 1) / (e + 1)}


# ---------------------------------------------------------------------------------------------------------------- formats
# Each takes blocks [n, bytes] of u8 and gives the elements [n, block] as f64, a whole tensor at a time: bit planes by shifts of arrays,
# never by the number of an element.

def half(blocks, at, n=1):
    return np.ascontiguousarray(blocks[:, at:at + 2 * n]).view("<f2").astype(np.float64)


def word(blocks, at, size):
    return np.ascontiguousarray(blocks[:, at:at + size]).view(f"<u{size}").astype(np.int64)


def planes(data, width):
    """[n, bytes] -> [n, bytes / group, 8 / width, group]: the fields of each byte from the lowest bits up, for groups of all bytes."""
    return (data[:, None, :] >> np.arange(0, 8, width, dtype=np.uint8)[None, :, None]) & ((1 << width) - 1)


def low_high(data, group):
    """Nibbles: of each group of bytes first all low ones, then all high ones."""
    n = data.shape[0]
    return planes(data.reshape(-1, group), 4).reshape(n, -1).astype(np.float64)


def bits32(blocks, at):
    return np.unpackbits(blocks[:, at:at + 4], axis=1, bitorder="little").astype(np.float64)


def q4_0(b):
    return half(b, 0) * (low_high(b[:, 2:], 16) - 8)


def q4_1(b):
    return half(b, 0) * low_high(b[:, 4:], 16) + half(b, 2)


def q5_0(b):
    return half(b, 0) * (low_high(b[:, 6:], 16) + 16 * bits32(b, 2) - 16)


def q5_1(b):
    return half(b, 0) * (low_high(b[:, 8:], 16) + 16 * bits32(b, 4)) + half(b, 2)


def q8_0(b):
    return half(b, 0) * b[:, 2:].view(np.int8).astype(np.float64)


def pairs(data):
    """64 bytes of 2-bit fields -> [n, 256]: 32 bytes make 128 elements, plane by plane."""
    n = data.shape[0]
    return planes(data.reshape(-1, 32), 2).reshape(n, -1).astype(np.float64)


def spread(scales, times):
    return np.repeat(scales.astype(np.float64), times, axis=1)


def q2_k(b):
    return half(b, 80) * spread(b[:, :16] & 15, 16) * pairs(b[:, 16:80]) - half(b, 82) * spread(b[:, :16] >> 4, 16)


def q3_k(b):
    packed = b[:, 96:108]
    low = planes(packed[:, :8], 4).reshape(len(b), 16)
    high = planes(packed[:, 8:], 2).reshape(len(b), 16)
    scales = (low | high << 4).astype(np.int64) - 32
    top = planes(b[:, :32], 1).reshape(len(b), 256).astype(np.float64)
    return half(b, 108) * spread(scales, 16) * (pairs(b[:, 32:96]) - 4 * (1 - top))


def six(b):
    """Twelve bytes -> scales and minima [n, 8]."""
    a, c, d = b[:, :4].astype(np.int64), b[:, 4:8].astype(np.int64), b[:, 8:12].astype(np.int64)
    return np.hstack([a & 63, d & 15 | a >> 6 << 4]), np.hstack([c & 63, d >> 4 | c >> 6 << 4])


def q4_k(b):
    scales, minima = six(b[:, 4:16])
    return half(b, 0) * spread(scales, 32) * low_high(b[:, 16:], 32) - half(b, 2) * spread(minima, 32)


def q5_k(b):
    scales, minima = six(b[:, 4:16])
    fifth = planes(b[:, 16:48], 1).reshape(len(b), 256).astype(np.float64)
    return half(b, 0) * spread(scales, 32) * (low_high(b[:, 48:], 32) + 16 * fifth) - half(b, 2) * spread(minima, 32)


def q6_k(b):
    q = low_high(b[:, :128], 64) + 16 * pairs(b[:, 128:192])
    return half(b, 208) * spread(b[:, 192:208].view(np.int8), 16) * (q - 32)


CODEBOOK = np.array([-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113], np.float64)


def iq4_nl(b):
    return half(b, 0) * CODEBOOK[low_high(b[:, 2:], 16).astype(int)]


def iq4_xs(b):
    low = np.stack([b[:, 4:8] & 15, b[:, 4:8] >> 4], axis=2).reshape(len(b), 8).astype(np.int64)
    high = word(b, 2, 2) >> np.arange(0, 16, 2) & 3
    return half(b, 0) * spread(low + 16 * high - 32, 32) * CODEBOOK[low_high(b[:, 8:], 16).astype(int)]


def trits(data):
    """The value of a byte is ceil(number * 256 / 243): its base-3 digits from the most significant down, plane by plane."""
    number = (data.astype(np.int64) * 243) >> 8
    return np.stack([number // 3 ** k % 3 for k in (4, 3, 2, 1, 0)], axis=1).astype(np.float64)


def tq1_0(b):
    first, second, third = trits(b[:, :32]), trits(b[:, 32:48]), trits(b[:, 48:52])[:, :4]
    return half(b, 52) * (np.hstack([part.reshape(len(b), -1) for part in (first, second, third)]) - 1)


def tq2_0(b):
    return half(b, 64) * (pairs(b[:, :64]) - 1)


def mxfp4(b):
    code = low_high(b[:, 1:], 16).astype(int)
    exponent, mantissa = code >> 1 & 3, code & 1
    size = np.where(exponent == 0, mantissa * 0.5, (1 + mantissa * 0.5) * 2.0 ** (exponent - 1))
    return 2.0 ** (b[:, :1].astype(np.float64) - 127) * np.where(code >= 8, -size, size)


def q4_k_soa(b):
    return spread(half(b, 128, 8), 32) * low_high(b[:, :128], 32) - spread(half(b, 144, 8), 32)


def ternary(b):
    digits = b[0, 4:].astype(np.int64)[:, None] // 3 ** np.arange(5) % 3
    return np.ascontiguousarray(b[0, :4]).view("<f4").astype(np.float64) * (digits - 1)


def plain(kind):
    return lambda b: np.ascontiguousarray(b).view(kind).astype(np.float64)


def bf16(b):
    return (np.ascontiguousarray(b).view("<u2").astype("<u4") << 16).view("<f4").astype(np.float64)


# number: bytes of a block, decoder, places of halves
FORMATS = {
    0: (4, plain("<f4"), ()), 1: (2, plain("<f2"), ()), 30: (2, bf16, ()), 24: (1, plain("i1"), ()), 26: (4, plain("<i4"), ()),
    2: (18, q4_0, (0,)), 3: (20, q4_1, (0, 2)), 6: (22, q5_0, (0,)), 7: (24, q5_1, (0, 2)), 8: (34, q8_0, (0,)),
    10: (84, q2_k, (80, 82)), 11: (110, q3_k, (108,)), 12: (144, q4_k, (0, 2)), 13: (176, q5_k, (0, 2)), 14: (210, q6_k, (208,)),
    20: (18, iq4_nl, (0,)), 23: (136, iq4_xs, (0,)), 34: (54, tq1_0, (52,)), 35: (66, tq2_0, (64,)), 39: (17, mxfp4, ()),
    112: (160, q4_k_soa, tuple(range(128, 160, 2))), 1158: (40, ternary, ()),
}


def formats(rng):
    for number, (size, decode, halves) in FORMATS.items():
        n = 1 if number == 1158 else 64 // size + 3
        blocks = rng.integers(0, 243 if number == 1158 else 256, (n, size)).astype(np.uint8)
        for at in halves:
            blocks[:, at:at + 2] = (rng.standard_normal(n) * 0.02).astype("<f2").view(np.uint8).reshape(n, 2)
        if number in (0, 1, 30):  # no NaN and no infinity
            blocks = draw(rng, n).astype({0: "<f4", 1: "<f2", 30: "<f4"}[number])
            blocks = (blocks.view("<u2").reshape(n, 2)[:, 1:] if number == 30 else blocks.reshape(n, 1)).copy().view(np.uint8)
        if number == 1158:
            blocks[0, :4] = f32(0.37).view(np.uint8)
        yield {"format": np.array([number]), "bytes": blocks.reshape(-1), "y": decode(blocks).reshape(-1)}


def states(rng):
    """Values that are hard to round, and what they are as halves and as upper halves of f32."""
    steps = np.concatenate([rng.standard_normal(200) * 10.0 ** rng.integers(-9, 5, 200), np.arange(40) * 2.0 ** -25, 1 + np.arange(64) * 2.0 ** -12,
                            1 + np.arange(64) * 2.0 ** -9]).astype(np.float32)
    steps = steps[np.abs(steps) < 65504]
    bits = steps.view("<u4").astype(np.uint64)
    upper = (bits + 0x7fff + (bits >> 16 & 1)) >> 16
    yield {"x": steps, "half": steps.astype(np.float16).view("<u2").astype(np.int64), "upper": upper.astype(np.int64)}


def main():
    for number, make in enumerate((matmul, rms_norm, rope, attention, add, scale, gated, softcap, formats, states)):
        write(make.__name__, list(make(np.random.default_rng(1000 + number))))


if __name__ == "__main__":
    main()
