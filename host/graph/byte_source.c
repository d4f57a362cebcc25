/* byte_source.c — reading, and telling the compression by content. */
#include "graph/byte_source.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "byte_decoder.h"

#define RAW_SIZE ((size_t)256 << 10)
#define MAGIC_SIZE 4u

struct byte_source {
    int fd;                     /* -1: a text is read */
    fmt_str text;               /* what is left of it */
    bool is_regular;
    char *name;
    uint8_t *raw;               /* [RAW_SIZE] stored bytes; raw_at .. raw_end are not used yet */
    size_t raw_at, raw_end;
    bool raw_is_over;
    const byte_decoder *kind;   /* null: stored as it is */
    void *decoder;
    bool is_over;               /* the decoder stands between two members */
    uint64_t size;
    _Atomic uint64_t n_read;
};

static ssize_t take_text(byte_source *source, uint8_t *out, size_t room) {
    const size_t size = source->text.size < room ? (size_t)source->text.size : room;
    if (size > 0) {
        memcpy(out, source->text.data, size);
        source->text.data += size;
        source->text.size -= size;
    }
    return (ssize_t)size;
}

/* Up to `room` bytes, 0 at the end only. */
static qn_status read_some(byte_source *source, uint8_t *out, size_t room, size_t *out_size, error_context *err) {
    ssize_t size;
    do {
        size = source->fd < 0 ? take_text(source, out, room) : read(source->fd, out, room);
    } while (size < 0 && errno == EINTR);
    if (size < 0) {
        return error_from_errno(err, errno, source->name, "reading");
    }
    atomic_fetch_add_explicit(&source->n_read, (uint64_t)size, memory_order_relaxed);
    *out_size = (size_t)size;
    return QN_OK;
}

/* Reads behind what is there, after moving that to the front. */
static qn_status fill_raw(byte_source *source, error_context *err) {
    size_t size = 0;
    memmove(source->raw, source->raw + source->raw_at, source->raw_end - source->raw_at);
    source->raw_end -= source->raw_at;
    source->raw_at = 0;
    const qn_status status = read_some(source, source->raw + source->raw_end, RAW_SIZE - source->raw_end, &size, err);
    source->raw_end += size;
    source->raw_is_over = status == QN_OK && size == 0;
    return status;
}

static bool has_magic(const byte_source *source, const char *magic, size_t size) {
    return source->raw_end - source->raw_at >= size && memcmp(source->raw + source->raw_at, magic, size) == 0;
}

static const byte_decoder *find_decoder(const byte_source *source) {
    static const struct {
        const byte_decoder *decoder;
        const char *magic;
        size_t size;
    } kinds[] = {
        {&byte_decoder_gzip, "\x1F\x8B", 2},
        {&byte_decoder_zstd, "\x28\xB5\x2F\xFD", 4},
        {&byte_decoder_lz4, "\x04\x22\x4D\x18", 4},
    };
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        if (has_magic(source, kinds[i].magic, kinds[i].size)) {
            return kinds[i].decoder;
        }
    }
    return NULL;
}

static qn_status recognise(byte_source *source, error_context *err) {
    while (source->raw_end < MAGIC_SIZE && !source->raw_is_over) {
        const qn_status status = fill_raw(source, err);
        if (status != QN_OK) {
            return status;
        }
    }
    if (has_magic(source, "\x02\x21\x4C\x18", 4)) {
        return FAIL(err, QN_BAD_FILE, "%s: LZ4 in its old form of 2012, which is not read; decompress it and compress it again "
                    "with lz4 or zstd", source->name);
    }
    source->kind = find_decoder(source);
    source->decoder = source->kind == NULL ? NULL : source->kind->create();
    if (source->kind != NULL && source->decoder == NULL) {
        return FAIL(err, QN_NO_HOST_MEM, "%s: no memory to decompress %s", source->name, source->kind->name);
    }
    return QN_OK;
}

static qn_status open_input(byte_source *source, const char *path, error_context *err) {
    struct stat facts;
    const bool is_stdin = strcmp(path, "-") == 0;
    source->name = strdup(is_stdin ? "standard input" : path);
    source->raw = malloc(RAW_SIZE);
    if (source->name == NULL || source->raw == NULL) {
        return FAIL(err, QN_NO_HOST_MEM, "%s: no memory to read it", path);
    }
    source->fd = is_stdin ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
    if (source->fd < 0 || fstat(source->fd, &facts) != 0) {
        return error_from_errno(err, errno, source->name, "opening");
    }
    if (S_ISDIR(facts.st_mode)) {
        return FAIL(err, QN_BAD_INPUT, "%s: a folder; name the files in it", source->name);
    }
    source->is_regular = S_ISREG(facts.st_mode) && lseek(source->fd, 0, SEEK_CUR) == 0;
    source->size = source->is_regular ? (uint64_t)facts.st_size : 0;
    return recognise(source, err);
}

static qn_status open_text(byte_source *source, const char *name, fmt_str text, error_context *err) {
    source->name = strdup(name);
    source->raw = malloc(RAW_SIZE);
    if (source->name == NULL || source->raw == NULL) {
        return FAIL(err, QN_NO_HOST_MEM, "%s: no memory to read it", name);
    }
    source->text = text;
    source->size = text.size;
    return recognise(source, err);
}

/* Of a file, or of a text that is not null. */
static qn_status open_either(const char *path, const fmt_str *text, byte_source **out_source, error_context *err) {
    byte_source *source = calloc(1, sizeof *source);
    if (source == NULL) {
        return FAIL(err, QN_NO_HOST_MEM, "%s: no memory to read it", path);
    }
    source->fd = -1;
    source->is_over = true;
    const qn_status status = text != NULL ? open_text(source, path, *text, err) : open_input(source, path, err);
    if (status != QN_OK) {
        byte_source_close(source);
        return status;
    }
    *out_source = source;
    return QN_OK;
}

qn_status byte_source_open(const char *path, byte_source **out_source, error_context *err) {
    return open_either(path, NULL, out_source, err);
}

qn_status byte_source_open_text(fmt_str text, const char *name, byte_source **out_source, error_context *err) {
    return open_either(name, &text, out_source, err);
}

void byte_source_close(byte_source *source) {
    if (source == NULL) {
        return;
    }
    if (source->decoder != NULL) {
        source->kind->destroy(source->decoder);
    }
    if (source->fd > STDIN_FILENO) {
        close(source->fd);
    }
    free(source->raw);
    free(source->name);
    free(source);
}

static uint64_t raw_offset(byte_source *source) {
    return atomic_load_explicit(&source->n_read, memory_order_relaxed) - (source->raw_end - source->raw_at);
}

static qn_status refuse_stream(byte_source *source, const char *words, error_context *err) {
    const bool is_window = strstr(words, "too much memory") != NULL;
    return FAIL(err, is_window ? QN_LIMIT : QN_BAD_FILE, "%s: the %s stream is damaged or not readable near byte %" PRIu64
                " (%s)%s", source->name, source->kind->name, raw_offset(source), words,
                is_window ? "; compress it again with a window of at most 128 MiB" : "; fetch or compress it again");
}

static qn_status read_decoded(byte_source *source, uint8_t *out, uint64_t room, uint64_t *out_size, error_context *err) {
    byte_window io = {NULL, 0, out, room};
    while (io.out_size > 0) {
        io.in = source->raw + source->raw_at;
        io.in_size = source->raw_end - source->raw_at;
        const size_t in_before = io.in_size, out_before = io.out_size;
        const char *words = source->kind->step(source->decoder, &io, &source->is_over);
        source->raw_at = source->raw_end - io.in_size;
        if (words != NULL) {
            return refuse_stream(source, words, err);
        }
        if (io.in_size != in_before || io.out_size != out_before) {
            continue;
        }
        if (source->raw_is_over) {
            break;
        }
        const qn_status status = fill_raw(source, err);
        if (status != QN_OK) {
            return status;
        }
    }
    if (io.out_size > 0 && !source->is_over) {
        return FAIL(err, QN_BAD_FILE, "%s: the %s stream ends at byte %" PRIu64 " in the middle; it was cut short, fetch it again",
                    source->name, source->kind->name, raw_offset(source));
    }
    *out_size = room - io.out_size;
    return QN_OK;
}

static qn_status read_stored(byte_source *source, uint8_t *out, uint64_t room, uint64_t *out_size, error_context *err) {
    const size_t held = source->raw_end - source->raw_at;
    uint64_t n = held < room ? held : room;
    memcpy(out, source->raw + source->raw_at, n);
    source->raw_at += n;
    while (n < room) {
        size_t size;
        const qn_status status = read_some(source, out + n, room - n, &size, err);
        if (status != QN_OK) {
            return status;
        }
        if (size == 0) {
            break;
        }
        n += size;
    }
    *out_size = n;
    return QN_OK;
}

qn_status byte_source_read(byte_source *source, void *buffer, uint64_t room, uint64_t *out_size, error_context *err) {
    return source->kind == NULL ? read_stored(source, buffer, room, out_size, err)
                                : read_decoded(source, buffer, room, out_size, err);
}

bool byte_source_rewind(byte_source *source) {
    void *decoder = NULL;
    if (!source->is_regular || (source->kind != NULL && (decoder = source->kind->create()) == NULL)) {
        return false;
    }
    if (source->decoder != NULL) {
        source->kind->destroy(source->decoder);
    }
    source->decoder = decoder;
    source->is_over = true;
    source->raw_at = source->raw_end = 0;
    source->raw_is_over = false;
    atomic_store(&source->n_read, 0);
    return lseek(source->fd, 0, SEEK_SET) == 0;
}

const char *byte_source_name(const byte_source *source) {
    return source->name;
}

void byte_source_progress(byte_source *source, uint64_t *out_read, uint64_t *out_size) {
    *out_read = atomic_load_explicit(&source->n_read, memory_order_relaxed);
    *out_size = source->size;
}
