/* graph_command.c — sizes, reports, refusals. */
#include "cli/graph_command.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "cli/volume_options.h"

#define LINE_SIZE 8192

int graph_refuse_usage(command_context *c, const char *format, ...) {
    char text[ERROR_TEXT_SIZE];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    FAIL(&c->err, QN_BAD_INPUT, "%s", text);
    command_fail(c);
    return EXIT_USAGE;
}

qn_status graph_parse_size(const char *option, const char *text, uint64_t least, uint64_t *out_bytes,
                           error_context *err) {
    return text != NULL ? volume_options_size(option, text, least, out_bytes, err) : QN_OK;
}

int graph_report(command_context *c, json_t *object, const char *format, ...) {
    char line[LINE_SIZE];
    va_list args;
    if (c->json) {
        return command_print_json(c, object);
    }
    json_decref(object);
    va_start(args, format);
    const int n = vsnprintf(line, sizeof line, format, args);
    va_end(args);
    const size_t size = n < 0 ? 0 : (size_t)n < sizeof line ? (size_t)n : sizeof line - 1;
    return command_write(line, size) ? EXIT_DONE : EXIT_IO;
}

json_t *graph_json_id(uint64_t id) {
    char text[17];
    snprintf(text, sizeof text, "%016" PRIx64, id);
    return json_string(text);
}

const char *graph_hex(const uint8_t *data, size_t size, char *out) {
    static const char digits[] = "0123456789abcdef";
    for (size_t i = 0; i < size; i++) {
        out[2 * i] = digits[data[i] >> 4];
        out[2 * i + 1] = digits[data[i] & 15];
    }
    out[2 * size] = '\0';
    return out;
}

void graph_tell_note(void *path, const fmt_diag *note) {
    log_line(QN_LOG_INFO, "note: %s: byte %" PRIu64 ": %s (rule %s)", (const char *)path, note->offset, note->text,
             note->rule);
}

char *graph_add_ending(const char *path, const char *ending) {
    const size_t size = strlen(path), n = strlen(ending);
    char *out = malloc(size + n + 1);
    if (out != NULL) {
        memcpy(out, path, size);
        memcpy(out + size, ending, n + 1);
    }
    return out;
}
