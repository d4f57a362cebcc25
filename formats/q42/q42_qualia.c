/* q42_qualia.c — vault manifests: a subset of Turtle (section 14 of the format's document).
 *
 *     @prefix q: <https://schema.qualia.dev/vocab#> .
 *     <#vault> a q:VaultManifest ; q:vaultName "Books" ; q:includesDataFile <data/a.q42> , <data/b.q42> .
 *
 * The walk that users see is the same code as the check at opening, so what has been checked is what is seen. */
#include <string.h>

#include "common/utf8.h"
#include "q42_files_internal.h"

/* A place in the text. Columns count bytes, from the last line feed. */
typedef struct reader {
    fmt_span span;
    uint64_t at, line_at;
    uint32_t line;
    fmt_diag *diag;
} reader;

static bool is_end(const reader *r) {
    return r->at >= r->span.size;
}

static int peek(const reader *r) {
    return is_end(r) ? -1 : r->span.data[r->at];
}

static bool starts_with(const reader *r, const char *word) {
    const size_t size = strlen(word);
    return r->span.size - r->at >= size && memcmp(r->span.data + r->at, word, size) == 0;
}

static uint32_t column_of(const reader *r, uint64_t at) {
    return (uint32_t)(at - r->line_at) + 1;
}

static fmt_status refuse_at(const reader *r, uint64_t at, files_rule_no rule, const char *what, fmt_str text) {
    char quoted[DIAG_QUOTE_SIZE];
    const diag_place here = {at, FMT_NO_INDEX, 0, r->line};
    return files_refuse(r->diag, rule, here, "line %u, column %u: %s%s%s", r->line, column_of(r, at), what,
                        text.size > 0 ? " " : "", text.size > 0 ? diag_quote(quoted, text) : "");
}

static fmt_status refuse_here(const reader *r, files_rule_no rule, const char *what) {
    const fmt_str here = {is_end(r) ? "" : (const char *)r->span.data + r->at,
                          r->span.size - r->at < 16 ? r->span.size - r->at : 16};
    return refuse_at(r, r->at, rule, what, here);
}

/* White space and comments. */
static void skip_blank(reader *r) {
    bool is_comment = false;
    for (; !is_end(r); r->at++) {
        const int c = peek(r);
        if (c == '\n') {
            r->line++;
            r->line_at = r->at + 1;
            is_comment = false;
        } else if (c == '#') {
            is_comment = true;
        } else if (!is_comment && c != ' ' && c != '\t' && c != '\r') {
            return;
        }
    }
}

static fmt_str text_between(const reader *r, uint64_t begin, uint64_t end) {
    const fmt_str text = {(const char *)r->span.data + begin, end - begin};
    return text;
}

/* ---------------------------------------------------------------- words */

/* <...>: what stands between the brackets. */
static fmt_status read_iri(reader *r, fmt_str *out) {
    const uint64_t begin = r->at + 1;
    for (r->at = begin; !is_end(r); r->at++) {
        const int c = peek(r);
        if (c == '>') {
            *out = text_between(r, begin, r->at++);
            return FMT_OK;
        }
        if (c <= 0x20 || strchr("<\"{}|^`", c) != NULL) {
            return refuse_here(r, Q42F_R_VAULT_SYNTAX, "an IRI may not hold");
        }
    }
    return refuse_at(r, begin - 1, Q42F_R_VAULT_SYNTAX, "an IRI does not end", text_between(r, begin, begin));
}

static bool is_name_byte(int c) {
    return c >= 0x80 || (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '_' ||
           c == '-' || c == '.' || c == ':' || c == '%';
}

/* A prefixed name, number, boolean or keyword: a run of name bytes that does not end in a full stop. */
static fmt_str read_bare(reader *r) {
    const uint64_t begin = r->at;
    if (peek(r) == '+') {
        r->at++;
    }
    while (is_name_byte(peek(r)) || (r->at > begin && peek(r) == '+')) {
        r->at++;
    }
    while (r->at > begin && r->span.data[r->at - 1] == '.') {
        r->at--;
    }
    return text_between(r, begin, r->at);
}

/* One line feed inside a long literal. */
static void count_line(reader *r) {
    if (peek(r) == '\n') {
        r->line++;
        r->line_at = r->at + 1;
    }
}

/* "..." or '...', or with three quotes: what stands between them. */
static fmt_status read_quoted(reader *r, fmt_str *out) {
    const int quote = peek(r);
    const char triple[4] = {(char)quote, (char)quote, (char)quote, '\0'};
    const bool is_long = starts_with(r, triple);
    const reader start = *r;
    r->at += is_long ? 3 : 1;
    const uint64_t begin = r->at;
    for (; !is_end(r); r->at++) {
        if (peek(r) == quote && (!is_long || starts_with(r, triple))) {
            *out = text_between(r, begin, r->at);
            r->at += is_long ? 3 : 1;
            return FMT_OK;
        }
        if (!is_long && (peek(r) == '\n' || peek(r) == '\r')) {
            break;
        }
        count_line(r);
        if (peek(r) == '\\') {
            r->at++;
            count_line(r);
        }
    }
    return refuse_at(&start, start.at, Q42F_R_VAULT_SYNTAX, "a literal does not end", text_between(r, begin, begin));
}

/* ---------------------------------------------------------------- names */

static const struct {
    const char *local;
    q42_vault_term term;
} vocabulary[] = {
    {"vaultName", Q42_VAULT_NAME},
    {"includesDataFile", Q42_VAULT_DATA_FILE},
    {"includesCapabilityEnvelope", Q42_VAULT_ENVELOPE},
    {"includesLexiconFile", Q42_VAULT_LEXICON_FILE},
    {"includesBlockIndexFile", Q42_VAULT_INDEX_FILE},
    {"description", Q42_VAULT_DESCRIPTION},
};

/* Whether a followed by b is the namespace followed by `local`. */
static bool is_joined(fmt_str a, fmt_str b, const char *local) {
    const size_t space = sizeof Q42_VAULT_NAMESPACE - 1, length = strlen(local);
    if (a.size + b.size != space + length) {
        return false;
    }
    for (uint64_t i = 0; i < space + length; i++) {
        const char found = i < a.size ? a.data[i] : b.data[i - a.size];
        const char wanted = i < space ? Q42_VAULT_NAMESPACE[i] : local[i - space];
        if (found != wanted) {
            return false;
        }
    }
    return true;
}

static q42_vault_term find_term(fmt_str start, fmt_str end) {
    for (size_t i = 0; i < sizeof vocabulary / sizeof vocabulary[0]; i++) {
        if (is_joined(start, end, vocabulary[i].local)) {
            return vocabulary[i].term;
        }
    }
    return Q42_VAULT_OTHER;
}

static bool is_word(fmt_str text, const char *word) {
    return text.size == strlen(word) && memcmp(text.data, word, (size_t)text.size) == 0;
}

/* The IRI that a prefixed name's prefix stands for. */
static fmt_status expand_prefix(const reader *r, const q42_vault *vault, fmt_str name, fmt_str *out_iri,
                                fmt_str *out_local) {
    const char *colon = memchr(name.data, ':', (size_t)name.size);
    const uint64_t at = r->at - name.size;
    if (colon == NULL) {
        return refuse_at(r, at, Q42F_R_VAULT_SYNTAX, "this is no name with a prefix:", name);
    }
    const fmt_str prefix = {name.data, (uint64_t)(colon - name.data)};
    for (uint32_t i = 0; i < vault->n_prefixes; i++) {
        const fmt_str known = vault->prefixes[i][0];
        if (known.size == prefix.size && memcmp(known.data, prefix.data, (size_t)prefix.size) == 0) {
            *out_iri = vault->prefixes[i][1];
            *out_local = (fmt_str){colon + 1, name.size - prefix.size - 1};
            return FMT_OK;
        }
    }
    return refuse_at(r, at, Q42F_R_VAULT_PREFIX, "no prefix is declared for", name);
}

/* ---------------------------------------------------------------- one value */

static fmt_status refuse_subset(const reader *r) {
    const char *what = peek(r) == '(' ? "here begins a collection:" : "here begins an anonymous node:";
    return refuse_here(r, Q42F_R_VAULT_SUBSET, what);
}

/* What may follow a literal: a language or a datatype. */
static fmt_status skip_suffix(reader *r, const q42_vault *vault) {
    fmt_str text, local;
    if (peek(r) == '@') {
        r->at++;
        text = read_bare(r);
        return text.size > 0 ? FMT_OK : refuse_here(r, Q42F_R_VAULT_SYNTAX, "a language is missing before");
    }
    if (!starts_with(r, "^^")) {
        return FMT_OK;
    }
    r->at += 2;
    if (peek(r) == '<') {
        return read_iri(r, &text);
    }
    text = read_bare(r);
    return expand_prefix(r, vault, text, &text, &local);
}

static bool is_number(fmt_str text) {
    const char first = text.size > 0 ? text.data[0] : 'x';
    return (first >= '0' && first <= '9') || first == '+' || first == '-' || is_word(text, "true") ||
           is_word(text, "false");
}

static fmt_status read_value(reader *r, const q42_vault *vault, q42_vault_entry *entry) {
    fmt_str iri, local;
    const int c = peek(r);
    entry->offset = r->at;
    entry->line = r->line;
    entry->column = column_of(r, r->at);
    entry->is_iri = c == '<';
    entry->is_text = c == '"' || c == '\'';
    if (entry->is_iri) {
        return read_iri(r, &entry->value);
    }
    if (entry->is_text) {
        const fmt_status status = read_quoted(r, &entry->value);
        return status == FMT_OK ? skip_suffix(r, vault) : status;
    }
    if (c == '(' || c == '[' || starts_with(r, "_:")) {
        return refuse_subset(r);
    }
    entry->value = read_bare(r);
    if (entry->value.size == 0) {
        return refuse_here(r, Q42F_R_VAULT_SYNTAX, is_end(r) ? "a value is missing at the end" : "no value begins with");
    }
    return is_number(entry->value) ? FMT_OK : expand_prefix(r, vault, entry->value, &iri, &local);
}

static fmt_status read_property(reader *r, const q42_vault *vault, q42_vault_entry *entry) {
    fmt_str iri = {"", 0}, local = {"", 0};
    fmt_status status = FMT_OK;
    if (peek(r) == '<') {
        status = read_iri(r, &entry->property);
        iri = entry->property;
    } else if (peek(r) == '[' || peek(r) == '(' || starts_with(r, "_:")) {
        status = refuse_subset(r);
    } else {
        entry->property = read_bare(r);
        if (is_word(entry->property, "a")) {
            entry->term = Q42_VAULT_TYPE;
            return FMT_OK;
        }
        status = entry->property.size == 0 ? refuse_here(r, Q42F_R_VAULT_SYNTAX, "no property begins with")
                                           : expand_prefix(r, vault, entry->property, &iri, &local);
    }
    if (status == FMT_OK) {
        entry->term = find_term(iri, local);
    }
    return status;
}

/* ---------------------------------------------------------------- the list */

typedef uint32_t step;
enum { STEP_ENTRY, STEP_END };

static fmt_status finish_text(reader *r) {
    r->at++;
    skip_blank(r);
    return is_end(r) ? FMT_OK : refuse_here(r, Q42F_R_VAULT_SUBSET, "a second statement begins with");
}

/* From behind a value (or the subject) to the next value: , goes on with the property, ; with another one, and . ends it. */
static fmt_status read_next(reader *r, const q42_vault *vault, bool is_first, q42_vault_entry *entry, step *out_step) {
    skip_blank(r);
    *out_step = STEP_ENTRY;
    if (!is_first && peek(r) == ',') {
        r->at++;
        skip_blank(r);
        return read_value(r, vault, entry);
    }
    const bool has_semicolon = !is_first && peek(r) == ';';
    while (!is_first && peek(r) == ';') {
        r->at++;
        skip_blank(r);
    }
    if (peek(r) == '.' && !is_first) {
        *out_step = STEP_END;
        return finish_text(r);
    }
    if (!is_first && !has_semicolon) {
        return refuse_here(r, Q42F_R_VAULT_SYNTAX, is_end(r) ? "the last statement has no full stop"
                                                             : "between properties stands ; and between values , but here");
    }
    fmt_status status = read_property(r, vault, entry);
    skip_blank(r);
    return status == FMT_OK ? read_value(r, vault, entry) : status;
}

/* ---------------------------------------------------------------- the head */

/* @prefix name: <iri> .   or   PREFIX name: <iri> */
static fmt_status read_prefix(reader *r, q42_vault *vault, size_t keyword, bool has_stop) {
    r->at += keyword;
    skip_blank(r);
    const fmt_str name = read_bare(r);
    if (name.size == 0 || name.data[name.size - 1] != ':') {
        return refuse_at(r, r->at - name.size, Q42F_R_VAULT_SYNTAX, "a prefix ends in a colon, not", name);
    }
    if (vault->n_prefixes == Q42_VAULT_PREFIXES) {
        return refuse_at(r, r->at - name.size, Q42F_R_VAULT_PREFIX, "one too many is", name);
    }
    skip_blank(r);
    if (peek(r) != '<') {
        return refuse_here(r, Q42F_R_VAULT_SYNTAX, "a prefix stands for an IRI, not");
    }
    fmt_str *slot = vault->prefixes[vault->n_prefixes];
    const fmt_status status = read_iri(r, &slot[1]);
    if (status != FMT_OK) {
        return status;
    }
    slot[0] = (fmt_str){name.data, name.size - 1};
    vault->n_prefixes++;
    skip_blank(r);
    if (has_stop && peek(r) != '.') {
        return refuse_here(r, Q42F_R_VAULT_SYNTAX, "@prefix ends with a full stop, not");
    }
    r->at += has_stop;
    return FMT_OK;
}

static bool is_sparql_word(const reader *r, const char *word) {
    const size_t size = strlen(word);
    for (size_t i = 0; i < size; i++) {
        if (r->span.size - r->at <= i || (r->span.data[r->at + i] | 0x20) != word[i]) {
            return false;
        }
    }
    return r->span.size - r->at > size && strchr(" \t\r\n", r->span.data[r->at + size]) != NULL;
}

static fmt_status read_head(reader *r, q42_vault *vault) {
    fmt_status status = FMT_OK;
    for (skip_blank(r); status == FMT_OK; skip_blank(r)) {
        if (starts_with(r, "@prefix")) {
            status = read_prefix(r, vault, sizeof "@prefix" - 1, true);
        } else if (is_sparql_word(r, "prefix")) {
            status = read_prefix(r, vault, sizeof "prefix" - 1, false);
        } else if (starts_with(r, "@base") || is_sparql_word(r, "base")) {
            status = refuse_here(r, Q42F_R_VAULT_SUBSET, "the names of files are moved by");
        } else {
            return FMT_OK;
        }
    }
    return status;
}

static fmt_status read_subject(reader *r, q42_vault *vault) {
    fmt_str iri, local;
    if (peek(r) == '<') {
        return read_iri(r, &vault->subject);
    }
    if (peek(r) == '[' || peek(r) == '(') {
        return refuse_subset(r);
    }
    vault->subject = read_bare(r);
    if (vault->subject.size == 0) {
        return refuse_here(r, Q42F_R_VAULT_SYNTAX, is_end(r) ? "there is no subject" : "no subject begins with");
    }
    return vault->subject.size > 2 && memcmp(vault->subject.data, "_:", 2) == 0
               ? FMT_OK
               : expand_prefix(r, vault, vault->subject, &iri, &local);
}

/* ---------------------------------------------------------------- opening and walking */

static fmt_status check_text(fmt_span span, fmt_diag *diag) {
    if (span.size > Q42_VAULT_MAX_BYTES) {
        const diag_place here = {0, FMT_NO_INDEX, Q42_VAULT_MAX_BYTES, span.size};
        return files_refuse(diag, Q42F_R_VAULT_SIZE, here, "the file has %llu bytes", (unsigned long long)span.size);
    }
    const uint64_t invalid = utf8_first_invalid(span.data, span.size);
    if (invalid != UTF8_ALL_VALID) {
        return files_refuse(diag, Q42F_R_VAULT_TEXT, files_at(invalid), "byte 0x%02x begins no UTF-8 character",
                            span.data[invalid]);
    }
    return FMT_OK;
}

static fmt_status read_entries(reader *r, q42_vault *vault) {
    q42_vault_entry entry = {0};
    step next = STEP_ENTRY;
    fmt_status status = read_next(r, vault, true, &entry, &next);
    while (status == FMT_OK && next == STEP_ENTRY) {
        vault->n_entries++;
        vault->n_data_files += entry.term == Q42_VAULT_DATA_FILE;
        vault->n_envelopes += entry.term == Q42_VAULT_ENVELOPE;
        status = read_next(r, vault, false, &entry, &next);
    }
    return status;
}

fmt_status q42_vault_open(fmt_span span, q42_vault *out_vault, fmt_diag *diag) {
    q42_vault vault = {.span = span};
    fmt_status status = check_text(span, diag);
    if (status != FMT_OK) {
        return status;
    }
    reader r = {span, 0, 0, 1, diag};
    status = read_head(&r, &vault);
    status = status == FMT_OK ? read_subject(&r, &vault) : status;
    vault.body_at = r.at;
    status = status == FMT_OK ? read_entries(&r, &vault) : status;
    if (status == FMT_OK && vault.n_data_files == 0) {
        status = files_refuse(diag, Q42F_R_VAULT_DATA, files_at(vault.body_at),
                              "none of its %u values is of includesDataFile", vault.n_entries);
    }
    if (status == FMT_OK) {
        *out_vault = vault;
    }
    return status;
}

/* Line of the byte where the body begins. */
static void find_line(const q42_vault *vault, q42_vault_walk *walk) {
    walk->at = vault->body_at;
    walk->line = 1;
    for (uint64_t i = 0; i < vault->body_at; i++) {
        if (vault->span.data[i] == '\n') {
            walk->line++;
            walk->line_at = i + 1;
        }
    }
}

bool q42_vault_next(const q42_vault *vault, q42_vault_walk *walk, q42_vault_entry *out_entry) {
    const bool is_first = walk->index == 0;
    if (walk->index >= vault->n_entries) {
        return false;
    }
    if (is_first) {
        find_line(vault, walk);
    }
    reader r = {vault->span, walk->at, walk->line_at, walk->line, NULL};
    q42_vault_entry entry = {.property = walk->property, .term = walk->term};
    step next = STEP_END;
    if (read_next(&r, vault, is_first, &entry, &next) != FMT_OK || next != STEP_ENTRY) {
        return false;
    }
    *walk = (q42_vault_walk){r.at, r.line_at, r.line, walk->index + 1, entry.property, entry.term};
    *out_entry = entry;
    return true;
}
