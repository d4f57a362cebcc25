/* sft_json.c — the only place where JSON text is parsed, and the walk that finds byte offsets in it. */
#include <string.h>

#include "common/checked.h"
#include "common/utf8.h"
#include "sft_internal.h"

void *sft_allocate(uint64_t count, uint64_t size) {
    json_malloc_t allocate;
    json_free_t release;
    uint64_t bytes = 0;
    json_get_alloc_funcs(&allocate, &release);
    if (!checked_mul(count, size, &bytes) || bytes >= SIZE_MAX) {
        return NULL;
    }
    void *memory = allocate((size_t)bytes + 1);
    return memory == NULL ? NULL : memset(memory, 0, (size_t)bytes + 1);
}

void sft_free(void *memory) {
    json_malloc_t allocate;
    json_free_t release;
    json_get_alloc_funcs(&allocate, &release);
    if (memory != NULL) {
        release(memory);
    }
}

static fmt_status refuse_json(const json_error_t *error, uint64_t at, fmt_diag *diag) {
    char quoted[DIAG_QUOTE_SIZE];
    const uint64_t position = error->position < 0 ? 0 : (uint64_t)error->position;
    const diag_place here = {at + position, FMT_NO_INDEX, 0, 0};
    const fmt_str words = {error->text, strlen(error->text)};
    /* Where jansson cannot allocate it often stops without a word. */
    const bool is_memory = error->text[0] == '\0' || json_error_code(error) == json_error_out_of_memory;
    if (is_memory) {
        return sft_refuse(diag, FMT_NO_SPACE, SFT_R_MEMORY, here, "memory ran out after %llu bytes of JSON",
                          (unsigned long long)position);
    }
    switch (json_error_code(error)) {
    case json_error_duplicate_key:
        return sft_refuse(diag, FMT_BAD_FILE, SFT_R_DUPLICATE_KEY, here, "the JSON parser found %s",
                          diag_quote(quoted, words));
    case json_error_numeric_overflow:
        return sft_refuse(diag, FMT_BAD_FILE, SFT_R_NUMBER_RANGE, here, "the JSON parser found %s",
                          diag_quote(quoted, words));
    default:
        return sft_refuse(diag, FMT_BAD_FILE, SFT_R_HEADER_JSON, here, "the JSON parser stops with %s",
                          diag_quote(quoted, words));
    }
}

json_t *sft_parse(fmt_span text, uint64_t at, fmt_status *out_status, fmt_diag *diag) {
    json_error_t error;
    const uint64_t bad = utf8_first_invalid(text.data, text.size);
    if (bad != UTF8_ALL_VALID) {
        const diag_place here = {at + bad, FMT_NO_INDEX, 0, text.data[bad]};
        *out_status = sft_refuse(diag, FMT_BAD_FILE, SFT_R_HEADER_TEXT, here, "byte 0x%02x begins no UTF-8 character",
                                 text.data[bad]);
        return NULL;
    }
    memset(&error, 0, sizeof error);
    json_t *root = json_loadb((const char *)text.data, (size_t)text.size, JSON_REJECT_DUPLICATES, &error);
    if (root == NULL) {
        *out_status = refuse_json(&error, at, diag);
        return NULL;
    }
    if (!json_is_object(root)) {
        const diag_place here = {at, FMT_NO_INDEX, 0, 0};
        *out_status = sft_refuse(diag, FMT_BAD_FILE, SFT_R_HEADER_JSON, here, "the JSON value is no object");
        json_decref(root);
        return NULL;
    }
    *out_status = FMT_OK;
    return root;
}

/* ---------------------------------------------------------------- where members stand */

static uint8_t byte_at(const sft_scan *scan) {
    return scan->at < scan->text.size ? scan->text.data[scan->at] : 0;
}

/* Past white space, and the commas and colons between values. */
static void skip_between(sft_scan *scan) {
    while (scan->at < scan->text.size && memchr(" \t\r\n,:", scan->text.data[scan->at], 6) != NULL) {
        scan->at++;
    }
}

static void skip_string(sft_scan *scan) {
    scan->at++;
    while (scan->at < scan->text.size && byte_at(scan) != '"') {
        scan->at += byte_at(scan) == '\\' ? 2 : 1;
    }
    scan->at++;
}

static bool ends_scalar(uint8_t byte) {
    return byte == 0 || memchr(" \t\r\n,:]}", byte, 8) != NULL;
}

/* Past one value: a scalar, or an array or object with everything inside. */
static void skip_value(sft_scan *scan) {
    uint64_t depth = 0;
    do {
        skip_between(scan);
        const uint8_t byte = byte_at(scan);
        if (byte == '"') {
            skip_string(scan);
        } else if (byte == '{' || byte == '[') {
            depth++;
            scan->at++;
        } else if ((byte == '}' || byte == ']') && depth > 0) {
            depth--;
            scan->at++;
        } else {
            do {
                scan->at++;
            } while (!ends_scalar(byte_at(scan)));
        }
    } while (depth > 0 && scan->at < scan->text.size);
}

sft_scan sft_scan_object(fmt_span text, uint64_t at) {
    sft_scan scan = {text, at};
    skip_between(&scan);
    scan.at++;
    return scan;
}

bool sft_scan_member(sft_scan *scan, uint64_t *out_key_at, uint64_t *out_value_at) {
    skip_between(scan);
    if (byte_at(scan) != '"') {
        return false;
    }
    *out_key_at = scan->at;
    skip_string(scan);
    skip_between(scan);
    *out_value_at = scan->at;
    skip_value(scan);
    return true;
}
