/* registry.c — loading one plugin file, and judging what it says. */
#define _GNU_SOURCE
#include "backends/registry.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include <quoin/glue.h>

#include "backends/builtin.h"
#include "backends/host_services.h"
#include "backends/refusal.h"

static qn_status find_query(registry_entry *entry, qn_query_fn *out_query, error_context *err) {
    if (strcmp(entry->path, "built in") == 0) {
        *out_query = quoin_reference_query;
        return QN_OK;
    }
    void *handle = dlopen(entry->path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (handle == NULL) {
        return backend_refuse(err, entry->name, "load", QN_UNAVAILABLE, "%s", dlerror());
    }
    void *symbol = dlsym(handle, QN_QUERY_SYMBOL);
    if (symbol == NULL) {
        const bool is_later = dlsym(handle, "quoin_backend_query_1") != NULL;
        return backend_refuse(err, entry->name, "load", is_later ? QN_TOO_NEW : QN_UNSUPPORTED,
                              "%s has no %s (%s; this program speaks ABI %d)", entry->path, QN_QUERY_SYMBOL,
                              is_later ? "it offers ABI 1" : "it is no quoin plugin", QN_ABI_MAJOR);
    }
    memcpy(out_query, &symbol, sizeof symbol); /* ISO C has no cast from an object pointer to a function pointer */
    return QN_OK;
}

/* Name of a verb that the plugin's table must have and has not, or null. state_move, tap, trim, describe and get_ext may
 * be missing. */
static const char *find_missing_verb(const qn_plugin *plugin) {
    const struct {
        const char *name;
        bool is_there;
    } verbs[] = {{"start", QN_HAS(plugin, start)}, {"stop", QN_HAS(plugin, stop)}, {"devices", QN_HAS(plugin, devices)},
                 {"open", QN_HAS(plugin, open)}, {"close", QN_HAS(plugin, close)}, {"check", QN_HAS(plugin, check)},
                 {"plan", QN_HAS(plugin, plan)}, {"compile", QN_HAS(plugin, compile)},
                 {"prog_free", QN_HAS(plugin, prog_free)}, {"bind_weights", QN_HAS(plugin, bind_weights)},
                 {"seal", QN_HAS(plugin, seal)}, {"session_new", QN_HAS(plugin, session_new)},
                 {"session_free", QN_HAS(plugin, session_free)}, {"step", QN_HAS(plugin, step)}};
    for (size_t i = 0; i < sizeof verbs / sizeof verbs[0]; i++) {
        if (!verbs[i].is_there) {
            return verbs[i].name;
        }
    }
    return NULL;
}

qn_status registry_check_facts(const char *name, qn_status status, const qn_query_out *facts, error_context *err) {
    if (status < 0) {
        return backend_refuse(err, name, "query", status, "%s", status_meaning(status));
    }
    if (facts->plugin == NULL || facts->name == NULL) {
        return backend_refuse(err, name, "query", QN_INTERNAL, "it gave no %s", facts->name == NULL ? "name" : "table of verbs");
    }
    if (facts->minor != QN_ABI_MINOR) {
        return backend_refuse(err, name, "query", facts->minor > QN_ABI_MINOR ? QN_TOO_NEW : QN_TOO_OLD,
                              "ABI 0.%u, this program speaks 0.%d and before 1.0 both must be equal", facts->minor,
                              QN_ABI_MINOR);
    }
    if (strcmp(facts->name, name) != 0) {
        return backend_refuse(err, name, "query", QN_BAD_ARG, "the file calls itself %s", facts->name);
    }
    const char *missing = find_missing_verb(facts->plugin);
    if (missing != NULL) {
        return backend_refuse(err, name, "query", QN_INTERNAL, "its table has no verb %s", missing);
    }
    return QN_OK;
}

bool registry_is_own(const registry_entry *entry) {
    return entry->origin == REGISTRY_BUILT_IN ||
           (entry->origin == REGISTRY_PROGRAM_FOLDER && entry->note_status == QN_OK && entry->elf.has_note &&
            entry->elf.note.device_class == QN_DEVICE_CPU && (entry->elf.note.flags & QN_NOTE_NEEDS_DRIVER) == 0);
}

qn_status registry_judge_note(const registry_entry *entry, const qn_machine *machine, error_context *err) {
    if (entry->origin == REGISTRY_BUILT_IN) {
        return QN_OK;
    }
    if (entry->note_status < 0) {
        /* BAD_FILE is a word about models: the exit status would say so. */
        const qn_status code = entry->note_status == QN_BAD_FILE ? QN_UNSUPPORTED : entry->note_status;
        return backend_refuse(err, entry->name, "note", code, "%s: %s", entry->path, entry->note_reason);
    }
    if (!entry->elf.has_note) {
        return backend_refuse(err, entry->name, "note", QN_UNSUPPORTED,
                              "%s has no note, by which it could be judged before it is loaded (quoin_add_plugin and "
                              "<quoin/note.h> make one)",
                              entry->path);
    }
    return elf_note_judge(entry->name, &entry->elf.note, machine, err);
}

qn_status registry_load_unjudged(registry_entry *entry, const qn_machine *machine, error_context *err) {
    if (entry->query != NULL) {
        return QN_OK;
    }
    qn_query_fn query = NULL;
    QN_TRY(find_query(entry, &query, err), err, "opening %s", entry->path);
    qn_query_in in = {.size = sizeof in, .minor = QN_ABI_MINOR, .build_id = host_build_id(), .sanitizer = host_sanitizer()};
    memcpy(in.cpu_features, machine->cpu_features, sizeof in.cpu_features);
    qn_query_out facts = {.size = sizeof facts};
    const qn_status status = query(&in, &facts);
    QN_TRY(registry_check_facts(entry->name, status, &facts, err), err, "asking %s", entry->path);
    entry->facts = facts;
    entry->query = query;
    return QN_OK;
}

qn_status registry_load(registry_entry *entry, const qn_machine *machine, error_context *err) {
    if (entry->query == NULL) {
        QN_TRY(registry_judge_note(entry, machine, err), err, "reading the note of %s", entry->path);
    }
    return registry_load_unjudged(entry, machine, err);
}
