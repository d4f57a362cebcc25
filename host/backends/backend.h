/* backend.h — one backend that was loaded and started, and one device of it that was opened.
 *
 *     load ─► options ─► start ─► devices ─► open          refused at the stage where it ends
 *
 * Threading: one thread at a time.
 * Memory:    an opened backend owns its plugin state and device; it borrows the registry and the services.
 * Errors:    refusals as refusal.h forms them. *out is closed on error.
 */
#ifndef HOST_BACKEND_H
#define HOST_BACKEND_H
#include <stdbool.h>

#include <quoin/abi.h>

#include "backends/backend_spec.h"
#include "backends/host_services.h"
#include "backends/plugin_host.h"
#include "backends/process_guard.h"
#include "backends/registry.h"
#include "base/error.h"

#define BACKEND_MAX_DEVICES 16

typedef struct backend {
    backend_spec spec;
    const qn_plugin *plugin;
    plugin_host *host;       /* the table that it was started with */
    qn_plugin_state *state;
    qn_device *device;       /* null while only started */
    qn_device_info info;
    const char *version;     /* static in the plugin */
    bool is_guarded;         /* backend_guard_* do something */
    uint64_t host_cache_bytes; /* last-level cache of this machine; 0 = unknown */
} backend;

typedef struct backend_devices {
    qn_device_info infos[BACKEND_MAX_DEVICES];
    uint32_t count; /* at most BACKEND_MAX_DEVICES */
} backend_devices;

/* Loads the entry and starts it with the spec's options; no device is opened. */
qn_status backend_start(registry_entry *entry, host_services *services, const backend_spec *spec, backend *out,
                        error_context *err);

/* What the started backend offers. */
qn_status backend_list(const backend *b, backend_devices *out, error_context *err);

/* The one of `devices` that the spec names: an id, "#n" (the n-th, warned about, because the order may change), "software", or
 * nothing: the first that is no software device. Null when there is none, with the reason in *err. */
const qn_device_info *backend_pick(const backend_spec *spec, const backend_devices *devices, error_context *err);

/* Opens this device. */
qn_status backend_open_device(backend *b, const registry_entry *entry, const qn_device_info *info, error_context *err);
void backend_close_device(backend *b);

/* All of it: exactly this one; no fallback, nothing printed. */
qn_status backend_open(registry *reg, host_services *services, const backend_spec *spec, backend *out,
                       error_context *err);
void backend_close(backend *b);

/* Around code of the plugin, where a change of the process would be its doing: what was changed is put back and named in the log,
 * "backend cpu changed the process in step: umask; put back". Nothing without is_guarded. */
void backend_guard_begin(const backend *b, process_state *before);
void backend_guard_end(const backend *b, process_state *before, const char *verb);

/* Runs a small built-in program on the opened device and compares with values computed elsewhere. */
qn_status backend_known_answer(const backend *b, error_context *err);

#endif
