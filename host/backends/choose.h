/* choose.h — from what the user asked for to one opened device.
 *
 * Grammar: NAME[:DEVICE][,key=value]… ; several joined by ';' are tried in that order; NAME/ISA is short for
 * NAME,isa=ISA; `auto` is cpu when it loads and gives the known answer, otherwise reference with a warning. A single
 * name never falls back.
 *
 * Threading: one thread at a time.
 * Memory:    an opened backend owns its plugin state and device; it borrows the registry and the services.
 */
#ifndef HOST_CHOOSE_H
#define HOST_CHOOSE_H
#include <stdbool.h>

#include <quoin/abi.h>

#include "backends/host_services.h"
#include "backends/registry.h"
#include "base/error.h"

#define BACKEND_MAX_OPTIONS 16
#define BACKEND_TEXT_SIZE 128

typedef struct backend_spec {
    char name[REGISTRY_NAME_SIZE];
    char device[64]; /* "" = the first one that is no software device */
    uint32_t n_options;
    char keys[BACKEND_MAX_OPTIONS][32];
    char values[BACKEND_MAX_OPTIONS][BACKEND_TEXT_SIZE];
} backend_spec;

typedef struct backend {
    backend_spec spec;
    const qn_plugin *plugin;
    qn_plugin_state *state;
    qn_device *device;
    qn_device_info info;
    const char *version; /* static in the plugin */
} backend;

/* Parses one alternative of the grammar. QN_BAD_INPUT with the column. */
qn_status backend_parse_spec(const char *text, size_t length, backend_spec *out, error_context *err);

/* Tries the alternatives of `request` (null or "" means auto) in order and opens the first that works. Every refusal is
 * printed as one line (stage, code, text). A single refused name answers QN_NOT_FOUND or its own code and sets
 * *out_was_named; nothing usable at all leaves it false. */
qn_status backend_choose(registry *reg, host_services *services, const char *request, backend *out, bool *out_was_named,
                         error_context *err);

/* Opens exactly this one; no fallback, nothing printed. */
qn_status backend_open(registry *reg, host_services *services, const backend_spec *spec, backend *out,
                       error_context *err);
void backend_close(backend *b);

/* Runs a small built-in program on the opened device and compares with values computed elsewhere. */
qn_status backend_known_answer(const backend *b, error_context *err);

#endif
