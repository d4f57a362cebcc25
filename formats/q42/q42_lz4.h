/* q42_lz4.h — decoding one LZ4 block, strictly.
 *
 * Accepts what LZ4_decompress_safe accepts with an exact output size, but for one thing: a match that copies from
 * distance 0, which has no meaning in the format, is refused here, while liblz4 fills it with bytes of its own choice.
 * Finding such a match beforehand would cost as much as decoding, so that decoding is done here.
 *
 * Threading: pure.
 * Memory:    borrows both; nothing outside them is read or written.
 */
#ifndef Q42_LZ4_H
#define Q42_LZ4_H
#include <stdbool.h>
#include <stdint.h>

typedef uint32_t lz4_outcome;
enum { LZ4_DECODED = 0, LZ4_MALFORMED, LZ4_ZERO_DISTANCE };

/* LZ4_DECODED when the whole input gives exactly `room_size` bytes; otherwise the room holds anything. */
lz4_outcome q42_lz4_decode(const uint8_t *data, uint32_t size, uint8_t *room, uint32_t room_size);

#endif
