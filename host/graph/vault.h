/* vault.h — a .qualia manifest and the files that it names, read only.
 *
 * Every file is opened from the manifest's folder down, part by part, and no part may be a symbolic link: a manifest cannot
 * make anybody read a file outside its folder.
 *
 * Threading: one thread at a time.
 * Errors:    a fault of the manifest is an error; a fault of a file is told with the file, and the walk goes on.
 */
#ifndef HOST_GRAPH_VAULT_H
#define HOST_GRAPH_VAULT_H
#include <quoin/q42_files.h>

#include "base/error.h"
#include "base/mapped_file.h"
#include "base/progress.h"

typedef struct vault_file {
    mapped_file file;
    q42_vault vault;
    int folder; /* descriptor */
    char name[Q42_VAULT_PATH_SIZE]; /* vaultName; "" without one */
} vault_file;

/* To be closed. */
qn_status vault_open(const char *path, vault_file *out_vault, error_context *err);
void vault_close(vault_file *vault);

/* One file that the manifest names, or a member of a set below it. */
typedef struct vault_item {
    q42_vault_term term; /* DATA_FILE, ENVELOPE, LEXICON_FILE or INDEX_FILE */
    bool is_member;      /* of the set before it */
    char path[Q42_VAULT_PATH_SIZE]; /* below the folder; "" when there is none */
    uint32_t line;
    bool is_there;
    uint64_t bytes;
    q42_file_kind kind;
    bool is_right;       /* otherwise `text` says what is wrong */
    char text[ERROR_TEXT_SIZE];
} vault_item;

typedef qn_status vault_item_fn(void *ctx, const vault_item *item);

/* Gives every file in the order of the manifest, a set's members after their root. `is_deep`: their contents are checked too; hints
 * are then only looked for. `progress` may be null. */
qn_status vault_each(vault_file *vault, bool is_deep, progress_fn *progress, void *progress_ctx, vault_item_fn *take,
                     void *take_ctx, error_context *err);

#endif
