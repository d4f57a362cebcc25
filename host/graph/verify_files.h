/* verify_files.h — the checks of the files around Q42 volumes: each function is one kind's row in file_kind.c.
 *
 * All are file_verify_fn: QN_OK whatever the verdict, an error when the file cannot be opened as what it is.
 */
#ifndef HOST_GRAPH_VERIFY_FILES_H
#define HOST_GRAPH_VERIFY_FILES_H
#include "graph/file_kind.h"

file_verify_fn verify_journal, verify_envelope, verify_vault, verify_archive, verify_log; /* Q42J, QCHK, .qualia, CAR, QWAL */
file_verify_fn verify_sidecar_lexicon, verify_sidecar_index;                  /* beside blocks of version 1 */
file_verify_fn verify_raw, verify_framed, verify_flat;                        /* older forms */
file_verify_fn verify_foreign; /* always an error: what it is, and what to do with it */

#endif
