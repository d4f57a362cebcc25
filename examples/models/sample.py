#!/usr/bin/python3
"""Reads quoin-tiny.gguf with numpy alone and writes text greedily: a check that needs neither torch nor quoin.

Usage:
    sample.py quoin-tiny.gguf [--prompt TEXT] [-n TOKENS] [--compare WEIGHTS.pt]

--compare takes the float32 weights that train.py left behind and prints how far the file's logits are from theirs.
Needs python3-numpy and PyPI's gguf, a reader that shares no code with gguf_file.py; --compare needs python3-torch too.
"""
import argparse
import math

import numpy as np
from gguf import GGUFReader
from gguf.quants import dequantize

from make_data import Encoder, byte_names


class Reader:
    def __init__(self, path):
        reader = GGUFReader(path)
        self.fields = {name: field.contents() for name, field in reader.fields.items()}
        self.weights = {t.name: dequantize(t.data, t.tensor_type) for t in reader.tensors}
        self.kinds = {t.name: t.tensor_type.name for t in reader.tensors}
        self.tokens, self.merges = (self.fields["tokenizer.ggml." + key] for key in ("tokens", "merges"))
        self.heads, self.kv_heads = (self.fields["llama.attention." + key] for key in ("head_count", "head_count_kv"))
        self.layers, self.base = self.fields["llama.block_count"], self.fields["llama.rope.freq_base"]
        self.eps = self.fields["llama.attention.layer_norm_rms_epsilon"]

    def normalise(self, x, name):
        return x / np.sqrt(np.mean(x * x, -1, keepdims=True) + self.eps) * self.weights[name]

    def rotate(self, x):
        """x [length, heads, head]: pairs of neighbouring elements turn."""
        length, _, head = x.shape
        angle = np.arange(length)[:, None] / self.base ** (np.arange(0, head, 2) / head)
        cos, sin = np.cos(angle)[:, None], np.sin(angle)[:, None]
        out = np.empty_like(x)
        out[..., 0::2] = x[..., 0::2] * cos - x[..., 1::2] * sin
        out[..., 1::2] = x[..., 0::2] * sin + x[..., 1::2] * cos
        return out

    def attend(self, h, block):
        length = len(h)
        q, k, v = (h @ self.weights[f"{block}.attn_{part}.weight"].T for part in "qkv")
        q = self.rotate(q.reshape(length, self.heads, -1))
        k = self.rotate(k.reshape(length, self.kv_heads, -1))
        v = v.reshape(length, self.kv_heads, -1)
        shared = np.arange(self.heads) // (self.heads // self.kv_heads)
        scores = np.einsum("qhd,khd->hqk", q, k[:, shared]) / math.sqrt(q.shape[-1])
        scores = np.where(np.tri(length, dtype=bool), scores, -np.inf)
        p = np.exp(scores - scores.max(-1, keepdims=True))
        mix = np.einsum("hqk,khd->qhd", p / p.sum(-1, keepdims=True), v[:, shared])
        return mix.reshape(length, -1) @ self.weights[block + ".attn_output.weight"].T

    def logits(self, ids):
        x = self.weights["token_embd.weight"][ids].astype(np.float64)
        for layer in range(self.layers):
            block = f"blk.{layer}"
            x = x + self.attend(self.normalise(x, block + ".attn_norm.weight"), block)
            h = self.normalise(x, block + ".ffn_norm.weight")
            gate, up = (h @ self.weights[f"{block}.ffn_{part}.weight"].T for part in ("gate", "up"))
            x = x + (gate / (1 + np.exp(-gate)) * up) @ self.weights[block + ".ffn_down.weight"].T
        return self.normalise(x, "output_norm.weight") @ self.weights["token_embd.weight"].T

    def text(self, ids):
        back = {name: byte for byte, name in byte_names().items()}
        return bytes(back[c] for i in ids for c in self.tokens[i]).decode("utf-8", "replace")


def compare(reader, path, ids):
    import torch
    from train import CONFIG, Model, as_stored
    weights, stored = torch.load(path), reader.logits(ids)
    for label, params in (("float32 weights", weights), ("same weights through Q8_0", as_stored(weights))):
        with torch.no_grad():
            other = Model(CONFIG, torch.float32).forward(params, torch.tensor([ids]))[0].double().numpy()
        same = (other.argmax(-1) == stored.argmax(-1)).mean()
        print(f"file against {label}, {len(ids)} positions: largest logit difference {np.abs(other - stored).max():.6f}, "
              f"root mean square {np.sqrt(np.mean((other - stored) ** 2)):.6f} (spread of logits {other.std():.3f}), "
              f"same first choice at {100 * same:.1f} %")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("--prompt", default="Once upon a time")
    parser.add_argument("-n", type=int, default=120)
    parser.add_argument("--compare", metavar="WEIGHTS.pt")
    args = parser.parse_args()
    reader = Reader(args.model)
    ids = [0] + Encoder(reader.tokens, reader.merges).encode(args.prompt)
    prompt = len(ids)
    print("prompt ids", ids)
    while len(ids) < prompt + args.n:
        best = int(reader.logits(ids)[-1].argmax())
        if best == 0:
            break
        ids.append(best)
    print("ids", ids[prompt:])
    print(reader.text(ids[1:]))
    if args.compare:
        compare(reader, args.compare, ids)


if __name__ == "__main__":
    main()
