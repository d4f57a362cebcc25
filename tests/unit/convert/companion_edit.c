/* companion_edit.c — reading a volume whole, and writing it with other statements. */
#include "companion_edit.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/mapped_file.h"

static uint64_t hash_of(const char *text) {
    return q42_hash(text, strlen(text));
}

static void load_quins(const q42_volume *volume, small_volume *out) {
    static uint8_t room[Q42_BLOCK_BYTES];
    const q42_pattern everything = {.bound = 0};
    q42_scan scan;
    q42_quin quin;
    fmt_diag diag;
    q42_scan_begin(&scan, volume, &everything, room);
    while (q42_scan_next(&scan, &quin, &diag) == FMT_OK) {
        assert_int_equal(small_volume_add_quin(out, &quin, &diag), FMT_OK);
    }
}

static void load_terms(const q42_volume *volume, const char *without, small_volume *out) {
    q42_lexicon_walk walk = {0};
    q42_term term;
    fmt_diag diag;
    uint64_t hash;
    while (q42_lexicon_next(&volume->lexicon, &walk, &term, &diag) == FMT_OK) {
        assert_int_equal(term.prefix.size, 0);
        if (without == NULL || term.hash != hash_of(without)) {
            assert_int_equal(small_volume_add_term(out, term.text, &hash, &diag), FMT_OK);
        }
    }
}

static void load(const char *path, const char *without, small_volume *out) {
    mapped_file file = {.fd = -1};
    q42_volume volume;
    fmt_diag diag;
    *out = (small_volume){0};
    assert_int_equal(mapped_file_open(path, &file, NULL), QN_OK);
    if (q42_open(file.span, FMT_MODE_STRICT, &volume, NULL, NULL, &diag) != FMT_OK) {
        fail_msg("%s: %s", path, diag.text);
    }
    load_quins(&volume, out);
    load_terms(&volume, without, out);
    mapped_file_close(&file);
}

void load_companion(const char *path, small_volume *out_volume) {
    load(path, NULL, out_volume);
}

static void drop_quins(small_volume *v, const char *predicate) {
    uint64_t kept = 0;
    for (uint64_t i = 0; i < v->n_quins; i++) {
        if (v->quins[i].predicate != hash_of(predicate)) {
            v->quins[kept++] = v->quins[i];
        }
    }
    v->n_quins = kept;
}

static void repeat_quins(small_volume *v, const char *predicate) {
    const uint64_t n = v->n_quins;
    fmt_diag diag;
    for (uint64_t i = 0; i < n; i++) {
        q42_quin quin = v->quins[i];
        if (quin.predicate == hash_of(predicate)) {
            quin = q42_quin_make(hash_of("another"), quin.predicate, quin.object, quin.context, quin.metadata);
            assert_int_equal(small_volume_add_quin(v, &quin, &diag), FMT_OK);
        }
    }
}

static void add_quin(small_volume *v, const q42_quin *like, const companion_change *change) {
    uint64_t predicate, object = change->object;
    fmt_diag diag;
    assert_int_equal(small_volume_add_term(v, (fmt_str){change->add, strlen(change->add)}, &predicate, &diag), FMT_OK);
    if (change->text != NULL) {
        assert_int_equal(small_volume_add_term(v, (fmt_str){change->text, strlen(change->text)}, &object, &diag),
                         FMT_OK);
    }
    const q42_quin quin = q42_quin_make(like->subject, predicate, object, like->context, change->metadata);
    assert_int_equal(small_volume_add_quin(v, &quin, &diag), FMT_OK);
}

static fmt_status write_file(void *ctx, const void *data, uint64_t size, fmt_diag *diag) {
    (void)diag;
    return fwrite(data, 1, (size_t)size, ctx) == size ? FMT_OK : FMT_IO;
}

void edit_companion(const char *from, const char *to, const companion_change *change) {
    small_volume volume;
    q42_write_report report;
    fmt_diag diag;
    load(from, change->drop_term, &volume);
    const q42_quin like = volume.quins[0];
    if (change->drop != NULL) {
        drop_quins(&volume, change->drop);
    }
    if (change->twice != NULL) {
        repeat_quins(&volume, change->twice);
    }
    if (change->add != NULL) {
        add_quin(&volume, &like, change);
    }
    FILE *file = fopen(to, "wb");
    assert_non_null(file);
    const q42_sink sink = {file, write_file};
    assert_int_equal(small_volume_write(&volume, 1000, &sink, &report, &diag), FMT_OK);
    assert_int_equal(fclose(file), 0);
    small_volume_free(&volume);
}
