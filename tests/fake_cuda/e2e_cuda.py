#!/usr/bin/env python3
"""The program with the cuda plugin on the fake driver library: found, described, and writing what the reference backend writes."""
from program import *

TOKENS = 12  # kernels run in an emulator
PLUGIN = ('--plugin', os.environ['CUDA_PLUGIN'])


def text(t, model, backend):
    r = t.exits(0, 'run', model, '--prompt', 'Once upon a time', '-n', TOKENS, '--temp', 0, '--deadline', 0, '--numeric', 'f32acc', '--json',
                '--backend', backend, *PLUGIN)
    return r.json()


def writes_what_the_reference_writes(model, t):
    wanted, got = text(t, model, 'reference'), text(t, model, 'cuda')
    t.equal(got['tokens'], wanted['tokens'], 'ids')
    t.equal(len(got['tokens']), TOKENS, 'number of ids')


@test
def the_device_is_listed_with_its_address_and_driver(t):
    r = t.exits(0, 'backends', '--json', *PLUGIN)
    t.has(r.out, 'cuda', '0000:fa:1c.0', 'CUDA 13.0')


@test
def the_bundled_model_writes_what_the_reference_writes(t):
    writes_what_the_reference_writes(source('examples/models/quoin-tiny.gguf'), t)


@test
def a_model_of_the_corpus_writes_what_the_reference_writes(t):
    for kind in 'f16', 'q8_0':
        writes_what_the_reference_writes(corpus(f'data/stories260k/stories260k-{kind}.gguf'), t)


@test
def a_backend_that_was_named_does_not_fall_back_when_the_device_is_lost(t):
    r = t.quoin('run', source('examples/models/quoin-tiny.gguf'), '--prompt', 'Once', '-n', 4, '--backend', 'cuda', *PLUGIN,
                env={'FAKE_CUDA_LOST': '100'})
    t.true(r.status != 0, 'exit status')
    t.has(r.err, 'CUDA_ERROR_LAUNCH_FAILED')


if __name__ == '__main__':
    main()
