/* backend_spec.c — parsing from left to right, one part after the other. */
#include "backends/backend_spec.h"

#include <stdio.h>
#include <string.h>

/* What is being read, and how far. */
typedef struct spec_text {
    const char *text;
    size_t length, at;
    error_context *err;
} spec_text;

/* Length of what stands at t->at, up to one of the stop characters. */
static size_t span_until(const spec_text *t, const char *stops) {
    size_t n = 0;
    while (t->at + n < t->length && strchr(stops, t->text[t->at + n]) == NULL) {
        n++;
    }
    return n;
}

/* Copies the part up to one of `stops` and moves behind it. */
static qn_status take_part(spec_text *t, const char *stops, const char *what, char *out, size_t room) {
    const size_t n = span_until(t, stops);
    if (n == 0) {
        return FAIL(t->err, QN_BAD_INPUT, "backend request \"%.*s\": %s is expected at column %zu", (int)t->length, t->text,
                    what, t->at + 1);
    }
    if (n >= room) {
        return FAIL(t->err, QN_BAD_INPUT, "backend request: %s at column %zu has %zu bytes, at most %zu are allowed", what,
                    t->at + 1, n, room - 1);
    }
    memcpy(out, t->text + t->at, n);
    out[n] = '\0';
    t->at += n;
    return QN_OK;
}

static bool is_at(const spec_text *t, char wanted) {
    return t->at < t->length && t->text[t->at] == wanted;
}

static bool has_key(const backend_spec *spec, const char *key) {
    for (uint32_t i = 0; i < spec->n_options; i++) {
        if (strcmp(spec->keys[i], key) == 0) {
            return true;
        }
    }
    return false;
}

static qn_status add_parsed(spec_text *t, backend_spec *spec, const char *key, size_t column, const char *value) {
    if (has_key(spec, key)) {
        return FAIL(t->err, QN_BAD_INPUT, "backend request \"%.*s\": column %zu gives %s a second time", (int)t->length,
                    t->text, column, key);
    }
    return backend_spec_add(spec, key, value, t->err);
}

qn_status backend_spec_add(backend_spec *spec, const char *key, const char *value, error_context *err) {
    const size_t key_length = strlen(key), value_length = strlen(value);
    if (has_key(spec, key)) {
        return QN_OK;
    }
    if (spec->n_options == BACKEND_MAX_OPTIONS || key_length >= BACKEND_KEY_SIZE || value_length >= BACKEND_VALUE_SIZE) {
        return FAIL(err, QN_BAD_INPUT, "backend %s: option %s: at most %d options of %d and %d bytes are allowed", spec->name,
                    key, BACKEND_MAX_OPTIONS, BACKEND_KEY_SIZE - 1, BACKEND_VALUE_SIZE - 1);
    }
    memcpy(spec->keys[spec->n_options], key, key_length + 1);
    memcpy(spec->values[spec->n_options], value, value_length + 1);
    spec->n_options++;
    return QN_OK;
}

static qn_status parse_option(spec_text *t, backend_spec *out) {
    char key[BACKEND_KEY_SIZE], value[BACKEND_VALUE_SIZE];
    const size_t column = t->at + 1;
    qn_status status = take_part(t, "=,", "a key", key, sizeof key);
    if (status < 0) {
        return status;
    }
    if (!is_at(t, '=') && strcmp(key, "help") == 0) {
        out->wants_help = true;
        return QN_OK;
    }
    if (!is_at(t, '=')) {
        return FAIL(t->err, QN_BAD_INPUT, "backend request \"%.*s\": \"%s\" at column %zu is not key=value", (int)t->length,
                    t->text, key, column);
    }
    t->at++;
    status = take_part(t, ",", "a value", value, sizeof value);
    return status < 0 ? status : add_parsed(t, out, key, column, value);
}

qn_status backend_spec_parse(const char *text, size_t length, backend_spec *out, error_context *err) {
    spec_text t = {text, length, 0, err};
    char isa[BACKEND_VALUE_SIZE];
    memset(out, 0, sizeof *out);
    qn_status status = take_part(&t, ":,/", "a name", out->name, sizeof out->name);
    if (status == QN_OK && is_at(&t, '/')) {
        t.at++;
        status = take_part(&t, ":,", "an instruction set", isa, sizeof isa);
        status = status < 0 ? status : backend_spec_add(out, "isa", isa, err);
    }
    if (status == QN_OK && is_at(&t, ':')) {
        t.at++;
        status = take_part(&t, ",", "a device", out->device, sizeof out->device);
    }
    while (status == QN_OK && t.at < length) { /* a comma stands here */
        t.at++;
        status = parse_option(&t, out);
    }
    return status;
}
