/* govern_record.h — the record of a governed answer, which goes into the same unit of the log as its statements, or its audit list.
 *
 * Threading: the command line is one thread.
 * Memory:    owned until govern_record_end.
 */
#ifndef HOST_GOVERN_RECORD_H
#define HOST_GOVERN_RECORD_H
#include "cli/prove_options.h"
#include "govern/gate.h"

typedef struct govern_record {
    bool is_on;
    prove_runtime runtime;
    run_settings settings;
    bool is_source, has_mac, has_context_mac;
    uint8_t model[SHA256_BYTES], prompt_mac[MAC_BYTES], context_mac[MAC_BYTES];
    uint32_t *ids; /* [room] */
    uint32_t n_ids, room;
    char name[PROVE_URN_SIZE]; /* "" until it is in the log */
} govern_record;

/* Does nothing unless the policy asks for records. Hashes the model's file. */
qn_status govern_record_begin(govern_record *g, const request *r, const command_context *c, const engine *e, const run_settings *settings,
                              const token_list *prompt, error_context *err);
void govern_record_take(govern_record *g, uint32_t id); /* [no-alloc] */
/* Adds the record to the log's open unit. */
qn_status govern_record_add(govern_record *g, const request *r, wal *log, error_context *err);
void govern_record_end(govern_record *g); /* a zeroed one is legal */

/* QN_DENIED unless every kernel that the engine uses has a certificate for this device, in the model's provenance or in the policy's volume. */
qn_status govern_check_kernels(const request *r, const command_context *c, const engine *e, error_context *err);

#endif
