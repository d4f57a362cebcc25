"""All logits of a model, bit by bit, through tests/full/feed_ids.c.

    same_logits(t, 'model.gguf', 'model.p64', [[1, 2, 3], [4]], follow=[5, 6])

Every prompt is run from an empty context; then `follow` is fed to it, one id a step.
"""
import os
import subprocess

from program import BINARY, Failed, WALL_LIMIT, clean_environment

FEED_IDS = os.path.join(BINARY, 'tests', 'feed_ids')
TOP = 64


def feed(t, path, prompts, follow=(), backend='reference', numeric='f32acc', kv='f32', n_ctx=None, more=(), wall=None):
    """(steps with the greatest logits of each, all logits of the first steps), both as bytes."""
    logits = os.path.join(t.folder, 'logits')
    lines = [','.join(map(str, ids)) + '|' + ','.join(map(str, follow)) for ids in prompts]
    command = [FEED_IDS, '-b', backend, '-n', numeric, '-k', kv, '-K', str(TOP), '-l', logits, *map(str, more)]
    if n_ctx:
        command += ['-c', str(n_ctx)]
    done = subprocess.run(command + [path], input='\n'.join(lines).encode(), stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          env=clean_environment(TMPDIR=t.temporary), timeout=wall or WALL_LIMIT)
    if done.returncode != 0:
        raise Failed(f'feed_ids {path}: exit {done.returncode}\n{done.stderr.decode("utf-8", "replace")[-2000:]}')
    with open(logits, 'rb') as f:
        values = f.read()
    os.unlink(logits)
    return done.stdout, values


def same_logits(t, a, b, prompts, **how):
    """Fails unless both files give the same bits; returns how many logits were compared whole."""
    left, right = feed(t, a, prompts, **how), feed(t, b, prompts, **how)
    t.true(len(left[1]) > 0 and left[0].count(b'\n') == len(prompts), 'there are no logits')
    t.true(left[1] == right[1], 'the logits differ in some bit')
    t.true(left[0] == right[0], f'the {TOP} greatest logits of some step differ')
    return len(left[1]) // 4
