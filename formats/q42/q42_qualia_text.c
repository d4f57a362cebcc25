/* q42_qualia_text.c — the text of a manifest's values: escapes of Turtle and of IRIs decoded, and which texts are paths inside the
 * vault. */
#include <string.h>

#include "common/utf8.h"
#include "q42_files_internal.h"

static int hex_value(char c) {
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
}

/* `n_digits` hexadecimal digits at text[at]; false when they are not all there. */
static bool read_hex(fmt_str text, uint64_t at, unsigned n_digits, uint32_t *out_value) {
    uint32_t value = 0;
    if (text.size - at < n_digits) {
        return false;
    }
    for (unsigned i = 0; i < n_digits; i++) {
        const int digit = hex_value(text.data[at + i]);
        if (digit < 0) {
            return false;
        }
        value = value << 4 | (uint32_t)digit;
    }
    *out_value = value;
    return true;
}

/* One escape at text[*at], decoded into out[4]: how many bytes, 0 when it is none. \u in both kinds of value, \n and the like in literals,
 * %XX in IRIs. */
static unsigned decode_escape(const q42_vault_entry *entry, uint64_t *at, uint8_t out[4]) {
    const fmt_str text = entry->value;
    uint32_t code = 0;
    if (text.data[*at] == '%') {
        const bool is_right = read_hex(text, *at + 1, 2, &code);
        *at += 3;
        out[0] = (uint8_t)code;
        return is_right ? 1 : 0;
    }
    const char kind = text.size - *at > 1 ? text.data[*at + 1] : '\0';
    const unsigned n_digits = kind == 'u' ? 4 : kind == 'U' ? 8 : 0;
    if (n_digits > 0) {
        const bool is_right = read_hex(text, *at + 2, n_digits, &code);
        *at += 2 + n_digits;
        return is_right ? utf8_encode(code, out) : 0;
    }
    static const char letters[] = "tbnrf\"'\\";
    static const char meanings[] = "\t\b\n\r\f\"'\\";
    const char *found = kind != '\0' && entry->is_text ? strchr(letters, kind) : NULL;
    *at += 2;
    out[0] = found != NULL ? (uint8_t)meanings[found - letters] : 0;
    return found != NULL ? 1 : 0;
}

static fmt_status refuse_value(const q42_vault_entry *entry, files_rule_no rule, const char *what, fmt_diag *diag) {
    char quoted[DIAG_QUOTE_SIZE];
    const diag_place here = {entry->offset, FMT_NO_INDEX, 0, entry->line};
    return files_refuse(diag, rule, here, "line %u, column %u: %s %s", entry->line, entry->column, what,
                        diag_quote(quoted, entry->value));
}

fmt_status q42_vault_text(const q42_vault_entry *entry, char out[Q42_VAULT_PATH_SIZE], fmt_diag *diag) {
    const fmt_str text = entry->value;
    uint64_t size = 0;
    for (uint64_t at = 0; at < text.size;) {
        uint8_t bytes[4] = {(uint8_t)text.data[at]};
        unsigned n_bytes = 1;
        const bool is_escape = text.data[at] == '\\' || (text.data[at] == '%' && entry->is_iri);
        if (is_escape) {
            n_bytes = decode_escape(entry, &at, bytes);
        } else {
            at++;
        }
        if (n_bytes == 0 || bytes[0] == 0) {
            return refuse_value(entry, Q42F_R_VAULT_ESCAPE, "a wrong escape, or NUL, is in", diag);
        }
        if (size + n_bytes >= Q42_VAULT_PATH_SIZE) {
            return refuse_value(entry, Q42F_R_VAULT_LENGTH, "a long value begins with", diag);
        }
        memcpy(out + size, bytes, n_bytes);
        size += n_bytes;
    }
    out[size] = '\0';
    if (utf8_first_invalid(out, size) != UTF8_ALL_VALID) {
        return refuse_value(entry, Q42F_R_VAULT_ESCAPE, "escapes give no UTF-8 in", diag);
    }
    return FMT_OK;
}

/* A colon before any slash makes a scheme, or a drive. */
static bool has_scheme(const char *path) {
    const char *colon = strchr(path, ':');
    const char *slash = strchr(path, '/');
    return colon != NULL && (slash == NULL || colon < slash);
}

static bool has_step_up(const char *path) {
    for (const char *part = path; part != NULL; part = strchr(part, '/')) {
        part += *part == '/';
        const size_t size = strcspn(part, "/");
        if (size == 2 && part[0] == '.' && part[1] == '.') {
            return true;
        }
    }
    return false;
}

fmt_status q42_vault_path(const q42_vault_entry *entry, char out[Q42_VAULT_PATH_SIZE], fmt_diag *diag) {
    if (!entry->is_iri && !entry->is_text) {
        return refuse_value(entry, Q42F_R_VAULT_PATH, "no path but a name is", diag);
    }
    const fmt_status status = q42_vault_text(entry, out, diag);
    if (status != FMT_OK) {
        return status;
    }
    if (out[0] == '\0' || out[0] == '/' || strchr(out, '\\') != NULL || has_scheme(out) || has_step_up(out)) {
        return refuse_value(entry, Q42F_R_VAULT_PATH, "this path leads elsewhere:", diag);
    }
    return FMT_OK;
}
