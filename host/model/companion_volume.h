/* companion_volume.h — the one model helper of a Q42 volume: its subject, its statements, its texts.
 *
 * Threading: one thread at a time.
 * Memory:    borrows the span; owns the statements, 24 bytes each, until companion_volume_free.
 * Errors:    fmt_status and a diagnosis; the volume may be freed whatever was answered.
 */
#ifndef HOST_COMPANION_VOLUME_H
#define HOST_COMPANION_VOLUME_H
#include <stdint.h>

#include <quoin/q42.h>

#include "model/companion_image.h"

typedef struct companion_volume {
    q42_volume volume;
    uint64_t subject, context;
    companion_item *items; /* about the subject, as companion_sort_items leaves them */
    uint64_t n_items, room;
    text_buffer joined; /* a text whose parts lie apart in the file */
    uint8_t *block;     /* [Q42_BLOCK_BYTES] */
} companion_volume;

/* Opens the volume, checks its whole lexicon and finds the subject. FMT_NOT_FOUND: a sound volume without a model helper.
 * FMT_BAD_FILE: a broken volume, or two model helpers. */
fmt_status companion_volume_open(companion_volume *v, fmt_span span, fmt_mode mode, fmt_note_fn *note, void *note_ctx,
                                 fmt_diag *diag);

/* Fills items. */
fmt_status companion_volume_collect(companion_volume *v, fmt_diag *diag);

/* Text of a hash, for companion_texts; `volume` is a companion_volume. */
fmt_status companion_volume_find_text(void *volume, uint64_t hash, fmt_str *out_text, fmt_diag *diag);

void companion_volume_free(companion_volume *v);

#endif
