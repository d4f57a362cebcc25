/* policy_table.c — kinds of values: read, written, freed. */
#include "govern/policy_table.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/decimal.h"
#include "base/words.h"
#include "common/sha.h"

static const policy_row rows[] = {
#define ROW(section, key, kind, base, member, least, most, choices, fallback) \
    {SECTION_##section, key, kind, offsetof(base, member), least, most, choices, fallback},
#include "govern/policy_rows.def"
#undef ROW
};
#define N_ROWS (sizeof rows / sizeof rows[0])

static const char *const names[SECTION_COUNT] = {"policy", "agent", "intent", "request", "profile", "scope", "predicate", "egress",
                                                 "thermal", "limits", "grounding", "rules", "sieve", "sentinel", "commit", "provenance"};

const policy_row *policy_rows(uint32_t *out_count) {
    *out_count = (uint32_t)N_ROWS;
    return rows;
}

const char *policy_section_name(policy_section section) {
    return names[section];
}

bool policy_section_is_named(policy_section section) {
    return section == SECTION_PROFILE || section == SECTION_SCOPE || section == SECTION_PREDICATE;
}

policy_section policy_section_find(const char *name) {
    policy_section section = 0;
    while (section < SECTION_COUNT && strcmp(names[section], name) != 0) {
        section++;
    }
    return section;
}

const policy_row *policy_section_rows(policy_section section, uint32_t *out_count) {
    size_t first = 0, n = 0;
    while (first < N_ROWS && rows[first].section != section) {
        first++;
    }
    while (first + n < N_ROWS && rows[first + n].section == section) {
        n++;
    }
    *out_count = (uint32_t)n;
    return n > 0 ? &rows[first] : NULL;
}

/* ---------------------------------------------------------------- reading */

static void *find_value(const policy_row *row, void *base) {
    return (char *)base + row->at;
}

static const char *set_text(char **target, const char *value) {
    char *copy = strdup(value);
    if (copy == NULL) {
        return "smaller: there is no memory for it";
    }
    free(*target);
    *target = copy;
    return NULL;
}

static const char *add_word(policy_words *words, const char *word, size_t size) {
    char **grown = realloc(words->items, (words->n_items + 1) * sizeof *grown);
    if (grown == NULL) {
        return "smaller: there is no memory for it";
    }
    words->items = grown;
    grown[words->n_items] = strndup(word, size);
    words->n_items += grown[words->n_items] != NULL;
    return NULL;
}

static const char *add_words(const policy_row *row, policy_words *words, const char *value, char room[POLICY_ADVICE_SIZE]) {
    const char *advice = NULL;
    for (const char *at = value + strspn(value, " \t"); *at != 0 && advice == NULL; at += strspn(at, " \t")) {
        const size_t size = strcspn(at, " \t");
        if (row->most > 0 && words->n_items >= row->most) {
            snprintf(room, POLICY_ADVICE_SIZE, "at most %.0f words", row->most);
            return room;
        }
        advice = add_word(words, at, size);
        at += size;
    }
    return advice;
}

static const char *set_count(const policy_row *row, uint32_t *target, const char *value, char room[POLICY_ADVICE_SIZE]) {
    uint64_t number;
    if (!decimal_read_whole(value, (uint64_t)row->most, &number) || number < (uint64_t)row->least) {
        snprintf(room, POLICY_ADVICE_SIZE, "a whole number from %.0f to %.0f", row->least, row->most);
        return room;
    }
    *target = (uint32_t)number;
    return NULL;
}

/* Millionths, so that no locale and no rounding has a part in it. */
static bool read_millionths(const char *value, uint64_t *out) {
    uint64_t whole, fraction = 0, unit = 100000;
    if (!decimal_read(&value, 1000000, &whole)) {
        return false;
    }
    if (*value == '.') {
        for (value++; *value >= '0' && *value <= '9' && unit > 0; value++, unit /= 10) {
            fraction += (uint64_t)(*value - '0') * unit;
        }
    }
    *out = whole * 1000000 + fraction;
    return *value == 0;
}

static const char *set_number(const policy_row *row, double *target, const char *value, char room[POLICY_ADVICE_SIZE]) {
    uint64_t millionths;
    const bool is_number = read_millionths(value, &millionths);
    const double number = is_number ? (double)millionths / 1e6 : -1.0;
    if (!is_number || number < row->least || number > row->most) {
        snprintf(room, POLICY_ADVICE_SIZE, "a number from %.0f to %.0f with at most six digits behind the point", row->least, row->most);
        return room;
    }
    *target = number;
    return NULL;
}

typedef struct unit {
    const char *name;
    uint64_t factor;
} unit;

static bool read_with_unit(const char *value, const unit *units, size_t n_units, uint64_t most, uint64_t *out) {
    uint64_t number;
    if (!decimal_read(&value, most, &number)) {
        return false;
    }
    for (size_t i = 0; i < n_units; i++) {
        if (strcmp(value, units[i].name) == 0 && number <= most / units[i].factor) {
            *out = number * units[i].factor;
            return true;
        }
    }
    return false;
}

static const char *set_size(uint64_t *target, const char *value) {
    static const unit units[] = {{"", 1}, {"K", 1u << 10}, {"M", 1u << 20}, {"G", 1u << 30}};
    return read_with_unit(value, units, sizeof units / sizeof units[0], UINT64_C(1) << 50, target)
               ? NULL
               : "a number of bytes; K, M or G may stand behind it";
}

static const char *set_time(const policy_row *row, uint64_t *target, const char *value) {
    static const unit units[] = {{"ms", 1}, {"s", 1000}, {"m", 60000}, {"h", 3600000}, {"d", 86400000}};
    uint64_t number;
    if (!read_with_unit(value, units, sizeof units / sizeof units[0], (uint64_t)row->most, &number) || number < (uint64_t)row->least) {
        return "a time: a number and ms, s, m, h or d, at most ten years";
    }
    *target = number;
    return NULL;
}

static const char *set_digest(uint8_t *target, const char *value) {
    const char *digits = strncmp(value, "sha256:", 7) == 0 ? value + 7 : value;
    static const char hex[] = "0123456789abcdef";
    bool is_right = strlen(digits) == 2 * Q42_DIGEST_BYTES && strspn(digits, hex) == 2 * Q42_DIGEST_BYTES;
    for (size_t i = 0; is_right && i < Q42_DIGEST_BYTES; i++) {
        target[i] = (uint8_t)((strchr(hex, digits[2 * i]) - hex) << 4 | (strchr(hex, digits[2 * i + 1]) - hex));
    }
    if (!is_right) {
        return "a SHA-256: 64 digits 0-9a-f, sha256: may stand in front";
    }
    *(bool *)(target + Q42_DIGEST_BYTES) = true;
    return NULL;
}

static const char *set_word(const policy_row *row, char **target, const char *value, char room[POLICY_ADVICE_SIZE]) {
    if (row->choices != NULL && !words_has_choice(row->choices, value)) {
        snprintf(room, POLICY_ADVICE_SIZE, "one of %s", row->choices);
        return room;
    }
    return strpbrk(value, " \t") != NULL ? "one word without blanks" : set_text(target, value);
}

const char *policy_row_set(const policy_row *row, void *base, const char *value, char room[POLICY_ADVICE_SIZE]) {
    void *target = find_value(row, base);
    const bool is_yes = strcmp(value, "yes") == 0;
    if (*value == 0 && row->kind != KEY_WORDS) {
        return "something: nothing stands behind the =";
    }
    switch (row->kind) {
    case KEY_WORDS: return add_words(row, target, value, room);
    case KEY_COUNT: return set_count(row, target, value, room);
    case KEY_NUMBER: return set_number(row, target, value, room);
    case KEY_SIZE: return set_size(target, value);
    case KEY_TIME: return set_time(row, target, value);
    case KEY_DIGEST: return set_digest(target, value);
    case KEY_WORD: return set_word(row, target, value, room);
    case KEY_FLAG: *(bool *)target = is_yes; return is_yes || strcmp(value, "no") == 0 ? NULL : "yes or no";
    default: return set_text(target, value);
    }
}

/* ---------------------------------------------------------------- sections */

bool policy_section_init(policy_section section, void *base) {
    char room[POLICY_ADVICE_SIZE];
    uint32_t n;
    const policy_row *row = policy_section_rows(section, &n);
    bool is_done = true;
    for (uint32_t i = 0; i < n; i++) {
        if (row[i].fallback != NULL) {
            is_done = policy_row_set(&row[i], base, row[i].fallback, room) == NULL && is_done;
        } else if (row[i].kind == KEY_COUNT) {
            *(uint32_t *)find_value(&row[i], base) = POLICY_NONE;
        }
    }
    return is_done;
}

static void free_words(policy_words *words) {
    for (uint32_t i = 0; i < words->n_items; i++) {
        free(words->items[i]);
    }
    free(words->items);
    *words = (policy_words){NULL, 0};
}

void policy_row_clear(const policy_row *row, void *base) {
    if (row->kind == KEY_WORDS) {
        free_words(find_value(row, base));
    }
}

static bool is_string(policy_kind kind) {
    return kind == KEY_TEXT || kind == KEY_WORD || kind == KEY_PATH || kind == KEY_FILE;
}

void policy_section_free(policy_section section, void *base) {
    uint32_t n;
    const policy_row *row = policy_section_rows(section, &n);
    for (uint32_t i = 0; i < n; i++) {
        void *value = find_value(&row[i], base);
        if (row[i].kind == KEY_WORDS) {
            free_words(value);
        } else if (is_string(row[i].kind)) {
            free(*(char **)value);
            *(char **)value = NULL;
        }
    }
}

/* ---------------------------------------------------------------- writing */

static bool put(text_buffer *out, const char *text) {
    return text_buffer_append(out, text, strlen(text));
}

static bool write_words(const policy_words *words, text_buffer *out) {
    bool is_done = true;
    for (uint32_t i = 0; is_done && i < words->n_items; i++) {
        is_done = (i == 0 || put(out, " ")) && put(out, words->items[i]);
    }
    return is_done;
}

static bool write_value(const policy_row *row, const void *value, text_buffer *out) {
    char text[SHA256_HEX_SIZE + 8] = "";
    const uint32_t count = row->kind == KEY_COUNT ? *(const uint32_t *)value : 0;
    if (row->kind == KEY_WORDS) {
        return write_words(value, out);
    }
    if (is_string(row->kind)) {
        return put(out, *(char *const *)value);
    }
    if (row->kind == KEY_COUNT) {
        snprintf(text, sizeof text, "%u", count);
    } else if (row->kind == KEY_NUMBER) {
        const uint64_t millionths = (uint64_t)(*(const double *)value * 1e6 + 0.5);
        snprintf(text, sizeof text, "%" PRIu64 ".%06" PRIu64, millionths / 1000000, millionths % 1000000);
    } else if (row->kind == KEY_FLAG) {
        snprintf(text, sizeof text, "%s", *(const bool *)value ? "yes" : "no");
    } else if (row->kind == KEY_SIZE || row->kind == KEY_TIME) {
        snprintf(text, sizeof text, "%" PRIu64 "%s", *(const uint64_t *)value, row->kind == KEY_TIME ? "ms" : "");
    } else {
        sha256_to_hex(value, text);
    }
    return put(out, text);
}

/* A list is always there: an empty one is not its default. */
static bool is_there(const policy_row *row, const void *value) {
    return is_string(row->kind)      ? *(char *const *)value != NULL
           : row->kind == KEY_COUNT  ? *(const uint32_t *)value != POLICY_NONE
           : row->kind == KEY_DIGEST ? *((const bool *)value + Q42_DIGEST_BYTES)
                                     : true;
}

bool policy_row_write(const policy_row *row, const void *base, text_buffer *out) {
    if (!is_there(row, (const char *)base + row->at)) {
        return true;
    }
    return put(out, row->key) && put(out, "=") && write_value(row, (const char *)base + row->at, out) && put(out, "\n");
}
