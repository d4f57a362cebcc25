/* survey.c — cache first, then a child. */
#include "backends/survey.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "backends/refusal.h"

/* Seconds for what came with the program: a deadline is not meant for it, and a busy machine must not cost it the choice. */
#define OWN_TIMEOUT 60.0

void survey_begin(surveyor *s, const host_services *services, double timeout, bool is_renewing) {
    memset(s, 0, sizeof *s);
    s->services = services;
    s->timeout = timeout;
    s->is_renewing = is_renewing;
    probe_cache_open(&s->cache, NULL);
}

void survey_end(surveyor *s) {
    probe_cache_close(&s->cache);
}

/* Is this device one that must have been tried? */
static bool is_meant(const probe_device *device, const backend_spec *spec, const survey_need *need) {
    const bool is_software = (device->info.flags & QN_DEVICE_SOFTWARE) != 0;
    if (spec->device[0] == '\0') {
        return need->with_software || !is_software;
    }
    return strcmp(device->info.id, spec->device) == 0 || (is_software && strcmp(spec->device, "software") == 0);
}

static bool has_rates(const probe_device *device, const workload *model) {
    for (uint32_t i = 0; model != NULL && i < model->n_weights; i++) {
        if (probe_device_rate(device, model->weights[i].format) == NULL) {
            return false;
        }
    }
    return true;
}

/* Does the answer say what must be known? A device by its number is looked for anew each time. */
static bool is_enough(const probe_answer *answer, const backend_spec *spec, const survey_need *need) {
    if (answer->end.status < 0) {
        return true;
    }
    if (spec->device[0] == '#') {
        return false;
    }
    for (uint32_t i = 0; i < answer->n_devices; i++) {
        const probe_device *device = &answer->devices[i];
        if (need->level < 2 || !is_meant(device, spec, need) || device->end.status < 0) {
            continue;
        }
        if (!device->is_tried || !has_rates(device, need->model) || (need->level > 2 && !device->is_measured)) {
            return false;
        }
    }
    return true;
}

/* The formats that are needed, and those that were known before: a record only grows. */
static uint32_t collect_formats(const survey_need *need, const probe_answer *known, qn_format formats[PROBE_MAX_RATES]) {
    uint32_t n = 0;
    for (uint32_t i = 0; need->model != NULL && i < need->model->n_weights && n < PROBE_MAX_RATES; i++) {
        formats[n++] = need->model->weights[i].format;
    }
    for (uint32_t d = 0; known != NULL && d < known->n_devices; d++) {
        for (uint32_t r = 0; r < known->devices[d].n_rates && n < PROBE_MAX_RATES; r++) {
            bool is_there = false;
            for (uint32_t i = 0; i < n; i++) {
                is_there = is_there || formats[i] == known->devices[d].rates[r].format;
            }
            if (!is_there) {
                formats[n++] = known->devices[d].rates[r].format;
            }
        }
    }
    return n;
}

static void probe_anew(surveyor *s, const registry_entry *entry, const backend_spec *spec, const survey_need *need,
                       const probe_answer *known, const char *key, survey_result *out) {
    qn_format formats[PROBE_MAX_RATES];
    bool was_measured = false;
    for (uint32_t d = 0; known != NULL && d < known->n_devices; d++) {
        was_measured = was_measured || known->devices[d].is_measured;
    }
    const probe_request request = {.entry = entry,
                                   .spec = spec,
                                   .with_software = need->with_software,
                                   .level = was_measured && need->level > 1 ? 3 : need->level,
                                   .threads = team_size(s->services->workers),
                                   .formats = formats,
                                   .n_formats = collect_formats(need, known, formats),
                                   .timeout = s->timeout > 0.0 ? s->timeout : registry_is_own(entry) ? OWN_TIMEOUT : 0.0,
                                   .cancel = &s->services->cancel};
    if (!probe_journal_begin(&s->cache, entry->path, need->is_named)) {
        out->probe.answer.end = (probe_end){QN_UNAVAILABLE, "probe", "the system went down while it was probed the last time; "
                                                                     "name it to try again"};
        return;
    }
    probe_run(&request, &out->probe);
    probe_journal_end(&s->cache, entry->path);
    if (out->probe.is_cacheable) {
        probe_cache_store(&s->cache, key, entry->name, (uint64_t)time(NULL), &out->probe.answer);
    }
}

void survey_ask(surveyor *s, const registry_entry *entry, const backend_spec *spec, const survey_need *need, survey_result *out) {
    error_context err = {0};
    char key[PROBE_KEY_SIZE];
    probe_answer known;
    memset(out, 0, sizeof *out);
    const qn_status status = registry_judge_note(entry, &s->services->machine, &err);
    if (status < 0) {
        probe_end_from_error(&out->probe.answer.end, status, &err);
        return;
    }
    probe_key_make(entry, spec, &s->services->machine, team_size(s->services->workers), key);
    const bool is_known = !s->is_renewing &&
                          probe_cache_find(&s->cache, key, (uint64_t)time(NULL), need->is_named, &known, &out->age);
    if (is_known && is_enough(&known, spec, need)) {
        out->probe.answer = known;
        out->is_remembered = true;
    } else {
        out->age = 0;
        probe_anew(s, entry, spec, need, is_known ? &known : NULL, key, out);
    }
}

/* What to do about it, or "". */
static const char *find_hint(const probe_end *end, bool is_named) {
    switch (end->status) {
    case QN_TIMEOUT: return "; --probe-timeout gives it longer, QUOIN_BACKENDS_DISABLE leaves it out";
    case QN_DENIED: return "; is this user in the group of the device file (render, video)?";
    case QN_BUSY: return "; it is asked again the next time";
    case QN_INTERNAL:
    case QN_CORRUPT: return is_named ? "" : "; tried again after 24 h, or when it is named";
    default: return "";
    }
}

qn_status survey_refuse(const char *name, const qn_device_info *device, const probe_end *end, bool is_named, error_context *err) {
    char who[256];
    snprintf(who, sizeof who, "%s%s%.100s", name, device != NULL ? " device " : "", device != NULL ? device->id : "");
    return backend_refuse(err, who, end->stage[0] != '\0' ? end->stage : "probe", end->status, "%s%s",
                          end->reason[0] != '\0' ? end->reason : "no reason given", find_hint(end, is_named));
}
