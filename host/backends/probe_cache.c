/* probe_cache.c — one text file, read and replaced as a whole; one small file for each probe under way. */
#define _GNU_SOURCE
#include "backends/probe_cache.h"

#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/atomic_file.h"
#include "base/cache_folder.h"
#include "base/decimal.h"
#include "common/fnv.h"

#define MAGIC "quoin-probe-cache 1\n"
#define RECORD "plugin = "
#define MOST_BYTES (1u << 20)
#define MOST_RECORDS 64u
#define JOURNAL "probing-"

/* One record of the file: its line taken apart, and where its answer lies. */
typedef struct record {
    const char *begin, *end; /* the whole record */
    char key[PROBE_KEY_SIZE], boot[64], name[64];
    uint64_t time;
    const char *answer;
    size_t answer_size;
} record;

static void read_boot_id(char *out, size_t room) {
    const int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
    const ssize_t n = fd >= 0 ? read(fd, out, room - 1) : 0;
    out[n > 0 ? n : 0] = '\0';
    out[strcspn(out, "\n ")] = '\0';
    if (fd >= 0) {
        close(fd);
    }
}

static void make_path(const probe_cache *cache, const char *name, char *out, size_t room) {
    snprintf(out, room, "%s/%s", cache->folder, name);
}

/* A regular file of ours, whole; anything else counts as empty. */
static void read_file(const char *path, text_buffer *out) {
    struct stat info;
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0) {
        return;
    }
    const bool is_sound = fstat(fd, &info) == 0 && S_ISREG(info.st_mode) && info.st_uid == geteuid() && info.st_size <= MOST_BYTES;
    char part[8192];
    for (ssize_t n = 1; is_sound && n > 0 && out->size <= MOST_BYTES;) {
        n = read(fd, part, sizeof part);
        if (n > 0 && !text_buffer_append(out, part, (size_t)n)) {
            n = 0;
        }
    }
    close(fd);
    if (out->size > MOST_BYTES || out->size < strlen(MAGIC) || memcmp(out->text, MAGIC, strlen(MAGIC)) != 0) {
        text_buffer_free(out);
        *out = (text_buffer){0};
    }
}

void probe_cache_open(probe_cache *cache, const char *folder) {
    char path[1100];
    memset(cache, 0, sizeof *cache);
    if (folder != NULL) {
        snprintf(cache->folder, sizeof cache->folder, "%s", folder);
    } else {
        cache_folder_find(cache->folder, sizeof cache->folder);
    }
    read_boot_id(cache->boot, sizeof cache->boot);
    if (cache->folder[0] != '\0') {
        make_path(cache, "probe", path, sizeof path);
        read_file(path, &cache->text);
    }
}

void probe_cache_close(probe_cache *cache) {
    text_buffer_free(&cache->text);
    memset(cache, 0, sizeof *cache);
}

/* --- Records ---------------------------------------------------------------------------------------------------------- */

/* The word at *at, up to a space or the line's end; moves behind it and one space. */
static bool take_word(const char **at, const char *end, char *out, size_t room) {
    size_t n = 0;
    while (*at + n < end && (*at)[n] != ' ') {
        n++;
    }
    if (n == 0 || n >= room) {
        return false;
    }
    memcpy(out, *at, n);
    out[n] = '\0';
    *at += n;
    *at += *at < end && **at == ' ';
    return true;
}

static bool read_line(const char *at, const char *end, record *out) {
    char time[24];
    at += strlen(RECORD);
    return take_word(&at, end, out->key, sizeof out->key) && take_word(&at, end, time, sizeof time) &&
           take_word(&at, end, out->boot, sizeof out->boot) && take_word(&at, end, out->name, sizeof out->name) &&
           decimal_read_whole(time, UINT64_MAX, &out->time);
}

/* The record at or behind *at; moves behind it. */
static bool next_record(const probe_cache *cache, size_t *at, record *out) {
    while (*at < cache->text.size) {
        const char *const all_end = cache->text.text + cache->text.size;
        const char *begin = cache->text.text + *at, *line_end = memchr(begin, '\n', cache->text.size - *at);
        const size_t left = (size_t)(all_end - begin);
        if (line_end == NULL || left < strlen(RECORD) || memcmp(begin, RECORD, strlen(RECORD)) != 0) {
            return false;
        }
        const char *end = memmem(line_end, (size_t)(all_end - line_end), "\nend\n", 5);
        if (end == NULL) {
            return false;
        }
        *at = (size_t)(end + 5 - cache->text.text);
        out->begin = begin;
        out->end = end + 5;
        out->answer = line_end + 1;
        out->answer_size = (size_t)(end + 5 - out->answer);
        if (read_line(begin, line_end, out)) {
            return true;
        }
    }
    return false;
}

bool probe_answer_is_negative(const probe_answer *answer) {
    bool is_negative = answer->end.status < 0;
    for (uint32_t i = 0; i < answer->n_devices; i++) {
        is_negative = is_negative || answer->devices[i].end.status < 0;
    }
    return is_negative;
}

bool probe_cache_find(const probe_cache *cache, const char *key, uint64_t now, bool is_named, probe_answer *out, uint64_t *out_age) {
    size_t at = strlen(MAGIC);
    record r;
    while (next_record(cache, &at, &r)) {
        if (strcmp(r.key, key) != 0 || !probe_answer_read(r.answer, r.answer_size, out)) {
            continue;
        }
        *out_age = now > r.time ? now - r.time : 0;
        const bool is_old = strcmp(r.boot, cache->boot) != 0 || *out_age >= PROBE_CACHE_DAY || r.time > now;
        return !(probe_answer_is_negative(out) && (is_named || is_old));
    }
    return false;
}

/* All but the one with this key, and but the oldest, which stand first, when there are too many. */
static bool copy_others(const probe_cache *cache, const char *key, text_buffer *out) {
    size_t at = strlen(MAGIC);
    uint32_t n = 0;
    record r;
    while (next_record(cache, &at, &r)) {
        n++;
    }
    at = strlen(MAGIC);
    bool is_copied = text_buffer_append(out, MAGIC, strlen(MAGIC));
    for (; is_copied && next_record(cache, &at, &r); n--) {
        if (strcmp(r.key, key) != 0 && n < MOST_RECORDS) {
            is_copied = text_buffer_append(out, r.begin, (size_t)(r.end - r.begin));
        }
    }
    return is_copied;
}

static bool append_record(text_buffer *out, const probe_cache *cache, const char *key, const char *name, uint64_t now,
                          const probe_answer *answer) {
    char line[256];
    const int n = snprintf(line, sizeof line, RECORD "%s %" PRIu64 " %s %s\n", key, now,
                           cache->boot[0] != '\0' ? cache->boot : "unknown", name);
    return text_buffer_append(out, line, (size_t)n) && probe_answer_write_begin(out) &&
           probe_answer_write_facts(out, answer) && probe_answer_write_end(out);
}

static void write_file(const probe_cache *cache) {
    char path[1100];
    atomic_file file;
    fmt_diag diag;
    make_path(cache, "probe", path, sizeof path);
    fmt_status status = cache_folder_make(cache->folder) ? atomic_file_create(&file, path, true, 0, &diag) : FMT_IO;
    if (status == FMT_OK) {
        status = atomic_file_write(&file, 0, cache->text.text, cache->text.size, &diag);
        status = status == FMT_OK ? atomic_file_commit(&file, &diag) : status;
        if (status != FMT_OK) {
            atomic_file_abort(&file);
        }
    }
}

void probe_cache_store(probe_cache *cache, const char *key, const char *name, uint64_t now, const probe_answer *answer) {
    text_buffer text = {0};
    if (cache->folder[0] == '\0') {
        return;
    }
    if (copy_others(cache, key, &text) && append_record(&text, cache, key, name, now, answer)) {
        text_buffer_free(&cache->text);
        cache->text = text;
        write_file(cache);
    } else {
        text_buffer_free(&text);
    }
}

void probe_cache_clear(probe_cache *cache) {
    DIR *entries = cache->folder[0] != '\0' ? opendir(cache->folder) : NULL;
    for (struct dirent *e; entries != NULL && (e = readdir(entries)) != NULL;) {
        if (strcmp(e->d_name, "probe") == 0 || strncmp(e->d_name, JOURNAL, strlen(JOURNAL)) == 0) {
            (void)unlinkat(dirfd(entries), e->d_name, 0);
        }
    }
    if (entries != NULL) {
        closedir(entries);
    }
    text_buffer_free(&cache->text);
    cache->text = (text_buffer){0};
}

/* --- Journal ---------------------------------------------------------------------------------------------------------- */

static void make_journal_path(const probe_cache *cache, const char *plugin, char *out, size_t room) {
    snprintf(out, room, "%s/" JOURNAL "%016" PRIx64, cache->folder, fnv1a64(plugin, strlen(plugin)));
}

/* Was the file at `path` left by another start of the system? */
static bool is_left_over(const probe_cache *cache, const char *path) {
    char text[64] = "";
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    const ssize_t n = fd >= 0 ? read(fd, text, sizeof text - 1) : 0;
    if (fd >= 0) {
        close(fd);
    }
    text[n > 0 ? n : 0] = '\0';
    text[strcspn(text, " \n")] = '\0';
    return n > 0 && cache->boot[0] != '\0' && strcmp(text, cache->boot) != 0;
}

static void sync_folder(const char *folder) {
    const int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd >= 0) {
        (void)fsync(fd);
        close(fd);
    }
}

bool probe_journal_begin(const probe_cache *cache, const char *plugin, bool is_named) {
    char path[1100], line[1200];
    if (cache->folder[0] == '\0') {
        return true;
    }
    make_journal_path(cache, plugin, path, sizeof path);
    if (is_left_over(cache, path) && !is_named) {
        return false;
    }
    const int fd = cache_folder_make(cache->folder) ? open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600) : -1;
    if (fd >= 0) {
        const int n = snprintf(line, sizeof line, "%s %.1000s\n", cache->boot, plugin);
        if (write(fd, line, (size_t)n) == n) {
            (void)fsync(fd);
            sync_folder(cache->folder);
        }
        close(fd);
    }
    return true;
}

void probe_journal_end(const probe_cache *cache, const char *plugin) {
    char path[1100];
    if (cache->folder[0] != '\0') {
        make_journal_path(cache, plugin, path, sizeof path);
        (void)unlink(path);
    }
}
