#!/usr/bin/env python3
"""Containers with their companion volumes: the same ids and the same bits of every logit as from the GGUF, and what is refused."""
import json
import random
import shutil
import struct

from decoder64 import Spec, VOCABULARY, make_weights, write_gguf
from logits import same_logits
from model_zoo import MODELS
from models import caselib
from program import *

GREEDY = ['-n', '24', '--temp', '0', '--backend', 'reference', '--numeric', 'f32acc', '--deadline', '0', '--json']
TEXTS = ['Once upon a time', 'hello world', ' two  spaces', 'naïve — 母語 😀', "don't 1234567 x\n\n\ty", '<|user|>hello', '']


def tiny(t, name='tiny.gguf', **keys):
    """The small model with some keys more, or other ones: {key: (type, value)}."""
    file = caselib.model()
    for key, (kind, value) in keys.items():
        file.set(key.replace('__', '.'), kind, value)
    with open(t.path(name), 'wb') as f:
        f.write(file.build())
    return t.path(name)


def convert(t, model, name='out.p64', *options):
    said = t.exits(0, 'convert', model, '-o', t.path(name), '--json', *options).json()
    t.equal(said['companion']['file'], t.path(name[:-4] + '.q42'))
    t.equal(said['lost'], [], 'facts that are lost beside a companion')
    return t.path(name)


def keys_of(t, path):
    return t.exits(0, 'inspect', path, '--json', '--full').json()['keys']


def random_ids(seed, count, below):
    rng = random.Random(seed)
    return [rng.randrange(below) for _ in range(count)]


# ---------------------------------------------------------------- the same numbers
def check_architecture(t, number):
    _, arch, changes, options = MODELS[number]
    spec = Spec(arch, **changes)
    write_gguf(t.path('model.gguf'), spec, make_weights(spec, seed=number + 1))
    out = convert(t, t.path('model.gguf'))
    t.exits(0, 'verify', out, '--strict')
    prompts = [random_ids(number, n, 200) for n in (1, 7, 21)]
    n_ctx = options[options.index('--ctx') + 1] if '--ctx' in options else None
    n = same_logits(t, t.path('model.gguf'), out, prompts, follow=random_ids(number + 100, 12, 200), n_ctx=n_ctx)
    t.equal(n, len(prompts) * len(VOCABULARY), 'logits')
    t.equal(keys_of(t, out), keys_of(t, t.path('model.gguf')))


for at, (model_name, *_) in enumerate(MODELS):
    add_test(f'{model_name}_has_the_same_bits', lambda t, at=at: check_architecture(t, at))


def check_layout(t, options, is_kept):
    spec = Spec('llama', n_embd=32, n_ff=64, matrix_type=8)
    write_gguf(t.path('model.gguf'), spec, make_weights(spec, seed=5))
    out = convert(t, t.path('model.gguf'), 'out.p64', *options)
    t.exits(0, 'verify', out)
    t.equal(keys_of(t, out), keys_of(t, t.path('model.gguf')))
    if is_kept:
        same_logits(t, t.path('model.gguf'), out, [random_ids(1, 9, 200)], follow=random_ids(2, 9, 200))
    t.equal(len(t.exits(0, 'run', out, '--prompt-tokens', '1,2,3', *GREEDY).json()['tokens']) > 0, True)


for layout, kept in (([], True), (['--layout', 'plain'], True), (['--layout', 'auto'], True), (['--extended'], True),
                     (['--extended', '--layout', 'plain'], True), (['--page-log2', '12'], True), (['--no-check'], True),
                     (['--weights', 'q4_k_soa'], True), (['--weights', 'f16'], False), (['--weights', 'ffn-q4_0'], False),
                     (['--weights', 'ffn-ternary'], False)):
    words = '_'.join(o.strip('-').replace('-', '_') for o in layout) or 'defaults'
    add_test(f'a_container_of_{words}_runs_by_its_companion', lambda t, o=layout, k=kept: check_layout(t, o, k))


def check_stories(t, kind):
    model = corpus(f'data/stories260k/stories260k-{kind}.gguf')
    out = convert(t, model)
    t.exits(0, 'verify', out, '--strict')
    with open(corpus('data/stories260k/golden.json'), encoding='utf-8') as f:
        golden = json.load(f)
    for case in golden['tokenize']:
        got = t.exits(0, 'tokenize', out, '--text', case['text'], '--json').json()['tokens']
        t.equal(got, case['ids'], case['text'])
    a, b = (t.exits(0, 'run', path, '--prompt', 'Once upon a time', *GREEDY).json() for path in (model, out))
    t.equal((a['prompt_tokens'], a['tokens'], a['text']), (b['prompt_tokens'], b['tokens'], b['text']))
    n = same_logits(t, model, out, [a['prompt_tokens'], random_ids(3, 100, 512)], follow=a['tokens'])
    t.equal(n, 2 * 512, 'logits')
    t.equal(keys_of(t, out), keys_of(t, model))


for stories in ('f32', 'f16', 'q8_0'):
    add_test(f'stories260k_{stories}_has_the_same_ids_and_bits', lambda t, k=stories: check_stories(t, k))


def check_tokenizer(t, **keys):
    model = tiny(t, **keys)
    out = convert(t, model)
    for text in TEXTS:
        a, b = (t.exits(0, 'tokenize', path, '--text', text, '--special', '--json').json()['tokens'] for path in (model, out))
        t.equal(a, b, text)
    t.equal(keys_of(t, out), keys_of(t, model))


for pre in ('gpt-2', 'smollm', 'llama-bpe', 'qwen2'):
    add_test(f'a_{pre.replace("-", "_")}_tokenizer_gives_the_same_ids',
             lambda t, p=pre: check_tokenizer(t, tokenizer__ggml__pre=(caselib.STR, p)))


@test
def a_chat_template_and_every_kind_of_key_come_back(t):
    keys = {'tokenizer__chat_template': (caselib.STR, '{% for m in messages %}<|im_start|>' + 'é' * 40000 + '{% endfor %}'),
            'x__u64': (caselib.U64, 2**64 - 1), 'x__i8': (caselib.I8, -128), 'x__f64': (caselib.F64, 0.1), 'x__f32': (caselib.F32, 1e-6),
            'x__empty': (caselib.ARR, (caselib.U32, [])), 'x__bytes': (caselib.STR, b'a\xff\x00b'),
            'x__many': (caselib.ARR, (caselib.I64, [1, -2, 2**62])), 'x__words': (caselib.ARR, (caselib.STR, ['', 'é', 'x' * 70000])),
            'x__yes': (caselib.ARR, (caselib.BOOL, [1, 0, 1]))}
    model = tiny(t, **keys)
    out = convert(t, model)
    t.exits(0, 'verify', out)
    t.equal(keys_of(t, out), keys_of(t, model))
    t.true(len(keys_of(t, out)['tokenizer.chat_template']) > 40000, 'the template is cut')


@test
def a_chat_by_the_models_own_template_is_the_same(t):
    model = tiny(t, tokenizer__chat_template=(caselib.STR, "{{ '<|user|>\n' + m['content'] + eos_token }}{{ '<|assistant|>' }}"))
    out = convert(t, model)
    a, b = (t.exits(0, 'chat', path, '-n', '6', '--temp', '0', '--backend', 'reference', stdin=b'hello\nworld\n').out for path in (model, out))
    t.equal(a, b)


# ---------------------------------------------------------------- finding and binding
@test
def a_container_without_companion_says_what_to_do(t):
    out = convert(t, tiny(t))
    os.unlink(t.path('out.q42'))
    r = t.exits(1, 'run', out, '--prompt', 'a', *GREEDY)
    t.has(r.err, 'out.p64', 'companion', '--companion', '--assume llama')
    t.equal(t.exits(0, 'inspect', out, '--json').json()['companion'], {'state': 'none'})
    t.equal(t.exits(0, 'verify', out, '--json').json()['companion'], 'none')
    t.exits(0, 'run', out, '--assume', 'llama', '--prompt', 'a', *GREEDY)


@test
def a_companion_elsewhere_is_named(t):
    os.mkdir(t.path('else'))
    said = t.exits(0, 'convert', tiny(t), '-o', t.path('out.p64'), '--companion', t.path('else/c.q42'), '--json').json()
    t.equal(said['companion']['file'], t.path('else/c.q42'))
    t.equal(t.files(), ['else', 'out.p64', 'tiny.gguf'])
    t.exits(1, 'run', t.path('out.p64'), '--prompt', 'a', *GREEDY)
    for command in (['run', '--prompt', 'a', *GREEDY], ['tokenize', '--text', 'a'], ['verify'], ['inspect']):
        t.exits(0, command[0], t.path('out.p64'), '--companion', t.path('else/c.q42'), *command[1:])
    r = t.exits(6, 'run', t.path('out.p64'), '--companion', t.path('else/none.q42'), '--prompt', 'a', *GREEDY)
    t.has(r.err, 'none.q42')


@test
def the_companion_of_another_container_is_refused_with_both_checksums(t):
    out = convert(t, tiny(t))
    other = convert(t, tiny(t, 'other.gguf', llama__context_length=(caselib.U32, 32), tokenizer__ggml__pre=(caselib.STR, 'smollm')), 'other.p64')
    shutil.copy(t.path('other.q42'), t.path('out.q42'))
    crcs = [t.exits(0, 'inspect', path, '--json').json()['metadata_crc32c'] for path in (out, other)]
    t.true(crcs[0] != crcs[1], 'the containers are the same')
    for command in (['run', out, '--prompt', 'a', *GREEDY[:-1]], ['verify', out], ['tokenize', out, '--text', 'a']):
        r = t.exits(1, *command)
        t.has(r.err, 'out.q42', 'another container', *crcs, 'companion-binding')
    said = t.exits(0, 'inspect', out, '--json').json()['companion']
    t.equal(said['state'], 'refused')
    t.has(said['reason'], 'companion-binding')
    t.equal(t.exits(1, 'verify', out, '--json').json()['rule'], 'companion-binding')


@test
def a_renamed_pair_runs_with_a_note(t):
    convert(t, tiny(t))
    os.rename(t.path('out.p64'), t.path('new.p64'))
    os.rename(t.path('out.q42'), t.path('new.q42'))
    r = t.exits(0, 'verify', t.path('new.p64'), '--json').json()
    t.equal([note['rule'] for note in r['notes']], ['companion-name'])
    t.exits(0, 'run', t.path('new.p64'), '--prompt', 'a', *GREEDY)


@test
def every_broken_byte_of_a_companion_is_refused_or_changes_nothing(t):
    model = tiny(t)
    out = convert(t, model)
    keys = keys_of(t, model)
    with open(t.path('out.q42'), 'rb') as f:
        whole = f.read()
    rng = random.Random(4)
    refused = 0
    for at in sorted(rng.sample(range(len(whole)), 60)):
        with open(t.path('out.q42'), 'wb') as f:
            f.write(whole[:at] + bytes([whole[at] ^ 1 << rng.randrange(8)]) + whole[at + 1:])
        said = t.exits(0, 'inspect', out, '--json', '--full').json()
        refused += said['companion']['state'] == 'refused'
        if said['companion']['state'] == 'bound':
            t.equal(said['keys'], keys, f'keys with byte {at} changed')
    t.true(refused >= 30, f'only {refused} of 60 changed bytes were noticed')
    with open(t.path('out.q42'), 'wb') as f:
        f.write(whole[:len(whole) // 2])
    t.has(t.exits(1, 'run', out, '--prompt', 'a', *GREEDY[:-1]).err, 'out.q42')


@test
def a_container_that_was_changed_with_its_checksum_is_found_by_its_digest(t):
    out = convert(t, tiny(t))
    with open(out, 'r+b') as f:
        data = bytearray(f.read())
        checksum_at, = struct.unpack_from('<I', data, 28)
        entry_at, = struct.unpack_from('<I', data, 12)
        blob_at, blob_size = struct.unpack_from('<II', data, entry_at + 32)
        data[blob_at] ^= 1
        struct.pack_into('<I', data, checksum_at + 4, caselib.crc32c(bytes(data[blob_at:blob_at + blob_size])))
        f.seek(0)
        f.write(data)
    t.exits(0, 'run', out, '--prompt', 'a', *GREEDY)
    r = t.exits(1, 'verify', out, '--json').json()
    t.equal((r['rule'], r['companion']), ('companion-digest', 'bound'))
    t.has(r['message'], 'out.q42', 'out.p64', 'SHA-256')


# ---------------------------------------------------------------- writing
@test
def what_is_no_companion_is_never_replaced(t):
    for content in (b'Q42\0 not really', b'', b'notes of somebody'):
        with open(t.path('out.q42'), 'wb') as f:
            f.write(content)
        for force in ([], ['--force']):
            r = t.exits(6, 'convert', tiny(t), '-o', t.path('out.p64'), *force)
            t.has(r.err, 'out.q42', 'no companion', '--companion')
            with open(t.path('out.q42'), 'rb') as f:
                t.equal(f.read(), content)
            t.equal(t.files(), ['out.q42', 'tiny.gguf'])


@test
def an_older_companion_is_replaced_by_force_only(t):
    model = tiny(t)
    convert(t, model)
    os.unlink(t.path('out.p64'))
    t.has(t.exits(6, 'convert', model, '-o', t.path('out.p64')).err, 'out.q42', '--force')
    t.equal(t.files(), ['out.q42', 'tiny.gguf'])
    other = tiny(t, 'other.gguf', general__name=(caselib.STR, 'another'))
    t.exits(0, 'convert', other, '-o', t.path('out.p64'), '--force')
    t.equal(keys_of(t, t.path('out.p64'))['general.name'], 'another')
    t.exits(0, 'convert', model, '-o', t.path('out.p64'), '--force')
    t.equal(keys_of(t, t.path('out.p64'))['general.name'], 'tiny case model')
    t.exits(0, 'verify', t.path('out.p64'))


@test
def nothing_is_left_when_the_companion_cannot_be_written(t):
    model = tiny(t)
    r = t.exits(6, 'convert', model, '-o', t.path('out.p64'), '--companion', t.path('no/such/folder/c.q42'))
    t.has(r.err, 'no/such/folder')
    t.equal(t.files(), ['tiny.gguf'])
    t.has(t.exits(6, 'convert', model, '-o', t.path('out.p64'), '--companion', t.path('out.p64')).err, 'one file')
    t.equal(t.files(), ['tiny.gguf'])


@test
def a_companion_is_taken_away_when_the_container_cannot_be_put_in_place(t):
    model = tiny(t)
    with open(t.path('out.p64'), 'wb') as f:
        f.write(b'there already')
    t.has(t.exits(6, 'convert', model, '-o', t.path('out.p64')).err, '--force')
    t.equal(t.files(), ['out.p64', 'tiny.gguf'])


@test
def a_key_that_no_companion_holds_is_refused_by_name_and_can_be_left_out(t):
    file = caselib.model()
    file.raw('x.deep', caselib.ARR, struct.pack('<IQ', caselib.ARR, 1) + struct.pack('<IQ', caselib.U32, 0))
    with open(t.path('deep.gguf'), 'wb') as f:
        f.write(file.build())
    r = t.exits(1, 'convert', t.path('deep.gguf'), '-o', t.path('out.p64'))
    t.has(r.err, 'x.deep', 'array of arrays', '--no-companion')
    t.equal(t.files(), ['deep.gguf'])
    said = t.exits(0, 'convert', t.path('deep.gguf'), '-o', t.path('out.p64'), '--no-companion', '--json').json()
    t.equal((said['companion'], said['runs_alone']), (None, True))
    t.true('x.deep' in [fact['key'] for fact in said['lost']], 'the key is not told as lost')
    t.equal(t.files(), ['deep.gguf', 'out.p64'])
    t.exits(2, 'convert', t.path('deep.gguf'), '--no-companion', '--companion', t.path('c.q42'))


@test
def two_values_with_one_hash_are_refused_by_both(t):
    model = tiny(t, x__a=(caselib.STR, '66iepnphha4x'), x__b=(caselib.STR, 'eezg6vklz7d2'))
    t.has(t.exits(1, 'convert', model, '-o', t.path('out.p64')).err, '66iepnphha4x', 'eezg6vklz7d2', 'volume-collision')
    t.equal(t.files(), ['tiny.gguf'])


@test
def names_and_tokens_that_are_no_utf8_are_no_trouble(t):
    file = caselib.model()
    words = [w.encode() for w in caselib.vocab()]
    words[200] = b'\xff<end_of_turn>\xfe'
    file.set('tokenizer.ggml.tokens', caselib.ARR, (caselib.STR, words))
    folder = t.folder.encode()
    with open(os.path.join(folder, b'm\xff.gguf'), 'wb') as f:
        f.write(file.build())
    for name in (b'm\xff.gguf', b'm\xff.p64'):
        if name.endswith(b'gguf'):
            t.exits(0, 'convert', os.fsdecode(os.path.join(folder, name)))
        t.exits(0, 'run', os.fsdecode(os.path.join(folder, name)), '--prompt', 'a', *GREEDY)
    t.exits(0, 'verify', os.fsdecode(os.path.join(folder, b'm\xff.p64')))


@test
def the_same_source_gives_the_same_companion(t):
    model = tiny(t)
    convert(t, model, 'a.p64')
    os.mkdir(t.path('b'))
    for folder, epoch in (('b', '1700000000'), ('c', '1700000000'), ('d', '1800000000')):
        os.makedirs(t.path(folder), exist_ok=True)
        t.exits(0, 'convert', model, '-o', t.path(f'{folder}/a.p64'), env={'SOURCE_DATE_EPOCH': epoch})
    contents = {}
    for folder in 'bcd':
        with open(t.path(f'{folder}/a.q42'), 'rb') as f:
            contents[folder] = f.read()
    t.true(contents['b'] == contents['c'], 'two conversions differ')
    t.true(contents['b'] != contents['d'], 'the time is not in the volume')
    t.exits(2, 'convert', model, '-o', t.path('e.p64'), env={'SOURCE_DATE_EPOCH': 'yesterday'})
    t.has(t.exits(1, 'convert', model, '-o', t.path('e.p64'), env={'SOURCE_DATE_EPOCH': str(2**60)[:-2]}).err, 'companion-time')
    t.true('e.p64' not in t.files() and 'e.q42' not in t.files(), 'something is left')


if __name__ == '__main__':
    main()
