"""Computes the known answer of known_answer.c in double precision, from the op sheets alone.

    python3 known_answer.py > known_answer.inc
"""
import math

WIDTH, VOCAB, HEADS, DIM, TOKENS = 32, 8, 2, 16, [3, 1, 6]
state = 12345


def byte():
    global state
    state = (state * 1664525 + 1013904223) & 0xFFFFFFFF
    return state >> 16 & 0xFF


def f32_matrix(rows):
    return [[(byte() - 128) / 256.0 for _ in range(WIDTH)] for _ in range(rows)]


def q8_0_matrix(rows):  # d = 2^-8
    return [[(byte() - 128) / 256.0 for _ in range(WIDTH)] for _ in range(rows)]


def q4_0_matrix(rows):  # d = 2^-5, byte k holds elements k and k + 16
    result = []
    for _ in range(rows):
        raw = [byte() for _ in range(16)]
        result.append([((b & 15) - 8) / 32.0 for b in raw] + [((b >> 4) - 8) / 32.0 for b in raw])
    return result


def matmul(w, x):
    return [sum(a * b for a, b in zip(row, x)) for row in w]


def rms_norm(x, w, eps):
    scale = 1.0 / math.sqrt(sum(v * v for v in x) / len(x) + eps)
    return [v * scale * g for v, g in zip(x, w)]


def rope(x, position):
    out = list(x)
    for head in range(HEADS):
        for i in range(DIM // 2):
            angle = position * 10000.0 ** (-2.0 * i / DIM)
            a, b = x[head * DIM + i], x[head * DIM + i + DIM // 2]
            out[head * DIM + i] = a * math.cos(angle) - b * math.sin(angle)
            out[head * DIM + i + DIM // 2] = a * math.sin(angle) + b * math.cos(angle)
    return out


def silu(x):
    return x / (1.0 + math.exp(-x))


table, norm = f32_matrix(VOCAB), f32_matrix(1)[0]
wq, wk, wv, wg, wo = q8_0_matrix(WIDTH), q4_0_matrix(WIDTH), f32_matrix(WIDTH), q4_0_matrix(WIDTH), q8_0_matrix(VOCAB)
keys, values = [], []
for position, token in enumerate(TOKENS):
    x = table[token]
    h = rms_norm(x, norm, 1e-5)
    q, k = rope(matmul(wq, h), position), rope(matmul(wk, h), position)
    keys.append(k)
    values.append(matmul(wv, h))
    mixed = []
    for head in range(HEADS):
        part = slice(head * DIM, head * DIM + DIM)
        scores = [0.25 * sum(a * b for a, b in zip(q[part], past[part])) for past in keys]
        weights = [math.exp(s - max(scores)) for s in scores]
        mixed += [sum(w * v[head * DIM + d] for w, v in zip(weights, values)) / sum(weights) for d in range(DIM)]
    x = [a + b for a, b in zip(x, mixed)]
    y = [silu(a) * b for a, b in zip(matmul(wg, x), x)]
    logits = matmul(wo, y)

print("/* Made by known_answer.py. Logits of the last token. */")
for value in logits:
    print(f"{value:.9g}f,")
