/* survey.h — what is known about a plugin: from the cache when it is there and says enough, otherwise from a probe.
 *
 * Threading: one thread at a time.
 * Memory:    a surveyor owns its cache until survey_end.
 */
#ifndef HOST_SURVEY_H
#define HOST_SURVEY_H
#include <stdbool.h>

#include "backends/backend_spec.h"
#include "backends/host_services.h"
#include "backends/probe.h"
#include "backends/probe_cache.h"
#include "backends/registry.h"
#include "backends/score.h"

typedef struct surveyor {
    const host_services *services;
    probe_cache cache;
    double timeout;      /* of a probe, seconds; 0 = the usual */
    bool is_renewing;    /* answers of the cache are not believed */
} surveyor;

/* What must be known. */
typedef struct survey_need {
    uint32_t level;      /* 1 devices, 2 known answer, 3 timing */
    bool is_named;       /* the user named this backend: refusals of earlier probes are not believed */
    bool with_software;
    const workload *model; /* its formats are looked at; null: none */
} survey_need;

typedef struct survey_result {
    probe_result probe;
    bool is_remembered;  /* from the cache */
    uint64_t age;        /* seconds */
} survey_result;

void survey_begin(surveyor *s, const host_services *services, double timeout, bool is_renewing);
void survey_end(surveyor *s);

/* Fills *out. A note that is refused, and a probe that may have brought the system down, are ends like any other and run nothing. */
void survey_ask(surveyor *s, const registry_entry *entry, const backend_spec *spec, const survey_need *need, survey_result *out);

/* Puts an end into words, "backend NAME refused at STAGE: CODE: text; hint", as an error; `device` may be null. */
qn_status survey_refuse(const char *name, const qn_device_info *device, const probe_end *end, bool is_named, error_context *err);

#endif
