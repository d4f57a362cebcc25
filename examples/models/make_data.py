#!/usr/bin/python3
"""Makes the training data of quoin-tiny in a work folder: texts, vocabulary, token files.

Usage:
    make_data.py WORK --stories STORIES260K.gguf [--shards N] [--rounds N]

Steps, each skipped when its result is there already:
    1. books/   public-domain prose taken out of three Debian packages (apt-get download, dpkg-deb)
    2. shards/  stories sampled from the 260k-parameter tinyllamas model (MIT) by sample_lanes.c
    3. vocab.json  byte-level BPE, learnt on all books and the first shard, split as the gpt-2 pre-tokenizer does
    4. tokens/  uint16 token files: books and stories, each with a held-out part that training never reads

Needs gcc, apt-get, dpkg-deb and python3-numpy. Nothing made here belongs in the repository.
"""
import argparse
import collections
import heapq
import html
import json
import pathlib
import re
import struct
import subprocess
import unicodedata
import zlib

import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
PACKAGES = ("r-cran-janeaustenr", "r-cran-tokenizers", "sword-text-web")
END = "<|endoftext|>"
VOCAB_SIZE = 2048
STORY_SHARE = 24                   # weight of the first story shard against the books when merges are learnt
HELD_STORY_SEED = 999_983          # a seed of its own: these stories are never trained on
HELD_BOOK_EVERY = 20               # every 20th piece of a book is held out
TEMPERATURE, TOP_P = 0.8, 0.95

# The gpt-2 pre-tokenizer. All training text is ASCII (see to_ascii), where these classes equal \p{L} and \p{N}.
SPLIT = re.compile(r"'s|'t|'re|'ve|'m|'ll|'d| ?[A-Za-z]+| ?[0-9]+| ?[^\sA-Za-z0-9]+|\s+(?!\S)|\s+")


# ---------------------------------------------------------------- books

def to_ascii(text):
    """Plain ASCII: straight quotes, double hyphens for dashes, letters without accents."""
    table = {"\u2018": "'", "\u2019": "'", "\u201c": '"', "\u201d": '"', "\u2013": "-", "\u2014": "--",
             "\u2026": "...", "\u00a0": " ", "\u00e6": "ae", "\u0153": "oe", "\u00c6": "Ae"}
    text = "".join(table.get(c, c) for c in text)
    return unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode()


def unpack_package(name, folder):
    """Downloads a Debian package and unpacks it below folder; nothing is installed."""
    target = folder / name
    if not target.exists():
        folder.mkdir(parents=True, exist_ok=True)
        subprocess.run(["apt-get", "download", name], cwd=folder, check=True)
        (deb,) = folder.glob(name + "_*.deb")
        subprocess.run(["dpkg-deb", "-x", deb, target], check=True)
    return target


def read_r_strings(path):
    """Yields the character vectors of an R lazy-load database (.rdb), each as a list of strings."""
    data = path.read_bytes()
    while data:
        stream = zlib.decompressobj()
        item = stream.decompress(data[4:])      # 4 bytes of length precede each zlib stream
        data = stream.unused_data
        strings = parse_r_vector(item)
        if strings:
            yield strings


def parse_r_vector(item):
    """Reads one serialised R character vector (XDR form), [] when the item is of another type."""
    at = 14                                     # "X\n", then version, writer's and least reader's release
    if struct.unpack_from(">i", item, 2)[0] == 3:
        at += 4 + struct.unpack_from(">i", item, at)[0]
    flags, count = struct.unpack_from(">ii", item, at)
    at += 8
    if flags & 0xff != 16:
        return []
    strings = []
    for _ in range(count):
        size = struct.unpack_from(">i", item, at + 4)[0]
        strings.append(item[at + 8:at + 8 + max(size, 0)].decode("utf-8", "replace"))
        at += 8 + max(size, 0)
    return strings


def join_paragraphs(lines):
    """Undoes the hard line breaks of an e-text: one line a paragraph."""
    blocks = re.split(r"\n[ \t]*\n", "\n".join(lines).replace("\r", ""))
    return [re.sub(r"\s+", " ", block).strip().replace("_", "") for block in blocks if block.strip()]


def strip_gutenberg(paragraphs):
    """Keeps what stands between Project Gutenberg's start and end marks, where there are any."""
    marks = [i for i, text in enumerate(paragraphs) if re.match(r"\*\*\* ?(START|END) OF", text)]
    return paragraphs[marks[0] + 1:marks[-1]] if len(marks) > 1 else paragraphs


def cut_pieces(paragraphs, size=6000):
    """Groups paragraphs into pieces of about size characters: the units of the held-out split."""
    piece, length = [], 0
    for paragraph in paragraphs:
        piece.append(paragraph)
        length += len(paragraph)
        if length >= size:
            yield "\n".join(piece)
            piece, length = [], 0
    if piece:
        yield "\n".join(piece)


def read_sword(folder):
    """Yields each book of a compressed SWORD text module as a list of verses, mark-up and footnotes taken out."""
    for part in ("ot", "nt"):
        index, packed, verses = (next(folder.rglob(part + end)).read_bytes() for end in (".bzs", ".bzz", ".bzv"))
        blocks = [zlib.decompress(packed[start:start + size]) for start, size, _ in struct.iter_unpack("<III", index)]
        books = collections.defaultdict(list)
        for block, start, size in struct.iter_unpack("<IIH", verses):
            if size and block < len(blocks):
                books[block].append(clean_verse(blocks[block][start:start + size].decode("utf-8", "replace")))
        yield from books.values()


def clean_verse(text):
    text = re.sub(r"<note\b.*?</note>|<title\b.*?</title>", "", text, flags=re.S)
    return re.sub(r"\s+", " ", html.unescape(re.sub(r"<[^>]*>", "", text))).strip()


def join_verses(verses, count=8):
    verses = [verse for verse in verses if verse]
    return [" ".join(verses[i:i + count]) for i in range(0, len(verses), count)]


def make_books(work):
    target = work / "books"
    if target.exists():
        return
    pieces = collections.defaultdict(list)
    for name in PACKAGES[:2]:
        (path,) = (unpack_package(name, work / "packages")).rglob("data/Rdata.rdb")
        for lines in read_r_strings(path):
            pieces[name] += cut_pieces(strip_gutenberg(join_paragraphs(lines)))
    for verses in read_sword(unpack_package(PACKAGES[2], work / "packages")):
        pieces[PACKAGES[2]] += cut_pieces(join_verses(verses))
    target.mkdir()
    for name, texts in pieces.items():
        (target / (name + ".json")).write_text(json.dumps([to_ascii(text) for text in texts]))
        print(f"{name}: {len(texts)} pieces, {sum(map(len, texts))} characters")


# ---------------------------------------------------------------- stories

def read_gguf(path):
    """Tokens and f32 tensors of a small GGUF file: just enough of the format for the story model."""
    data, at = path.read_bytes(), 0

    def take(form):
        nonlocal at
        value = struct.unpack_from("<" + form, data, at)[0]
        at += struct.calcsize("<" + form)
        return value

    def take_text():
        nonlocal at
        size = take("Q")
        at += size
        return data[at - size:at]

    def take_value(kind):
        if kind == 8:
            return take_text()
        if kind == 9:
            inner, count = take("I"), take("Q")
            return [take_value(inner) for _ in range(count)]
        return take("BbHhIif?__Qqd"[kind])

    magic, _, tensors, keys = take("I"), take("I"), take("Q"), take("Q")
    if magic != 0x46554747:
        raise SystemExit(f"{path}: not a GGUF file")
    meta = {}
    for _ in range(keys):
        name = take_text().decode()
        meta[name] = take_value(take("I"))
    infos = [(take_text().decode(), [take("Q") for _ in range(take("I"))], take("I"), take("Q"))
             for _ in range(tensors)]
    base = -(-at // 32) * 32
    weights = {}
    for name, shape, kind, offset in infos:
        if kind != 0:
            raise SystemExit(f"{path}: tensor {name} is not f32; give the f32 file")
        weights[name] = np.frombuffer(data, "<f4", int(np.prod(shape)), base + offset)
    return meta, weights


def write_story_weights(model, target):
    """Writes the tensors in the order in which sample_lanes.c reads them."""
    meta, weights = read_gguf(model)
    shape = [meta["llama." + key] for key in ("embedding_length", "feed_forward_length", "block_count")]
    if shape != [64, 172, 5]:
        raise SystemExit(f"{model}: sample_lanes.c is made for 64 x 172 x 5, this model has {shape}")
    names = ["token_embd"]
    for layer in range(5):
        names += [f"blk.{layer}.{part}" for part in ("attn_norm", "attn_q", "attn_k", "attn_v", "attn_output",
                                                     "ffn_norm", "ffn_gate", "ffn_up", "ffn_down")]
    with open(target, "wb") as out:
        for name in names + ["output_norm"]:
            out.write(weights[name + ".weight"].tobytes())
    return meta["tokenizer.ggml.tokens"]


def story_token_bytes(token):
    byte = re.fullmatch(rb"<0x([0-9A-F]{2})>", token)
    return bytes([int(byte[1], 16)]) if byte else token.replace("\u2581".encode(), b" ")


def sample_shard(work, seed, rounds):
    target = work / "shards" / f"{seed}.u16"
    if target.exists():
        return
    part = target.with_suffix(".part")
    with open(part, "wb") as out:
        subprocess.run([work / "sample_lanes", work / "stories.f32", str(rounds), str(seed), str(TEMPERATURE),
                        str(TOP_P)], stdout=out, check=True)
    part.rename(target)
    print(f"shard {seed}: {target.stat().st_size // 2} tokens", flush=True)


def read_shard(work, seed, pieces):
    ids = np.fromfile(work / "shards" / f"{seed}.u16", np.uint16)
    stories, start = [], 0
    for end in np.flatnonzero(ids == 0xffff):
        text = b"".join(map(pieces.__getitem__, ids[start:end].tolist())).decode("utf-8", "replace")
        stories.append(to_ascii(re.sub(r" *\n\s*", "\n", text).strip()))
        start = end + 1
    return [story for story in stories if len(story) > 100]


# ---------------------------------------------------------------- vocabulary

def byte_names():
    """gpt-2's printable stand-in for each byte: printable Latin-1 stands for itself, the rest moves above 255."""
    own = [*range(0x21, 0x7f), *range(0xa1, 0xad), *range(0xae, 0x100)]
    rest = [byte for byte in range(256) if byte not in own]
    return {byte: chr(byte) for byte in own} | {byte: chr(256 + i) for i, byte in enumerate(rest)}


def learn_bpe(texts, size):
    """Learns size - 257 merges on (text, weight) pairs. Returns (tokens, merges), both as printable strings."""
    names = byte_names()
    counts = collections.Counter()
    for text, share in texts:
        for word in SPLIT.findall(text):
            counts[word] += share
    words = [[names[byte] for byte in word.encode()] for word in counts]
    weight = list(counts.values())
    pairs, where = collections.Counter(), collections.defaultdict(set)
    for i, word in enumerate(words):
        for pair in zip(word, word[1:]):
            pairs[pair] += weight[i]
            where[pair].add(i)
    heap = [(-count, pair) for pair, count in pairs.items()]
    heapq.heapify(heap)
    merges = []
    while len(merges) < size - 257 and heap:
        count, pair = heapq.heappop(heap)
        if -count != pairs[pair] or count == 0:
            continue                            # an old count; the pair's present one is in the heap too
        merges.append(pair)
        for changed in apply_merge(words, weight, pairs, where, pair):
            heapq.heappush(heap, (-pairs[changed], changed))
    tokens = [END] + [names[byte] for byte in range(256)] + [a + b for a, b in merges]
    return tokens, [f"{a} {b}" for a, b in merges]


def apply_merge(words, weight, pairs, where, pair):
    """Merges pair in every word that has it; returns the pairs whose counts changed."""
    changed = set()
    for i in where.pop(pair):
        old = words[i]
        new = merge_word(old, pair)
        for gone in zip(old, old[1:]):
            pairs[gone] -= weight[i]
            changed.add(gone)
        for come in zip(new, new[1:]):
            pairs[come] += weight[i]
            where[come].add(i)
            changed.add(come)
        words[i] = new
    changed.discard(pair)
    return changed


def merge_word(word, pair):
    out, i = [], 0
    while i < len(word):
        if i + 1 < len(word) and (word[i], word[i + 1]) == pair:
            out.append(word[i] + word[i + 1])
            i += 2
        else:
            out.append(word[i])
            i += 1
    return out


class Encoder:
    """Byte-level BPE over a vocabulary made by learn_bpe; remembers each word it has met."""

    def __init__(self, tokens, merges):
        self.names = byte_names()
        self.ids = {token: i for i, token in enumerate(tokens)}
        self.rank = {tuple(merge.split(" ")): i for i, merge in enumerate(merges)}
        self.known = {}

    def encode_word(self, word):
        parts = [self.names[byte] for byte in word.encode()]
        while len(parts) > 1:
            best = min(zip(parts, parts[1:]), key=lambda pair: self.rank.get(pair, 1 << 30))
            if best not in self.rank:
                break
            parts = merge_word(parts, best)
        return [self.ids[part] for part in parts]

    def encode(self, text):
        ids = []
        for word in SPLIT.findall(text):
            known = self.known.get(word)
            if known is None:
                known = self.known[word] = self.encode_word(word)
            ids += known
        return ids


def make_vocab(work, pieces, seed):
    target = work / "vocab.json"
    if not target.exists():
        texts = [(story, STORY_SHARE) for story in read_shard(work, seed, pieces)]
        for path in sorted((work / "books").glob("*.json")):
            texts += [(text, 1) for i, text in enumerate(json.loads(path.read_text())) if i % HELD_BOOK_EVERY]
        tokens, merges = learn_bpe(texts, VOCAB_SIZE)
        target.write_text(json.dumps({"tokens": tokens, "merges": merges}))
        print(f"vocabulary: {len(tokens)} tokens, {len(merges)} merges")
    vocab = json.loads(target.read_text())
    return Encoder(vocab["tokens"], vocab["merges"])


# ---------------------------------------------------------------- token files

def write_tokens(target, encoder, texts):
    """Writes the texts' ids, each text after one end-of-text token, and the byte count that held-out loss needs."""
    ids = []
    for text in texts:
        ids.append(0)
        ids += encoder.encode(text)
    part = target.with_suffix(".part")
    np.array(ids, np.uint16).tofile(part)
    target.with_suffix(".bytes").write_text(str(sum(map(len, texts))))
    part.rename(target)
    print(f"{target.name}: {len(ids)} tokens, {sum(map(len, texts))} bytes", flush=True)


def make_book_tokens(work, encoder):
    kept, held = [], []
    for path in sorted((work / "books").glob("*.json")):
        for i, text in enumerate(json.loads(path.read_text())):
            (kept if i % HELD_BOOK_EVERY else held).append(text)
    for name, texts in (("train-books", kept), ("held-books", held)):
        if not (work / "tokens" / (name + ".u16")).exists():
            write_tokens(work / "tokens" / (name + ".u16"), encoder, texts)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("work", type=pathlib.Path)
    parser.add_argument("--stories", type=pathlib.Path, required=True, help="f32 GGUF of the story model")
    parser.add_argument("--shards", type=int, default=40)
    parser.add_argument("--rounds", type=int, default=100, help="16 stories a round")
    parser.add_argument("--first-shard", type=int, default=1, help="so that two processes can share the work")
    args = parser.parse_args()
    work = args.work
    for folder in ("shards", "tokens"):
        (work / folder).mkdir(parents=True, exist_ok=True)
    make_books(work)
    if not (work / "sample_lanes").exists():
        subprocess.run(["gcc", "-std=gnu11", "-O3", "-march=native", "-ffast-math", "-fno-associative-math",
                        "-Wno-psabi", "-o", work / "sample_lanes", HERE / "sample_lanes.c", "-lm"], check=True)
    pieces = [story_token_bytes(token) for token in write_story_weights(args.stories, work / "stories.f32")]
    encoder = None
    seeds = range(args.first_shard, args.first_shard + args.shards)
    for seed in [seeds[0], HELD_STORY_SEED, *seeds[1:]]:
        held = seed == HELD_STORY_SEED
        target = work / "tokens" / ("held-stories.u16" if held else f"train-stories-{seed}.u16")
        if target.exists():
            continue
        sample_shard(work, seed, 20 if held else args.rounds)
        if encoder is None:
            encoder = make_vocab(work, pieces, seed)
            make_book_tokens(work, encoder)
        write_tokens(target, encoder, read_shard(work, seed, pieces))


if __name__ == "__main__":
    main()
