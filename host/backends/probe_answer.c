/* probe_answer.c — one line a fact, written and read by the same tables. */
#include "backends/probe_answer.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "backends/host_services.h"
#include "base/decimal.h"
#include "base/error.h"

#define LINE_SIZE 1200

typedef uint32_t fact_kind;
enum { FACT_TEXT, FACT_U32, FACT_U64, FACT_BOOL, FACT_STATUS };

/* A member that is one line. */
typedef struct fact {
    const char *key;
    fact_kind kind;
    size_t at, room;
} fact;

#define TEXT_FACT(type, key, member) {key, FACT_TEXT, offsetof(type, member), sizeof(((type *)0)->member)}
#define FACT(type, key, kind, member) {key, kind, offsetof(type, member), 0}

static const fact plugin_facts[] = {TEXT_FACT(probe_answer, "version", version), TEXT_FACT(probe_answer, "licence", licence),
                                    TEXT_FACT(probe_answer, "changed", changed),
                                    FACT(probe_answer, "status", FACT_STATUS, end.status),
                                    TEXT_FACT(probe_answer, "at", end.stage), TEXT_FACT(probe_answer, "reason", end.reason)};

static const fact device_facts[] = {TEXT_FACT(probe_device, "device", info.id),
                                    FACT(probe_device, "device.class", FACT_U32, info.device_class),
                                    FACT(probe_device, "device.flags", FACT_U32, info.flags),
                                    FACT(probe_device, "device.numeric", FACT_U32, info.numeric),
                                    TEXT_FACT(probe_device, "device.name", info.name),
                                    TEXT_FACT(probe_device, "device.driver", info.driver),
                                    FACT(probe_device, "device.memory", FACT_U64, info.memory_total),
                                    FACT(probe_device, "device.free", FACT_U64, info.memory_free),
                                    FACT(probe_device, "device.tried", FACT_BOOL, is_tried),
                                    FACT(probe_device, "device.status", FACT_STATUS, end.status),
                                    TEXT_FACT(probe_device, "device.at", end.stage),
                                    TEXT_FACT(probe_device, "device.reason", end.reason),
                                    FACT(probe_device, "device.measured", FACT_BOOL, is_measured),
                                    FACT(probe_device, "device.step", FACT_U64, step_ns),
                                    FACT(probe_device, "device.op", FACT_U64, op_ns),
                                    FACT(probe_device, "device.kv", FACT_U64, kv_bytes_per_s)};

#define N_FACTS(table) (sizeof(table) / sizeof(table)[0])

static bool append_line(text_buffer *out, const char *line) {
    return text_buffer_append(out, line, strlen(line));
}

/* A value stays one line, whatever a plugin wrote. */
static void write_value(const fact *f, const char *object, char *text, size_t room) {
    const char *at = object + f->at;
    switch (f->kind) {
    case FACT_U64: snprintf(text, room, "%" PRIu64, *(const uint64_t *)(const void *)at); break;
    case FACT_U32: snprintf(text, room, "%" PRIu32, *(const uint32_t *)(const void *)at); break;
    case FACT_BOOL: snprintf(text, room, "%d", *(const bool *)(const void *)at); break;
    case FACT_STATUS: snprintf(text, room, "%" PRId32, *(const qn_status *)(const void *)at); break;
    default: snprintf(text, room, "%.*s", (int)f->room, at); break;
    }
    for (char *c = text; *c != '\0'; c++) {
        *c = (unsigned char)*c < ' ' || *c == 0x7F ? ' ' : *c;
    }
}

static bool write_facts(text_buffer *out, const fact *table, size_t n, const void *object) {
    bool is_written = true;
    for (size_t i = 0; i < n && is_written; i++) {
        char value[LINE_SIZE - 64], line[LINE_SIZE];
        write_value(&table[i], object, value, sizeof value);
        snprintf(line, sizeof line, "%s = %s\n", table[i].key, value);
        is_written = append_line(out, line);
    }
    return is_written;
}

bool probe_answer_write_begin(text_buffer *out) {
    char line[LINE_SIZE];
    snprintf(line, sizeof line, "quoin-probe 1 %s %s\n", host_version(), host_build_id());
    return append_line(out, line);
}

bool probe_answer_write_stage(text_buffer *out, const char *stage) {
    char line[LINE_SIZE];
    snprintf(line, sizeof line, "stage = %s\n", stage);
    return append_line(out, line);
}

static bool write_rates(text_buffer *out, const probe_device *device) {
    bool is_written = true;
    for (uint32_t i = 0; i < device->n_rates && is_written; i++) {
        char line[LINE_SIZE];
        snprintf(line, sizeof line, "rate = %" PRIu32 " %" PRIu64 "\n", device->rates[i].format, device->rates[i].bytes_per_s);
        is_written = append_line(out, line);
    }
    return is_written;
}

bool probe_answer_write_facts(text_buffer *out, const probe_answer *answer) {
    bool is_written = write_facts(out, plugin_facts, N_FACTS(plugin_facts), answer);
    for (uint32_t i = 0; i < answer->n_devices && is_written; i++) {
        is_written = write_facts(out, device_facts, N_FACTS(device_facts), &answer->devices[i]) &&
                     write_rates(out, &answer->devices[i]);
    }
    return is_written;
}

bool probe_answer_write_end(text_buffer *out) {
    return append_line(out, "end\n");
}

/* --- Reading ---------------------------------------------------------------------------------------------------------- */

static bool read_value(const fact *f, char *object, const char *value) {
    char *at = object + f->at;
    uint64_t number = 0;
    switch (f->kind) {
    case FACT_TEXT:
        if (strlen(value) >= f->room) {
            return false;
        }
        memcpy(at, value, strlen(value) + 1);
        return true;
    case FACT_U64: return decimal_read_whole(value, UINT64_MAX, (uint64_t *)(void *)at);
    case FACT_STATUS:
        number = 1;
        if (!decimal_read_whole(value + (value[0] == '-'), INT32_MAX, &number)) {
            return false;
        }
        *(qn_status *)(void *)at = value[0] == '-' ? -(qn_status)number : (qn_status)number;
        return true;
    case FACT_BOOL:
        *(bool *)(void *)at = value[0] == '1';
        return strcmp(value, "0") == 0 || strcmp(value, "1") == 0;
    default:
        if (!decimal_read_whole(value, UINT32_MAX, &number)) {
            return false;
        }
        *(uint32_t *)(void *)at = (uint32_t)number;
        return true;
    }
}

static const fact *find_fact(const fact *table, size_t n, const char *key) {
    for (size_t i = 0; i < n; i++) {
        if (strcmp(table[i].key, key) == 0) {
            return &table[i];
        }
    }
    return NULL;
}

static bool read_rate(probe_device *device, const char *value) {
    uint64_t format = 0, speed = 0;
    if (device == NULL || device->n_rates == PROBE_MAX_RATES || !decimal_read(&value, UINT32_MAX, &format) || *value != ' ') {
        return false;
    }
    value++;
    if (!decimal_read_whole(value, UINT64_MAX, &speed)) {
        return false;
    }
    device->rates[device->n_rates++] = (probe_rate){(qn_format)format, speed};
    return true;
}

static bool read_fact(probe_answer *out, const char *key, const char *value) {
    if (strcmp(key, "stage") == 0) {
        return true;
    }
    if (strcmp(key, "device") == 0) {
        if (out->n_devices == PROBE_MAX_DEVICES) {
            return false;
        }
        out->devices[out->n_devices++].info.size = sizeof(qn_device_info);
    }
    probe_device *device = out->n_devices > 0 ? &out->devices[out->n_devices - 1] : NULL;
    if (strcmp(key, "rate") == 0) {
        return read_rate(device, value);
    }
    const fact *known = find_fact(plugin_facts, N_FACTS(plugin_facts), key);
    if (known != NULL) {
        return read_value(known, (char *)out, value);
    }
    known = find_fact(device_facts, N_FACTS(device_facts), key);
    return known != NULL && device != NULL && read_value(known, (char *)device, value);
}

/* Copies the line at *at without its line feed; moves behind it. False at the end, and for a line that is not whole. */
static bool take_line(const char *text, size_t size, size_t *at, char line[LINE_SIZE]) {
    const char *end = *at < size ? memchr(text + *at, '\n', size - *at) : NULL;
    const size_t length = end != NULL ? (size_t)(end - (text + *at)) : 0;
    if (end == NULL || length >= LINE_SIZE || memchr(text + *at, '\0', length) != NULL) {
        return false;
    }
    memcpy(line, text + *at, length);
    line[length] = '\0';
    *at += length + 1;
    return true;
}

bool probe_answer_is_own(const char *text, size_t size) {
    char line[LINE_SIZE], wanted[LINE_SIZE];
    size_t at = 0;
    snprintf(wanted, sizeof wanted, "quoin-probe 1 %s %s", host_version(), host_build_id());
    return take_line(text, size, &at, line) && strcmp(line, wanted) == 0;
}

bool probe_answer_read(const char *text, size_t size, probe_answer *out) {
    char line[LINE_SIZE];
    size_t at = 0;
    memset(out, 0, sizeof *out);
    if (!probe_answer_is_own(text, size) || !take_line(text, size, &at, line)) {
        return false;
    }
    while (take_line(text, size, &at, line)) {
        if (strcmp(line, "end") == 0) {
            return true;
        }
        char *equals = strstr(line, " = ");
        if (equals == NULL) {
            return false;
        }
        *equals = '\0';
        if (!read_fact(out, line, equals + 3)) {
            return false;
        }
    }
    return false;
}

void probe_answer_last_stage(const char *text, size_t size, char out[PROBE_STAGE_SIZE]) {
    char line[LINE_SIZE];
    size_t at = 0;
    out[0] = '\0';
    while (take_line(text, size, &at, line)) {
        if (strncmp(line, "stage = ", 8) == 0) {
            snprintf(out, PROBE_STAGE_SIZE, "%.*s", PROBE_STAGE_SIZE - 1, line + 8);
        }
    }
}

const probe_rate *probe_device_rate(const probe_device *device, qn_format format) {
    for (uint32_t i = 0; i < device->n_rates; i++) {
        if (device->rates[i].format == format) {
            return &device->rates[i];
        }
    }
    return NULL;
}

void probe_end_from_error(probe_end *out, qn_status status, const error_context *err) {
    static const char mark[] = " refused at ";
    const char *text = error_text(err), *stage = strstr(text, mark), *code = NULL;
    memset(out, 0, sizeof *out);
    out->status = status;
    if (stage != NULL) {
        stage += strlen(mark);
        snprintf(out->stage, sizeof out->stage, "%.*s", (int)strcspn(stage, ":"), stage);
        code = strstr(stage, ": ");
        code = code != NULL ? strstr(code + 2, ": ") : NULL;
    }
    snprintf(out->reason, sizeof out->reason, "%.*s", PROBE_REASON_SIZE - 1, code != NULL ? code + 2 : text);
}
