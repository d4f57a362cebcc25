/* revocations.c — the list of keys that count no more, and the lines that it shares with the list of keys. */
#define _DEFAULT_SOURCE /* flock */
#include "keys/revocations.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

#include "base/atomic_file.h"
#include "base/mapped_file.h"
#include "common/utf8.h"

#define MOST_REASON 400u

/* ---------------------------------------------------------------- lines */

static bool is_blank(char c) {
    return c == ' ' || c == '\t' || c == '\r';
}

static qn_status take_line(const char *path, const char *text, size_t size, uint32_t line, key_line_fn *take, void *ctx,
                           error_context *err) {
    while (size > 0 && is_blank(text[size - 1])) {
        size--;
    }
    if (size == 0 || text[0] == '#') {
        return QN_OK;
    }
    size_t word = 0, at;
    while (word < size && !is_blank(text[word])) {
        word++;
    }
    for (at = word; at < size && is_blank(text[at]); at++) {
    }
    public_key key;
    if (public_key_parse(text, word, &key, NULL) < 0) {
        return FAIL(err, QN_BAD_INPUT, "%s: line %u: does not begin with ed25519: and 64 hexadecimal digits", path, line);
    }
    if (utf8_first_invalid(text, size) != UTF8_ALL_VALID || memchr(text, '\0', size) != NULL) {
        return FAIL(err, QN_BAD_INPUT, "%s: line %u: is no text in UTF-8", path, line);
    }
    return take(ctx, &key, text + at, size - at, line, err);
}

qn_status key_lines_parse(fmt_span span, const char *path, key_line_fn *take, void *ctx, error_context *err) {
    const char *text = (const char *)span.data;
    uint64_t at = 0;
    qn_status status = QN_OK;
    for (uint32_t line = 1; status >= 0 && at < span.size; line++) {
        const char *end = memchr(text + at, '\n', (size_t)(span.size - at));
        const size_t size = end != NULL ? (size_t)(end - text - at) : (size_t)(span.size - at);
        status = take_line(path, text + at, size, line, take, ctx, err);
        at += size + 1;
    }
    return status;
}

qn_status key_lines_read(const char *path, key_line_fn *take, void *ctx, error_context *err) {
    mapped_file file = {.fd = -1};
    QN_TRY(mapped_file_open(path, &file, err), err, "reading a list of keys");
    qn_status status = key_lines_parse(file.span, path, take, ctx, err);
    status = status < 0 ? status : mapped_file_check(&file, err);
    mapped_file_close(&file);
    return status;
}

/* ---------------------------------------------------------------- reading */

static qn_status take_revocation(void *ctx, const public_key *key, const char *rest, size_t rest_size, uint32_t line,
                                 error_context *err) {
    revocations *list = ctx;
    (void)line;
    revocation *grown = realloc(list->items, (list->n_items + 1) * sizeof *grown);
    char *text = strndup(rest, rest_size);
    list->items = grown != NULL ? grown : list->items;
    if (grown == NULL || text == NULL) {
        free(text);
        return FAIL(err, QN_NO_HOST_MEM, "out of memory");
    }
    list->items[list->n_items++] = (revocation){*key, text};
    return QN_OK;
}

qn_status revocations_read(const char *path, revocations *out_list, error_context *err) {
    revocations list = {0};
    if (access(path, F_OK) != 0 && errno == ENOENT) {
        *out_list = list;
        return QN_OK;
    }
    const qn_status status = key_lines_read(path, take_revocation, &list, err);
    if (status < 0) {
        revocations_free(&list);
        return status;
    }
    *out_list = list;
    return QN_OK;
}

void revocations_free(revocations *list) {
    for (size_t i = 0; i < list->n_items; i++) {
        free(list->items[i].text);
    }
    free(list->items);
    memset(list, 0, sizeof *list);
}

const revocation *revocations_find(const revocations *list, const uint8_t id[KEY_ID_BYTES]) {
    for (size_t i = 0; i < list->n_items; i++) {
        if (memcmp(list->items[i].key.id, id, KEY_ID_BYTES) == 0) {
            return &list->items[i];
        }
    }
    return NULL;
}

/* ---------------------------------------------------------------- adding */

static qn_status check_reason(const char *reason, error_context *err) {
    const size_t size = strlen(reason);
    for (size_t i = 0; i < size; i++) {
        if ((unsigned char)reason[i] < 0x20 || reason[i] == 0x7F) {
            return FAIL(err, QN_BAD_INPUT, "the reason has a control character at byte %zu; it is one line of text", i);
        }
    }
    if (size > MOST_REASON || utf8_first_invalid(reason, size) != UTF8_ALL_VALID) {
        return FAIL(err, QN_BAD_INPUT, "the reason is one line of UTF-8 of at most %u bytes", MOST_REASON);
    }
    return QN_OK;
}

/* One write, so that the line is there as a whole. */
static qn_status append_line(int fd, const char *path, const char *line, size_t size, error_context *err) {
    const off_t end = lseek(fd, 0, SEEK_END);
    if (end < 0) {
        return error_from_errno(err, errno, path, "cannot be written");
    }
    const ssize_t n = write(fd, line, size);
    if (n != (ssize_t)size || fsync(fd) != 0) {
        const int number = n >= 0 && n != (ssize_t)size ? ENOSPC : errno;
        const bool is_cut = ftruncate(fd, end) == 0;
        return error_from_errno(err, number, path, is_cut ? "cannot be written; nothing was added" : "cannot be written");
    }
    atomic_file_sync_folder(path);
    return QN_OK;
}

static qn_status add_locked(int fd, const char *path, const public_key *key, uint64_t now_ms, const char *reason,
                            error_context *err) {
    char line[KEY_TEXT_SIZE + 64 + MOST_REASON], text[KEY_TEXT_SIZE], when[32];
    revocations list;
    struct tm parts;
    const time_t seconds = (time_t)(now_ms / 1000);
    QN_TRY(revocations_read(path, &list, err), err, "revoking a key");
    const bool is_there = revocations_find(&list, key->id) != NULL;
    revocations_free(&list);
    if (is_there) {
        return QN_NOTE_END;
    }
    if (gmtime_r(&seconds, &parts) == NULL || strftime(when, sizeof when, "%Y-%m-%dT%H:%M:%SZ", &parts) == 0) {
        return FAIL(err, QN_BAD_INPUT, "this time cannot be written as a date");
    }
    const int size = snprintf(line, sizeof line, "%s %s%s%s\n", public_key_text(key, text), when, reason[0] != '\0' ? " " : "", reason);
    return append_line(fd, path, line, (size_t)size, err);
}

qn_status revocations_add(const char *path, const public_key *key, uint64_t now_ms, const char *reason, error_context *err) {
    const char *words = reason != NULL ? reason : "";
    QN_TRY(check_reason(words, err), err, "revoking a key");
    const int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0644);
    if (fd < 0) {
        return error_from_errno(err, errno, path, "cannot be opened");
    }
    const qn_status status = flock(fd, LOCK_EX) == 0 ? add_locked(fd, path, key, now_ms, words, err)
                                                     : error_from_errno(err, errno, path, "cannot be locked");
    close(fd);
    return status;
}
