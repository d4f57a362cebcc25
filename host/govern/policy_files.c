/* policy_files.c — what a policy names by path, read once: whoever uses a file later uses the bytes that the policy's digest is over. */
#include <stdlib.h>
#include <string.h>

#include "base/mapped_file.h"
#include "govern/policy_internal.h"
#include "govern/policy_table.h"
#include "graph/file_digest.h"

/* A copy, since a mapping shows what is written into the file afterwards. */
static qn_status copy_bytes(const mapped_file *from, policy_file *to, error_context *err) {
    if (from->span.size > POLICY_FILE_MAX_BYTES) {
        return FAIL(err, QN_LIMIT, "%s: a file of a policy has at most %u bytes", from->path, POLICY_FILE_MAX_BYTES);
    }
    to->bytes = malloc(from->span.size + 1);
    if (to->bytes == NULL) {
        return FAIL(err, QN_NO_HOST_MEM, "%s: out of memory", from->path);
    }
    to->size = from->span.size;
    if (to->size > 0) {
        memcpy(to->bytes, from->span.data, to->size);
    }
    to->bytes[to->size] = 0;
    QN_TRY(mapped_file_check(from, err), err, "reading %s", from->path);
    return file_digest_of_span((fmt_span){(const uint8_t *)to->bytes, to->size}, from->path, NULL, NULL, to->digest, err);
}

const policy_file *policy_find_file(const policy *p, const char *path) {
    for (uint32_t i = 0; i < p->n_files; i++) {
        if (strcmp(p->files[i].path, path) == 0) {
            return &p->files[i];
        }
    }
    return NULL;
}

static qn_status load(policy *p, const policy_row *row, const char *path, error_context *err) {
    char room[POLICY_PATH_SIZE];
    mapped_file file = {0};
    if (policy_find_file(p, path) != NULL) {
        return QN_OK;
    }
    policy_file *grown = realloc(p->files, (p->n_files + 1) * sizeof *grown);
    if (grown == NULL) {
        return FAIL(err, QN_NO_HOST_MEM, "%s: out of memory", p->path);
    }
    p->files = grown;
    policy_file *one = &grown[p->n_files];
    *one = (policy_file){.path = strdup(path)};
    p->n_files++; /* from here on policy_free has it */
    QN_TRY(one->path != NULL ? policy_resolve(p, path, room, err) : FAIL(err, QN_NO_HOST_MEM, "%s: out of memory", p->path), err,
           "finding a file of the policy");
    QN_TRY(mapped_file_open(room, &file, err), err, "%s: reading [%s] %s", p->path, policy_section_name(row->section), row->key);
    const qn_status status = copy_bytes(&file, one, err);
    mapped_file_close(&file);
    return status;
}

static qn_status load_section(policy *p, policy_section section, const void *base, error_context *err) {
    uint32_t n;
    const policy_row *row = policy_section_rows(section, &n);
    for (uint32_t i = 0; i < n; i++) {
        const char *const path = row[i].kind == KEY_FILE ? *(char *const *)(const void *)((const char *)base + row[i].at) : NULL;
        if (path != NULL) {
            QN_TRY(load(p, &row[i], path, err), err, "reading the policy's files");
        }
    }
    return QN_OK;
}

qn_status policy_load_files(policy *p, error_context *err) {
    for (policy_section section = 0; section < SECTION_COUNT; section++) {
        if (!policy_section_is_named(section)) {
            QN_TRY(load_section(p, section, &p->is, err), err, "reading the policy's files");
        }
    }
    for (uint32_t i = 0; i < p->n_scopes; i++) {
        QN_TRY(load_section(p, SECTION_SCOPE, &p->scopes[i], err), err, "reading the policy's files");
    }
    return QN_OK;
}

void policy_free_files(policy *p) {
    for (uint32_t i = 0; i < p->n_files; i++) {
        free(p->files[i].path);
        free(p->files[i].bytes);
    }
    free(p->files);
    p->files = NULL;
    p->n_files = 0;
}

qn_status policy_get_file(const policy *p, const char *path, char room[POLICY_PATH_SIZE], fmt_str *out_bytes, error_context *err) {
    const policy_file *file = policy_find_file(p, path);
    if (file == NULL) {
        return FAIL(err, QN_INTERNAL, "%s: %s was not read with the policy", p->path, path);
    }
    *out_bytes = (fmt_str){file->bytes, file->size};
    return policy_resolve(p, path, room, err);
}
