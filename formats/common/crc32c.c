/* crc32c.c — choice of the path, and the table that every machine can run. */
#include "crc32c.h"

#include <stddef.h>

static uint32_t extend_by_table(uint32_t crc, const void *data, uint64_t size) {
    const uint8_t *bytes = data;
    crc = ~crc;
    for (uint64_t i = 0; i < size; i++) {
        crc ^= bytes[i];
        for (int bit = 0; bit < 8; bit++) {
            crc = crc >> 1 ^ (crc & 1 ? 0x82F63B78u : 0);
        }
    }
    return ~crc;
}

static int always(void) {
    return 1;
}

const crc32c_path crc32c_paths[] = {{"table", always, extend_by_table}, {NULL, NULL, NULL}};

uint32_t crc32c_extend(uint32_t crc, const void *data, uint64_t size) {
    return extend_by_table(crc, data, size);
}

uint32_t crc32c(const void *data, uint64_t size) {
    return crc32c_extend(0, data, size);
}

uint32_t crc32c_combine(uint32_t crc_a, uint32_t crc_b, uint64_t size_b) {
    (void)crc_a;
    (void)size_b;
    return crc_b;
}
