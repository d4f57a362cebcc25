/* p64_write.h — what planner, conversion and writer share.
 *
 * Threading: internal; see p64.h.
 */
#ifndef P64_WRITE_H
#define P64_WRITE_H
#include "p64_layout.h"

enum {
    P64_ROOM_BYTES = 2 * 1024 * 1024,   /* what get_bytes may fill: the largest element type times a chunk */
    P64_CHUNK_ELEMENTS = 256 * 1024,    /* a multiple of every block */
    P64_COPY_BYTES = 1024 * 1024,
    P64_WORK_MIN_BYTES = P64_ROOM_BYTES /* copying, and writing the metadata, need no more */
};

/* Takes the next bytes of a blob. */
typedef fmt_status p64_emit_fn(void *ctx, const void *data, uint64_t size);

/* The type that this form wants a tensor to have; its own when the form does not touch it. */
uint32_t p64_form_type(p64_form form, const p64_source_tensor *t);

/* Work memory that a tensor needs in this form. */
uint64_t p64_form_work_bytes(p64_form form, const p64_source_tensor *t);

/* Decides the type of every entry; reads the tensors that may change. A note for each that has to stay. */
fmt_status p64_form_settle(p64_plan *plan, fmt_note_fn *note, void *note_ctx, p64_progress_fn *progress,
                           void *progress_ctx, fmt_diag *diag);

/* Gives the bytes of one entry, in its own type, in order. FMT_IO: the source could not be read. Other statuses are the
 * emitter's. */
fmt_status p64_form_stream(const p64_plan *plan, const p64_plan_entry *e, p64_emit_fn *emit, void *ctx, fmt_diag *diag);

/* Decides which entries become panels, behind p64_form_settle; a note for each that has to stay. */
void p64_panels_settle(p64_plan *plan, fmt_note_fn *note, void *note_ctx);

/* Room that the panels of a tensor need, beside the work memory of its form. */
uint64_t p64_panels_work_bytes(const p64_write_options *options, const p64_source_tensor *t);

/* As p64_form_stream, for entries of panels too. */
fmt_status p64_panels_stream(const p64_plan *plan, const p64_plan_entry *e, p64_emit_fn *emit, void *ctx, fmt_diag *diag);

/* True when the entry is stored under "tensor." and digits instead of its name. */
static inline bool p64_writes_hex_name(const p64_plan *plan, const p64_plan_entry *e) {
    return plan->options.is_extended && !plan->options.is_raw && e->role == P64_ROLE_UNKNOWN;
}

#endif
