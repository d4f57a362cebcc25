/* crc32c_table.c — the path of every machine: eight bytes a step through eight tables ("slicing by 8").
 *
 * table[k][b] is the CRC register after byte b and k zero bytes, begun at 0. That is linear in b, so each table
 * follows from its eight entries at the powers of two, and the compiler makes the rest.
 */
#include "crc32c_paths.h"

#include "common/endian.h"

#define BIT(b, i, value) ((b) >> (i) & 1 ? (value) : 0u)
#define ENTRY_0(b)                                                                         \
    (BIT(b, 0, 0xF26B8303u) ^ BIT(b, 1, 0xE13B70F7u) ^ \
     BIT(b, 2, 0xC79A971Fu) ^ BIT(b, 3, 0x8AD958CFu) ^ \
     BIT(b, 4, 0x105EC76Fu) ^ BIT(b, 5, 0x20BD8EDEu) ^ \
     BIT(b, 6, 0x417B1DBCu) ^ BIT(b, 7, 0x82F63B78u))
#define ENTRY_1(b)                                                                         \
    (BIT(b, 0, 0x13A29877u) ^ BIT(b, 1, 0x274530EEu) ^ \
     BIT(b, 2, 0x4E8A61DCu) ^ BIT(b, 3, 0x9D14C3B8u) ^ \
     BIT(b, 4, 0x3FC5F181u) ^ BIT(b, 5, 0x7F8BE302u) ^ \
     BIT(b, 6, 0xFF17C604u) ^ BIT(b, 7, 0xFBC3FAF9u))
#define ENTRY_2(b)                                                                         \
    (BIT(b, 0, 0xA541927Eu) ^ BIT(b, 1, 0x4F6F520Du) ^ \
     BIT(b, 2, 0x9EDEA41Au) ^ BIT(b, 3, 0x38513EC5u) ^ \
     BIT(b, 4, 0x70A27D8Au) ^ BIT(b, 5, 0xE144FB14u) ^ \
     BIT(b, 6, 0xC76580D9u) ^ BIT(b, 7, 0x8B277743u))
#define ENTRY_3(b)                                                                         \
    (BIT(b, 0, 0xDD45AAB8u) ^ BIT(b, 1, 0xBF672381u) ^ \
     BIT(b, 2, 0x7B2231F3u) ^ BIT(b, 3, 0xF64463E6u) ^ \
     BIT(b, 4, 0xE964B13Du) ^ BIT(b, 5, 0xD725148Bu) ^ \
     BIT(b, 6, 0xABA65FE7u) ^ BIT(b, 7, 0x52A0C93Fu))
#define ENTRY_4(b)                                                                         \
    (BIT(b, 0, 0x38116FACu) ^ BIT(b, 1, 0x7022DF58u) ^ \
     BIT(b, 2, 0xE045BEB0u) ^ BIT(b, 3, 0xC5670B91u) ^ \
     BIT(b, 4, 0x8F2261D3u) ^ BIT(b, 5, 0x1BA8B557u) ^ \
     BIT(b, 6, 0x37516AAEu) ^ BIT(b, 7, 0x6EA2D55Cu))
#define ENTRY_5(b)                                                                         \
    (BIT(b, 0, 0xEF306B19u) ^ BIT(b, 1, 0xDB8CA0C3u) ^ \
     BIT(b, 2, 0xB2F53777u) ^ BIT(b, 3, 0x6006181Fu) ^ \
     BIT(b, 4, 0xC00C303Eu) ^ BIT(b, 5, 0x85F4168Du) ^ \
     BIT(b, 6, 0x0E045BEBu) ^ BIT(b, 7, 0x1C08B7D6u))
#define ENTRY_6(b)                                                                         \
    (BIT(b, 0, 0x68032CC8u) ^ BIT(b, 1, 0xD0065990u) ^ \
     BIT(b, 2, 0xA5E0C5D1u) ^ BIT(b, 3, 0x4E2DFD53u) ^ \
     BIT(b, 4, 0x9C5BFAA6u) ^ BIT(b, 5, 0x3D5B83BDu) ^ \
     BIT(b, 6, 0x7AB7077Au) ^ BIT(b, 7, 0xF56E0EF4u))
#define ENTRY_7(b)                                                                         \
    (BIT(b, 0, 0x493C7D27u) ^ BIT(b, 1, 0x9278FA4Eu) ^ \
     BIT(b, 2, 0x211D826Du) ^ BIT(b, 3, 0x423B04DAu) ^ \
     BIT(b, 4, 0x847609B4u) ^ BIT(b, 5, 0x0D006599u) ^ \
     BIT(b, 6, 0x1A00CB32u) ^ BIT(b, 7, 0x34019664u))

#define ENTRIES_4(E, b) E(b), E((b) + 1), E((b) + 2), E((b) + 3)
#define ENTRIES_16(E, b) ENTRIES_4(E, b), ENTRIES_4(E, (b) + 4), ENTRIES_4(E, (b) + 8), ENTRIES_4(E, (b) + 12)
#define ENTRIES_64(E, b) ENTRIES_16(E, b), ENTRIES_16(E, (b) + 16), ENTRIES_16(E, (b) + 32), ENTRIES_16(E, (b) + 48)
#define ENTRIES_256(E) {ENTRIES_64(E, 0u), ENTRIES_64(E, 64u), ENTRIES_64(E, 128u), ENTRIES_64(E, 192u)}

static const uint32_t table[8][256] = {
    ENTRIES_256(ENTRY_0), ENTRIES_256(ENTRY_1), ENTRIES_256(ENTRY_2), ENTRIES_256(ENTRY_3),
    ENTRIES_256(ENTRY_4), ENTRIES_256(ENTRY_5), ENTRIES_256(ENTRY_6), ENTRIES_256(ENTRY_7),
};

static uint32_t take_8_bytes(uint32_t state, const uint8_t *bytes) {
    const uint32_t low = state ^ load_u32(bytes);
    return table[7][low & 0xFF] ^ table[6][low >> 8 & 0xFF] ^ table[5][low >> 16 & 0xFF] ^ table[4][low >> 24] ^
           table[3][bytes[4]] ^ table[2][bytes[5]] ^ table[1][bytes[6]] ^ table[0][bytes[7]];
}

uint32_t crc32c_extend_table(uint32_t crc, const void *data, uint64_t size) {
    const uint8_t *bytes = data;
    uint32_t state = ~crc;
    for (; size >= 8; size -= 8, bytes += 8) {
        state = take_8_bytes(state, bytes);
    }
    for (; size > 0; size--, bytes++) {
        state = state >> 8 ^ table[0][(state ^ *bytes) & 0xFF];
    }
    return ~state;
}
