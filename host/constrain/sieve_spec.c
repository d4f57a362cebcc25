/* sieve_spec.c — sections, keys and values of a sieve. */
#include "constrain/sieve_spec.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mapped_file.h"
#include "common/utf8.h"
#include "constrain/text_cursor.h"

#define DEFAULT_MEMORY 64u
#define MAX_MEMORY 4096u
#define IN_SIEVE SIEVE_SLOTS        /* section numbers beyond the slots */
#define NOWHERE (SIEVE_SLOTS + 1)

const char *sieve_slot_name(sieve_slot slot) {
    static const char *const names[SIEVE_SLOTS] = {"subject", "predicate", "object"};
    return names[slot];
}

typedef struct spec_parser {
    text_cursor c;
    sieve_spec *spec;
    char *text;              /* the same bytes as the cursor's, but to be cut into strings */
    uint32_t section, line;
    bool has_term;           /* a label may follow */
} spec_parser;

static void refuse(spec_parser *p, const char *at, const char *words) {
    text_cursor_fail(&p->c, QN_BAD_INPUT, (uint64_t)(at - p->text), "%s", words);
}

/* --------------------------------------------------------------------------------------------------------------- values */

/* Takes quotes off, and undoes escapes, in place; a value without quotes stays as it is. */
static const char *unquote(spec_parser *p, char *value) {
    const size_t size = strlen(value);
    if (value[0] != '"') {
        return value;
    }
    char *out = value;
    const char *at = value + 1;
    while (*at != '\0' && *at != '"') {
        static const char codes[] = "nt\\\"", meant[] = "\n\t\\\"";
        const char *known = *at == '\\' && at[1] != '\0' ? strchr(codes, at[1]) : NULL;
        if (*at == '\\' && known == NULL) {
            refuse(p, at, "known escapes are \\n \\t \\\\ \\\"");
            return value;
        }
        *out++ = known != NULL ? meant[known - codes] : *at;
        at += known != NULL ? 2 : 1;
    }
    if (*at != '"' || at + 1 != value + size) {
        refuse(p, at, "a value that begins with a quotation mark ends with one");
    }
    *out = '\0';
    return value;
}

static uint32_t read_number(spec_parser *p, const char *value, uint32_t least, uint32_t most, const char *what) {
    text_cursor digits = p->c;
    digits.at = (uint64_t)(value - p->text);
    digits.size = digits.at + strlen(value);
    const uint32_t number = text_cursor_number(&digits, most, what);
    p->c.status = digits.status;
    if (digits.status >= 0 && (digits.at != digits.size || number < least)) {
        text_cursor_fail(&p->c, QN_BAD_INPUT, (uint64_t)(value - p->text), "%s is a whole number from %u to %u", what, least, most);
    }
    return number;
}

/* Digits with or without a point: enough for a margin, and the same in every locale. */
static double read_margin(spec_parser *p, const char *value) {
    double number = 0, scale = 0;
    const char *at = value;
    for (; (*at >= '0' && *at <= '9') || (*at == '.' && scale == 0); at++) {
        if (*at == '.') {
            scale = 1;
        } else {
            number = number * 10 + (*at - '0');
            scale *= 10;
        }
    }
    if (*at != '\0' || at == value || at - value > 15) {
        refuse(p, value, "a margin is a number from 0, such as 0.5");
    }
    return scale > 0 ? number / scale : number;
}

/* ----------------------------------------------------------------------------------------------------------------- keys */

static void set_sieve(spec_parser *p, const char *key, char *value) {
    sieve_spec *spec = p->spec;
    if (strcmp(key, "volume") == 0) {
        spec->volume = value;
    } else if (strcmp(key, "graph") == 0) {
        spec->graph = value;
        spec->graph_line = p->line;
    } else if (strcmp(key, "separator") == 0) {
        spec->separator = unquote(p, value);
    } else if (strcmp(key, "beam") == 0) {
        spec->beam = read_number(p, value, 1, SIEVE_MAX_BEAM, "beam");
    } else if (strcmp(key, "memory") == 0) {
        spec->memory_mib = read_number(p, value, 1, MAX_MEMORY, "memory");
    } else if (strcmp(key, "review") == 0) {
        spec->review_below = read_margin(p, value);
    } else if (strcmp(key, "prefix") == 0 && spec->n_prefixes < SIEVE_MAX_PREFIXES) {
        spec->prefixes[spec->n_prefixes++] = value;
    } else {
        refuse(p, key, strcmp(key, "prefix") == 0 ? "more than 64 prefixes"
                                                  : "[sieve] has volume, prefix, separator, graph, beam, review and memory, and not this key");
    }
}

static void add_term(spec_parser *p, spec_slot *slot, const char *value) {
    if (slot->n_terms == slot->capacity) {
        const uint32_t capacity = slot->capacity == 0 ? 32 : slot->capacity * 2;
        spec_term *grown = realloc(slot->terms, capacity * sizeof *grown);
        if (grown == NULL) {
            text_cursor_fail(&p->c, QN_NO_HOST_MEM, p->c.at, "out of memory");
            return;
        }
        slot->terms = grown;
        slot->capacity = capacity;
    }
    slot->terms[slot->n_terms++] = (spec_term){value, NULL, p->line};
}

static void set_slot(spec_parser *p, spec_slot *slot, const char *key, char *value) {
    if (strcmp(key, "term") == 0) {
        add_term(p, slot, value);
    } else if (strcmp(key, "label") == 0 && p->has_term && slot->terms[slot->n_terms - 1].label == NULL) {
        slot->terms[slot->n_terms - 1].label = unquote(p, value);
    } else if (strcmp(key, "label") == 0) {
        refuse(p, key, "a label stands behind its term, one for each");
    } else if (strcmp(key, "pattern") == 0 && slot->n_patterns < SIEVE_MAX_PATTERNS) {
        slot->patterns[slot->n_patterns++] = value;
    } else {
        refuse(p, key, strcmp(key, "pattern") == 0 ? "more than 16 patterns for one slot" : "a slot has term, label and pattern, and not this key");
    }
    p->has_term = strcmp(key, "term") == 0;
}

/* ---------------------------------------------------------------------------------------------------------------- lines */

static void read_section(spec_parser *p, char *line) {
    static const char *const names[] = {"[subject]", "[predicate]", "[object]", "[sieve]"};
    p->has_term = false;
    for (uint32_t i = 0; i < 4; i++) {
        if (strcmp(line, names[i]) == 0) {
            p->section = i;
            return;
        }
    }
    refuse(p, line, "sections are [sieve], [subject], [predicate] and [object]");
}

static bool is_blank(char c) {
    return c == ' ' || c == '\t' || c == '\r';
}

/* Cuts blanks off both ends, in place. */
static char *trim(char *begin, char *end) {
    while (end > begin && is_blank(end[-1])) {
        end--;
    }
    *end = '\0';
    while (is_blank(*begin)) {
        begin++;
    }
    return begin;
}

static void read_line(spec_parser *p, char *begin, char *end) {
    char *line = trim(begin, end);
    if (line[0] == '\0' || line[0] == '#' || line[0] == ';') {
        return;
    }
    if (line[0] == '[') {
        read_section(p, line);
        return;
    }
    char *equals = strchr(line, '=');
    if (equals == NULL) {
        refuse(p, line, "a line is [section] or key = value");
        return;
    }
    char *value = trim(equals + 1, equals + 1 + strlen(equals + 1));
    char *key = trim(line, equals);
    if (value[0] == '\0') {
        refuse(p, line, "the value is missing behind =");
    } else if (p->section == NOWHERE) {
        refuse(p, line, "before the first key stands a section: [sieve], [subject], [predicate] or [object]");
    } else if (p->section == IN_SIEVE) {
        set_sieve(p, key, value);
    } else {
        set_slot(p, &p->spec->slots[p->section], key, value);
    }
}

static qn_status read_lines(spec_parser *p) {
    const uint64_t bad = utf8_first_invalid(p->c.text, p->c.size);
    const char *zero = memchr(p->c.text, '\0', p->c.size);
    if (bad != UTF8_ALL_VALID || zero != NULL) {
        text_cursor_fail(&p->c, QN_BAD_INPUT, bad != UTF8_ALL_VALID ? bad : (uint64_t)(zero - p->c.text),
                         "the file is text in UTF-8; this byte is none");
    }
    for (char *at = p->text, *end = p->text + p->c.size; at < end && p->c.status >= 0;) {
        char *line_end = memchr(at, '\n', (size_t)(end - at));
        line_end = line_end != NULL ? line_end : end;
        p->line++;
        read_line(p, at, line_end);
        at = line_end + 1;
    }
    return p->c.status;
}

qn_status sieve_spec_parse(fmt_str text, const char *path, sieve_spec *out, error_context *err) {
    *out = (sieve_spec){.separator = " ", .memory_mib = DEFAULT_MEMORY, .review_below = -INFINITY};
    if (text.size > SIEVE_SPEC_MAX_BYTES) {
        return FAIL(err, QN_LIMIT, "%s: has %" PRIu64 " bytes; the description of a sieve has at most %u", path, (uint64_t)text.size,
                    SIEVE_SPEC_MAX_BYTES);
    }
    out->text = malloc((size_t)text.size + 1);
    out->path = strdup(path);
    qn_status status;
    if (out->text == NULL || out->path == NULL) {
        status = FAIL(err, QN_NO_HOST_MEM, "%s: out of memory", path);
    } else {
        memcpy(out->text, text.size > 0 ? text.data : "", (size_t)text.size);
        out->text[text.size] = '\0';
        spec_parser p = {.c = {.text = text.size > 0 ? text.data : "", .size = text.size, .name = path, .err = err},
                         .spec = out, .text = out->text, .section = NOWHERE};
        status = read_lines(&p);
    }
    if (status < 0) {
        sieve_spec_free(out);
    }
    return status;
}

qn_status sieve_spec_read(const char *path, sieve_spec *out, error_context *err) {
    mapped_file file;
    QN_TRY(mapped_file_open(path, &file, err), err, "reading a sieve");
    qn_status status = sieve_spec_parse((fmt_str){(const char *)file.span.data, file.span.size}, path, out, err);
    const qn_status is_whole = status < 0 ? status : mapped_file_check(&file, err);
    if (status == QN_OK && is_whole < 0) {
        sieve_spec_free(out);
        status = is_whole;
    }
    mapped_file_close(&file);
    return status;
}

void sieve_spec_free(sieve_spec *spec) {
    for (uint32_t i = 0; i < SIEVE_SLOTS; i++) {
        free(spec->slots[i].terms);
    }
    free(spec->text);
    free(spec->path);
    *spec = (sieve_spec){.text = NULL};
}
