#!/usr/bin/env python3
"""Writes a GGUF model of llama's architecture with random weights, for measuring speed only. Python standard library only.

    random_model.py OUT.gguf [--shape 1.1b|135m|tiny] [--format q4_0] [--context 16384] [--seed 1]
                             [--layers N --hidden N --ffn N --heads N --kv-heads N --vocab N]

Formats: f32 f16 bf16 q4_0 q4_1 q5_0 q5_1 q8_0 q4_k q5_k q6_k, and q4_k_m: Q4_K with the more sensitive matrices in Q6_K, as the mixture
of that name. Every block is a valid one: random quants under scales that give the matrix a spread of 1/sqrt(row length), so that no
activation overflows. A tensor repeats a pool of blocks, which no program can use to be faster. The vocabulary has the 256 byte tokens
and made-up words, so that every engine opens the file.
"""
import argparse
import math
import os
import random
import struct
import sys

SHAPES = {  # layers, hidden, ffn, heads, kv heads, vocabulary, tied output
    '1.1b': (22, 2048, 5632, 32, 4, 32000, False), '135m': (30, 576, 1536, 9, 3, 49152, True), 'tiny': (2, 256, 512, 4, 2, 512, True)}
POOL_BLOCKS = 4096
UINT32, INT32, FLOAT32, STRING, ARRAY = 4, 5, 6, 8, 9
F32 = 0


def half(x):
    return struct.pack('<e', x)


def random_floats(rng, spread, pack):
    return b''.join(pack(rng.gauss(0.0, spread)) for _ in range(32))


def pack_bf16(x):
    return struct.pack('<f', x)[2:]


def super_block(rng, spread, quants):
    """Q4_K and Q5_K: 6-bit scales and minima at random; weight = d·scale·q − dmin·minimum, centred by dmin = middle·d."""
    middle = 7.5 if quants == 128 else 15.5
    d = spread / (258.0 * middle / 7.5)
    return half(d) + half(middle * d) + rng.randbytes(12 + quants)


# name: (GGML type, weights a block, bytes a block, maker of a block from a generator and the spread of its weights)
FORMATS = {
    'f32': (F32, 32, 128, lambda r, s: random_floats(r, s, lambda x: struct.pack('<f', x))),
    'f16': (1, 32, 64, lambda r, s: random_floats(r, s, half)),
    'bf16': (30, 32, 64, lambda r, s: random_floats(r, s, pack_bf16)),
    'q4_0': (2, 32, 18, lambda r, s: half(s / 4.6) + r.randbytes(16)),
    'q4_1': (3, 32, 20, lambda r, s: half(s / 4.6) + half(-7.5 * s / 4.6) + r.randbytes(16)),
    'q5_0': (6, 32, 22, lambda r, s: half(s / 9.2) + r.randbytes(20)),
    'q5_1': (7, 32, 24, lambda r, s: half(s / 9.2) + half(-15.5 * s / 9.2) + r.randbytes(20)),
    'q8_0': (8, 32, 34, lambda r, s: half(s / 74.0) + r.randbytes(32)),
    'q4_k': (12, 256, 144, lambda r, s: super_block(r, s, 128)),
    'q5_k': (13, 256, 176, lambda r, s: super_block(r, s, 160)),
    'q6_k': (14, 256, 210, lambda r, s: r.randbytes(208) + half(s / 1365.0)),
}


def text(value):
    data = value.encode()
    return struct.pack('<Q', len(data)) + data


def array(kind, items):
    return struct.pack('<IQ', kind, len(items)) + b''.join(items)


def vocabulary(n):
    """Keys of a SentencePiece-like vocabulary of n tokens."""
    words = ['<unk>', '<s>', '</s>'] + [f'<0x{i:02X}>' for i in range(256)]
    words += [f'\u2581w{i}' for i in range(n - len(words))]
    kinds = [2, 3, 3] + [6] * 256 + [1] * (n - 259)
    return [('tokenizer.ggml.model', STRING, text('llama')), ('tokenizer.ggml.tokens', ARRAY, array(STRING, [text(w) for w in words])),
            ('tokenizer.ggml.scores', ARRAY, array(FLOAT32, [struct.pack('<f', -float(i)) for i in range(n)])),
            ('tokenizer.ggml.token_type', ARRAY, array(INT32, [struct.pack('<i', k) for k in kinds])),
            ('tokenizer.ggml.bos_token_id', UINT32, struct.pack('<I', 1)), ('tokenizer.ggml.eos_token_id', UINT32, struct.pack('<I', 2)),
            ('tokenizer.ggml.unknown_token_id', UINT32, struct.pack('<I', 0))]


def hyper_parameters(o):
    numbers = {'context_length': o.context, 'embedding_length': o.hidden, 'block_count': o.layers, 'feed_forward_length': o.ffn,
               'attention.head_count': o.heads, 'attention.head_count_kv': o.kv_heads, 'rope.dimension_count': o.hidden // o.heads,
               'vocab_size': o.vocab}
    return ([('general.architecture', STRING, text('llama')), ('general.name', STRING, text(f'random {o.shape} {o.format}'))]
            + [('llama.' + key, UINT32, struct.pack('<I', value)) for key, value in numbers.items()]
            + [('llama.attention.layer_norm_rms_epsilon', FLOAT32, struct.pack('<f', 1e-5)),
               ('llama.rope.freq_base', FLOAT32, struct.pack('<f', 10000.0))] + vocabulary(o.vocab))


def choose_format(o, name, layer):
    """The mixture q4_k_m keeps value and down projections of the outer and every third layer, and the output, in Q6_K."""
    if o.format != 'q4_k_m':
        return o.format
    n = o.layers
    is_sensitive = layer < n // 8 or layer >= 7 * n // 8 or (layer - n // 8) % 3 == 2
    return 'q6_k' if name == 'output' or (name in ('attn_v', 'ffn_down') and is_sensitive) else 'q4_k'


def list_tensors(o):
    """[(name, row length, rows, format)]; rows 0 stands for a vector of ones, a norm."""
    kv = o.hidden // o.heads * o.kv_heads
    tensors = [('token_embd.weight', o.hidden, o.vocab, choose_format(o, 'output' if o.tied else 'token_embd', 0)),
               ('output_norm.weight', o.hidden, 0, 'f32')]
    if not o.tied:
        tensors.append(('output.weight', o.hidden, o.vocab, choose_format(o, 'output', 0)))
    for layer in range(o.layers):
        for name, width, rows in (('attn_norm', o.hidden, 0), ('attn_q', o.hidden, o.hidden), ('attn_k', o.hidden, kv), ('attn_v', o.hidden, kv),
                                  ('attn_output', o.hidden, o.hidden), ('ffn_norm', o.hidden, 0), ('ffn_gate', o.hidden, o.ffn),
                                  ('ffn_up', o.hidden, o.ffn), ('ffn_down', o.ffn, o.hidden)):
            tensors.append((f'blk.{layer}.{name}.weight', width, rows, choose_format(o, name, layer) if rows else 'f32'))
    return tensors


def tensor_bytes(tensor):
    _, width, rows, form = tensor
    _, weights, size, _ = FORMATS[form]
    return width * 4 if rows == 0 else width // weights * size * rows


def write_blocks(f, rng, pools, tensor):
    _, width, rows, form = tensor
    if rows == 0:
        f.write(struct.pack('<f', 1.0) * width)
        return
    size, make = FORMATS[form][2:]
    if (form, width) not in pools:
        pools[form, width] = b''.join(make(rng, 1.0 / math.sqrt(width)) for _ in range(POOL_BLOCKS))
    pool, left = pools[form, width], tensor_bytes(tensor)
    while left > 0:
        start = rng.randrange(POOL_BLOCKS // 2) * size
        piece = pool[start:start + left]
        f.write(piece)
        left -= len(piece)


def pad(f):
    f.write(b'\0' * (-f.tell() % 32))


def write_model(path, o):
    tensors, keys = list_tensors(o), hyper_parameters(o)
    for name, width, rows, form in tensors:
        if rows and width % FORMATS[form][1] != 0:
            sys.exit(f'random_model.py: rows of {name} have {width} weights, blocks of {form} {FORMATS[form][1]}: choose another format or shape')
    rng, pools, offset = random.Random(o.seed), {}, 0
    with open(path + '.part', 'wb') as f:
        f.write(b'GGUF' + struct.pack('<IQQ', 3, len(tensors), len(keys)))
        for key, kind, value in keys:
            f.write(text(key) + struct.pack('<I', kind) + value)
        for tensor in tensors:
            name, width, rows, form = tensor
            dims = [width, rows] if rows else [width]
            f.write(text(name) + struct.pack(f'<I{len(dims)}QIQ', len(dims), *dims, FORMATS[form][0], offset))
            offset += -(-tensor_bytes(tensor) // 32) * 32
        for tensor in tensors:
            pad(f)
            write_blocks(f, rng, pools, tensor)
        pad(f)
    os.replace(path + '.part', path)


def parse():
    parser = argparse.ArgumentParser(description='a GGUF of llama\'s architecture with random weights')
    parser.add_argument('out')
    parser.add_argument('--shape', choices=SHAPES, default='1.1b')
    parser.add_argument('--format', choices=[*FORMATS, 'q4_k_m'], default='q4_0')
    parser.add_argument('--context', type=int, default=16384)
    parser.add_argument('--seed', type=int, default=1)
    names = ('layers', 'hidden', 'ffn', 'heads', 'kv_heads', 'vocab')
    for name in names:
        parser.add_argument('--' + name.replace('_', '-'), type=int)
    o = parser.parse_args()
    for name, value in zip(names, SHAPES[o.shape]):
        if getattr(o, name) is None:
            setattr(o, name, value)
    o.tied = SHAPES[o.shape][6]
    if o.hidden % o.heads != 0 or o.heads % o.kv_heads != 0 or o.vocab < 259:
        parser.error('hidden must be a multiple of heads, heads of kv-heads, and the vocabulary needs 259 tokens')
    return o


if __name__ == '__main__':
    options = parse()
    write_model(options.out, options)
