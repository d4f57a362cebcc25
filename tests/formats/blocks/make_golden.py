#!/usr/bin/env python3
"""Makes golden/decode.bin, golden/encode.bin and golden/encode_error.bin for test_blk_decode.c and test_blk_encode.c.

Usage: make_golden.py P64_VECTORS_PY LIBGGML_BASE_SO

Needs PyPI numpy and gguf (0.19.0 was used), the script p64_vectors.py that stands beside the P64 standard's test
vectors, and the shared library libggml-base.so of PyPI llama-cpp-python (0.3.36 was used). The tests need none of them.

Each file is a row of records, little-endian: u32 type, u32 origin, u32 n_elems, u32 n_bytes, f32 elements[n_elems],
u8 bytes[n_bytes], f64 weighted error, f64 plain error (both 0 but in encode_error.bin).
Origins: 0 gguf (and equal to ggml's C code), 1 numpy from the layout alone, 2 p64_vectors.py, 3 ggml's quantiser.
"""
import ctypes
import importlib.util
import os
import struct
import sys

import numpy as np
import gguf
from gguf.quants import dequantize, quantize

T = gguf.GGMLQuantizationType
SOA, TERNARY = 112, 1158
HERE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "golden")
f32 = np.float32

# Where a block keeps its halves.
HALVES = {"Q4_0": [0], "Q4_1": [0, 2], "Q5_0": [0], "Q5_1": [0, 2], "Q8_0": [0], "Q8_1": [0, 2], "Q2_K": [80, 82],
          "Q3_K": [108], "Q4_K": [0, 2], "Q5_K": [0, 2], "Q6_K": [208], "IQ4_NL": [0], "IQ4_XS": [0], "TQ1_0": [52],
          "TQ2_0": [64]}
SIZES = {"Q4_0": 18, "Q4_1": 20, "Q5_0": 22, "Q5_1": 24, "Q8_0": 34, "Q8_1": 36, "Q2_K": 84, "Q3_K": 110, "Q4_K": 144,
         "Q5_K": 176, "Q6_K": 210, "Q8_K": 292, "IQ4_NL": 18, "IQ4_XS": 136, "TQ1_0": 54, "TQ2_0": 66, "MXFP4": 17}


def record(kind, origin, elements, data, weighted=0.0, plain=0.0):
    elements = np.ascontiguousarray(elements, f32)
    return struct.pack("<4I", kind, origin, elements.size, len(data)) + elements.tobytes() + bytes(data) + \
        struct.pack("<2d", weighted, plain)


# ------------------------------------------------------------------------------------------------ decode

def draw_half(rng):
    """A finite half: usually of a weight's size, sometimes subnormal, negative, zero or large."""
    kind = rng.integers(8)
    if kind == 0:
        bits = rng.integers(0x0400)
    elif kind == 1:
        bits = rng.integers(0x7C00)
    elif kind == 2:
        bits = rng.integers(2) << 15
    else:
        bits = int(np.float16(rng.normal() * 0.02).view(np.uint16))
    return struct.pack("<H", int(bits))


def random_blocks(rng, name, n_blocks):
    size = SIZES[name]
    blocks = bytearray(rng.bytes(size * n_blocks))
    for b in range(n_blocks):
        for at in HALVES.get(name, []):
            blocks[b * size + at:b * size + at + 2] = draw_half(rng)
        if name == "Q8_K":
            blocks[b * size:b * size + 4] = f32(rng.normal() * 0.01).tobytes()
        if name == "MXFP4":
            blocks[b * size] = [0, 1, 2, 100, 127, 128, 200, 254][b % 8]
    return bytes(blocks)


def half(blocks, at):
    return np.ascontiguousarray(blocks[:, at:at + 2]).view(np.float16).astype(f32)


def layout_q8_1(b):
    return half(b, 0) * b[:, 4:36].view(np.int8).astype(f32)


def layout_q8_k(b):
    return np.ascontiguousarray(b[:, 0:4]).view(f32) * b[:, 4:260].view(np.int8).astype(f32)


def layout_soa(b):
    d = np.ascontiguousarray(b[:, 128:144]).view(np.float16).astype(f32)
    m = np.ascontiguousarray(b[:, 144:160]).view(np.float16).astype(f32)
    q = b[:, 0:128].reshape(-1, 4, 1, 32) >> np.array([0, 4], np.uint8).reshape(1, 1, 2, 1) & np.uint8(15)
    return (d[:, :, None] * q.reshape(-1, 8, 32).astype(f32) - m[:, :, None]).reshape(-1, 256)


def layout_ternary(data, n):
    scale = np.frombuffer(data[:4], f32)[0]
    digits = np.frombuffer(data[4:], np.uint8)[:, None] // np.array([1, 3, 9, 27, 81], np.uint8) % np.uint8(3)
    return scale * (digits.astype(f32).reshape(-1)[:n] - f32(1))


def ggml_decode(lib, name, data, n):
    out = np.empty(n, f32)
    call = getattr(lib, "dequantize_row_" + (name[0].lower() + name[1:] if name.endswith("_K") else name.lower()))
    call(ctypes.c_char_p(data), out.ctypes.data_as(ctypes.c_void_p), ctypes.c_int64(n))
    return out


def decode_records(rng, lib, vectors):
    for name in ["Q4_0", "Q4_1", "Q5_0", "Q5_1", "Q8_0", "Q2_K", "Q3_K", "Q4_K", "Q5_K", "Q6_K", "IQ4_NL", "IQ4_XS",
                 "TQ1_0", "TQ2_0", "MXFP4"]:
        data = random_blocks(rng, name, 8)
        values = dequantize(np.frombuffer(data, np.uint8), T[name])
        assert np.array_equal(values.view(np.uint32), ggml_decode(lib, name, data, values.size).view(np.uint32)), name
        yield record(int(T[name]), 0, values, data)
    for name, layout in [("Q8_1", layout_q8_1), ("Q8_K", layout_q8_k)]:
        data = random_blocks(rng, name, 8)
        values = layout(np.frombuffer(data, np.uint8).reshape(-1, SIZES[name]))
        if name == "Q8_K":
            assert np.array_equal(values.reshape(-1), ggml_decode(lib, name, data, values.size))
        yield record(int(T[name]), 1, values, data)
    soa = b"".join(rng.bytes(128) + b"".join(draw_half(rng) for _ in range(16)) for _ in range(4))
    values = layout_soa(np.frombuffer(soa, np.uint8).reshape(-1, 160))
    assert np.array_equal(values[0], np.array(vectors.dequant_soa(soa[:160]), f32))
    yield record(SOA, 1, values, soa)
    for n in (1, 243, 1213):
        tern = f32(0.0123).tobytes() + bytes(rng.integers(0, 243, (n + 4) // 5, np.uint8))
        yield record(TERNARY, 1, layout_ternary(tern, n), tern)
    for kind, dtype in [(T.F16, np.float16), (T.F32, f32), (T.F64, np.float64)]:
        plain = (rng.normal(size=200) * 10.0 ** rng.integers(-6, 3, 200)).astype(dtype)
        yield record(int(kind), 1, plain.astype(f32), plain.tobytes())
    bf16 = (rng.normal(size=200).astype(f32).view(np.uint32) >> 16).astype(np.uint16)
    yield record(int(T.BF16), 0, dequantize(bf16.view(np.uint8), T.BF16), bf16.tobytes())
    for kind, dtype in [(T.I8, np.int8), (T.I16, np.int16), (T.I32, np.int32), (T.I64, np.int64)]:
        ends = np.iinfo(dtype)
        whole = np.concatenate([rng.integers(ends.min, ends.max, 100, dtype, True),
                                np.array([ends.min, -1, 0, ends.max], dtype)])
        yield record(int(kind), 1, whole.astype(f32), whole.tobytes())


# ------------------------------------------------------------------------------------------------ encode, exact

def awkward_blocks(rng, elems):
    """Rows of `elems` values: weights, ties, zeros, one outlier, equal values, tiny and large ones."""
    rows = [rng.normal(size=elems) * 0.02 for _ in range(6)]
    rows.append(np.zeros(elems))
    rows.append(np.full(elems, -0.0))
    rows.append(np.full(elems, 0.125))
    rows.append(np.full(elems, -3.0))
    rows.append(np.where(np.arange(elems) == 5, -40.0, rng.normal(size=elems)))
    rows.append((np.arange(elems) % 255 - 127.0) / 2 + np.where(np.arange(elems) == 3, 64.0, 0.0))  # half ties of Q8_0
    rows.append((np.arange(elems) % 16 - 8.0) / 2)
    rows.append(rng.normal(size=elems) * 1e-6)
    rows.append(rng.normal(size=elems) * 1e-9)
    rows.append(rng.normal(size=elems) * 1e4)
    rows.append(rng.uniform(0.5, 1.0, elems))
    rows.append(-rng.uniform(0.5, 1.0, elems))
    return np.array(rows, f32)


def encode_records(rng, lib, vectors):
    edges = [65504.0, 65519.996, -65519.996, 0.0, -0.0, 2.0 ** -25, 1.5 * 2.0 ** -25, 2.0 ** -24 * 1.5,
             2.0 ** -24 * 2.5, 1 + 2.0 ** -11, 1 + 3 * 2.0 ** -11]
    some = np.concatenate([rng.normal(size=300), rng.normal(size=300) * 1e-5, rng.normal(size=100) * 1e-7,
                           rng.normal(size=100) * 1e4, edges]).astype(f32)
    some = some[np.abs(some) < 65520]
    yield record(int(T.F16), 1, some, some.astype(np.float16).tobytes())
    wide = (rng.normal(size=400) * 10.0 ** rng.integers(-38, 37, 400)).astype(f32)
    yield record(int(T.BF16), 0, wide, quantize(wide, T.BF16).tobytes())

    rows = awkward_blocks(rng, 32)
    q8 = quantize(rows, T.Q8_0).tobytes()
    own = ctypes.create_string_buffer(len(q8))
    lib.quantize_row_q8_0_ref(rows.ctypes.data_as(ctypes.c_void_p), own, ctypes.c_int64(rows.size))
    assert own.raw == q8
    yield record(int(T.Q8_0), 0, rows, q8)
    yield record(int(T.Q4_0), 2, rows, b"".join(vectors.q4_0_block([float(x) for x in row]) for row in rows))

    def has_scales(row):
        """The vectors' encoder divides by the rounded scale, so it must not round to zero."""
        widths = np.ptp(row.reshape(8, 32), axis=1)
        return all((widths == 0) | (widths / 15 > 2.0 ** -24))
    rows = np.array([row for row in awkward_blocks(rng, 256) if has_scales(row)])
    yield record(SOA, 2, rows, b"".join(vectors.soa_requant([float(x) for x in row]) for row in rows))
    for n in (1, 4, 5, 6, 256, 1000):
        w = (rng.standard_t(3, size=n) * 0.05).astype(f32)
        yield record(TERNARY, 2, w, vectors.ternary_blob([float(x) for x in w]))


# ------------------------------------------------------------------------------------------------ encode, by error

def weigh(name, x):
    """The weights of the error: those that ggml's own search uses when it has no importance matrix."""
    x = x.astype(np.float64)
    if name == "Q4_K":
        rms = np.sqrt((x.reshape(-1, 32) ** 2).mean(axis=1, keepdims=True))
        return (rms + np.abs(x.reshape(-1, 32))).reshape(-1)
    return x * x if name == "Q6_K" else np.ones(x.size)


def error_inputs(rng):
    n = 1024
    yield rng.normal(size=n) * 0.02
    yield rng.laplace(size=n) * 0.5
    yield rng.standard_t(3, size=n) * 0.01
    yield rng.uniform(0.2, 1.0, n)
    yield np.where(rng.random(n) < 0.9, 0.0, rng.normal(size=n))
    yield np.repeat(10.0 ** rng.uniform(-4, 0, n // 32), 32) * rng.normal(size=n)


def error_records(rng, lib):
    for x in error_inputs(rng):
        x = x.astype(f32)
        for name in ("Q4_1", "Q4_K", "Q6_K"):
            size = x.size // (32 if name == "Q4_1" else 256) * SIZES[name]
            data = ctypes.create_string_buffer(size)
            lib.ggml_quantize_chunk.restype = ctypes.c_size_t
            done = lib.ggml_quantize_chunk(int(T[name]), x.ctypes.data_as(ctypes.c_void_p), data, ctypes.c_int64(0),
                                           ctypes.c_int64(x.size // 256), ctypes.c_int64(256), None)
            assert done == size
            miss = x.astype(np.float64) - dequantize(np.frombuffer(data.raw, np.uint8), T[name]).astype(np.float64)
            weighted, plain = (weigh(name, x) * miss * miss).sum(), (miss * miss).sum()
            yield record(int(T[name]), 3, x, b"", float(weighted), float(plain))


def main():
    spec = importlib.util.spec_from_file_location("p64_vectors", sys.argv[1])
    vectors = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(vectors)
    lib = ctypes.CDLL(sys.argv[2])
    os.makedirs(HERE, exist_ok=True)
    for name, records in [("decode.bin", decode_records(np.random.default_rng(1), lib, vectors)),
                          ("encode.bin", encode_records(np.random.default_rng(2), lib, vectors)),
                          ("encode_error.bin", error_records(np.random.default_rng(3), lib))]:
        with open(os.path.join(HERE, name), "wb") as out:
            for data in records:
                out.write(data)


if __name__ == "__main__":
    main()
