/* settings_text.c — one table for both directions. */
#include "prove/settings_text.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/decimal.h"

typedef enum field_kind { FIELD_BIASES, FIELD_BOOL, FIELD_UINT, FIELD_FLOAT, FIELD_WORD, FIELD_OPTIONAL_WORD, FIELD_SOURCE, FIELD_PROMPT } field_kind;

typedef struct field {
    const char *key;
    field_kind kind;
    size_t at;
} field;

#define AT(member) offsetof(run_settings, member)
static const field fields[] = { /* in the order of the keys */
    {"bias", FIELD_BIASES, AT(sampler)},
    {"bos", FIELD_BOOL, AT(has_bos)},
    {"chat", FIELD_BOOL, AT(is_chat)},
    {"chunk", FIELD_UINT, AT(chunk)},
    {"constraint", FIELD_SOURCE, AT(constraint)},
    {"context", FIELD_BOOL, AT(has_context)},
    {"ctx", FIELD_UINT, AT(n_ctx)},
    {"kv", FIELD_WORD, AT(kv)},
    {"max_tokens", FIELD_UINT, AT(max_tokens)},
    {"min_p", FIELD_FLOAT, AT(sampler.min_p)},
    {"numeric", FIELD_WORD, AT(numeric)},
    {"prompt", FIELD_PROMPT, AT(is_tokens)},
    {"repeat_last", FIELD_UINT, AT(sampler.repeat_last)},
    {"repeat_penalty", FIELD_FLOAT, AT(sampler.repeat_penalty)},
    {"sentinel", FIELD_SOURCE, AT(sentinel)},
    {"special", FIELD_BOOL, AT(is_special)},
    {"system", FIELD_BOOL, AT(has_system)},
    {"temperature", FIELD_FLOAT, AT(sampler.temperature)},
    {"template", FIELD_OPTIONAL_WORD, AT(family)},
    {"top_k", FIELD_UINT, AT(sampler.top_k)},
    {"top_p", FIELD_FLOAT, AT(sampler.top_p)},
};
#define N_FIELDS (sizeof fields / sizeof fields[0])

/* ------------------------------------------------------------------------------------------------------------- printing */

static int print_biases(const sampler_options *s, char *out, size_t room) {
    size_t size = 0;
    for (uint32_t i = 0; i < s->n_biases && size < room; i++) {
        size += (size_t)snprintf(out + size, room - size, "%s%u:%.9g", i > 0 ? "," : "bias=", s->biases[i].id, (double)s->biases[i].value);
    }
    return size == 0 ? 0 : size >= room ? (int)room : (int)size + snprintf(out + size, room - size, "\n");
}

static int print_field(const field *f, const void *value, char *out, size_t room) {
    switch (f->kind) {
    case FIELD_BIASES: return print_biases(value, out, room);
    case FIELD_BOOL: return snprintf(out, room, "%s=%d\n", f->key, *(const bool *)value ? 1 : 0);
    case FIELD_UINT: return snprintf(out, room, "%s=%u\n", f->key, *(const uint32_t *)value);
    case FIELD_FLOAT: return snprintf(out, room, "%s=%.9g\n", f->key, (double)*(const float *)value);
    case FIELD_PROMPT: return snprintf(out, room, "%s=%s\n", f->key, *(const bool *)value ? "tokens" : "text");
    default: break;
    }
    const char *word = value;
    return f->kind != FIELD_WORD && word[0] == '\0' ? 0 : snprintf(out, room, "%s=%s\n", f->key, word);
}

size_t settings_print(const run_settings *settings, char out[PROVE_MAX_TEXT]) {
    size_t size = 0;
    for (size_t i = 0; i < N_FIELDS; i++) {
        const int n = print_field(&fields[i], (const char *)settings + fields[i].at, out + size, PROVE_MAX_TEXT - size);
        if (n < 0 || (size_t)n >= PROVE_MAX_TEXT - size) {
            return 0;
        }
        size += (size_t)n;
    }
    return size;
}

/* -------------------------------------------------------------------------------------------------------------- parsing */

#define LINE_SIZE 4097u

static bool parse_uint(const char *text, uint32_t *out) {
    uint64_t value;
    if (!decimal_read_whole(text, UINT32_MAX, &value)) {
        return false;
    }
    *out = (uint32_t)value;
    return true;
}

/* The C library's reader; the host never sets a locale for numbers. */
static bool parse_float(const char *text, float *out) {
    char *end;
    const float value = strtof(text, &end); /* lint: the one reader of what print_field printed */
    if (end == text || *end != '\0' || isnan(value)) {
        return false;
    }
    *out = value;
    return true;
}

static bool parse_word(const char *text, char *out, size_t room) {
    if (text[0] == '\0' || strlen(text) >= room) {
        return false;
    }
    memcpy(out, text, strlen(text) + 1);
    return true;
}

static bool parse_biases(char *text, sampler_options *out) {
    out->n_biases = 0;
    for (char *item = text, *next; item != NULL; item = next) {
        next = strchr(item, ',');
        if (next != NULL) {
            *next++ = '\0';
        }
        char *colon = strchr(item, ':');
        if (colon == NULL || out->n_biases == SAMPLER_MAX_BIASES) {
            return false;
        }
        *colon = '\0';
        if (!parse_uint(item, &out->biases[out->n_biases].id) || !parse_float(colon + 1, &out->biases[out->n_biases].value)) {
            return false;
        }
        out->n_biases++;
    }
    return true;
}

static bool parse_switch(const char *text, const char *off, const char *on, bool *out) {
    *out = strcmp(text, on) == 0;
    return *out || strcmp(text, off) == 0;
}

static bool parse_field(const field *f, char *text, void *value) {
    switch (f->kind) {
    case FIELD_BIASES: return parse_biases(text, value);
    case FIELD_BOOL: return parse_switch(text, "0", "1", value);
    case FIELD_UINT: return parse_uint(text, value);
    case FIELD_FLOAT: return parse_float(text, value);
    case FIELD_PROMPT: return parse_switch(text, "text", "tokens", value);
    case FIELD_SOURCE: return parse_word(text, value, SETTINGS_SOURCE_SIZE);
    default: return parse_word(text, value, SETTINGS_WORD_SIZE);
    }
}

static bool may_be_missing(const field *f) {
    return f->kind == FIELD_BIASES || f->kind == FIELD_OPTIONAL_WORD || f->kind == FIELD_SOURCE;
}

/* One line, terminated in `line`; *next is the first field that may come. */
static qn_status take_line(char *line, size_t *next, run_settings *out, error_context *err) {
    char *sign = strchr(line, '=');
    if (sign == NULL) {
        return FAIL(err, QN_BAD_INPUT, "the settings have a line that is no key=value: \"%.60s\"", line);
    }
    *sign = '\0';
    size_t known = 0;
    while (known < N_FIELDS && strcmp(fields[known].key, line) != 0) {
        known++;
    }
    if (known == N_FIELDS) {
        return FAIL(err, QN_UNSUPPORTED, "the settings have \"%.60s\", with which this program cannot run again", line);
    }
    while (*next < known && may_be_missing(&fields[*next])) {
        (*next)++;
    }
    if (*next != known) {
        return FAIL(err, QN_BAD_INPUT, "the settings have \"%.60s\" where \"%s\" should stand", line,
                    *next < N_FIELDS ? fields[*next].key : "nothing");
    }
    (*next)++;
    return parse_field(&fields[known], sign + 1, (char *)out + fields[known].at)
               ? QN_OK
               : FAIL(err, QN_BAD_INPUT, "the settings have %s=%.60s: no value of it", line, sign + 1);
}

qn_status settings_parse(fmt_str text, run_settings *out, error_context *err) {
    char line[LINE_SIZE];
    size_t next = 0;
    memset(out, 0, sizeof *out);
    for (uint64_t at = 0; at < text.size;) {
        const char *begin = text.data + at, *end = memchr(begin, '\n', text.size - at);
        const size_t size = end != NULL ? (size_t)(end - begin) : LINE_SIZE;
        if (size >= LINE_SIZE || memchr(begin, 0, size) != NULL) {
            return FAIL(err, QN_BAD_INPUT, "the settings have a line without an end, or one that is too long");
        }
        memcpy(line, begin, size);
        line[size] = '\0';
        QN_TRY(take_line(line, &next, out, err), err, "reading the settings");
        at += size + 1;
    }
    while (next < N_FIELDS && may_be_missing(&fields[next])) {
        next++;
    }
    return next == N_FIELDS ? QN_OK : FAIL(err, QN_BAD_INPUT, "the settings lack \"%s\"", fields[next].key);
}
