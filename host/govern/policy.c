/* policy.c — a policy as a whole: what its keys say together, its digest, what is found in it. */
#include "govern/policy.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/fnv.h"
#include "common/sha.h"
#include "govern/policy_internal.h"
#include "govern/policy_table.h"
#include "graph/file_digest.h"

uint64_t policy_name_id(const char *name) {
    uint64_t id = 0;
    const bool is_number = strncmp(name, "0x", 2) == 0 && strlen(name) == 18 && strspn(name + 2, "0123456789abcdefABCDEF") == 16;
    if (!is_number) {
        return q42_hash(name, strlen(name));
    }
    for (const char *at = name + 2; *at != 0; at++) {
        id = id << 4 | (uint64_t)(*at <= '9' ? *at - '0' : (*at | 0x20) - 'a' + 10);
    }
    return id;
}

uint64_t policy_name_term(const char *name) {
    const uint64_t hash = fnv1a64_more(fnv1a64("<", 1), name, strlen(name));
    return fnv1a64_more(hash, ">", 1) & FNV_Q_MASK;
}

void policy_free(policy *p) {
    for (policy_section section = 0; section < SECTION_COUNT; section++) {
        if (!policy_section_is_named(section)) {
            policy_section_free(section, &p->is);
        }
    }
    for (uint32_t i = 0; i < p->n_scopes; i++) {
        policy_section_free(SECTION_SCOPE, &p->scopes[i]);
        free(p->scopes[i].head.name);
    }
    for (uint32_t i = 0; i < p->n_profiles; i++) {
        policy_section_free(SECTION_PROFILE, &p->profiles[i]);
        free(p->profiles[i].head.name);
    }
    for (uint32_t i = 0; i < p->n_predicates; i++) {
        policy_section_free(SECTION_PREDICATE, &p->predicates[i]);
        free(p->predicates[i].head.name);
    }
    free(p->scopes);
    free(p->profiles);
    free(p->predicates);
    free(p->path);
    memset(p, 0, sizeof *p);
}

/* ---------------------------------------------------------------- what keys say together */

static qn_status check_agreement(const policy *p, const policy_head *head, const policy_agreement *a, error_context *err) {
    if (a->suspend && a->threshold > a->signers.n_items) {
        return FAIL(err, QN_BAD_INPUT, "%s: line %u, column 1: %s: suspend = yes needs at least threshold = %u signers; there are %u", p->path,
                    head->line, head->name, a->threshold, a->signers.n_items);
    }
    for (uint32_t i = 0; i < a->signers.n_items; i++) {
        for (uint32_t k = 0; k < i; k++) {
            if (strcmp(a->signers.items[i], a->signers.items[k]) == 0) {
                return FAIL(err, QN_BAD_INPUT, "%s: line %u, column 1: %s: signer %s is there twice", p->path, head->line, head->name,
                            a->signers.items[i]);
            }
        }
    }
    return QN_OK;
}

static qn_status check_agreements(const policy *p, error_context *err) {
    for (uint32_t i = 0; i < p->n_scopes; i++) {
        QN_TRY(check_agreement(p, &p->scopes[i].head, &p->scopes[i].agreement, err), err, "checking the policy");
    }
    for (uint32_t i = 0; i < p->n_predicates; i++) {
        QN_TRY(check_agreement(p, &p->predicates[i].head, &p->predicates[i].agreement, err), err, "checking the policy");
    }
    return QN_OK;
}

qn_status policy_check(const policy *p, error_context *err) {
    const policy_values *is = &p->is;
    const char *missing = is->policy.version == POLICY_NONE ? "[policy] version = N"
                          : is->agent.did == NULL           ? "[agent] did = DID"
                          : is->commit.log == NULL          ? "[commit] log = FOLDER"
                          : is->commit.key == NULL && !is->commit.is_unsigned ? "[commit] key = FILE, or unsigned = yes,"
                                                                              : NULL;
    if (missing != NULL) {
        return FAIL(err, QN_BAD_INPUT, "%s: line 1, column 1: %s is missing; it has to be there", p->path, missing);
    }
    if (is->commit.is_unsigned && is->commit.key != NULL) {
        return FAIL(err, QN_BAD_INPUT, "%s: line 1, column 1: [commit] has a key and unsigned = yes; one of them has to go", p->path);
    }
    if (is->thermal.warm >= is->thermal.critical || is->thermal.hysteresis >= is->thermal.critical - is->thermal.warm) {
        return FAIL(err, QN_BAD_INPUT, "%s: line 1, column 1: [thermal] warm = %.0f, critical = %.0f, hysteresis = %.0f: the bands overlap",
                    p->path, is->thermal.warm, is->thermal.critical, is->thermal.hysteresis);
    }
    return check_agreements(p, err);
}

/* ---------------------------------------------------------------- digest */

qn_status policy_resolve(const policy *p, const char *path, char room[POLICY_PATH_SIZE], error_context *err) {
    const char *slash = strrchr(p->path, '/');
    const int folder = path[0] == '/' || slash == NULL ? 0 : (int)(slash - p->path + 1);
    const int size = snprintf(room, POLICY_PATH_SIZE, "%.*s%s", folder, p->path, path);
    return size >= 0 && (size_t)size < POLICY_PATH_SIZE ? QN_OK : FAIL(err, QN_LIMIT, "%s: the path %s is too long", p->path, path);
}

static qn_status write_file(const policy *p, const policy_row *row, const char *path, text_buffer *out, error_context *err) {
    char room[POLICY_PATH_SIZE], hex[SHA256_HEX_SIZE], line[POLICY_PATH_SIZE];
    uint8_t digest[Q42_DIGEST_BYTES];
    QN_TRY(policy_resolve(p, path, room, err), err, "finding a file of the policy");
    QN_TRY(file_digest(room, NULL, NULL, digest, err), err, "%s: reading [%s] %s", p->path, policy_section_name(row->section), row->key);
    sha256_to_hex(digest, hex);
    snprintf(line, sizeof line, "%s=sha256:%s\n", row->key, hex);
    return text_buffer_append(out, line, strlen(line)) ? QN_OK : FAIL(err, QN_NO_HOST_MEM, "%s: out of memory", p->path);
}

static qn_status write_section(const policy *p, policy_section section, const char *name, const void *base, bool with_files,
                               text_buffer *out, error_context *err) {
    uint32_t n;
    const policy_row *row = policy_section_rows(section, &n);
    bool is_done = text_buffer_append(out, "[", 1) &&
                   text_buffer_append(out, policy_section_name(section), strlen(policy_section_name(section))) &&
                   (name == NULL || (text_buffer_append(out, " ", 1) && text_buffer_append(out, name, strlen(name)))) &&
                   text_buffer_append(out, "]\n", 2);
    for (uint32_t i = 0; is_done && i < n; i++) {
        const char *const path = row[i].kind == KEY_FILE ? *(char *const *)(const void *)((const char *)base + row[i].at) : NULL;
        if (path != NULL && with_files) {
            QN_TRY(write_file(p, &row[i], path, out, err), err, "computing the digest of the policy");
        } else {
            is_done = policy_row_write(&row[i], base, out);
        }
    }
    return is_done ? QN_OK : FAIL(err, QN_NO_HOST_MEM, "%s: out of memory", p->path);
}

static int compare_heads(const void *a, const void *b) {
    const policy_head *const *one = a, *const *other = b;
    return strcmp((*one)->name, (*other)->name);
}

/* Sections with names in the order of these, so that the order in the file does not matter. */
static qn_status write_named(const policy *p, policy_section section, const void *items, uint32_t n, size_t size, bool with_files,
                             text_buffer *out, error_context *err) {
    const policy_head **order = calloc(n > 0 ? n : 1, sizeof *order);
    qn_status status = order != NULL ? QN_OK : FAIL(err, QN_NO_HOST_MEM, "%s: out of memory", p->path);
    for (uint32_t i = 0; status >= 0 && i < n; i++) {
        order[i] = (const policy_head *)(const void *)((const char *)items + i * size);
    }
    if (status >= 0 && n > 1) {
        qsort(order, n, sizeof *order, compare_heads);
    }
    for (uint32_t i = 0; status >= 0 && i < n; i++) {
        status = write_section(p, section, order[i]->name, order[i], with_files, out, err);
    }
    free(order);
    return status;
}

qn_status policy_canonical(const policy *p, bool with_files, text_buffer *out, error_context *err) {
    qn_status status = QN_OK;
    for (policy_section section = 0; status >= 0 && section < SECTION_COUNT; section++) {
        status = section == SECTION_SCOPE
                     ? write_named(p, section, p->scopes, p->n_scopes, sizeof *p->scopes, with_files, out, err)
                 : section == SECTION_PROFILE
                     ? write_named(p, section, p->profiles, p->n_profiles, sizeof *p->profiles, with_files, out, err)
                 : section == SECTION_PREDICATE
                     ? write_named(p, section, p->predicates, p->n_predicates, sizeof *p->predicates, with_files, out, err)
                     : write_section(p, section, NULL, &p->is, with_files, out, err);
    }
    return status;
}

qn_status policy_compute_digest(policy *p, bool with_files, error_context *err) {
    text_buffer text = {0};
    qn_status status = policy_canonical(p, with_files, &text, err);
    if (status >= 0 && !sha256_digest(text.text, text.size, p->digest)) {
        status = FAIL(err, QN_INTERNAL, "libcrypto refuses to compute SHA-256");
    }
    text_buffer_free(&text);
    return status;
}

/* ---------------------------------------------------------------- finding */

const policy_scope *policy_find_scope(const policy *p, uint64_t id) {
    for (uint32_t i = 0; i < p->n_scopes; i++) {
        if (p->scopes[i].head.id == id || p->scopes[i].head.term == id) {
            return &p->scopes[i];
        }
    }
    return NULL;
}

const policy_profile *policy_find_profile(const policy *p, const char *name) {
    for (uint32_t i = 0; i < p->n_profiles; i++) {
        if (strcmp(p->profiles[i].head.name, name) == 0) {
            return &p->profiles[i];
        }
    }
    return NULL;
}

const policy_predicate *policy_find_predicate(const policy *p, uint64_t id) {
    for (uint32_t i = 0; i < p->n_predicates; i++) {
        if (p->predicates[i].head.id == id || p->predicates[i].head.term == id) {
            return &p->predicates[i];
        }
    }
    return NULL;
}

bool policy_words_have(const policy_words *words, const char *text) {
    for (uint32_t i = 0; i < words->n_items; i++) {
        if (strcmp(words->items[i], text) == 0) {
            return true;
        }
    }
    return false;
}

bool policy_words_have_id(const policy_words *words, uint64_t id) {
    for (uint32_t i = 0; i < words->n_items; i++) {
        if (q42_hash(words->items[i], strlen(words->items[i])) == id) {
            return true;
        }
    }
    return false;
}
