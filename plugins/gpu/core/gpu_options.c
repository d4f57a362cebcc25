/* gpu_options.c — which options exist, and those that core handles itself. */
#include "gpu_core.h"

static const qn_option_info *find_option(const char *key, uint32_t stage) {
    for (uint32_t i = 0; i < gpu_the_driver.n_options && key != NULL; i++) {
        const qn_option_info *info = &gpu_the_driver.options[i];
        if ((info->applies & stage) != 0 && strcmp(info->key, key) == 0) {
            return info;
        }
    }
    return NULL;
}

qn_status gpu_options_check(const qn_option *options, uint32_t n_options, uint32_t stage, qn_error *err) {
    if (n_options > 0 && (options == NULL || n_options > GPU_MOST_OPTIONS)) {
        return qn_fail(err, QN_BAD_ARG, "%u options at %p; there may be %u", n_options, (const void *)options,
                       GPU_MOST_OPTIONS);
    }
    for (uint32_t i = 0; i < n_options; i++) {
        const char *key = options[i].key == NULL ? "" : options[i].key;
        if (find_option(key, stage) == NULL) {
            return qn_fail(err, QN_UNSUPPORTED,
                           "option '%s' is unknown here: the %s backend has none of this name at this stage", key,
                           gpu_the_driver.name);
        }
        if (options[i].value == NULL) {
            return qn_fail(err, QN_BAD_ARG, "option '%s' has no value", key);
        }
    }
    return QN_OK;
}

/* Decimal bytes. */
static qn_status read_bytes(const char *text, uint64_t *out, qn_error *err) {
    uint64_t bytes = 0;
    for (const char *at = text; *at != '\0'; at++) {
        if (*at < '0' || *at > '9' || bytes > (UINT64_MAX - 9) / 10) {
            return qn_fail(err, QN_BAD_ARG, "option 'memory' is a number of bytes; '%s' was given", text);
        }
        bytes = bytes * 10 + (uint64_t)(*at - '0');
    }
    *out = text[0] == '\0' ? UINT64_MAX : bytes;
    return QN_OK;
}

qn_status gpu_options_split(const qn_option *options, uint32_t n_options, uint64_t *out_budget, qn_option *own,
                            uint32_t *out_own, qn_error *err) {
    qn_status status = QN_OK;
    *out_own = 0;
    *out_budget = UINT64_MAX;
    for (uint32_t i = 0; i < n_options && status == QN_OK; i++) {
        if (strcmp(options[i].key, "memory") == 0) {
            status = read_bytes(options[i].value, out_budget, err);
        } else {
            own[(*out_own)++] = options[i];
        }
    }
    return status;
}
