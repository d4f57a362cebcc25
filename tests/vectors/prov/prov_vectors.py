#!/usr/bin/env python3
"""Frozen files of the profile q42.model-provenance.v1: a container of two tensors with its provenance volumes and a signature, and the
record of one answer.

What is said, digests and names are computed here, from the document and without the C code; blocks and sections come from the encoder of
../q42/q42_vectors.py, the container from ../p64/p64_vectors.py, signatures from ../qwal/qwal_vectors.py. Keys are made from fixed seeds
and are worth nothing.

    python3 prov_vectors.py --write DIR      writes them
    python3 prov_vectors.py --check DIR      exit status 1 when a file there differs
"""
import hashlib
import hmac
import os
import struct
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.dont_write_bytecode = True
for folder in ('q42', 'p64', 'qwal'):
    sys.path.insert(0, os.path.join(HERE, '..', folder))
import p64_vectors as p64  # noqa: E402
from q42_vectors import lex_paged, q_hash, write_volume  # noqa: E402
from qwal_vectors import ALICE  # noqa: E402

PROFILE = b'q42.model-provenance.v1\0'
CONTEXT = 'urn:qualia:context:model-provenance:v1'
PROV = 'http://www.w3.org/ns/prov#'
TIME = 1_750_000_000_000
BLOCK_QUINS = 850
INTEGER, BOOLEAN, FLOAT = 1 << 60, 3 << 60, 5 << 60
USES = ['local-inference', 'commercial', 'derivatives', 'redistribution']
HANDLES = {'q42m:intent', 'q42m:claimSubject', 'q42m:claimPredicate', 'q42m:claimObject'}


def sha(data):
    return hashlib.sha256(data).hexdigest()


# ---------------------------------------------------------------- statements: (subject or '', predicate, object, ordinal, tier)
class Raw(int):
    """An object that is no text."""


def integer(value):
    assert 0 <= value < 2**60
    return Raw(INTEGER | value)


def boolean(value):
    return Raw(BOOLEAN | bool(value))


def real(value):
    return Raw(FLOAT | struct.unpack('<I', struct.pack('<f', value))[0])


class Graph:
    def __init__(self, tier=0):
        self.said, self.tier = [], tier

    def say(self, subject, predicate, value, ordinal=0):
        self.said.append((subject, predicate, value, ordinal, self.tier))

    def wide(self, subject, predicate, value, which=0):
        self.say(subject, predicate, integer(value & 0xFFFFFFFF), 2 * which)
        self.say(subject, predicate, integer(value >> 32), 2 * which + 1)

    def quins_and_terms(self):
        terms = {q_hash(CONTEXT): CONTEXT}
        quins = set()
        for subject, predicate, value, ordinal, tier in self.said:
            for text in (subject, predicate) + (() if isinstance(value, Raw) else (value,)):
                if text:
                    terms[q_hash(text)] = text
            fields = (q_hash(subject) if subject else 0, q_hash(predicate), value if isinstance(value, Raw) else q_hash(value),
                      q_hash(CONTEXT), tier << 56 | ordinal)
            parity = 0
            for field in fields:
                parity ^= field
            quins.add(tuple(int(f) for f in fields) + (parity,))
        return sorted(quins, key=lambda q: (q[2], q[0], q[1], q[3], q[4])), terms

    def digest(self):
        quins, terms = self.quins_and_terms()
        data = b''.join(struct.pack('<6Q', *q) for q in quins)
        for key in sorted(terms):
            text = terms[key].encode()
            data += struct.pack('<QH', key, len(text)) + text
        return hashlib.sha256(data).digest()

    def named(self, beginning):
        """The same record with its digest for a name."""
        name = beginning + self.digest().hex()
        out = Graph(self.tier)
        out.said = [(name,) + s[1:] for s in self.said]
        return out, name

    def volume(self):
        quins, terms = self.quins_and_terms()
        return write_volume(lex_paged(terms), [quins[i:i + BLOCK_QUINS] for i in range(0, len(quins), BLOCK_QUINS)], profile='builder',
                            ts=TIME)


# ---------------------------------------------------------------- the model
def make_source():
    kv = [('general.architecture', p64.GSTR, 'llama'), ('general.name', p64.GSTR, 'Toy'), ('general.organization', p64.GSTR, 'Example'),
          ('llama.block_count', p64.GU32, 1), ('llama.embedding_length', p64.GU32, 4), ('llama.attention.head_count', p64.GU32, 1),
          ('llama.rope.freq_base', p64.GF32, 10000.0)] + p64.small_tokenizer()
    wide = b''.join(p64.f32b(float(i) / 4) for i in range(8))
    norm = b''.join(p64.f32b(1.0) for _ in range(4))
    return p64.write_gguf(kv, [('blk.0.attn_q.weight', [4, 2], p64.F32, None, wide), ('blk.0.attn_norm.weight', [4], p64.F32, None, norm)])


def word(data, at):
    return struct.unpack_from('<I', data, at)[0]


def make_consent():
    """(text of the file, its statements)."""
    facts = Graph()
    facts.say('', 'q42m:type', 'q42m:Consent')
    facts.say('', 'q42m:grantedBy', 'did:web:maker.example')
    facts.say('', 'q42m:grantedTo', 'did:web:user.example')
    facts.say('', 'q42m:scope', 'local-inference', 0)
    facts.say('', 'q42m:scope', 'commercial', 1)
    facts.say('', 'q42m:validFrom', integer(TIME - 1000))
    facts.say('', 'q42m:validUntil', integer(TIME + 1000))
    facts.say('', 'q42m:signatureKey', 'ed25519:' + ALICE.public.hex())
    named, name = facts.named('urn:qualia:consent:sha256:')
    signature = 'ed25519:' + ALICE.sign(PROFILE + facts.digest()).hex()
    named.say(name, 'q42m:signature', signature)
    text = ('granted_by = did:web:maker.example\ngranted_to = did:web:user.example\nscope = local-inference\nscope = commercial\n'
            f'valid_from = {TIME - 1000}\nvalid_until = {TIME + 1000}\nkey = ed25519:{ALICE.public.hex()}\nsignature = {signature}\n')
    return text.encode(), named, name


LICENCE = b'Do with this toy what you like.\n'
TOOL = sha(b'a program')


def say_tensor(g, container, index):
    at = word(container, 12) + 64 * index
    name_at, role, dtype, layer, rank = struct.unpack_from('<IHHII', container, at)
    dims = struct.unpack_from('<4I', container, at + 16)
    offset, size = struct.unpack_from('<II', container, at + 32)
    source_offset, name_hash = struct.unpack_from('<QQ', container, at + 40)
    strings = word(container, 24)
    name = container[strings + name_at:container.index(b'\0', strings + name_at)].decode()
    subject = f'urn:qualia:tensor:{sha(container)}:{index}'
    g.say(subject, 'q42m:inContainer', 'urn:qualia:p64:sha256:' + sha(container))
    g.say(subject, 'q42m:tensorName', name)
    for predicate, value in (('Index', index), ('Role', role), ('Layer', layer), ('Dtype', dtype), ('Rank', rank), ('Bytes', size),
                             ('Crc32c', p64.crc32c(container[offset:offset + size]))):
        g.say(subject, 'q42m:tensor' + predicate, integer(value))
    for k in range(rank):
        g.say(subject, 'q42m:tensorDim', integer(dims[k]), k)
    g.say(subject, 'q42m:tensorBlob', Raw(9 << 60 | offset))
    g.say(subject, 'q42m:tensorSha256', 'sha256:' + sha(container[offset:offset + size]))
    g.say(subject, 'q42m:sourceTensorOffset', integer(source_offset))
    g.wide(subject, 'q42m:sourceNameHash', name_hash)


def say_model(source, container, consent, consent_name, is_full):
    g = Graph()
    g.say('q42m:', 'q42m:expandsTo', 'urn:qualia:ns:model-provenance:v1#')
    urn = 'urn:qualia:source:sha256:' + sha(source)
    for predicate, value in (('type', 'q42m:SourceModel'), ('sha256', 'sha256:' + sha(source)), ('byteLength', integer(len(source))),
                             ('containerFormat', 'gguf'), ('containerVersion', integer(3)), ('publisher', 'Example'), ('modelName', 'Toy'),
                             ('architecture', 'llama')):
        g.say(urn, 'q42m:' + predicate, value)
    g.say(urn, PROV + 'hadPrimarySource', 'https://maker.example/toy.gguf')

    detail = 'extended=0\nlayout=packed\npage_log2=12\npolicy=byte-preserving\n'
    transcode = 'urn:qualia:transcode:sha256:' + sha(detail.encode())
    runtime = 'urn:qualia:runtime:sha256:' + TOOL
    for predicate, value in (('type', 'q42m:Transcode'), ('policy', 'byte-preserving'), ('policyDetail', detail),
                             ('byteParityVerified', boolean(True)), ('toolRuntime', runtime), ('endedUnixMs', integer(TIME))):
        g.say(transcode, 'q42m:' + predicate, value)

    licence = 'urn:qualia:licence:sha256:' + sha(LICENCE)
    for predicate, value in (('type', 'q42m:Licence'), ('spdx', '0BSD'), ('sha256', 'sha256:' + sha(LICENCE)),
                             ('licenceUrl', 'https://maker.example/licence')):
        g.say(licence, 'q42m:' + predicate, value)
    for use in ('local-inference', 'derivatives'):
        g.say(licence, 'q42m:permitsUse', use, USES.index(use))

    g.said += consent.said
    say_runtime(g, runtime, {}, None)

    urn = 'urn:qualia:p64:sha256:' + sha(container)
    n = word(container, 36)
    tables = container[word(container, 12):][:64 * n] + container[word(container, 28):][:4 * (n + 1)]
    tokenizer = p64.gguf_tokenizer(p64.read_gguf(source)[0], False)
    assert container[word(container, 16):][:len(tokenizer)] == tokenizer
    for predicate, value in (('type', 'q42m:P64Artifact'), ('sha256', 'sha256:' + sha(container)), ('byteLength', integer(len(container))),
                             ('p64Version', integer(word(container, 4) & 0xFFFF)), ('p64Flags', integer(word(container, 4) >> 16)),
                             ('pageSize', integer(word(container, 40))), ('tensorCount', integer(n)),
                             ('metadataCrc32c', integer(word(container, word(container, 28)))),
                             ('tensorTableSha256', 'sha256:' + sha(tables)), ('tokenizerSha256', 'sha256:' + sha(tokenizer)),
                             ('hparamsSha256', 'sha256:' + sha(container[word(container, 20):][:64])), ('licence', licence),
                             ('consent', consent_name)):
        g.say(urn, 'q42m:' + predicate, value)
    g.say(urn, PROV + 'wasDerivedFrom', 'urn:qualia:source:sha256:' + sha(source))
    g.say(urn, PROV + 'wasGeneratedBy', transcode)
    for index in range(n if is_full else 0):
        say_tensor(g, container, index)
    return g


# ---------------------------------------------------------------- the answer
def say_runtime(g, runtime, kernels, backend):
    """kernels: id -> plugin's bytes."""
    g.say(runtime, 'q42m:type', 'q42m:Runtime')
    g.say(runtime, 'q42m:name', 'quoin')
    g.say(runtime, 'q42m:version', '1')
    g.say(runtime, 'q42m:buildConfig', 'vector')
    g.say(runtime, 'q42m:sha256', 'sha256:' + runtime[-64:])
    if backend:
        g.say(runtime, 'q42m:backend', backend)
    for i, kernel in enumerate(sorted(kernels)):
        subject = 'urn:qualia:kernel:sha256:' + sha(kernels[kernel] + kernel.encode())
        g.say(runtime, 'q42m:usesKernel', subject, i)
        g.say(subject, 'q42m:type', 'q42m:Kernel')
        g.say(subject, 'q42m:kernelId', kernel)
        g.say(subject, 'q42m:kernelBinarySha256', 'sha256:' + sha(kernels[kernel]))


KERNELS = {'cpu/matmul/f32acc': b'a plugin', 'cpu/add/f32acc': b'a plugin'}
SAMPLER = ('bos=1\nchat=0\nchunk=16\ncontext=1\nctx=64\nkv=f16\nmax_tokens=3\nmin_p=0\nnumeric=f32acc\nprompt=text\nrepeat_last=64\nrepeat_penalty=1\n'
           'special=0\nsystem=0\ntemperature=0.5\ntop_k=40\ntop_p=0.899999976\n')
PROMPT, ANSWER, TEXT = [1, 2, 300], [7, 8, 70000], 'Äpfel!'.encode()
MAC_KEY = bytes([9]) * 32


def ids(numbers):
    return b''.join(struct.pack('<I', n) for n in numbers)


def say_generation(model):
    g = Graph(tier=1)
    runtime = 'urn:qualia:runtime:sha256:' + TOOL
    def say(predicate, value, ordinal=0):
        g.say('', predicate, value, ordinal)
    say('q42m:type', 'q42m:Generation')
    say('q42m:usedModel', 'urn:qualia:p64:sha256:' + sha(model))
    say('q42m:usedRuntime', runtime)
    say('q42m:usedAdapter', 'urn:qualia:adapter:sha256:' + sha(b'an adapter'))
    for predicate, value in (('backend', 'cpu'), ('device', 'CPU, 1 worker'), ('driver', 'cpu 1: none'), ('numeric', 'f32acc')):
        say('q42m:' + predicate, value)
    say('q42m:threads', integer(1))
    for i, kernel in enumerate(sorted(KERNELS)):
        say('q42m:usesKernel', 'urn:qualia:kernel:sha256:' + sha(KERNELS[kernel] + kernel.encode()), i)
    say('q42m:sampler', SAMPLER)
    say('q42m:samplerSha256', 'sha256:' + sha(SAMPLER.encode()))
    g.wide('', 'q42m:seed', 0x123456789ABCDEF0)
    say('q42m:promptMac', 'hmac-sha256:' + hmac.new(MAC_KEY, ids(PROMPT), 'sha256').hexdigest())
    say('q42m:contextMac', 'hmac-sha256:' + hmac.new(MAC_KEY, b'a context', 'sha256').hexdigest())
    say('q42m:promptTokens', ' '.join(map(str, PROMPT)))
    say('q42m:tokensSha256', 'sha256:' + sha(ids(ANSWER)))
    say('q42m:outputSha256', 'sha256:' + sha(TEXT))
    say('q42m:tokenCount', integer(len(ANSWER)))
    say('q42m:stopReason', 'length')
    say('q42m:partial', boolean(False))
    say('q42m:agent', 'did:web:agent.example')
    say(PROV + 'actedOnBehalfOf', 'did:web:user.example')
    say('q42m:intent', Raw(q_hash('urn:example:ask')))
    say(PROV + 'startedAtTime', integer(TIME))
    say(PROV + 'endedAtTime', integer(TIME + 5))
    say('q42m:groundingVerdict', 'SUPPORTED')
    say('q42m:groundingScore', real(0.75))
    g.wide('', 'q42m:cites', 0x0FEDCBA987654321, 0)
    g.wide('', 'q42m:cites', 5, 1)
    say('q42m:gateTrace', 'sha256:' + sha(b'gates'))
    for name, text in (('Subject', 'urn:example:s'), ('Predicate', 'urn:example:p')):
        say('q42m:claim' + name, Raw(q_hash(text)))
    say('q42m:claimObject', integer(12))
    named, name = g.named('urn:qualia:gen:sha256:')
    plain = Graph()
    say_runtime(plain, runtime, KERNELS, 'cpu')
    named.said += plain.said
    return named, name


# ---------------------------------------------------------------- files
def make_signature(digest):
    return (b'Q42PSIG\0' + struct.pack('<II', 1, 0) + ALICE.id + ALICE.public + digest + ALICE.sign(PROFILE + digest))


def files():
    source = make_source()
    container = p64.convert_gguf(source)
    consent_text, consent, consent_name = make_consent()
    full = say_model(source, container, consent, consent_name, True)
    compact = say_model(source, container, consent, consent_name, False)
    answer, name = say_generation(container)
    return {'toy.gguf': source, 'toy.p64': container, 'toy.licence.txt': LICENCE, 'toy.consent.txt': consent_text,
            'toy.prov.q42': full.volume(), 'toy.prov.sig': make_signature(full.digest()), 'toy.compact.q42': compact.volume(),
            'generation.q42': answer.volume(),
            'digests.txt': (f'full {full.digest().hex()}\ncompact {compact.digest().hex()}\ngeneration {name[-64:]}\n').encode()}


def main():
    if len(sys.argv) != 3 or sys.argv[1] not in ('--write', '--check'):
        sys.exit(__doc__)
    n_different = 0
    for name, data in files().items():
        path = os.path.join(sys.argv[2], name)
        if sys.argv[1] == '--write':
            with open(path, 'wb') as f:
                f.write(data)
        elif not os.path.exists(path) or open(path, 'rb').read() != data:
            n_different += 1
            print(f'{name} differs')
        print(f'{name:20} {len(data):7} bytes  sha256 {sha(data)}')
    sys.exit(1 if n_different else 0)


if __name__ == '__main__':
    main()
