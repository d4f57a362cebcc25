/* glue.h — optional, header-only help for plugin authors. Nothing here is required; a plugin may do all of it in its own way.
 *
 *   qn_copy_in, qn_copy_out  the size-first rule, in one place
 *   qn_fail, qn_fail_op   fills a qn_error and returns its code
 *   qn_clean_text         makes UTF-8 of any bytes
 *   qn_flag_is_up, qn_flag_set  the host's cancel flag, on both sides
 *   qn_program_*          typed access to the sections of a program
 *   qn_format_*           sizes of formats
 *   qn_buffer_*           rows and bytes of a buffer in a step
 *
 * Threading: pure functions.
 * Since: 0.0
 */
#ifndef QUOIN_GLUE_H
#define QUOIN_GLUE_H
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include <quoin/ops.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define QN_GLUE static inline __attribute__((unused))
#define QN_GLUE_PRINTF(format_at, args_at) __attribute__((format(printf, format_at, args_at)))
#else
#define QN_GLUE static inline
#define QN_GLUE_PRINTF(format_at, args_at)
#endif

/* The cancel flag may be raised by another thread or by a signal handler at any moment: it is read and written whole, and nothing else is
 * ordered by it. */
QN_GLUE bool qn_flag_is_up(const volatile uint32_t *flag) {
#if defined(__GNUC__)
    return __atomic_load_n(flag, __ATOMIC_RELAXED) != 0;
#else
    return *flag != 0;
#endif
}

QN_GLUE void qn_flag_set(volatile uint32_t *flag, bool is_up) {
#if defined(__GNUC__)
    __atomic_store_n(flag, is_up, __ATOMIC_RELAXED);
#else
    *flag = is_up;
#endif
}

/* Copies a size-first struct that the other side owns into a zeroed local of `own_bytes`.
 * BAD_ARG when it is shorter than `least_bytes` (the struct's size in minor 0), TOO_NEW when its unknown tail is not zero. */
QN_GLUE qn_status qn_copy_in(void *own, uint32_t own_bytes, uint32_t least_bytes, const void *theirs) {
    uint32_t size = 0;
    if (theirs == NULL) {
        return QN_BAD_ARG;
    }
#if defined(__GNUC__)
    /* The compiler may know the object and not that its size member is true; it is not to reason from the one to the other. */
    __asm__("" : "+r"(theirs));
#endif
    memcpy(&size, theirs, sizeof size);
    if (size < least_bytes) {
        return QN_BAD_ARG;
    }
    for (uint32_t i = own_bytes; i < size; i++) {
        if (((const unsigned char *)theirs)[i] != 0) {
            return QN_TOO_NEW;
        }
    }
    memset(own, 0, own_bytes);
    memcpy(own, theirs, size < own_bytes ? size : own_bytes);
    memcpy(own, &own_bytes, sizeof own_bytes);
    return QN_OK;
}

/* Writes a struct that the other side owns and that says its size already: at most that many bytes, and the size stays theirs.
 * BAD_ARG when it is absent or shorter than `least_bytes`. */
QN_GLUE qn_status qn_copy_out(void *theirs, uint32_t least_bytes, const void *own, uint32_t own_bytes) {
    uint32_t size = 0;
    if (theirs != NULL) {
        memcpy(&size, theirs, sizeof size);
    }
    if (size < least_bytes) {
        return QN_BAD_ARG;
    }
    memcpy((char *)theirs + sizeof size, (const char *)own + sizeof size, (size < own_bytes ? size : own_bytes) - sizeof size);
    return QN_OK;
}

/* Bytes of the UTF-8 sequence at `at`, or 0 when it is none: cut off, overlong, a surrogate, or beyond U+10FFFF. */
QN_GLUE uint32_t qn_utf8_bytes_(const unsigned char *at) {
    const uint32_t n = at[0] < 0x80 ? 1 : at[0] < 0xc2 ? 0 : at[0] < 0xe0 ? 2 : at[0] < 0xf0 ? 3 : at[0] < 0xf5 ? 4 : 0;
    for (uint32_t i = 1; i < n; i++) {
        if ((at[i] & 0xc0) != 0x80) { /* the end of the text as well */
            return 0;
        }
    }
    return (at[0] == 0xe0 && at[1] < 0xa0) || (at[0] == 0xed && at[1] > 0x9f) || (at[0] == 0xf0 && at[1] < 0x90) ||
                   (at[0] == 0xf4 && at[1] > 0x8f)
               ? 0
               : n;
}

/* Puts '?' in place of each byte of a terminated text that is not part of UTF-8: names from files may be anything, and a text that did
 * not fit may end in the middle of a letter. */
QN_GLUE void qn_clean_text(char *text) {
    for (char *at = text; *at != '\0';) {
        const uint32_t n = qn_utf8_bytes_((const unsigned char *)at);
        if (n == 0) {
            *at = '?';
        }
        at += n == 0 ? 1 : n;
    }
}

/* Writes code and text into *err (null is allowed) and returns the code. The text is UTF-8, whatever it quotes. */
QN_GLUE_PRINTF(3, 4)
QN_GLUE qn_status qn_fail(qn_error *err, qn_status code, const char *format, ...) {
    if (err != NULL && err->size >= QN_LEAST_qn_error) {
        va_list args;
        err->code = code;
        va_start(args, format);
        vsnprintf(err->text, sizeof err->text, format, args);
        va_end(args);
        qn_clean_text(err->text);
    }
    return code;
}

/* The same, naming the op of the program that it is about. */
QN_GLUE_PRINTF(4, 5)
QN_GLUE qn_status qn_fail_op(qn_error *err, uint32_t op, qn_status code, const char *format, ...) {
    if (err != NULL && err->size >= QN_LEAST_qn_error) {
        va_list args;
        err->code = code;
        err->op = op;
        va_start(args, format);
        vsnprintf(err->text, sizeof err->text, format, args);
        va_end(args);
        qn_clean_text(err->text);
    }
    return code;
}

/* --- Formats ---------------------------------------------------------------------------------------------------------- */

typedef struct qn_format_info {
    qn_format format;
    const char *name;
    uint32_t block_elems;
    uint32_t block_bytes;
} qn_format_info;

/* Facts of a format, or null when the number is unknown. */
QN_GLUE const qn_format_info *qn_format_find(qn_format format) {
    static const qn_format_info table[] = {
#define QN_FORMAT(name, number, elems, bytes, kind, layout) {number, #name, elems, bytes},
#include <quoin/formats.def>
#undef QN_FORMAT
    };
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        if (table[i].format == format) {
            return &table[i];
        }
    }
    return NULL;
}

QN_GLUE const char *qn_format_name(qn_format format) {
    const qn_format_info *info = qn_format_find(format);
    return info == NULL ? "unknown format" : info->name;
}

/* Bytes of `count` consecutive elements that begin at a block border; 0 for an unknown format. TERNARY: with its scale. */
QN_GLUE uint64_t qn_format_bytes(qn_format format, uint64_t count) {
    const qn_format_info *info = qn_format_find(format);
    if (info == NULL) {
        return 0;
    }
    return (count + info->block_elems - 1) / info->block_elems * info->block_bytes + (format == QN_FORMAT_TERNARY ? 4 : 0);
}

QN_GLUE const char *qn_op_name(uint32_t op) {
    switch (op) {
#define QN_OP(NAME, number, name, since, least, most, outputs, attrs, bound) case number: return #name;
#include <quoin/ops.def>
#undef QN_OP
    default: return "unknown op";
    }
}

/* --- Programs: the caller has validated the bytes (glue_program.h does it) -------------------------------------------- */

QN_GLUE const qn_buffer *qn_program_buffer(const qn_program *program, uint32_t index) {
    return (const qn_buffer *)(const void *)((const char *)program + program->buffers_at + (uint64_t)index * program->buffer_stride);
}

QN_GLUE const qn_op *qn_program_op(const qn_program *program, uint32_t index) {
    return (const qn_op *)(const void *)((const char *)program + program->ops_at + (uint64_t)index * program->op_stride);
}

QN_GLUE const qn_cell_group *qn_program_group(const qn_program *program, uint32_t index) {
    return (const qn_cell_group *)(const void *)((const char *)program + program->groups_at + (uint64_t)index * program->group_stride);
}

/* Operands of an op: n_inputs input buffer numbers, then n_outputs output buffer numbers. */
QN_GLUE const uint32_t *qn_program_operands(const qn_program *program, const qn_op *op) {
    return (const uint32_t *)(const void *)((const char *)program + program->operands_at) + op->operands_at;
}

QN_GLUE const void *qn_program_attrs(const qn_program *program, const qn_op *op) {
    return op->attrs_bytes == 0 ? NULL : (const char *)program + program->attrs_at + op->attrs_at;
}

QN_GLUE const char *qn_program_name(const qn_program *program, const qn_buffer *buffer) {
    return (const char *)program + program->names_at + buffer->name_at;
}

/* Value of dimension d of a buffer in a step (or, with the limits' values, the most that it can be). */
QN_GLUE uint64_t qn_buffer_dim(const qn_buffer *buffer, uint32_t d, uint64_t tokens, uint64_t outputs, uint64_t cells) {
    switch (buffer->symbols[d]) {
    case QN_DIM_TOKENS: return tokens;
    case QN_DIM_OUTPUTS: return outputs;
    case QN_DIM_CELLS: return cells;
    default: return buffer->dims[d];
    }
}

/* Rows of a buffer: the product of all dimensions but the first. */
QN_GLUE uint64_t qn_buffer_rows(const qn_buffer *buffer, uint64_t tokens, uint64_t outputs, uint64_t cells) {
    uint64_t rows = 1;
    for (uint32_t d = 1; d < buffer->rank; d++) {
        rows *= qn_buffer_dim(buffer, d, tokens, outputs, cells);
    }
    return rows;
}

#ifdef __cplusplus
}
#endif
#endif
