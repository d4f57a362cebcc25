"""make_golden.py — small fixed cases of every op with a computed meaning, written with numpy's double precision straight from the formulas in the
op sheets, vectorised and through complex numbers where tests/ops/oracle loops, so that the two share no step.

    python3 make_golden.py        rewrites golden_<op>.bin beside it; the committed files were made by numpy 1.24

A file is magic "QNGOLD00", then records to its end: name (24 bytes, zero-padded), kind (u32: 0 f32, 1 f64, 2 i32), count (u32), the
values, zeros up to a multiple of 8. Records of one case begin with the record "case", which has no values. All little-endian.
"""
import os

import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
KINDS = {np.dtype("<f4"): 0, np.dtype("<f8"): 1, np.dtype("<i4"): 2}


def write(name, cases):
    out = bytearray(b"QNGOLD00")
    for case in cases:
        for key, values in [("case", np.zeros(0, "<f4"))] + list(case.items()):
            values = np.asarray(values)
            values = values.astype("<f4") if values.dtype == np.float32 else (
                values.astype("<f8") if values.dtype == np.float64 else values.astype("<i4"))
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


def main():
    for number, make in enumerate((matmul, rms_norm, rope, attention, add, scale, gated, softcap)):
        write(make.__name__, list(make(np.random.default_rng(1000 + number))))


if __name__ == "__main__":
    main()
