/* log.c — writing log lines. */
#include "base/log.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#define LINE_SIZE 2048

static atomic_uint current_level = QN_LOG_INFO;

void log_set_level(uint32_t level) {
    atomic_store(&current_level, level);
}

void log_line(uint32_t level, const char *format, ...) {
    static const char *const prefixes[] = {"error: ", "warning: ", "", ""};
    if (level > atomic_load(&current_level)) {
        return;
    }
    char line[LINE_SIZE];
    const int n_prefix = snprintf(line, sizeof line, "%s", prefixes[level < 4 ? level : 3]);
    va_list args;
    va_start(args, format);
    const int n_text = vsnprintf(line + n_prefix, sizeof line - (size_t)n_prefix - 1, format, args);
    va_end(args);
    size_t length = (size_t)n_prefix + (n_text > 0 ? (size_t)n_text : 0);
    if (length > sizeof line - 2) {
        length = sizeof line - 2;
    }
    line[length] = '\n';
    fwrite(line, 1, length + 1, stderr); /* one call: stdio locks the stream for it */
}

void log_error(const error_context *err) {
    log_line(QN_LOG_ERROR, "%s", error_text(err));
    for (uint32_t i = 1; i < err->n_frames; i++) {
        log_line(QN_LOG_DEBUG, "  while %s", err->frames[i].text);
    }
    for (uint32_t i = 0; i < err->n_frames; i++) {
        log_line(QN_LOG_DEBUG, "  at %s:%d", err->frames[i].file, err->frames[i].line);
    }
}
