/* refusal.c — putting a refusal into words. */
#include "backends/refusal.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#define TEXT_SIZE 900

qn_status backend_refuse(error_context *err, const char *name, const char *stage, qn_status code, const char *format, ...) {
    char text[TEXT_SIZE];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    return FAIL(err, code, "backend %s refused at %s: %s: %s", name, stage, status_name(code), text);
}

qn_status backend_refuse_plugin(error_context *err, const char *name, const char *stage, qn_status code,
                                const qn_error *plugin_error) {
    char native[40] = "";
    if (plugin_error->native_code != 0) {
        snprintf(native, sizeof native, " (native code %" PRId64 ")", plugin_error->native_code);
    }
    return backend_refuse(err, name, stage, code, "%.*s%s", QN_ERROR_TEXT - 1,
                          plugin_error->text[0] != '\0' ? plugin_error->text : "no reason given", native);
}
