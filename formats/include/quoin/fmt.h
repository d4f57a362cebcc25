/* fmt.h — status, diagnosis and notes, the same for every format on disk.
 *
 * A reader answers with a status and, when it refuses, one diagnosis: which rule of the format's document was broken first,
 * at which byte, for which index (tensor, key, block, ...), what stood there and what was expected. The rule's sentence and
 * the section of the document come from the format's rules.def. A *note* has the same form, but the file stays acceptable.
 *
 * Threading: values; nothing is shared.
 * Memory:    a diagnosis copies what it quotes into its own fixed text, so it outlives the span.
 *
 *     fmt_diag diag;
 *     if (gguf_open(span, scratch, size, &file, &diag) != FMT_OK) {
 *         fprintf(stderr, "%s at byte %llu: %s\n", diag.rule, (unsigned long long)diag.offset, diag.text);
 *     }
 */
#ifndef QUOIN_FMT_H
#define QUOIN_FMT_H
#include <stddef.h>
#include <stdint.h>

#include <quoin/span.h>

typedef int32_t fmt_status;
enum {
    FMT_OK = 0,
    FMT_BAD_FILE = -1,  /* a rule of the format is broken: the diagnosis names it */
    FMT_BAD_ARG = -2,   /* the caller broke a rule of this library */
    FMT_LIMIT = -3,     /* well formed, but beyond what this format or this library can hold */
    FMT_NO_SPACE = -4,  /* the caller's buffer is too small; the needed size is told */
    FMT_IO = -5,        /* the operating system refused; the text holds its words (writers only) */
    FMT_NOT_FOUND = -6,
    FMT_UNSUPPORTED = -7, /* known, but this build cannot use it (an element type without a decoder, say) */
    FMT_CANCELLED = -8
};

#define FMT_NO_INDEX UINT64_MAX
#define FMT_TEXT_SIZE 320

typedef struct fmt_diag {
    const char *rule;         /* static: the rule's id as in rules.def, for example "blob-order"; never null */
    const char *section;      /* static: section of the format's document, may be "" */
    uint64_t offset;          /* byte offset in the file where the fault is seen */
    uint64_t index;           /* tensor, key or block number; FMT_NO_INDEX when the rule has none */
    uint64_t expected;        /* what the rule wants, 0 when it is no number */
    uint64_t got;             /* what stands there, 0 when it is no number */
    char text[FMT_TEXT_SIZE]; /* one complete sentence: what is wrong, the value found, what to do; UTF-8, terminated */
} fmt_diag;

/* One rule of a format, as its rules.def has it; for printing them all. */
typedef struct fmt_rule {
    const char *id;       /* static, as in fmt_diag.rule */
    const char *section;  /* of the format's document, may be "" */
    const char *sentence; /* what must hold, in lower case without a full stop: in a text it follows the finding and a colon */
} fmt_rule;

/* Receives one note (a finding that does not refuse the file). `note` is borrowed for the call. */
typedef void fmt_note_fn(void *ctx, const fmt_diag *note);

/* Reader modes: see "Two profiles of strictness" in ARCHITECTURE.md. */
typedef uint32_t fmt_mode;
enum {
    FMT_MODE_DEFAULT = 0, /* also accepts what known writers write, each with a note */
    FMT_MODE_STRICT = 1   /* accepts only the letter of the standard */
};

#endif
