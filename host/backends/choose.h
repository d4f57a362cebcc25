/* choose.h — from what the user asked for to one opened device.
 *
 * A request is one or more alternatives (backend_spec.h) joined by ';', tried in that order. `auto` is cpu when it loads
 * and gives the known answer, otherwise reference with a warning. A single name never falls back.
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
#include "base/error.h"

/* An option from the configuration file, for the backend of this name, used where the request does not give the key. */
typedef struct backend_default {
    const char *backend, *key, *value;
} backend_default;

typedef struct backend_request {
    const char *text; /* null or "" means auto */
    const backend_default *defaults; /* [n_defaults] */
    uint32_t n_defaults;
} backend_request;

/* Tries the alternatives in order and opens the first that works. Each refusal but the last is printed as one line; the
 * last one is the error. *out_was_named: the request is one name, so what fails is that backend's doing. */
qn_status backend_choose(registry *reg, host_services *services, const backend_request *request, backend *out,
                         bool *out_was_named, error_context *err);

#endif
