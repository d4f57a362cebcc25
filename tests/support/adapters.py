"""LoRA adapters for the end-to-end tests, made with writers that know nothing of the program's."""
import hashlib
import os
import struct
import sys

from program import SOURCE

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(SOURCE, 'tests', 'cases'))
import caselib  # noqa: E402  (found through the line above)

F32, STRING = caselib.F32, caselib.STR


def places(n_layers, width, n_kv, n_ff):
    """[(name, n_in, n_out)]: every projection of a llama."""
    found = []
    for layer in range(n_layers):
        for name, n_in, n_out in (('attn_q', width, width), ('attn_k', width, n_kv), ('attn_v', width, n_kv), ('attn_output', width, width),
                                  ('ffn_gate', width, n_ff), ('ffn_up', width, n_ff), ('ffn_down', n_ff, width)):
            found.append((f'blk.{layer}.{name}.weight', n_in, n_out))
    return found


def tiny_places():
    """Those of the model of models.make_tiny."""
    return places(1, caselib.DIM, caselib.DIM // caselib.NH * caselib.NKV, caselib.HID)


def pairs(where, rank=4, size=0.3, seed=3):
    """[(name, n_in, n_out, A, B)]: matrices as lists, row after row."""
    random = caselib.Rng(seed)
    return [(name, n_in, n_out, random.f(rank * n_in, size), random.f(n_out * rank, size)) for name, n_in, n_out in where]


def write_gguf(path, made, rank=4, alpha=8.0, architecture='llama'):
    g = caselib.GGUF()
    g.set('general.architecture', STRING, architecture).set('general.type', STRING, 'adapter').set('adapter.type', STRING, 'lora')
    g.set('adapter.lora.alpha', F32, alpha)
    for name, n_in, n_out, a, b in made:
        g.tensor(name + '.lora_a', [n_in, rank], 0, caselib.fb(a)).tensor(name + '.lora_b', [rank, n_out], 0, caselib.fb(b))
    with open(path, 'wb') as f:
        f.write(g.build())
    return path


def write_v1(path, width, rank=4, alpha=8.0, size=0.3, seed=3):
    random = caselib.Rng(seed)
    payload = caselib.fb(random.f(rank * width, size)) + caselib.fb(random.f(width * rank, size))
    with open(path, 'wb') as f:
        f.write(struct.pack('<4sIB3xIfIII', b'LORA', 1, 0, rank, alpha, width, width, 0) + hashlib.sha256(payload).digest() + payload)
    return path


def write_merged(path, made, rank=4, alpha=8.0):
    """The model of models.make_tiny with the pairs added into its matrices."""
    g = caselib.model()
    for name, n_in, n_out, a, b in made:
        tensor = g.get(name)
        weights = list(struct.unpack(f'<{n_in * n_out}f', tensor[3]))
        for row in range(n_out):
            for column in range(n_in):
                change = sum(b[row * rank + k] * a[k * n_in + column] for k in range(rank))
                weights[row * n_in + column] += alpha / rank * change
        tensor[3] = caselib.fb(weights)
    with open(path, 'wb') as f:
        f.write(g.build())
    return path
