/* choose.h — from what the user asked for to one opened device.
 *
 * A request is one or more alternatives (backend_spec.h) joined by ';', tried in that order. A single name never falls back. `gpu`
 * stands for the plugins of that class, and what it stands for is printed. `auto` is the device with the fewest predicted
 * milliseconds for a token (score.h), otherwise cpu, otherwise reference with a warning.
 *
 *   alternative ─► known to be sound? (cache, or a probe child) ─► opened here ─► accepted by the caller
 *
 * What was installed with the program to run on the processor is opened without a probe, so that a machine without other plugins
 * spawns nothing and reads no cache.
 *
 * Threading: one thread at a time.
 * Memory:    an opened backend owns its plugin state and device; it borrows the registry and the services.
 * Errors:    refusals as refusal.h forms them; QN_BAD_INPUT for a request or an option that makes no sense. *out is closed
 *            on error.
 */
#ifndef HOST_CHOOSE_H
#define HOST_CHOOSE_H
#include <stdbool.h>

#include <quoin/abi.h>

#include "backends/backend.h"
#include "backends/score.h"
#include "base/error.h"

/* An option from the configuration file, for the backend of this name, used where the request does not give the key. */
typedef struct backend_default {
    const char *backend, *key, *value;
} backend_default;

/* Tells what a token of the model needs; called only when devices are compared. */
typedef qn_status backend_measure_fn(void *ctx, workload *out, error_context *err);

/* Looks at an opened backend. When it fails with a reason that lies in the backend, the next alternative is tried. */
typedef qn_status backend_accept_fn(void *ctx, const backend *on, error_context *err);

typedef struct backend_request {
    const char *text; /* null or "" means auto */
    const char *layers_on; /* "NAME[:DEVICE]=N": the first N layers there, the rest on text or cpu; null or "" for none */
    const backend_default *defaults; /* [n_defaults] */
    uint32_t n_defaults;
    double probe_timeout;        /* seconds; 0 = the usual */
    bool is_renewing;            /* remembered answers are not believed */
    bool is_unmeasured;          /* do not time devices: auto goes by their class */
    backend_measure_fn *measure; /* may be null: a usual model is assumed */
    backend_accept_fn *accept;   /* may be null */
    void *ctx;                   /* of both */
} backend_request;

/* Tries the alternatives in order and opens the first that works. Each refusal but the last is printed as one line; the
 * last one is the error. *out_was_named: the request is one name, so what fails is that backend's doing. */
qn_status backend_choose(registry *reg, host_services *services, const backend_request *request, backend *out,
                         bool *out_was_named, error_context *err);

/* The options that a backend has: asked for with `NAME,help`. Loads it, in a child first when it is not the program's own; starts
 * nothing here. *out_entry is null when the request asks for no help; otherwise its facts are valid. */
qn_status backend_find_help(registry *reg, host_services *services, const backend_request *request,
                            const registry_entry **out_entry, error_context *err);

#endif
