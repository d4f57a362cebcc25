/* probe_cache.h — answers of earlier probes, and the journal of probes that are under way.
 *
 *     $XDG_CACHE_HOME/quoin/probe         text: "quoin-probe-cache 1", then for each plugin a line and its answer (probe_answer.h)
 *         plugin = KEY TIME BOOT NAME     the line; TIME in seconds, BOOT the id of the system's start
 *     $XDG_CACHE_HOME/quoin/probing-HASH  "BOOT PATH": synced before a child is spawned, gone after it has ended
 *
 * What holds, holds until its key changes. What was refused is asked again after a restart of the system, after a day, and whenever
 * the user names the backend. A probe that was under way when the system went down is not repeated until the user names it.
 *
 * A cache that cannot be read is empty; one that cannot be written is none: nothing here is ever an error.
 *
 * Threading: one thread at a time per object; processes replace the file as a whole.
 * Memory:    the cache owns the file's text until probe_cache_close.
 */
#ifndef HOST_PROBE_CACHE_H
#define HOST_PROBE_CACHE_H
#include <stdbool.h>
#include <stdint.h>

#include "backends/probe_answer.h"
#include "backends/probe_key.h"
#include "base/text_buffer.h"

#define PROBE_CACHE_DAY 86400

typedef struct probe_cache {
    char folder[1024]; /* "" = there is none */
    char boot[64];     /* id of this start of the system */
    text_buffer text;  /* the file */
} probe_cache;

/* folder null: $XDG_CACHE_HOME/quoin, or ~/.cache/quoin. */
void probe_cache_open(probe_cache *cache, const char *folder);
void probe_cache_close(probe_cache *cache);

/* The answer under this key, unless it is a refusal that has lost its force: `now` in seconds; is_named: the user named it. */
bool probe_cache_find(const probe_cache *cache, const char *key, uint64_t now, bool is_named, probe_answer *out, uint64_t *out_age);

/* Puts the answer in, in place of any other for this key; the newest 64 are kept. Makes the folder. */
void probe_cache_store(probe_cache *cache, const char *key, const char *name, uint64_t now, const probe_answer *answer);

/* Forgets everything, the journal too. */
void probe_cache_clear(probe_cache *cache);

/* Notes that the plugin at `path` is being probed. False when an earlier probe of it was under way when the system went down and
 * is_named does not overrule that; nothing is noted then. */
bool probe_journal_begin(const probe_cache *cache, const char *path, bool is_named);
void probe_journal_end(const probe_cache *cache, const char *path);

/* Is there a refusal in it, of the plugin or of a device? */
bool probe_answer_is_negative(const probe_answer *answer);

#endif
