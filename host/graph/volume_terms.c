/* volume_terms.c — the terms of a volume or a set. */
#include <string.h>

#include "graph/volume_files.h"

qn_status graph_file_check_page(graph_file *f, uint64_t page, error_context *err) {
    if (page >= f->volume.lexicon.n_pages) {
        return QN_OK;
    }
    const unsigned char bit = (unsigned char)(1u << (page % 8));
    if ((atomic_load(&f->checked[page / 8]) & bit) != 0) {
        return QN_OK;
    }
    fmt_diag diag;
    const fmt_status status = q42_lexicon_check_page(&f->volume.lexicon, page, &diag);
    if (status != FMT_OK) {
        return error_from_diag(err, status, &diag, f->path);
    }
    atomic_fetch_or(&f->checked[page / 8], bit);
    return QN_OK;
}

static qn_status find_in_file(graph_file *f, uint64_t hash, q42_term *out_term, error_context *err) {
    const uint64_t page = q42_lexicon_page_of(&f->volume.lexicon, hash);
    if (page == FMT_NO_INDEX) {
        return QN_NOT_FOUND;
    }
    qn_status status = graph_file_check_page(f, page, err);
    if (status < 0) {
        return status;
    }
    fmt_diag diag;
    const fmt_status found = q42_lexicon_find(&f->volume.lexicon, hash, out_term, &diag);
    return found == FMT_OK ? QN_OK : found == FMT_NOT_FOUND ? QN_NOT_FOUND : error_from_diag(err, found, &diag, f->path);
}

static qn_status find_in_shards(graph_volume *v, uint64_t hash, q42_term *out_term, error_context *err) {
    uint32_t least = v->n_segments, most = v->n_segments + v->n_shards; /* the last shard with first <= hash */
    while (least < most) {
        const uint32_t middle = least + (most - least) / 2;
        if (v->records[middle].first <= hash) {
            least = middle + 1;
        } else {
            most = middle;
        }
    }
    if (least == v->n_segments || hash > v->records[least - 1].last) {
        return QN_NOT_FOUND;
    }
    graph_file *f;
    const qn_status status = graph_file_get(v, least - 1, &f, err);
    return status < 0 ? status : find_in_file(f, hash, out_term, err);
}

static qn_status find_in_members(graph_volume *v, uint32_t end, uint64_t hash, q42_term *out_term, error_context *err) {
    qn_status status = QN_NOT_FOUND;
    for (uint32_t i = 0; status == QN_NOT_FOUND && i < end; i++) {
        graph_file *f;
        status = graph_file_get(v, i, &f, err);
        status = status < 0 ? status : find_in_file(f, hash, out_term, err);
    }
    return status;
}

qn_status graph_volume_find_term(graph_volume *volume, uint64_t hash, q42_term *out_term, error_context *err) {
    const qn_status status = find_in_file(&volume->root, hash, out_term, err);
    if (status != QN_NOT_FOUND || !graph_volume_is_set(volume)) {
        return status;
    }
    return volume->n_shards > 0 ? find_in_shards(volume, hash, out_term, err)
                                : find_in_members(volume, volume->n_segments, hash, out_term, err);
}

static bool is_flat(const q42_lexicon *lexicon) {
    return lexicon->form == Q42_LEXICON_TAGGED || lexicon->form == Q42_LEXICON_UNTAGGED;
}

/* A set's members may have flat lexicons that were not opened yet: then the answer is the careful one. */
bool graph_volume_may_have_triples(const graph_volume *volume) {
    return graph_volume_is_set(volume) || is_flat(&volume->root.volume.lexicon);
}

/* The next term of one file; its page is checked before the term is believed. */
static qn_status next_in_file(graph_file *f, q42_lexicon_walk *walk, q42_term *out_term, error_context *err) {
    qn_status status = graph_file_check_page(f, walk->page, err);
    if (status < 0) {
        return status;
    }
    fmt_diag diag;
    const fmt_status found = q42_lexicon_next(&f->volume.lexicon, walk, out_term, &diag);
    if (found == FMT_NOT_FOUND) {
        return QN_NOT_FOUND;
    }
    return found == FMT_OK ? graph_file_check_page(f, walk->page, err) : error_from_diag(err, found, &diag, f->path);
}

/* The next term of the shards, or of the members where there are none: of these the ones that no earlier member has. */
static qn_status next_in_files(graph_volume *v, graph_term_walk *walk, q42_term *out_term, error_context *err) {
    const uint32_t first = v->n_shards > 0 ? v->n_segments : 0;
    const uint32_t n = v->n_shards > 0 ? v->n_shards : v->n_segments;
    while (walk->file < n) {
        graph_file *f;
        q42_term earlier;
        qn_status status = graph_file_get(v, first + walk->file, &f, err);
        status = status < 0 ? status : next_in_file(f, &walk->in_file, out_term, err);
        if (status == QN_OK && v->n_shards == 0) {
            const qn_status found = find_in_members(v, walk->file, out_term->hash, &earlier, err);
            if (found == QN_OK) {
                continue;
            }
            status = found == QN_NOT_FOUND ? QN_OK : found;
        }
        if (status != QN_NOT_FOUND) {
            return status;
        }
        walk->file++;
        walk->in_file = (q42_lexicon_walk){.page = 0};
    }
    return QN_NOT_FOUND;
}

/* Reads ahead in the root and in the other files. */
static qn_status fill_walk(graph_volume *v, graph_term_walk *walk, error_context *err) {
    if (!walk->has_root && !walk->is_root_done) {
        const qn_status status = next_in_file(&v->root, &walk->in_root, &walk->root_term, err);
        walk->has_root = status == QN_OK;
        walk->is_root_done = status != QN_OK;
        if (status < 0 && status != QN_NOT_FOUND) {
            return status;
        }
    }
    if (!walk->has_file && !walk->is_file_done) {
        const qn_status status = next_in_files(v, walk, &walk->file_term, err);
        walk->has_file = status == QN_OK;
        walk->is_file_done = status != QN_OK;
        if (status < 0 && status != QN_NOT_FOUND) {
            return status;
        }
    }
    return QN_OK;
}

qn_status graph_volume_next_term(graph_volume *volume, graph_term_walk *walk, q42_term *out_term, error_context *err) {
    const qn_status status = fill_walk(volume, walk, err);
    if (status < 0) {
        return status;
    }
    if (walk->has_root && (!walk->has_file || walk->root_term.hash <= walk->file_term.hash)) {
        *out_term = walk->root_term;
        walk->has_root = false;
        walk->has_file = walk->has_file && walk->file_term.hash != out_term->hash; /* the root's own wins */
        return QN_OK;
    }
    if (!walk->has_file) {
        return QN_NOT_FOUND;
    }
    *out_term = walk->file_term;
    walk->has_file = false;
    return QN_OK;
}

uint32_t graph_term_copy(const q42_term *term, char out[Q42_MAX_TERM]) {
    const uint64_t prefix = term->prefix.size < Q42_MAX_TERM ? term->prefix.size : Q42_MAX_TERM;
    const uint64_t text = term->text.size < Q42_MAX_TERM - prefix ? term->text.size : Q42_MAX_TERM - prefix;
    if (prefix > 0) {
        memcpy(out, term->prefix.data, (size_t)prefix);
    }
    if (text > 0) {
        memcpy(out + prefix, term->text.data, (size_t)text);
    }
    return (uint32_t)(prefix + text);
}

bool graph_term_equals(const q42_term *term, const char *text, uint64_t size) {
    return term->kind == Q42_TERM_STRING && term->prefix.size + term->text.size == size &&
           (term->prefix.size == 0 || memcmp(text, term->prefix.data, (size_t)term->prefix.size) == 0) &&
           (term->text.size == 0 || memcmp(text + term->prefix.size, term->text.data, (size_t)term->text.size) == 0);
}
