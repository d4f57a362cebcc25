/* policy_table.h — the table behind a policy: rows of keys, kinds of values, sections.
 *
 * Threading: pure but for what is written through a row.
 * Memory:    values of a section belong to it.
 */
#ifndef HOST_POLICY_TABLE_H
#define HOST_POLICY_TABLE_H
#include <stddef.h>

#include "govern/policy.h"

typedef uint32_t policy_section;
enum {
    SECTION_POLICY = 0, SECTION_AGENT, SECTION_INTENT, SECTION_REQUEST, SECTION_PROFILE, SECTION_SCOPE, SECTION_PREDICATE, SECTION_EGRESS,
    SECTION_THERMAL, SECTION_LIMITS, SECTION_GROUNDING, SECTION_RULES, SECTION_SIEVE, SECTION_SENTINEL, SECTION_COMMIT,
    SECTION_PROVENANCE, SECTION_COUNT
};

typedef uint32_t policy_kind;
enum {
    KEY_TEXT,   /* char *: anything */
    KEY_WORD,   /* char *: without blanks; of the choices when there are any */
    KEY_WORDS,  /* policy_words; `most` of them when that is not 0 */
    KEY_COUNT,  /* uint32_t */
    KEY_NUMBER, /* double: digits, a point and at most six digits */
    KEY_FLAG,   /* bool: yes or no */
    KEY_SIZE,   /* uint64_t bytes: digits, then K, M or G */
    KEY_TIME,   /* uint64_t ms: digits, then ms, s, m, h or d */
    KEY_PATH,   /* char *: its content is no part of the policy */
    KEY_FILE,   /* char *: its content is */
    KEY_DIGEST  /* uint8_t[32] and behind it a bool: 64 digits, sha256: may stand in front */
};

typedef struct policy_row {
    policy_section section;
    const char *key;
    policy_kind kind;
    size_t at; /* of the value in the section's struct */
    double least, most;
    const char *choices, *fallback;
} policy_row;

const policy_row *policy_rows(uint32_t *out_count);
const char *policy_section_name(policy_section section); /* "scope" */
bool policy_section_is_named(policy_section section);
/* SECTION_COUNT when there is no such section. */
policy_section policy_section_find(const char *name);
/* The rows of a section stand together: first and how many. */
const policy_row *policy_section_rows(policy_section section, uint32_t *out_count);

/* Sets the value of a row in the struct `base`, adding to a list. Null when it is done, otherwise what it must be: "a whole number from 1
 * to 8"; `room` is for that sentence. */
#define POLICY_ADVICE_SIZE 192u
const char *policy_row_set(const policy_row *row, void *base, const char *value, char room[POLICY_ADVICE_SIZE]);
/* Takes the words of a list away, so that those that are given stand for the default and not behind it. */
void policy_row_clear(const policy_row *row, void *base);
/* Defaults of all rows of a section. False without memory. */
bool policy_section_init(policy_section section, void *base);
void policy_section_free(policy_section section, void *base);
/* "key=value" and a line feed, as the canonical text has it; nothing for a value that is not there. False without memory. */
bool policy_row_write(const policy_row *row, const void *base, text_buffer *out);

#endif
