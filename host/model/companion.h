/* companion.h — the companion volume of a P64 container: found by its name, bound by its checksum, its keys as a GGUF
 * file in memory.
 *
 *     STEM.p64   weights, tokens, merges, shapes
 *     STEM.q42   every other key of the source, and to which container they belong
 *
 * The file is found by its name; whether it belongs to the container, its contents say: lm:p64MetadataCrc must be the
 * CRC of the container's metadata. A file of that name that is no model helper, or one that is bound to nothing, is
 * not used, and a note says so. One that is broken, belongs to another container, or contradicts it is an error: what
 * a user put beside a container is not passed over in silence.
 *
 * Threading: immutable once opened.
 * Memory:    owned by the companion until companion_close: its mapping and the image of its keys.
 */
#ifndef HOST_COMPANION_H
#define HOST_COMPANION_H
#include <stdbool.h>
#include <stdint.h>

#include <quoin/fmt.h>
#include <quoin/p64.h>

#include "base/error.h"
#include "base/mapped_file.h"
#include "base/progress.h"
#include "model/companion_image.h"

#define COMPANION_PATH_SIZE 4096
#define COMPANION_WORD_SIZE 80
#define COMPANION_MAX_STOPS 16u

typedef uint32_t companion_state;
enum {
    COMPANION_ABSENT = 0, /* no file of that name */
    COMPANION_FOREIGN,    /* a Q42 volume, but no model helper */
    COMPANION_UNBOUND,    /* a model helper that names no container: made by another program */
    COMPANION_BOUND       /* this container's; the image is there */
};

typedef struct companion {
    companion_state state;
    mapped_file file;
    uint64_t n_statements;     /* about the model */
    uint32_t metadata_crc;     /* of the container, as the companion says */
    char p64_sha256[COMPANION_WORD_SIZE], source_sha256[COMPANION_WORD_SIZE]; /* hexadecimal; "" when not said */
    char rope_type[COMPANION_WORD_SIZE];     /* "adjacent", "half", "" when not said */
    char dims_order[COMPANION_WORD_SIZE];    /* "ggml", "rowmajor" */
    char source_format[COMPANION_WORD_SIZE]; /* "gguf", "safetensors", "" when not said */
    uint32_t n_stops;
    uint32_t stops[COMPANION_MAX_STOPS];
    companion_image image;
    char keys_name[COMPANION_PATH_SIZE]; /* what messages about a key call the image */
} companion;

typedef struct companion_options {
    const char *path;  /* of the companion; null: beside the container, by its name */
    fmt_mode mode;
    fmt_note_fn *note; /* may be null; another file name, a volume that is not used */
    void *note_ctx;
} companion_options;

/* STEM.q42 for STEM.p64; NAME.q42 for any other NAME. False: the path is too long. */
bool companion_path_of(const char *p64_path, char out_path[COMPANION_PATH_SIZE]);

/* Finds, binds and reads. *out is zeroed first and may be closed whatever is answered.
 *
 * QN_OK: out->state says what there is. QN_NOT_FOUND: options->path names no file. QN_BAD_FILE: a broken volume, two
 * model helpers in one, a missing statement of the profile, another container's companion, a key that makes no sense,
 * or a field in which it contradicts the container. */
qn_status companion_open(const char *p64_path, const p64_file *p64, const companion_options *options, companion *out,
                         error_context *err);

/* The same for a volume that is mapped already: `options->path` is for messages, and the span is borrowed. */
qn_status companion_read(fmt_span volume, const char *p64_path, const p64_file *p64, const companion_options *options,
                         companion *out, error_context *err);

/* Compares the container's SHA-256 with what a bound companion says. QN_BAD_FILE: they differ. */
qn_status companion_check_digest(const companion *c, const char *container_path, const uint8_t digest[32],
                                 error_context *err);

void companion_close(companion *c);

/* "none", "foreign", "unbound", "bound". Static. */
const char *companion_state_name(companion_state state);

/* The error of a diagnosis about statements or keys, which have no byte: "PATH: TEXT (rule RULE)"; otherwise as
 * error_from_diag. */
qn_status companion_fail(error_context *err, fmt_status status, const fmt_diag *diag, const char *path);

/* What stands at this path, for whoever wants to write there: absent, foreign (a volume or any other file), or a model
 * helper (unbound). QN_IO, QN_DENIED: it cannot be looked at. */
qn_status companion_probe(const char *path, companion_state *out_state, error_context *err);

#endif
