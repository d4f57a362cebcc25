#!/usr/bin/env python3
"""Writes unicode_ranges.inc, the table behind unicode_class.c, from Python's own Unicode data.

    python3 unicode_tables.py > unicode_ranges.inc

Each number is FIRST << 8 | FLAGS: from code point FIRST up to the next entry's FIRST all characters have these flags
(the UNICODE_* bits of unicode_class.h). Entries ascend and the first one begins at 0.
"""
import unicodedata

UPPER, LOWER, OTHER_LETTER, MARK, NUMBER, PUNCTUATION, SYMBOL, SPACE = (1 << bit for bit in range(8))
CATEGORIES = {'Lu': UPPER, 'Lt': UPPER, 'Ll': LOWER, 'Lm': OTHER_LETTER, 'Lo': OTHER_LETTER}
MAJOR = {'M': MARK, 'N': NUMBER, 'P': PUNCTUATION, 'S': SYMBOL}
# The property White_Space of PropList.txt, which unicodedata does not offer (str.isspace is another set).
WHITE_SPACE = {*range(0x09, 0x0E), 0x20, 0x85, 0xA0, 0x1680, *range(0x2000, 0x200B), 0x2028, 0x2029, 0x202F, 0x205F, 0x3000}


def flags_of(code):
    category = unicodedata.category(chr(code))
    flags = CATEGORIES.get(category, MAJOR.get(category[0], 0))
    return flags | (SPACE if code in WHITE_SPACE else 0)


def main():
    entries, last = [], None
    for code in range(0x110000):
        flags = flags_of(code)
        if flags != last:
            entries.append(f'0x{code << 8 | flags:07x}')
            last = flags
    print(f'/* Made by unicode_tables.py from Unicode {unicodedata.unidata_version}: {len(entries)} entries. Do not edit. */')
    for at in range(0, len(entries), 10):
        print(', '.join(entries[at:at + 10]) + ',')


main()
