/* detokenizer.c — bytes of tokens into text that is always UTF-8, a character only when it is complete. */
#include <string.h>

#include "common/utf8.h"
#include "text/tokenizer_internal.h"

static const char replacement[] = "\xef\xbf\xbd"; /* U+FFFD */
enum { REPLACEMENT_SIZE = 3 };

void detokenizer_init(detokenizer *d, const tokenizer *tok, bool special, bool at_start) {
    *d = (detokenizer){.tok = tok, .special = special, .at_start = at_start};
}

size_t detokenizer_room(const tokenizer *tok) {
    /* every byte of a token may become U+FFFD, and one character may have been held back */
    return ((size_t)tok->v.longest + sizeof((detokenizer *)0)->held) * REPLACEMENT_SIZE;
}

/* True when more bytes can make bytes[0..size), 1 to 3 of them, a character. */
static bool is_begun(const uint8_t *bytes, size_t size) {
    static const uint8_t fill[2][3] = {{0x80, 0x80, 0x80}, {0xbf, 0xbf, 0xbf}};
    /* The second byte's range depends on the first; after it every continuation byte will do. So the shortest and the
     * longest completion decide. */
    for (int i = 0; i < 2; i++) {
        uint8_t trial[4];
        memcpy(trial, bytes, size);
        memcpy(trial + size, fill[i], sizeof trial - size);
        if (utf8_decode(trial, sizeof trial, NULL) > size) {
            return true;
        }
    }
    return false;
}

/* Bytes at the start of bytes[0..size), which begin no character, that one U+FFFD stands for. */
static size_t count_malformed(const uint8_t *bytes, size_t size) {
    size_t n = 1;
    while (n < 3 && n < size && is_begun(bytes, n + 1)) {
        n++;
    }
    return n;
}

/* Moves what is complete from bytes[0..size) to `text`; keeps an incomplete end of up to 3 bytes in d->held. */
static size_t release(detokenizer *d, const uint8_t *bytes, size_t size, char *text) {
    size_t n = 0, at = 0;
    d->n_held = 0;
    while (at < size) {
        const unsigned char_size = utf8_decode(bytes + at, size - at, NULL);
        if (char_size > 0) {
            memcpy(text + n, bytes + at, char_size);
            n += char_size;
            at += char_size;
        } else if (size - at <= 3 && is_begun(bytes + at, size - at)) {
            d->n_held = (unsigned)(size - at);
            memcpy(d->held, bytes + at, size - at);
            at = size;
        } else {
            memcpy(text + n, replacement, REPLACEMENT_SIZE);
            n += REPLACEMENT_SIZE;
            at += count_malformed(bytes + at, size - at);
        }
    }
    return n;
}

/* Completes the held character byte by byte, so that no copy of the token is needed. Returns how much text was written. */
static size_t release_held(detokenizer *d, const uint8_t *bytes, size_t size, char *text, size_t *out_used) {
    size_t n = 0, used = 0;
    while (d->n_held > 0 && used < size) {
        uint8_t joined[4];
        const size_t n_joined = (size_t)d->n_held + 1;
        memcpy(joined, d->held, d->n_held);
        joined[d->n_held] = bytes[used++];
        n += release(d, joined, n_joined, text + n);
    }
    *out_used = used;
    return n;
}

size_t detokenizer_push(detokenizer *d, uint32_t id, char *text, size_t room) {
    const tokenizer *tok = d->tok;
    if (id >= tok->facts.n_tokens || room < detokenizer_room(tok)) {
        return 0;
    }
    const uint32_t kind = vocab_kind(&tok->v, id);
    if (!d->special && (kind == TOKEN_KIND_CONTROL || kind == TOKEN_KIND_UNKNOWN)) {
        return 0;
    }
    size_t size, used;
    const uint8_t *bytes = vocab_text(&tok->v, id, &size);
    if (d->at_start && size > 0) {
        const bool drops_space = tok->style == VOCAB_SENTENCEPIECE && tok->facts.add_space_prefix && bytes[0] == ' ' &&
                                 (kind == TOKEN_KIND_NORMAL || kind == TOKEN_KIND_BYTE);
        bytes += drops_space ? 1 : 0;
        size -= drops_space ? 1 : 0;
        d->at_start = kind == TOKEN_KIND_CONTROL;
    }
    const size_t n = release_held(d, bytes, size, text, &used);
    return n + (used < size ? release(d, bytes + used, size - used, text + n) : 0);
}

size_t detokenizer_flush(detokenizer *d, char *text, size_t room) {
    if (d->n_held == 0 || room < REPLACEMENT_SIZE) {
        return 0;
    }
    d->n_held = 0;
    memcpy(text, replacement, REPLACEMENT_SIZE);
    return REPLACEMENT_SIZE;
}
