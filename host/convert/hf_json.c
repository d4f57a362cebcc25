/* hf_json.c — files of a model folder as JSON trees, and typed questions to them. */
#include "convert/hf_json.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mapped_file.h"
#include "common/diag.h"

_Static_assert(HF_QUOTE_SIZE == DIAG_QUOTE_SIZE, "room for a quoted text");

#define VALUE_SIZE 64 /* of a value in a message */

/* ------------------------------------------------------------------------------------------------------------ files */

static qn_status check_size(const mapped_file *file, uint64_t limit, error_context *err) {
    return file->span.size <= limit ? QN_OK
                                    : FAIL(err, QN_LIMIT, "%s: has %" PRIu64 " bytes; at most %" PRIu64 " are read",
                                           file->path, file->span.size, limit);
}

static bool is_blank(fmt_span span) {
    for (uint64_t i = 0; i < span.size; i++) {
        if (strchr(" \t\r\n", span.data[i]) == NULL || span.data[i] == '\0') {
            return false;
        }
    }
    return true;
}

static qn_status parse(const mapped_file *file, const char *content, json_t **out_root, error_context *err) {
    if (is_blank(file->span)) {
        return FAIL(err, QN_BAD_FILE, "%s: line 1: the file is empty; missing is one JSON object with %s", file->path, content);
    }
    json_error_t error = {.text = ""};
    char words[HF_QUOTE_SIZE];
    json_t *root = json_loadb((const char *)file->span.data, (size_t)file->span.size,
                              JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, &error);
    if (root == NULL && json_error_code(&error) == json_error_out_of_memory) {
        return FAIL(err, QN_NO_HOST_MEM, "%s: out of memory after %d bytes of JSON", file->path, error.position);
    }
    if (root == NULL) {
        return FAIL(err, QN_BAD_FILE, "%s: line %d, column %d: the JSON parser stops with %s; the file must hold one "
                    "JSON object", file->path, error.line, error.column,
                    hf_quote(words, (fmt_str){error.text, strlen(error.text)}));
    }
    if (!json_is_object(root)) {
        json_decref(root);
        return FAIL(err, QN_BAD_FILE, "%s: line 1: holds another JSON value than an object", file->path);
    }
    *out_root = root;
    return QN_OK;
}

static qn_status load(const mapped_file *file, uint64_t limit, const char *content, hf_json *out, error_context *err) {
    json_t *root = NULL;
    QN_TRY(check_size(file, limit, err), err, "reading JSON");
    QN_TRY(parse(file, content, &root, err), err, "reading JSON");
    qn_status status = mapped_file_check(file, err);
    char *path = status < 0 ? NULL : strdup(file->path);
    if (status == QN_OK && path == NULL) {
        status = FAIL(err, QN_NO_HOST_MEM, "%s: out of memory", file->path);
    }
    if (status < 0) {
        json_decref(root);
        return status;
    }
    *out = (hf_json){path, root};
    return QN_OK;
}

qn_status hf_json_load(const char *path, uint64_t limit, const char *content, hf_json *out, error_context *err) {
    mapped_file file;
    const qn_status found = mapped_file_open(path, &file, err);
    if (found < 0) {
        return found;
    }
    const qn_status status = load(&file, limit, content, out, err);
    mapped_file_close(&file);
    return status;
}

void hf_json_free(hf_json *document) {
    free(document->path);
    json_decref(document->root);
    *document = (hf_json){NULL, NULL};
}

static qn_status copy_text(const mapped_file *file, uint64_t limit, char **out_text, error_context *err) {
    QN_TRY(check_size(file, limit, err), err, "reading a text");
    char *text = calloc((size_t)file->span.size + 1, 1);
    if (text == NULL) {
        return FAIL(err, QN_NO_HOST_MEM, "%s: out of memory", file->path);
    }
    if (file->span.size > 0) {
        memcpy(text, file->span.data, (size_t)file->span.size);
    }
    const qn_status status = mapped_file_check(file, err);
    if (status < 0) {
        free(text);
        return status;
    }
    *out_text = text;
    return QN_OK;
}

qn_status hf_text_load(const char *path, uint64_t limit, char **out_text, uint64_t *out_size, error_context *err) {
    mapped_file file;
    const qn_status found = mapped_file_open(path, &file, err);
    if (found < 0) {
        return found;
    }
    const qn_status status = copy_text(&file, limit, out_text, err);
    *out_size = file.span.size;
    mapped_file_close(&file);
    return status;
}

/* -------------------------------------------------------------------------------------------------------- questions */

hf_object hf_json_object(const hf_json *document, error_context *err) {
    return (hf_object){.members = document->root, .path = document->path, .err = err};
}

const json_t *hf_get(const hf_object *o, const char *key) {
    const json_t *value = o->members == NULL ? NULL : json_object_get(o->members, key);
    return json_is_null(value) ? NULL : value;
}

bool hf_equals(fmt_str text, const char *word) {
    return text.size == strlen(word) && memcmp(text.data, word, (size_t)text.size) == 0;
}

const char *hf_quote(char room[HF_QUOTE_SIZE], fmt_str text) {
    return diag_quote(room, text);
}

qn_status hf_refuse(hf_object *o, qn_status status, const char *key, const char *format, ...) {
    char text[512];
    if (o->status < 0) {
        return o->status;
    }
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    o->status = FAIL(o->err, status, "%s: key %s%s %s", o->path == NULL ? "config.json" : o->path, o->where, key, text);
    return o->status;
}

/* The value as it stands in the file, cut. */
static const char *print_value(const json_t *value, char text[VALUE_SIZE]) {
    const size_t size = json_dumpb(value, text, VALUE_SIZE - 1, JSON_ENCODE_ANY | JSON_COMPACT);
    const size_t used = size < VALUE_SIZE ? size : VALUE_SIZE - 1;
    text[used] = '\0';
    if (size >= VALUE_SIZE) {
        memcpy(text + VALUE_SIZE - 4, "...", 4);
    }
    return text;
}

static void refuse_value(hf_object *o, const char *key, const json_t *value, const char *wanted) {
    char text[VALUE_SIZE];
    hf_refuse(o, QN_BAD_FILE, key, "is %s, must be %s", print_value(value, text), wanted);
}

hf_object hf_member(hf_object *from, const char *key) {
    const json_t *value = from->status < 0 ? NULL : hf_get(from, key);
    hf_object o = {.path = from->path, .err = from->err, .status = from->status};
    if (value != NULL && !json_is_object(value)) {
        refuse_value(from, key, value, "an object");
        o.status = from->status;
    } else {
        o.members = value;
    }
    snprintf(o.where, sizeof o.where, "%.60s%.60s.", from->where, key);
    return o;
}

uint32_t hf_uint(hf_object *o, const char *key, uint32_t least, uint32_t most, uint32_t fallback) {
    const json_t *value = o->status < 0 ? NULL : hf_get(o, key);
    if (o->status < 0) {
        return 0;
    }
    if (value == NULL) {
        if (fallback == HF_REQUIRED) {
            hf_refuse(o, QN_BAD_FILE, key, "is missing; the model cannot be run without it");
            return 0;
        }
        return fallback;
    }
    const json_int_t number = json_is_integer(value) ? json_integer_value(value) : -1;
    if (number < (json_int_t)least || number > (json_int_t)most) {
        char wanted[64];
        snprintf(wanted, sizeof wanted, "an integer from %u to %u", least, most);
        refuse_value(o, key, value, wanted);
        return 0;
    }
    return (uint32_t)number;
}

double hf_float(hf_object *o, const char *key, double least, double most, double fallback) {
    const json_t *value = o->status < 0 ? NULL : hf_get(o, key);
    if (o->status < 0) {
        return 0;
    }
    if (value == NULL) {
        if (isnan(fallback)) {
            hf_refuse(o, QN_BAD_FILE, key, "is missing; the model cannot be run without it");
            return 0;
        }
        return fallback;
    }
    const double number = json_is_number(value) ? json_number_value(value) : (double)NAN;
    if (!(number >= least && number <= most)) {
        char wanted[64];
        snprintf(wanted, sizeof wanted, "a number from %g to %g", least, most);
        refuse_value(o, key, value, wanted);
        return 0;
    }
    return number;
}

bool hf_bool(hf_object *o, const char *key, bool fallback) {
    const json_t *value = o->status < 0 ? NULL : hf_get(o, key);
    if (value != NULL && !json_is_boolean(value)) {
        refuse_value(o, key, value, "true or false");
        return false;
    }
    return value != NULL ? json_is_true(value) : fallback;
}

fmt_str hf_string(hf_object *o, const char *key) {
    const json_t *value = o->status < 0 ? NULL : hf_get(o, key);
    if (value != NULL && !json_is_string(value)) {
        refuse_value(o, key, value, "a string");
        value = NULL;
    }
    return value != NULL ? (fmt_str){json_string_value(value), json_string_length(value)} : (fmt_str){"", 0};
}

const json_t *hf_array(hf_object *o, const char *key) {
    const json_t *value = o->status < 0 ? NULL : hf_get(o, key);
    if (value != NULL && !json_is_array(value)) {
        refuse_value(o, key, value, "an array");
        value = NULL;
    }
    return value;
}
