/* q42_magnet.c — magnet links (section 10.3 of the format's document). */
#include <stdio.h>
#include <string.h>

#include "q42_files_internal.h"

typedef struct text_sink {
    char *out; /* null: only measure */
    uint64_t size;
} text_sink;

static void put_text(text_sink *sink, const char *text, uint64_t size) {
    if (sink->out != NULL) {
        memcpy(sink->out + sink->size, text, (size_t)size);
    }
    sink->size += size;
}

/* Letters, digits and - _ . ~ as they are, everything else as %XX. */
static void put_escaped(text_sink *sink, fmt_str text) {
    static const char hex[] = "0123456789ABCDEF";
    for (uint64_t i = 0; i < text.size; i++) {
        const unsigned char c = (unsigned char)text.data[i];
        const bool is_plain = (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') ||
                              c == '-' || c == '_' || c == '.' || c == '~';
        const char escaped[3] = {'%', hex[c >> 4], hex[c & 15]};
        put_text(sink, is_plain ? text.data + i : escaped, is_plain ? 1 : 3);
    }
}

static void put_magnet(text_sink *sink, const uint8_t hash[Q42_SHA1_BYTES], fmt_str name, uint64_t bytes,
                       fmt_str web_seed, bool is_exact_source) {
    static const char hex[] = "0123456789abcdef";
    static const char start[] = "magnet:?xt=urn:btih:";
    char number[32];
    put_text(sink, start, sizeof start - 1);
    for (unsigned i = 0; i < Q42_SHA1_BYTES; i++) {
        const char digits[2] = {hex[hash[i] >> 4], hex[hash[i] & 15]};
        put_text(sink, digits, 2);
    }
    put_text(sink, "&dn=", 4);
    put_escaped(sink, name);
    put_text(sink, number, (uint64_t)snprintf(number, sizeof number, "&xl=%llu", (unsigned long long)bytes));
    if (web_seed.size > 0) {
        put_text(sink, "&ws=", 4);
        put_escaped(sink, web_seed);
    }
    if (web_seed.size > 0 && is_exact_source) {
        put_text(sink, "&xs=", 4);
        put_escaped(sink, web_seed);
    }
}

uint64_t q42_magnet(const uint8_t hash[Q42_SHA1_BYTES], fmt_str name, uint64_t bytes, fmt_str web_seed,
                    bool is_exact_source, char *out, uint64_t room) {
    text_sink sink = {NULL, 0};
    put_magnet(&sink, hash, name, bytes, web_seed, is_exact_source);
    const uint64_t size = sink.size;
    if (out != NULL && size < room) {
        sink = (text_sink){out, 0};
        put_magnet(&sink, hash, name, bytes, web_seed, is_exact_source);
        out[size] = '\0';
    }
    return size;
}
