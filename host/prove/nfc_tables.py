"""nfc_tables.py — writes nfc_ranges.inc: which characters may stand in a text that is in NFC, and their combining classes.

    python3 nfc_tables.py > nfc_ranges.inc

A character is not listed when it always may (quick check Yes) and has class 0. From Python's own tables of Unicode.
"""
import sys
import unicodedata

LAST = 0x10FFFF


def second_of_compositions():
    """Characters that can melt into the one before: quick check Maybe."""
    found = set(range(0x1161, 0x1176)) | set(range(0x11A8, 0x11C3))
    for code in range(LAST + 1):
        parts = unicodedata.decomposition(chr(code)).split()
        if len(parts) == 2 and not parts[0].startswith('<'):
            pair = ''.join(chr(int(p, 16)) for p in parts)
            if unicodedata.normalize('NFC', pair) == chr(code):
                found.add(int(parts[1], 16))
    return found


def main():
    maybe = second_of_compositions()
    runs = []
    for code in range(LAST + 1):
        if 0xD800 <= code <= 0xDFFF:
            continue
        char = chr(code)
        bad = code in maybe or unicodedata.normalize('NFC', char) != char
        fact = (unicodedata.combining(char), int(bad))
        if fact == (0, 0):
            continue
        if runs and runs[-1][1] == code - 1 and runs[-1][2] == fact:
            runs[-1][1] = code
        else:
            runs.append([code, code, fact])
    print(f'/* Made by nfc_tables.py from Unicode {unicodedata.unidata_version}: first, last, combining class, refused. */')
    line = ''
    for first, last, (kind, bad) in runs:
        item = f'{{0x{first:X}, 0x{last:X}, {kind}, {bad}}},'
        if len(line) + len(item) > 116:
            print(line.rstrip())
            line = ''
        line += item + ' '
    print(line.rstrip())


if __name__ == '__main__':
    sys.exit(main())
