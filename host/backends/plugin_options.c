/* plugin_options.c — checking keys and values against a plugin's table. */
#include "backends/plugin_options.h"

#include <string.h>

#include "backends/refusal.h"
#include "base/words.h"

const qn_option_info *plugin_options_get(const qn_query_out *facts, uint32_t index) {
    return (const void *)((const char *)facts->options + (size_t)index * facts->option_stride);
}

static const qn_option_info *find_option(const qn_query_out *facts, const char *key) {
    for (uint32_t i = 0; i < facts->n_options; i++) {
        if (strcmp(plugin_options_get(facts, i)->key, key) == 0) {
            return plugin_options_get(facts, i);
        }
    }
    return NULL;
}

typedef struct key_walk {
    const qn_query_out *facts;
    uint32_t at;
} key_walk;

static const char *next_key(void *ctx) {
    key_walk *walk = ctx;
    return walk->at < walk->facts->n_options ? plugin_options_get(walk->facts, walk->at++)->key : NULL;
}

static qn_status refuse_key(const qn_query_out *facts, const char *key, error_context *err) {
    key_walk walk = {facts, 0};
    const char *nearest = words_find_nearest(key, next_key, &walk);
    if (nearest != NULL) {
        return backend_refuse(err, facts->name, "options", QN_BAD_INPUT, "it has no option \"%s\"; did you mean %s?", key,
                              nearest);
    }
    if (facts->n_options == 0) {
        return backend_refuse(err, facts->name, "options", QN_BAD_INPUT, "it has no option \"%s\", nor any other", key);
    }
    return backend_refuse(err, facts->name, "options", QN_BAD_INPUT,
                          "it has no option \"%s\"; --backend %s,help lists what it has", key, facts->name);
}

static bool is_number(const char *text) {
    return text[0] != '\0' && strspn(text, "0123456789") == strlen(text);
}

/* Is the value one that an option of this type can have? A string can be anything. */
static bool is_legal_value(const qn_option_info *info, const char *value) {
    switch (info->type) {
    case QN_OPTION_CHOICE: return words_has_choice(info->choices, value);
    case QN_OPTION_BOOL: return words_has_choice("true|false|yes|no|on|off|1|0", value);
    case QN_OPTION_UINT: return is_number(value);
    default: return true;
    }
}

const char *plugin_options_values(const qn_option_info *info) {
    switch (info->type) {
    case QN_OPTION_CHOICE: return info->choices;
    case QN_OPTION_UINT: return "a whole number";
    case QN_OPTION_BOOL: return "on|off";
    default: return "a text";
    }
}

qn_status plugin_options_check(const qn_query_out *facts, const backend_spec *spec, error_context *err) {
    for (uint32_t i = 0; i < spec->n_options; i++) {
        const qn_option_info *info = find_option(facts, spec->keys[i]);
        if (info == NULL) {
            return refuse_key(facts, spec->keys[i], err);
        }
        if (!is_legal_value(info, spec->values[i])) {
            return backend_refuse(err, spec->name, "options", QN_BAD_INPUT, "%s=%s: must be %s%s", spec->keys[i],
                                  spec->values[i], info->type == QN_OPTION_CHOICE ? "one of " : "",
                                  plugin_options_values(info));
        }
    }
    return QN_OK;
}

uint32_t plugin_options_collect(const qn_query_out *facts, const backend_spec *spec, uint32_t when,
                                qn_option options[BACKEND_MAX_OPTIONS]) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < spec->n_options; i++) {
        if ((find_option(facts, spec->keys[i])->applies & when) != 0) {
            options[n++] = (qn_option){spec->keys[i], spec->values[i]};
        }
    }
    return n;
}
