#!/usr/bin/python3
"""Trains quoin-tiny on the token files of make_data.py and writes it as one Q8_0 GGUF.

Usage:
    train.py WORK --out quoin-tiny.gguf [--minutes M] [--threads N] [--bf16] [--start WEIGHTS.pt]

The learning rate follows the share of the time that is gone, so the run ends when it is told to on any machine. Token
files that appear in WORK/tokens while it runs are picked up, so sampling may go on beside it. Every few minutes the
running average of the weights is written to --out: a usable model is there early, and the last one is the best.

Needs python3-torch (1.13 or newer) and python3-numpy; libopenblas0 makes float32 products several times faster.
"""
import argparse
import concurrent.futures
import json
import math
import pathlib
import time

import numpy as np
import torch
import torch.nn.functional as F

from gguf_file import dequantise_q8_0, quantise_q8_0, write_gguf

CONFIG = {"vocab": 2048, "ctx": 512, "dim": 128, "layers": 6, "heads": 4, "kv_heads": 2, "head": 32, "ffn": 384,
          "rope_base": 10000.0, "eps": 1e-5}
ABOUT = {"name": "quoin-tiny", "version": "1.0", "size_label": "1.4M", "license": "apache-2.0",
         "author": "The quoin authors",
         "description": "A 1.4-million-parameter English story model, trained from scratch by the quoin project on "
                        "stories sampled from tinyllamas stories260K (MIT) and public-domain books."}
BOOK_SHARE = 0.12                  # rows of a batch that come from books
BATCH_TOKENS = 4096
SHORT_UNTIL, LONG_FROM = 0.35, 0.75  # shares of the run with rows of a quarter and of a whole context
WARM_UNTIL, DECAY_FROM = 0.01, 0.4
MATRIX_RATE, TABLE_RATE, DECAY = 0.02, 4e-3, 0.02
AVERAGE = 0.995
NAMES = {"attn_q": "q", "attn_k": "k", "attn_v": "v", "attn_output": "o", "ffn_gate": "gate", "ffn_up": "up",
         "ffn_down": "down", "attn_norm": "norm_attn", "ffn_norm": "norm_ffn"}


# ---------------------------------------------------------------- data

class Tokens:
    """The token files of one kind, joined. Rows start at a random place or, half of them, at a random text's start."""

    def __init__(self, folder, pattern):
        self.folder, self.pattern, self.files = folder, pattern, []
        self.refresh()

    def refresh(self):
        files = sorted(self.folder.glob(self.pattern))
        if files != self.files:
            self.files = files
            self.ids = np.concatenate([np.fromfile(path, np.uint16) for path in files]).astype(np.int64)
            self.starts = np.flatnonzero(self.ids == 0)

    def row(self, rng, length):
        last = len(self.ids) - length - 1
        at = int(rng.integers(last))
        if rng.random() < 0.5:
            at = min(int(self.starts[min(np.searchsorted(self.starts, at), len(self.starts) - 1)]), last)
        return self.ids[at:at + length + 1]


def draw_batch(rng, stories, books, length):
    rows = []
    for _ in range(BATCH_TOKENS // length):
        rows.append((books if rng.random() < BOOK_SHARE else stories).row(rng, length))
    rows = torch.from_numpy(np.stack(rows))
    return rows[:, :-1], rows[:, 1:]


# ---------------------------------------------------------------- model

def make_params(config, seed=1):
    """Matrices of all layers stacked along the first axis: {name: [layers, out, in]}."""
    torch.manual_seed(seed)
    c, layers = config, config["layers"]
    shapes = {"q": (c["heads"] * c["head"], c["dim"]), "k": (c["kv_heads"] * c["head"], c["dim"]),
              "v": (c["kv_heads"] * c["head"], c["dim"]), "o": (c["dim"], c["heads"] * c["head"]),
              "gate": (c["ffn"], c["dim"]), "up": (c["ffn"], c["dim"]), "down": (c["dim"], c["ffn"])}
    params = {name: torch.randn(layers, *shape) / math.sqrt(shape[1]) for name, shape in shapes.items()}
    for name in ("o", "down"):
        params[name] /= math.sqrt(2 * layers)
    params["embd"] = torch.randn(c["vocab"], c["dim"]) * 0.02
    params["norm_attn"], params["norm_ffn"] = torch.ones(layers, c["dim"]), torch.ones(layers, c["dim"])
    params["norm_out"] = torch.ones(c["dim"])
    return {name: value.requires_grad_() for name, value in params.items()}


def rope_table(config, length):
    """Unit complex numbers [length, 1, head / 2] that turn pairs of neighbouring elements, llama's way."""
    powers = torch.arange(0, config["head"], 2, dtype=torch.float64) / config["head"]
    angle = torch.arange(length, dtype=torch.float64)[:, None] / config["rope_base"] ** powers
    return torch.polar(torch.ones_like(angle), angle).to(torch.complex64)[:, None]


def rotate(x, turn):
    """x [batch, length, heads, head] float32, contiguous."""
    pairs = torch.view_as_complex(x.view(*x.shape[:-1], -1, 2))
    return torch.view_as_real(pairs * turn).flatten(-2)


class Normalise(torch.autograd.Function):
    """RMS norm with its backward pass written out: half the passes over memory that autograd would make."""

    @staticmethod
    def forward(ctx, x, weight, eps, work_type):
        inverse = x.square().mean(-1, keepdim=True).add_(eps).rsqrt_()
        unit = x * inverse
        ctx.save_for_backward(unit, inverse, weight)
        return (unit * weight).to(work_type)

    @staticmethod
    def backward(ctx, grad):
        unit, inverse, weight = ctx.saved_tensors
        grad = grad.float()
        product = grad * unit
        along = torch.matmul(product, weight).unsqueeze(-1) / weight.numel()
        return (grad * weight).addcmul_(unit, along, value=-1).mul_(inverse), product.sum((0, 1)), None, None


class TiedLoss(torch.autograd.Function):
    """Mean cross entropy of the tied output layer, in slices that stay in the cache; gradients come with it."""

    @staticmethod
    def forward(ctx, h, table, targets):
        total, grad_h, grad_table = 0.0, torch.empty_like(h), torch.zeros_like(table, dtype=torch.float32)
        for rows, want, out in zip(h.split(512), targets.split(512), grad_h.split(512)):
            p = torch.mm(rows, table.t()).float()
            p = torch.softmax(p, -1, out=p)
            at = want.unsqueeze(-1)
            hit = p.gather(-1, at)
            total -= float(hit.clamp_min(1e-30).log().sum())
            p = p.scatter_(-1, at, hit - 1).div_(len(h)).to(h.dtype)
            out.copy_(torch.mm(p, table))
            grad_table += torch.mm(p.t(), rows)
        ctx.save_for_backward(grad_h, grad_table)
        return torch.tensor(total / len(h))

    @staticmethod
    def backward(ctx, grad):
        grad_h, grad_table = ctx.saved_tensors
        return grad_h * grad.to(grad_h.dtype), grad_table * grad, None


class Model:
    """Forward pass with float32 residuals and norms; matrix products in work_type."""

    def __init__(self, config, work_type):
        self.config, self.work_type, self.tables = config, work_type, {}

    def table(self, length):
        if length not in self.tables:
            group = self.config["heads"] // self.config["kv_heads"]
            mask = torch.full((length, length), -30000.0).triu(1).repeat(group, 1).to(self.work_type)
            self.tables[length] = rope_table(self.config, length), mask
        return self.tables[length]

    def attend(self, h, qkv, out):
        c, (batch, length, _) = self.config, h.shape
        turn, mask = self.table(length)
        group, kv_heads, head = c["heads"] // c["kv_heads"], c["kv_heads"], c["head"]
        mixed = F.linear(h, qkv).view(batch, length, -1, head)
        turned = rotate(mixed[:, :, :-kv_heads].float().contiguous(), turn).to(self.work_type)
        # the query heads that share a key head become rows of one product
        q = turned[:, :, :-kv_heads].reshape(batch, length, kv_heads, group, head).permute(0, 2, 3, 1, 4)
        q = q.reshape(batch * kv_heads, group * length, head)
        k = turned[:, :, -kv_heads:].permute(0, 2, 3, 1).reshape(batch * kv_heads, head, length)
        v = mixed[:, :, -kv_heads:].transpose(1, 2).reshape(batch * kv_heads, length, head)
        mix = torch.bmm(torch.bmm(q, k).add_(mask).softmax(-1), v)
        mix = mix.view(batch, kv_heads, group, length, head).permute(0, 3, 1, 2, 4)
        return F.linear(mix.reshape(batch, length, -1), out)

    def hidden(self, params, ids):
        """ids [batch, length] to normalised hidden rows [batch, length, dim] in work_type."""
        c, kind = self.config, self.work_type
        qkv = torch.cat((params["q"] / math.sqrt(c["head"]), params["k"], params["v"]), 1).to(kind).unbind()
        wide = torch.cat((params["gate"], params["up"]), 1).to(kind).unbind()
        out, down = params["o"].to(kind).unbind(), params["down"].to(kind).unbind()
        norms = [pair for pair in zip(params["norm_attn"].unbind(), params["norm_ffn"].unbind())]
        x = F.embedding(ids, params["embd"])
        for i in range(c["layers"]):
            x = x + self.attend(Normalise.apply(x, norms[i][0], c["eps"], kind), qkv[i], out[i])
            gate, up = F.linear(Normalise.apply(x, norms[i][1], c["eps"], kind), wide[i]).chunk(2, -1)
            x = x + F.linear(F.silu(gate) * up, down[i])
        return Normalise.apply(x, params["norm_out"], c["eps"], kind)

    def forward(self, params, ids):
        """ids [batch, length] to logits [batch, length, vocab] in work_type."""
        return F.linear(self.hidden(params, ids), params["embd"].to(self.work_type))

    def loss(self, params, ids, targets):
        rows = self.hidden(params, ids).flatten(0, 1)
        return TiedLoss.apply(rows, params["embd"].to(self.work_type), targets.flatten())


# ---------------------------------------------------------------- optimiser

def orthogonalise(update, work_type):
    """Five Newton-Schulz steps towards the nearest semi-orthogonal matrix, for a stack of matrices (Muon)."""
    x = (update / (update.norm(dim=(1, 2), keepdim=True) + 1e-7)).to(work_type)
    tall = x.shape[1] > x.shape[2]
    x = x.transpose(1, 2) if tall else x
    for _ in range(5):
        a = torch.bmm(x, x.transpose(1, 2))
        x = 3.4445 * x + torch.bmm(-4.7750 * a + 2.0315 * torch.bmm(a, a), x)
    return (x.transpose(1, 2) if tall else x).float()


class Optimiser:
    """Muon for the matrices of the layers, Adam for the embedding and the norms; a running average of all."""

    def __init__(self, params, work_type):
        self.params, self.work_type, self.steps = params, work_type, 0
        self.first = {name: torch.zeros_like(value) for name, value in params.items()}
        self.second = {name: torch.zeros_like(value) for name, value in params.items()}
        self.average = {name: value.detach().clone() for name, value in params.items()}

    @torch.no_grad()
    def step(self, scale):
        self.steps += 1
        keep = min(AVERAGE, self.steps / (self.steps + 10))
        for name, value in self.params.items():
            if value.dim() == 3:
                self.step_matrix(name, value, MATRIX_RATE * scale)
            else:
                self.step_table(name, value, TABLE_RATE * scale)
            value.grad = None
            self.average[name].lerp_(value, 1 - keep)

    def step_matrix(self, name, value, rate):
        first = self.first[name].mul_(0.95).add_(value.grad)
        update = orthogonalise(value.grad + 0.95 * first, self.work_type)
        value.mul_(1 - rate * DECAY)
        value.add_(update, alpha=-rate * max(1, value.shape[1] / value.shape[2]) ** 0.5)

    def step_table(self, name, value, rate):
        first = self.first[name].lerp_(value.grad, 0.1)
        second = self.second[name].lerp_(value.grad.square(), 0.02)
        root = (second / (1 - 0.98 ** self.steps)).sqrt_().add_(1e-10)
        value.addcdiv_(first, root, value=-rate / (1 - 0.9 ** self.steps))


def rate_scale(progress):
    """1 after a short warm-up, from DECAY_FROM on straight down to almost nothing."""
    if progress < WARM_UNTIL:
        return max(progress / WARM_UNTIL, 0.05)
    return min(1.0, max((1 - progress) / (1 - DECAY_FROM), 0.01))


# ---------------------------------------------------------------- results

@torch.no_grad()
def held_out_loss(model, params, work, name, limit=None):
    """(nats per token, bits per byte) over windows of one context; every token but the first is predicted once."""
    ids = torch.from_numpy(np.fromfile(work / "tokens" / (name + ".u16"), np.uint16).astype(np.int64))
    size = int((work / "tokens" / (name + ".bytes")).read_text())
    ctx, total, count = model.config["ctx"], 0.0, 0
    for at in range(0, min(len(ids) - 1, limit or len(ids)), ctx):
        row = ids[at:at + ctx + 1][None]
        total += float(model.loss(params, row[:, :-1], row[:, 1:])) * (row.shape[1] - 1)
        count += row.shape[1] - 1
    return total / count, total / math.log(2) / (size * count / len(ids))


def export_tensors(params):
    tensors = {"token_embd.weight": params["embd"]}
    for layer in range(CONFIG["layers"]):
        tensors |= {f"blk.{layer}.{name}.weight": params[key][layer] for name, key in NAMES.items()}
    tensors["output_norm.weight"] = params["norm_out"]
    return {name: value.detach().float().numpy() for name, value in tensors.items()}


def export(params, work, out):
    vocab = json.loads((work / "vocab.json").read_text())
    part = out.with_suffix(".part")
    write_gguf(part, CONFIG, ABOUT, vocab["tokens"], vocab["merges"], export_tensors(params))
    part.replace(out)


def as_stored(params):
    """The weights as a reader of the Q8_0 file sees them."""
    def pass_through(value):
        array = value.detach().numpy()
        return torch.from_numpy(dequantise_q8_0(quantise_q8_0(array), array.shape))
    plain = ("norm_attn", "norm_ffn", "norm_out")
    return {name: value if name in plain else pass_through(value) for name, value in params.items()}


def report(model, params, work, label, limit=None):
    parts = []
    for name in ("held-stories", "held-books"):
        nats, bits = held_out_loss(model, params, work, name, limit)
        parts.append(f"{name} {nats:.4f} nats/token {bits:.4f} bits/byte")
    print(label + ": " + ", ".join(parts), flush=True)


def add_gradients(model, params, batch, pool, count):
    """Splits the batch's rows over count threads; leaves the mean gradient in each .grad and returns the mean loss."""
    values = list(params.values())

    def work(ids, targets):
        loss = model.loss(params, ids, targets)
        return float(loss.detach()), torch.autograd.grad(loss, values)

    parts = list(pool.map(work, *(part.chunk(count) for part in batch)))
    for value, *grads in zip(values, *(grads for _, grads in parts)):
        value.grad = sum(grads[1:], grads[0]).div_(len(parts))
    return sum(loss for loss, _ in parts) / len(parts)


def row_length(progress):
    """Short rows first, for their attention is cheap; whole contexts at the end."""
    return CONFIG["ctx"] // (4 if progress < SHORT_UNTIL else 2 if progress < LONG_FROM else 1)


def train(args):
    work_type = torch.bfloat16 if args.bf16 else torch.float32
    model, params = Model(CONFIG, work_type), make_params(CONFIG)
    if args.start:
        params = {name: value.requires_grad_() for name, value in torch.load(args.start).items()}
    print(f"{sum(value.numel() for value in params.values())} parameters", flush=True)
    stories = Tokens(args.work / "tokens", "train-stories-*.u16")
    books = Tokens(args.work / "tokens", "train-books.u16")
    optimiser, rng = Optimiser(params, work_type), np.random.default_rng(1)
    pool = concurrent.futures.ThreadPoolExecutor(args.threads)
    start = saved = time.monotonic()
    seen, mean = 0, None
    while (progress := (time.monotonic() - start) / (60 * args.minutes)) < 1:
        batch = draw_batch(rng, stories, books, row_length(progress))
        loss = add_gradients(model, params, batch, pool, args.threads)
        optimiser.step(rate_scale(progress))
        seen += BATCH_TOKENS
        mean = loss if mean is None else 0.98 * mean + 0.02 * loss
        if optimiser.steps % 10 == 0:
            gone = time.monotonic() - start
            print(f"{gone:6.0f} s  step {optimiser.steps}  {seen / 1e6:.2f} M tokens  {seen / gone:.0f}/s  "
                  f"loss {mean:.4f}", flush=True)
        if time.monotonic() - saved > 60 * args.save_every:
            saved = time.monotonic()
            stories.refresh()
            export(optimiser.average, args.work, args.out)
            report(model, optimiser.average, args.work, "average so far", 8192)
    print(f"{len(stories.ids)} story tokens, {len(books.ids)} book tokens to draw from; {seen} tokens seen in "
          f"{(time.monotonic() - start) / 60:.1f} minutes")
    finish(args, params, optimiser.average)


def finish(args, last, average):
    """Writes whichever is better on held-out stories: the last weights or their average."""
    exact = Model(CONFIG, torch.float32)
    best = min((last, average), key=lambda params: held_out_loss(exact, params, args.work, "held-stories")[0])
    export(best, args.work, args.out)
    torch.save({name: value.detach() for name, value in best.items()}, args.work / "quoin-tiny.pt")
    report(exact, best, args.work, "final, float32")
    report(exact, as_stored(best), args.work, "final, as stored in Q8_0")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("work", type=pathlib.Path)
    parser.add_argument("--out", type=pathlib.Path, required=True)
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--save-every", type=float, default=5, help="minutes")
    parser.add_argument("--start", type=pathlib.Path, help="go on from the weights of an earlier run")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--bf16", action="store_true", help="matrix products in bfloat16: faster where the CPU has it")
    args = parser.parse_args()
    torch.set_num_threads(1)                    # each of our threads runs its own forward and backward pass
    torch.set_flush_denormal(True)
    train(args)


if __name__ == "__main__":
    main()
