#!/usr/bin/env python3
"""make_unixfs.py — writes unixfs_roots.inc and unixfs_levels.inc: addresses of files as UnixFS trees, computed from the public
descriptions of dag-pb, UnixFS and CID alone. Leaves are raw and have 1 MiB, nodes have up to 1,024 links, all leaves lie at one depth.

    python3 make_unixfs.py          (in this folder; takes some seconds)
"""
import base64
import hashlib

LEAF, WIDTH = 1 << 20, 1024


def varint(n):
    out = bytearray()
    while n > 127:
        out.append(n & 127 | 128)
        n >>= 7
    return bytes(out + bytes([n]))


def field(number, value):
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    return varint(number << 3 | 2) + varint(len(value)) + value


def cid(codec, block):
    return bytes([1, codec, 0x12, 0x20]) + hashlib.sha256(block).digest()


def text(c):
    return 'b' + base64.b32encode(c).decode().lower().rstrip('=')


def node(children):
    """(cid, bytes of the file, bytes of all blocks) of the node over children of the same kind."""
    links = b''.join(field(2, field(1, c) + field(2, b'') + field(3, total)) for c, _, total in children)
    content = sum(size for _, size, _ in children)
    message = field(1, 2) + field(3, content) + b''.join(field(4, size) for _, size, _ in children)
    block = links + field(1, message)
    return cid(0x70, block), content, len(block) + sum(total for _, _, total in children)


def tree(leaves):
    """Root and number of nodes: group by group, level by level, until one is left."""
    level, n_nodes = leaves, 0
    while len(level) > 1:
        level = [node(level[i:i + WIDTH]) for i in range(0, len(level), WIDTH)]
        n_nodes += len(level)
    return level[0][0], n_nodes


def pseudo_random(size):
    out, x = bytearray(size), 1
    for i in range(size):
        x = (x * 1103515245 + 12345) & 0xFFFFFFFF
        out[i] = x >> 16 & 255
    return bytes(out)


def main():
    data = pseudo_random(3 * LEAF + 7)
    with open('unixfs_roots.inc', 'w', encoding='ascii') as file:
        for size in (0, 1, LEAF - 1, LEAF, LEAF + 1, 3 * LEAF + 7):
            parts = [data[i:min(i + LEAF, size)] for i in range(0, max(size, 1), LEAF)]
            root, n_nodes = tree([(cid(0x55, p), len(p), len(p)) for p in parts])
            file.write(f'{{{size}, {len(parts) + n_nodes}, {n_nodes}, "{text(root)}"}},\n')
    zero = cid(0x55, bytes(LEAF))
    with open('unixfs_levels.inc', 'w', encoding='ascii') as file:
        for n in (WIDTH, WIDTH + 1, WIDTH + 2):
            file.write(f'{{{n}, "{text(tree([(zero, LEAF, LEAF)] * n)[0])}"}},\n')


main()
