#!/usr/bin/env python3
"""Frozen LoRA adapters, versions 1 and 2.

An encoder of its own, written from formats/doc/lora.md without the C code. Elements are small multiples of 1/16, which every type holds.

    python3 lora_vectors.py --write DIR      writes them
    python3 lora_vectors.py --check DIR      exit status 1 when a file there differs
"""
import hashlib
import os
import struct
import sys

NO_LAYER = 2**32 - 1
K, V, Q, OUTPUT_PROJECTION, GATE, UP, DOWN, TABLE, LOGITS, EMBEDDING, QKV, GATE_UP = 0, 1, 2, 3, 4, 5, 6, 9, 10, 256, 257, 258
F32, F16 = 0, 1


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


def matrix(n, seed, dtype):
    """n elements: (seed + 7 i) mod 31, less 15, in sixteenths."""
    values = [((seed + 7 * i) % 31 - 15) / 16 for i in range(n)]
    return struct.pack(f'<{n}{"e" if dtype == F16 else "f"}', *values)


def version1(adapter_id, rank, alpha, n_in, n_out, seed):
    payload = matrix(rank * n_in, seed, F32) + matrix(n_out * rank, seed + 1, F32)
    header = struct.pack('<4sIB3xIfIII', b'LORA', 1, adapter_id, rank, alpha, n_in, n_out, 0)
    return header + hashlib.sha256(payload).digest() + payload


def pad(data):
    return data + bytes(-len(data) % 64)


def version2(base, entries):
    """entries: (role, layer, rank, alpha, n_in, n_out, dtype, seed)."""
    table_end = 128 + 48 * len(entries)
    file, table = bytes(table_end), b''
    for role, layer, rank, alpha, n_in, n_out, dtype, seed in entries:
        file = pad(file)
        a_at = len(file)
        file = pad(file + matrix(rank * n_in, seed, dtype))
        b_at = len(file)
        file += matrix(n_out * rank, seed + 1, dtype)
        table += struct.pack('<IIIfIIIIQQ', role, layer, rank, alpha, n_in, n_out, dtype, 0, a_at, b_at)
    payload = file[table_end:]
    header = struct.pack('<4sIIIQQ', b'LORA', 2, len(entries), 0, len(file), table_end + -table_end % 64)
    header += base + hashlib.sha256(payload).digest() + struct.pack('<I24x', crc32c(table))
    return header + struct.pack('<I', crc32c(header)) + table + payload


def vectors():
    base = hashlib.sha256(b'a model').digest()
    yield 'v1-small.lora', version1(7, 2, 3.0, 3, 5, 1)
    yield 'v1-square.lora', version1(0, 4, 8.0, 16, 16, 2)
    yield 'v2-one.lora', version2(base, [(Q, 0, 1, 1.0, 1, 1, F32, 3)])
    yield 'v2-halves.lora', version2(base, [(DOWN, 3, 3, -0.5, 5, 7, F16, 4)])
    yield 'v2-all.lora', version2(base, [
        (K, 0, 2, 4.0, 8, 4, F32, 5), (V, 0, 2, 4.0, 8, 4, F16, 6), (Q, 0, 2, 4.0, 8, 8, F32, 7),
        (OUTPUT_PROJECTION, 0, 1, 4.0, 8, 8, F16, 8), (GATE, 1, 2, 0.0, 8, 12, F32, 9), (UP, 1, 3, 2.0, 8, 12, F32, 10),
        (DOWN, 1, 2, 4.0, 12, 8, F32, 11), (QKV, 2, 2, 4.0, 8, 16, F32, 12), (GATE_UP, 2, 2, 4.0, 8, 24, F32, 13),
        (TABLE, NO_LAYER, 2, 4.0, 20, 8, F32, 14), (LOGITS, NO_LAYER, 2, 4.0, 8, 20, F32, 15),
        (EMBEDDING, NO_LAYER, 2, 4.0, 8, 8, F16, 16)])


def main():
    how, folder = sys.argv[1:3]
    wrong = 0
    for name, data in vectors():
        path = os.path.join(folder, name)
        if how == '--write':
            with open(path, 'wb') as file:
                file.write(data)
            continue
        with open(path, 'rb') as file:
            if file.read() != data:
                print(f'{name} differs')
                wrong += 1
    sys.exit(1 if wrong else 0)


if __name__ == '__main__':
    main()
