/* error.h — the host's error context: a status and up to eight frames that say, innermost first, what went wrong where.
 *
 * Functions of the host return a qn_status and take an `error_context *` as their last argument (null is allowed: the
 * words are then lost, the status is not). The first frame is the message for the user; later frames say what was being
 * done.
 *
 * Threading: one thread at a time per context.
 * Memory:    fixed storage inside the struct; nothing is allocated.
 *
 *     if (count > limit) {
 *         return FAIL(err, QN_LIMIT, "%s: %u tokens, the limit is %u", path, count, limit);
 *     }
 *     QN_TRY(model_load(path, &model, err), err, "loading %s", path);
 */
#ifndef HOST_ERROR_H
#define HOST_ERROR_H
#include <stdint.h>

#include <quoin/abi.h>
#include <quoin/fmt.h>

#define ERROR_MAX_FRAMES 8
#define ERROR_TEXT_SIZE 1024

typedef struct error_frame {
    const char *file; /* static */
    int line;
    char text[ERROR_TEXT_SIZE];
} error_frame;

typedef struct error_context {
    qn_status code; /* QN_OK while nothing failed */
    uint32_t n_frames;
    error_frame frames[ERROR_MAX_FRAMES];
    /* set when a file's rule was broken; rule is null otherwise */
    const char *rule;
    uint64_t offset;
} error_context;

#if defined(__GNUC__)
#define ERROR_PRINTF(format_at, args_at) __attribute__((format(printf, format_at, args_at)))
#else
#define ERROR_PRINTF(format_at, args_at)
#endif

void error_clear(error_context *err);

/* Starts a new error: code and first frame. Returns `code`. */
qn_status error_set(error_context *err, qn_status code, const char *file, int line, const char *format, ...)
    ERROR_PRINTF(5, 6);

/* Adds a frame to an error that came from below. Returns `code`. Frames beyond the eighth are dropped. */
qn_status error_add(error_context *err, qn_status code, const char *file, int line, const char *format, ...)
    ERROR_PRINTF(5, 6);

/* The one translator from format diagnoses: "PATH: byte OFFSET: TEXT (rule RULE)"; only TEXT for the rule "file", which
 * is about writing a file and names it. Returns the matching qn_status. */
qn_status error_from_diag(error_context *err, fmt_status status, const fmt_diag *diag, const char *path);

/* From errno after a failed system call: "PATH: DOING: strerror". Returns QN_IO, or QN_NOT_FOUND for ENOENT, QN_DENIED
 * for EACCES. */
qn_status error_from_errno(error_context *err, int number, const char *path, const char *doing);

/* Puts "PATH: " before the first frame, for an error of a part that does not know which file its facts came from.
 * Returns `code`. */
qn_status error_put_path(error_context *err, qn_status code, const char *path);

/* The first frame's text, or the status' meaning when there is none. Never null. */
const char *error_text(const error_context *err);

/* Name ("BAD_FILE") and meaning of a status; "UNKNOWN" for numbers outside status.def. */
const char *status_name(qn_status code);
const char *status_meaning(qn_status code);

#define FAIL(err, code, ...) error_set((err), (code), __FILE__, __LINE__, __VA_ARGS__)
#define QN_TRY(expression, err, ...)                                                \
    do {                                                                            \
        const qn_status try_status_ = (expression);                                 \
        if (try_status_ < 0) {                                                      \
            return error_add((err), try_status_, __FILE__, __LINE__, __VA_ARGS__);  \
        }                                                                           \
    } while (0)

#endif
