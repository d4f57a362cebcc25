/* ground_fixture.c — statements become a volume. */
#include "ground_fixture.h"

#include <quoin/ntriples.h>

#include "graph/volume_writer.h"

static uint64_t read_term(const char *text, bool *out_is_inline) {
    static char scratch[NTRIPLES_TERM_ROOM];
    ntriples_term term;
    fmt_diag diag;
    uint64_t id;
    if (ntriples_read_term((fmt_str){text, strlen(text)}, scratch, &term, NULL, &diag) != FMT_OK) {
        fail_msg("%s: %s", text, diag.text);
    }
    *out_is_inline = ntriples_inline_object(&term, &id);
    return *out_is_inline ? id : q42_hash(text, strlen(text));
}

uint64_t fixture_id(const char *text) {
    bool is_inline;
    return read_term(text, &is_inline);
}

q42_quin fixture_quin(const char *subject, const char *predicate, const char *object) {
    return q42_quin_make(fixture_id(subject), fixture_id(predicate), fixture_id(object), 0, 0);
}

static void add_row(volume_lane *lane, const fixture_row *row) {
    uint64_t ids[4] = {0};
    error_context err = {0};
    for (uint32_t i = 0; i < 4; i++) {
        bool is_inline;
        ids[i] = row->terms[i] != NULL ? read_term(row->terms[i], &is_inline) : 0;
        if (row->terms[i] != NULL && !is_inline &&
            volume_lane_add_term(lane, ids[i], row->terms[i], strlen(row->terms[i]), &err) < 0) {
            fail_msg("%s", error_text(&err));
        }
    }
    const q42_quin quin = q42_quin_make(ids[0], ids[1], ids[2], ids[3], row->metadata);
    assert_int_equal(volume_lane_add_quin(lane, &quin, &err), QN_OK);
}

void fixture_open(fixture *f, const fixture_row *rows, size_t n, bool is_sanctuary, const fact_rules *rules) {
    const fact_rules usual = {.now_ms = FIXTURE_NOW};
    const volume_writer_options options = {
        .memory = UINT64_C(32) << 20, .timestamp_ms = 1, .is_marked = true, .is_sanctuary = is_sanctuary};
    error_context err = {0};
    team *workers;
    volume_writer *writer;
    volume_report report;
    test_make_folder(f->folder);
    snprintf(f->path, sizeof f->path, "%s/v.q42", f->folder);
    assert_int_equal(team_create(1, &workers, &err), QN_OK);
    assert_int_equal(volume_writer_create(f->path, &options, workers, &writer, &err), QN_OK);
    for (size_t i = 0; i < n; i++) {
        add_row(volume_writer_lane(writer, 0), &rows[i]);
    }
    if (volume_writer_commit(writer, &report, &err) < 0 ||
        graph_volume_open(f->path, FMT_MODE_STRICT, TERMS_AUTO, &f->volume, &err) < 0 ||
        ground_volume_open(f->volume, rules != NULL ? rules : &usual, 0, &f->gv, &err) < 0) {
        fail_msg("%s", error_text(&err));
    }
    volume_writer_destroy(writer);
    team_destroy(workers);
}

void fixture_close(fixture *f) {
    ground_volume_close(&f->gv);
    graph_volume_close(f->volume);
    test_remove_tree(f->folder);
}
