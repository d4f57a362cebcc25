/* sentinel_settings.c — a table of keys, read entry by entry. */
#include "sentinel/sentinel_settings.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/decimal.h"
#include "base/words.h"

static const char *const rule_names[SENTINEL_RULES] = {"deny", "non-finite", "margin", "entropy", "repetition", "phrase", "compat-0x99"};
static const char *const action_names[] = {"allow", "resample", "abort"};

const char *sentinel_rule_name(sentinel_rule rule) {
    return rule < SENTINEL_RULES ? rule_names[rule] : "none";
}

const char *sentinel_action_name(sentinel_action action) {
    return action <= SENTINEL_ABORT ? action_names[action] : "none";
}

typedef uint32_t key_kind;
enum { KEY_ACTION, KEY_UINT, KEY_REAL, KEY_BOOL, KEY_IDS, KEY_TEXT };

typedef struct key_row {
    sentinel_rule rule; /* SENTINEL_RULES: of every rule */
    const char *name;
    key_kind kind;
    size_t at;          /* offset in the settings; for KEY_TEXT of the array, whose length follows it */
} key_row;

static const key_row keys[] = {{SENTINEL_RULES, "action", KEY_ACTION, offsetof(sentinel_settings, actions)},
                               {SENTINEL_DENY, "ids", KEY_IDS, offsetof(sentinel_settings, deny_ids)},
                               {SENTINEL_DENY, "text", KEY_TEXT, offsetof(sentinel_settings, deny_texts)},
                               {SENTINEL_MARGIN, "least", KEY_REAL, offsetof(sentinel_settings, least_margin)},
                               {SENTINEL_ENTROPY, "most", KEY_REAL, offsetof(sentinel_settings, most_entropy)},
                               {SENTINEL_REPETITION, "n", KEY_UINT, offsetof(sentinel_settings, n)},
                               {SENTINEL_REPETITION, "times", KEY_UINT, offsetof(sentinel_settings, times)},
                               {SENTINEL_REPETITION, "window", KEY_UINT, offsetof(sentinel_settings, window)},
                               {SENTINEL_PHRASE, "phrase", KEY_TEXT, offsetof(sentinel_settings, phrases)},
                               {SENTINEL_PHRASE, "fold-case", KEY_BOOL, offsetof(sentinel_settings, folds_case)}};
#define N_KEYS (sizeof keys / sizeof keys[0])

/* ---------------------------------------------------------------- words */

typedef struct word_walk {
    sentinel_rule rule;
    size_t at;
} word_walk;

static bool is_key_of(const key_row *key, sentinel_rule rule) {
    return key->rule == rule || key->rule == SENTINEL_RULES;
}

static const char *next_key(void *ctx) {
    word_walk *walk = ctx;
    while (walk->at < N_KEYS && !is_key_of(&keys[walk->at], walk->rule)) {
        walk->at++;
    }
    return walk->at < N_KEYS ? keys[walk->at++].name : NULL;
}

static const char *next_rule(void *ctx) {
    word_walk *walk = ctx;
    return walk->at < SENTINEL_RULES ? rule_names[walk->at++] : NULL;
}

/* What entries are read into. */
typedef struct reading {
    sentinel_settings *s;
    const char *path;
    error_context *err;
} reading;

static qn_status refuse(const reading *r, const config_entry *e, const char *what) {
    return FAIL(r->err, QN_BAD_INPUT, "%s: line %u: [%s] %s = %s: %s", r->path, e->line, e->section, e->key, e->value, what);
}

static qn_status refuse_word(const reading *r, const config_entry *e, const char *kind, const char *word, const char *nearest) {
    return FAIL(r->err, QN_BAD_INPUT, "%s: line %u: %s \"%s\" is not known here%s%s%s", r->path, e->line, kind, word,
                nearest != NULL ? "; did you mean \"" : "", nearest != NULL ? nearest : "", nearest != NULL ? "\"?" : "");
}

/* ---------------------------------------------------------------- values */

/* digits[.digits] */
static bool read_real(const char *text, double *out) {
    uint64_t whole = 0;
    if (!decimal_read(&text, 1000000, &whole)) {
        return false;
    }
    double value = (double)whole, place = 0.1;
    if (*text == '.') {
        for (text++; *text >= '0' && *text <= '9'; text++, place /= 10) {
            value += place * (*text - '0');
        }
    }
    *out = value;
    return *text == '\0';
}

static int hex_digit(char c) {
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* One character at *from, escaped or not; *from moves behind it. False for an escape that there is none of. */
static bool read_character(const char **from, char *out) {
    static const char named[] = "ntr\"\\", meant[] = "\n\t\r\"\\";
    const char *at = *from;
    if (*at != '\\') {
        *out = *at;
        *from = at + 1;
        return true;
    }
    const char *name = at[1] != '\0' ? strchr(named, at[1]) : NULL;
    if (name != NULL) {
        *out = meant[name - named];
        *from = at + 2;
        return true;
    }
    if (at[1] != 'x' || hex_digit(at[2]) < 0 || hex_digit(at[3]) < 0) {
        return false;
    }
    *out = (char)(hex_digit(at[2]) << 4 | hex_digit(at[3]));
    *from = at + 4;
    return true;
}

/* In place: what is read is never longer than what is written. */
static qn_status read_text(const reading *r, config_entry *e, phrase_text *out) {
    const char *from = e->value;
    char *to = e->value;
    const bool is_quoted = *from == '"';
    from += is_quoted ? 1 : 0;
    *out = (phrase_text){e->value, 0};
    while (*from != '\0' && !(is_quoted && *from == '"')) {
        if (!read_character(&from, to)) {
            return refuse(r, e, "the escapes are \\n \\t \\r \\\" \\\\ and \\xHH");
        }
        to++;
    }
    if (is_quoted && (from[0] != '"' || from[1] != '\0')) {
        return refuse(r, e, "the quotes are not closed at the end");
    }
    out->size = (size_t)(to - e->value);
    return out->size > 0 ? QN_OK : refuse(r, e, "a text has at least one byte");
}

static qn_status add_text(const reading *r, config_entry *e, phrase_text **list, size_t *n) {
    phrase_text *grown = realloc(*list, (*n + 1) * sizeof *grown);
    if (grown == NULL) {
        return FAIL(r->err, QN_NO_HOST_MEM, "%s: out of memory", r->path);
    }
    *list = grown;
    QN_TRY(read_text(r, e, &grown[*n]), r->err, "reading a text");
    (*n)++;
    return QN_OK;
}

static qn_status add_ids(const reading *r, const config_entry *e) {
    const char *at = e->value;
    for (;;) {
        uint64_t id;
        uint32_t *grown = realloc(r->s->deny_ids, (r->s->n_deny_ids + 1) * sizeof *grown);
        if (grown == NULL) {
            return FAIL(r->err, QN_NO_HOST_MEM, "%s: out of memory", r->path);
        }
        r->s->deny_ids = grown;
        at += strspn(at, " \t");
        if (!decimal_read(&at, UINT32_MAX - 1, &id)) {
            return refuse(r, e, "must be token ids with commas between, such as 13, 198");
        }
        grown[r->s->n_deny_ids++] = (uint32_t)id;
        at += strspn(at, " \t");
        if (*at == '\0') {
            return QN_OK;
        }
        if (*at++ != ',') {
            return refuse(r, e, "must be token ids with commas between, such as 13, 198");
        }
    }
}

static qn_status read_action(const reading *r, const config_entry *e, sentinel_action *out) {
    for (uint32_t i = 0; i <= SENTINEL_ABORT; i++) {
        if (strcmp(e->value, action_names[i]) == 0) {
            *out = i;
            return QN_OK;
        }
    }
    return refuse(r, e, "must be allow, resample or abort");
}

static qn_status read_uint(const reading *r, const config_entry *e, uint32_t *out) {
    uint64_t value;
    if (!decimal_read_whole(e->value, UINT32_MAX, &value)) {
        return refuse(r, e, "must be a whole number");
    }
    *out = (uint32_t)value;
    return QN_OK;
}

static qn_status read_value(const reading *r, const key_row *key, sentinel_rule rule, config_entry *e) {
    void *at = (char *)r->s + key->at;
    switch (key->kind) {
    case KEY_ACTION:
        return read_action(r, e, &r->s->actions[rule]);
    case KEY_UINT:
        return read_uint(r, e, at);
    case KEY_REAL:
        return read_real(e->value, at) ? QN_OK : refuse(r, e, "must be a number from 0 on, such as 0.5");
    case KEY_BOOL:
        *(bool *)at = words_has_choice("yes|true|on", e->value);
        return *(bool *)at || words_has_choice("no|false|off", e->value) ? QN_OK : refuse(r, e, "must be yes or no");
    case KEY_IDS:
        return add_ids(r, e);
    default:
        return key->rule == SENTINEL_DENY ? add_text(r, e, &r->s->deny_texts, &r->s->n_deny_texts)
                                          : add_text(r, e, &r->s->phrases, &r->s->n_phrases);
    }
}

static qn_status read_entry(const reading *r, config_entry *e) {
    word_walk walk = {.rule = 0};
    sentinel_rule rule = 0;
    while (rule < SENTINEL_RULES && strcmp(rule_names[rule], e->section) != 0) {
        rule++;
    }
    if (rule == SENTINEL_RULES) {
        return refuse_word(r, e, "section", e->section, words_find_nearest(e->section, next_rule, &walk));
    }
    r->s->is_on[rule] = true;
    for (size_t i = 0; i < N_KEYS; i++) {
        if (is_key_of(&keys[i], rule) && strcmp(keys[i].name, e->key) == 0) {
            return read_value(r, &keys[i], rule, e);
        }
    }
    walk.rule = rule;
    return refuse_word(r, e, "key", e->key, words_find_nearest(e->key, next_key, &walk));
}

/* What a rule cannot do without. */
static qn_status check_rules(const sentinel_settings *s, const char *path, error_context *err) {
    if (s->is_on[SENTINEL_DENY] && s->n_deny_ids + s->n_deny_texts == 0) {
        return FAIL(err, QN_BAD_INPUT, "%s: [deny] denies nothing: give ids or text", path);
    }
    if (s->is_on[SENTINEL_MARGIN] && !(s->least_margin > 0.0)) {
        return FAIL(err, QN_BAD_INPUT, "%s: [margin] needs least, a number above 0", path);
    }
    if (s->is_on[SENTINEL_ENTROPY] && !(s->most_entropy >= 0.0)) {
        return FAIL(err, QN_BAD_INPUT, "%s: [entropy] needs most, in nats", path);
    }
    if (s->is_on[SENTINEL_PHRASE] && s->n_phrases == 0) {
        return FAIL(err, QN_BAD_INPUT, "%s: [phrase] has no phrase", path);
    }
    return QN_OK;
}

static void set_defaults(sentinel_settings *s) {
    *s = (sentinel_settings){.n = 4, .times = 3, .window = 128, .most_entropy = -1.0};
    s->actions[SENTINEL_DENY] = s->actions[SENTINEL_REPETITION] = s->actions[SENTINEL_PHRASE] = SENTINEL_RESAMPLE;
    s->actions[SENTINEL_NON_FINITE] = SENTINEL_ABORT;
}

qn_status sentinel_settings_read(const char *path, sentinel_settings *out, error_context *err) {
    set_defaults(out);
    QN_TRY(config_read(path, &out->file, err), err, "reading the sentinel's rules");
    const reading r = {out, path, err};
    for (uint32_t i = 0; i < out->file.n_entries; i++) {
        QN_TRY(read_entry(&r, &out->file.entries[i]), err, "reading the sentinel's rules");
    }
    if (out->file.n_entries == 0) {
        return FAIL(err, QN_BAD_INPUT, "%s: has no rule: a section for each, such as [deny] with ids = 13", path);
    }
    return check_rules(out, path, err);
}

void sentinel_settings_free(sentinel_settings *s) {
    free(s->deny_ids);
    free(s->deny_texts);
    free(s->phrases);
    config_free(&s->file);
    *s = (sentinel_settings){0};
}
