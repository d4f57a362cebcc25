/* policy_read.c — lines into sections and keys; where something is wrong, it says the line and the column. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mapped_file.h"
#include "base/words.h"
#include "common/diag.h"
#include "common/utf8.h"
#include "govern/policy_internal.h"
#include "govern/policy_table.h"

typedef struct reading {
    policy *into;
    const char *path;
    uint32_t line;
    policy_section section; /* SECTION_COUNT before the first */
    void *base;             /* the struct of the section */
    uint64_t *given;        /* its bits */
    error_context *err;
} reading;

/* One line, cut into terminated pieces; columns count bytes from 1. */
typedef struct line_text {
    char *text;
    size_t size;
} line_text;

static qn_status refuse(const reading *r, size_t column, const char *what, const char *found, const char *advice) {
    char quoted[DIAG_QUOTE_SIZE];
    return FAIL(r->err, QN_BAD_INPUT, "%s: line %u, column %zu: %s %s %s", r->path, r->line, column, what,
                diag_quote(quoted, (fmt_str){found, strlen(found)}), advice);
}

/* ---------------------------------------------------------------- sections */

static void *grow(void **items, uint32_t *count, size_t size) {
    char *grown = *count < POLICY_MAX_SECTIONS ? realloc(*items, (*count + 1) * size) : NULL;
    if (grown == NULL) {
        return NULL;
    }
    *items = grown;
    memset(grown + *count * size, 0, size);
    return grown + (*count)++ * size;
}

static policy_head *add_named(policy *p, policy_section section) {
    return section == SECTION_SCOPE       ? grow((void **)&p->scopes, &p->n_scopes, sizeof *p->scopes)
           : section == SECTION_PROFILE   ? grow((void **)&p->profiles, &p->n_profiles, sizeof *p->profiles)
                                          : grow((void **)&p->predicates, &p->n_predicates, sizeof *p->predicates);
}

static const policy_head *find_named(const policy *p, policy_section section, uint64_t id) {
    const policy_scope *scope = section == SECTION_SCOPE ? policy_find_scope(p, id) : NULL;
    const policy_predicate *predicate = section == SECTION_PREDICATE ? policy_find_predicate(p, id) : NULL;
    const policy_head *found = scope != NULL ? &scope->head : predicate != NULL ? &predicate->head : NULL;
    for (uint32_t i = 0; section == SECTION_PROFILE && i < p->n_profiles; i++) {
        found = p->profiles[i].head.id == id ? &p->profiles[i].head : found;
    }
    return found;
}

static qn_status begin_named(reading *r, const char *name, size_t column) {
    const uint64_t id = policy_name_id(name);
    const policy_head *before = find_named(r->into, r->section, id);
    if (before != NULL) {
        char advice[80];
        snprintf(advice, sizeof advice, "has a section already, in line %u", before->line);
        return refuse(r, column, policy_section_name(r->section), name, advice);
    }
    policy_head *head = add_named(r->into, r->section);
    if (head == NULL) {
        return refuse(r, column, policy_section_name(r->section), name, "is one more than fits");
    }
    r->base = head;
    r->given = &head->given;
    head->name = strdup(name);
    head->id = id;
    head->term = policy_name_term(name);
    head->line = r->line;
    return head->name != NULL && policy_section_init(r->section, head) ? QN_OK : FAIL(r->err, QN_NO_HOST_MEM, "%s: out of memory", r->path);
}

typedef struct section_list {
    policy_section next;
} section_list;

static const char *next_section(void *ctx) {
    section_list *list = ctx;
    return list->next < SECTION_COUNT ? policy_section_name(list->next++) : NULL;
}

static qn_status refuse_section(const reading *r, size_t column, const char *word) {
    section_list list = {0};
    char advice[80];
    const char *nearest = words_find_nearest(word, next_section, &list);
    snprintf(advice, sizeof advice, nearest != NULL ? "is no section; did you mean %s?" : "is no section%s; quoin-policy(5) has them",
             nearest != NULL ? nearest : "");
    return refuse(r, column, "section", word, advice);
}

/* "[word]" or "[word name]". */
static qn_status take_section(reading *r, line_text line, size_t column) {
    if (line.text[line.size - 1] != ']') {
        return refuse(r, column, "section", line.text, "has no ] at its end");
    }
    line.text[--line.size] = 0;
    char *word = line.text + 1 + strspn(line.text + 1, " \t");
    char *name = word + strcspn(word, " \t");
    if (*name != 0) {
        *name++ = 0;
        name += strspn(name, " \t");
    }
    char *const end = name + strcspn(name, " \t"), *const more = end + strspn(end, " \t");
    if (*more != 0) {
        return refuse(r, column + (size_t)(more - line.text), "the word", more, "is one too many: a name has no blanks");
    }
    *end = 0;
    r->section = policy_section_find(word);
    if (r->section == SECTION_COUNT) {
        return refuse_section(r, column + (size_t)(word - line.text), word);
    }
    if (policy_section_is_named(r->section) != (*name != 0)) {
        return refuse(r, column, "section", word, *name != 0 ? "stands alone, without a name" : "needs a name behind it: [scope IRI]");
    }
    r->base = &r->into->is;
    r->given = &r->into->given[r->section];
    return *name != 0 ? begin_named(r, name, column + (size_t)(name - line.text)) : QN_OK;
}

/* ---------------------------------------------------------------- keys */

typedef struct row_list {
    const policy_row *rows;
    uint32_t n, next;
} row_list;

static const char *next_key(void *ctx) {
    row_list *list = ctx;
    return list->next < list->n ? list->rows[list->next++].key : NULL;
}

static qn_status refuse_key(const reading *r, size_t column, const char *key, row_list list) {
    char advice[160];
    const char *nearest = words_find_nearest(key, next_key, &list);
    snprintf(advice, sizeof advice, "is no key of [%s]%s%s%s", policy_section_name(r->section), nearest != NULL ? "; did you mean " : "",
             nearest != NULL ? nearest : "; quoin-policy(5) has them", nearest != NULL ? "?" : "");
    return refuse(r, column, "key", key, advice);
}

static qn_status set_key(reading *r, const policy_row *row, uint64_t bit, const char *value, size_t column) {
    char room[POLICY_ADVICE_SIZE], words[POLICY_ADVICE_SIZE + 64];
    if ((*r->given & bit) == 0) {
        policy_row_clear(row, r->base);
    } else if (row->kind != KEY_WORDS) {
        return refuse(r, column, "key", row->key, "is given a second time");
    }
    *r->given |= bit;
    const char *advice = policy_row_set(row, r->base, value, room);
    if (advice == NULL) {
        return QN_OK;
    }
    snprintf(words, sizeof words, "must be %s", advice);
    char what[64];
    snprintf(what, sizeof what, "%s =", row->key);
    return refuse(r, column, what, value, words);
}

static qn_status take_key(reading *r, line_text line, size_t column) {
    char *equals = strchr(line.text, '=');
    if (equals == NULL || equals == line.text) {
        return refuse(r, column, "the line", line.text, "is neither [section] nor key = value");
    }
    if (r->section == SECTION_COUNT) {
        return refuse(r, column, "the key", line.text, "stands before the first [section]");
    }
    char *end = equals, *value = equals + 1 + strspn(equals + 1, " \t");
    while (end > line.text && (end[-1] == ' ' || end[-1] == '\t')) {
        end--;
    }
    *end = 0;
    row_list list = {.next = 0};
    list.rows = policy_section_rows(r->section, &list.n);
    for (uint32_t i = 0; i < list.n; i++) {
        if (strcmp(list.rows[i].key, line.text) == 0) {
            return set_key(r, &list.rows[i], UINT64_C(1) << i, value, column + (size_t)(value - line.text));
        }
    }
    return refuse_key(r, column, line.text, list);
}

/* ---------------------------------------------------------------- the text */

/* A text of lines is no place for bytes that nobody sees. */
static qn_status check_bytes(const reading *r, const char *text, size_t size) {
    const uint64_t wrong = utf8_first_invalid(text, size);
    if (wrong != UTF8_ALL_VALID) {
        return FAIL(r->err, QN_BAD_INPUT, "%s: line %u, column %llu: is no UTF-8", r->path, r->line, (unsigned long long)wrong + 1);
    }
    for (size_t i = 0; i < size; i++) {
        if (((unsigned char)text[i] < 0x20 && text[i] != '\t') || text[i] == 0x7F) {
            return FAIL(r->err, QN_BAD_INPUT, "%s: line %u, column %zu: a control character 0x%02x", r->path, r->line, i + 1,
                        (unsigned)(unsigned char)text[i]);
        }
    }
    return QN_OK;
}

static qn_status take_line(reading *r, const char *text, size_t size) {
    size_t first = 0;
    QN_TRY(check_bytes(r, text, size), r->err, "reading the policy");
    while (first < size && (text[first] == ' ' || text[first] == '\t')) {
        first++;
    }
    while (size > first && (text[size - 1] == ' ' || text[size - 1] == '\t')) {
        size--;
    }
    if (first == size || text[first] == '#' || text[first] == ';') {
        return QN_OK;
    }
    line_text line = {strndup(text + first, size - first), size - first};
    if (line.text == NULL) {
        return FAIL(r->err, QN_NO_HOST_MEM, "%s: out of memory", r->path);
    }
    const qn_status status = line.text[0] == '[' ? take_section(r, line, first + 1) : take_key(r, line, first + 1);
    free(line.text);
    return status;
}

static qn_status take_text(reading *r, fmt_span text) {
    const char *at = (const char *)text.data, *end = at + text.size;
    qn_status status = QN_OK;
    while (status >= 0 && at < end) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        const size_t size = (size_t)((stop != NULL ? stop : end) - at);
        r->line++;
        status = take_line(r, at, size > 0 && at[size - 1] == '\r' ? size - 1 : size);
        at += size + 1;
    }
    return status;
}

static qn_status begin_policy(policy *p, const char *path, error_context *err) {
    memset(p, 0, sizeof *p);
    p->path = strdup(path);
    bool is_done = p->path != NULL;
    for (policy_section section = 0; section < SECTION_COUNT; section++) {
        is_done = (policy_section_is_named(section) || policy_section_init(section, &p->is)) && is_done;
    }
    return is_done ? QN_OK : FAIL(err, QN_NO_HOST_MEM, "%s: out of memory", path);
}

qn_status policy_parse(fmt_span text, const char *path, policy *out_policy, error_context *err) {
    reading r = {.into = out_policy, .path = path, .section = SECTION_COUNT, .err = err};
    QN_TRY(begin_policy(out_policy, path, err), err, "reading the policy");
    if (text.size > POLICY_MAX_BYTES) {
        return FAIL(err, QN_LIMIT, "%s: a policy has at most %u bytes", path, POLICY_MAX_BYTES);
    }
    QN_TRY(take_text(&r, text), err, "reading the policy");
    QN_TRY(policy_check(out_policy, err), err, "reading the policy");
    return policy_compute_digest(out_policy, false, err);
}

qn_status policy_read(const char *path, policy *out_policy, error_context *err) {
    mapped_file file = {0};
    memset(out_policy, 0, sizeof *out_policy);
    QN_TRY(mapped_file_open(path, &file, err), err, "reading the policy");
    qn_status status = policy_parse(file.span, path, out_policy, err);
    status = status < 0 ? status : mapped_file_check(&file, err);
    mapped_file_close(&file);
    return status < 0 ? status : policy_compute_digest(out_policy, true, err);
}
