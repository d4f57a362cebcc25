/* iri.c — see iri.h. The names of the parts are those of RFC 3986. */
#include "graph/iri.h"

#include <string.h>

/* Each part with the character that marks it: "http:", "//host", "/path", "?query", "#fragment". Size 0: not there. */
typedef struct iri_parts {
    fmt_str scheme, authority, path, query, fragment;
} iri_parts;

static bool is_scheme_character(char c, bool is_first) {
    const bool is_letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    return is_letter || (!is_first && ((c >= '0' && c <= '9') || c == '+' || c == '-' || c == '.'));
}

static uint64_t scheme_size(fmt_str iri) {
    uint64_t n = 0;
    while (n < iri.size && is_scheme_character(iri.data[n], n == 0)) {
        n++;
    }
    return n > 0 && n < iri.size && iri.data[n] == ':' ? n + 1 : 0;
}

bool iri_is_absolute(fmt_str iri) {
    return scheme_size(iri) > 0;
}

/* Takes `size` bytes off the front. */
static fmt_str take(fmt_str *io_text, uint64_t size) {
    const fmt_str front = {io_text->data, size};
    *io_text = (fmt_str){io_text->data + size, io_text->size - size};
    return front;
}

/* Bytes from `from` to the first of `ends`. */
static uint64_t size_until(fmt_str text, uint64_t from, const char *ends) {
    uint64_t n = from;
    while (n < text.size && (text.data[n] == '\0' || strchr(ends, text.data[n]) == NULL)) {
        n++;
    }
    return n;
}

static iri_parts split(fmt_str iri) {
    iri_parts parts;
    memset(&parts, 0, sizeof parts);
    parts.scheme = take(&iri, scheme_size(iri));
    if (iri.size >= 2 && iri.data[0] == '/' && iri.data[1] == '/') {
        parts.authority = take(&iri, size_until(iri, 2, "/?#"));
    }
    parts.path = take(&iri, size_until(iri, 0, "?#"));
    if (iri.size > 0 && iri.data[0] == '?') {
        parts.query = take(&iri, size_until(iri, 1, "#"));
    }
    parts.fragment = iri;
    return parts;
}

static bool append(text_buffer *out, fmt_str part) {
    return text_buffer_append(out, part.data, part.size);
}

static bool begins(const char *text, size_t size, const char *with) {
    const size_t n = strlen(with);
    return size >= n && memcmp(text, with, n) == 0;
}

static bool equals(const char *text, size_t size, const char *with) {
    return size == strlen(with) && memcmp(text, with, size) == 0;
}

/* Where the last segment of path[0..size) begins, its slash counted. */
static size_t last_segment(const char *path, size_t size) {
    while (size > 0) {
        size--;
        if (path[size] == '/') {
            break;
        }
    }
    return size;
}

/* Takes . and .. out of a path, in place; returns its new size. What is written never passes what is read. */
static size_t remove_dot_segments(char *path, size_t size) {
    size_t at = 0, n = 0;
    while (at < size) {
        char *rest = path + at;
        const size_t left = size - at;
        if (begins(rest, left, "../")) {
            at += 3;
        } else if (begins(rest, left, "./") || begins(rest, left, "/./")) {
            at += 2;
        } else if (equals(rest, left, "/.")) {
            at += 1;
            path[at] = '/';
        } else if (begins(rest, left, "/../") || equals(rest, left, "/..")) {
            at += left == 3 ? 2 : 3;
            path[at] = '/';
            n = last_segment(path, n);
        } else if (equals(rest, left, ".") || equals(rest, left, "..")) {
            at = size;
        } else {
            do {
                path[n++] = path[at++];
            } while (at < size && path[at] != '/');
        }
    }
    return n;
}

/* The path of a reference that has no authority of its own and is not empty. */
static bool append_merged(text_buffer *out, const iri_parts *base, fmt_str path) {
    fmt_str folder = {NULL, 0};
    if (path.data[0] != '/') {
        folder = base->path;
        while (folder.size > 0 && folder.data[folder.size - 1] != '/') {
            folder.size--;
        }
        if (base->authority.size > 0 && base->path.size == 0) {
            folder = (fmt_str){"/", 1};
        }
    }
    return append(out, folder) && append(out, path);
}

bool iri_resolve(fmt_str base_text, fmt_str reference, text_buffer *out) {
    const iri_parts base = split(base_text), r = split(reference);
    out->size = 0;
    if (r.scheme.size > 0) {
        return append(out, reference);
    }
    const bool has_authority = r.authority.size > 0, has_path = r.path.size > 0;
    if (!append(out, base.scheme) || !append(out, has_authority ? r.authority : base.authority)) {
        return false;
    }
    const size_t path_at = out->size;
    if (has_authority || !has_path) {
        if (!append(out, has_authority ? r.path : base.path)) {
            return false;
        }
    } else if (!append_merged(out, &base, r.path)) {
        return false;
    }
    if ((has_authority || has_path) && out->size > path_at) {
        out->size = path_at + remove_dot_segments(out->text + path_at, out->size - path_at);
    }
    const bool keeps_query = !has_authority && !has_path && r.query.size == 0;
    return append(out, keeps_query ? base.query : r.query) && append(out, r.fragment);
}
