/* prove_check_parts.h — the six questions, one function each; shared by the files that answer them.
 *
 * Threading: as prove_check.h.
 */
#ifndef HOST_PROVE_CHECK_PARTS_H
#define HOST_PROVE_CHECK_PARTS_H
#include "prove/prove_check.h"

typedef struct prove_checking {
    const prove_check_options *options;
    const prove_reading *volume;
    prove_report *report;
    uint64_t container;                 /* subject of the P64 artefact */
    uint8_t p64_digest[SHA256_BYTES];
    error_context *err;
} prove_checking;

qn_status prove_ask_container(prove_checking *c);
qn_status prove_ask_tables(prove_checking *c);
qn_status prove_ask_tensors(prove_checking *c);
qn_status prove_ask_source(prove_checking *c);
qn_status prove_ask_signature(prove_checking *c);
qn_status prove_ask_runtime(prove_checking *c);

#endif
