/* policy.h — what a governed run may do: one INI file, read once, checked whole, and known by its digest.
 *
 *     [policy]            version, name
 *     [scope IRI]         a section with a name behind the word: one for each scope, profile, predicate
 *     key = value         no comment behind a value, since IRIs hold #; lists are words with blanks between, and go on when the key is
 *                         given again
 *
 * The rows of policy_rows.def are all sections and keys with their kinds, ranges and defaults; quoin-policy(5) says what each means. A key
 * that is not there is refused with the nearest one that is. The digest is over the *canonical* text, every key with the value that it
 * has, whether given or not, and the content of the files that the policy names: two files that mean the same have the same digest, and
 * a changed shape is another policy.
 *
 * Threading: immutable once read.
 * Memory:    owned by the policy until policy_free; a zeroed one is empty.
 * Errors:    QN_BAD_INPUT with path, line, column, what stands there and what to do.
 */
#ifndef HOST_POLICY_H
#define HOST_POLICY_H
#include <stdbool.h>
#include <stdint.h>

#include <quoin/q42.h>

#include "base/error.h"
#include "base/text_buffer.h"

#define POLICY_MAX_BYTES (1u << 20)
#define POLICY_MAX_SECTIONS 4096u
#define POLICY_PATH_SIZE 4096u
#define POLICY_NONE UINT32_MAX /* a number that was not given and has no default */

typedef struct policy_words {
    char **items; /* [n_items] */
    uint32_t n_items;
} policy_words;

/* Who has to sign before statements hold. */
typedef struct policy_agreement {
    bool suspend;
    policy_words signers; /* DIDs, at most 8 */
    uint32_t threshold;
    uint64_t expires;     /* ms from now on */
} policy_agreement;

/* Of every section that may stand there more than once. */
typedef struct policy_head {
    char *name;
    uint64_t id;    /* hash of the name */
    uint64_t term;  /* hash of the name in <>, as volumes of surface forms have it */
    uint64_t given; /* bit n: row n of the section's rows was given */
    uint32_t line;
} policy_head;

typedef struct policy_scope {
    policy_head head;
    char *volume, *consent;
    uint8_t digest[Q42_DIGEST_BYTES];
    bool has_digest, sanctuary;
    uint32_t tier;
    policy_agreement agreement;
} policy_scope;

typedef struct policy_profile {
    policy_head head;
    policy_words allow;
} policy_profile;

typedef struct policy_predicate {
    policy_head head;
    bool functional;
    policy_agreement agreement;
} policy_predicate;

/* The sections that stand there once. */
typedef struct policy_values {
    policy_head head; /* no name; `given` is not used */
    struct { uint32_t version; char *name; } policy;
    struct { char *did, *principal; bool anonymous; } agent;
    struct { policy_words allow, critical; } intent;
    struct {
        char *intent, *frame, *profile, *output;
        policy_words scope, namespaces;
        uint32_t label, clearance, facts;
        bool network;
    } request;
    struct { uint32_t local, lan, remote, unlabeled; bool keyword_compat; } egress;
    struct {
        double warm, critical, hysteresis;
        uint32_t every;
        char *hwmon, *zones, *nvml;
        policy_words sensors;
    } thermal;
    struct { uint64_t deadline, prefill, decode, memory; uint32_t tokens; } limits;
    struct { double weak; } grounding;
    struct { char *shapes, *rules, *predicates; uint32_t depth; } rules;
    struct { double margin; char *file; } sieve;
    struct { char *file; } sentinel;
    struct { char *log, *key, *passphrase_file; bool is_unsigned; uint64_t rotate; uint32_t audit_files, audit_days; } commit;
    struct {
        uint32_t level;
        bool require_signature, require_certified_kernels, require_consent;
        char *trusted_keys, *certificates, *mac_key;
        bool record;
        policy_words uses;
    } provenance;
} policy_values;

typedef struct policy {
    char *path;                  /* as given; for messages */
    policy_values is;
    policy_scope *scopes;        /* [n_scopes], in the order of the file */
    policy_profile *profiles;
    policy_predicate *predicates;
    uint32_t n_scopes, n_profiles, n_predicates;
    uint64_t given[16];          /* for each kind of section: bit n: its row n was given */
    uint8_t digest[Q42_DIGEST_BYTES];
} policy;

/* Reads, checks, and computes the digest with the content of the files that count. To be freed, whatever it answers. */
qn_status policy_read(const char *path, policy *out_policy, error_context *err);
/* The same of a text in memory, which `path` names in messages; files that it names are not looked at. */
qn_status policy_parse(fmt_span text, const char *path, policy *out_policy, error_context *err);
void policy_free(policy *p);

/* A path of the policy, which is relative to the policy's folder, in `room`. QN_LIMIT when it is too long. */
qn_status policy_resolve(const policy *p, const char *path, char room[POLICY_PATH_SIZE], error_context *err);

/* The canonical text, for whoever wants to see what a digest is over. With files their digests stand for their paths; without, it is a policy
 * that reads as this one. */
qn_status policy_canonical(const policy *p, bool with_files, text_buffer *out, error_context *err);

/* By id or term. Null when there is none. */
const policy_scope *policy_find_scope(const policy *p, uint64_t id);
const policy_profile *policy_find_profile(const policy *p, const char *name);
const policy_predicate *policy_find_predicate(const policy *p, uint64_t id);

/* True when one of the words is this text, or has this hash. */
bool policy_words_have(const policy_words *words, const char *text);
bool policy_words_have_id(const policy_words *words, uint64_t id);

#endif
