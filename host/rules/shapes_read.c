/* shapes_read.c — shapes from a Turtle file: which nodes are shapes, and that nothing in the file is left over. */
#include <stdlib.h>
#include <string.h>

#include "graph/rdf_reader.h"
#include "rules/shapes_internal.h"

/* ---------------------------------------------------------------- the statements of the file */

static qn_status take_statement(void *ctx, const ntriples_statement *statement, error_context *err) {
    shape_reader *r = ctx;
    fmt_str terms[FACT_PLACES];
    for (int place = 0; place < FACT_PLACES; place++) {
        terms[place] = (fmt_str){statement->terms[place].text, statement->terms[place].size};
    }
    const uint32_t line = statement->line < UINT32_MAX ? (uint32_t)statement->line : UINT32_MAX;
    const qn_status status = fact_table_add(&r->all->table, terms, line, NULL, err);
    return status < 0 ? error_put_path(err, status, r->path) : QN_OK;
}

static qn_status read_file(shape_reader *r) {
    const rdf_options options = {.format = RDF_TURTLE};
    rdf_reader *reader;
    qn_status status = rdf_reader_open(r->path, &options, &reader, r->err);
    if (status < 0) {
        return status;
    }
    status = rdf_reader_each(reader, take_statement, r, NULL, r->err);
    rdf_reader_close(reader);
    return status;
}

static fmt_str text_at(const shape_reader *r, const table_fact *statement, int place) {
    return term_pool_text(&r->all->table.pool, statement->terms[place]);
}

/* ---------------------------------------------------------------- one shape */

static term_ref find_text(const shape_reader *r, const char *text) {
    return term_pool_find(&r->all->table.pool, text_of(text));
}

/* Every statement about a node; the first negative status ends it. */
static qn_status take_about(shape_reader *r, shape *one, term_ref node) {
    const term_ref pattern[FACT_PLACES] = {node, 0, 0};
    const fact_table *table = &r->all->table;
    uint64_t looked = 0;
    qn_status status = QN_OK;
    for (uint32_t at = fact_table_next(table, pattern, FACT_NONE, &looked); status >= 0 && at != FACT_NONE;
         at = fact_table_next(table, pattern, at, &looked)) {
        status = shape_take_statement(r, one, &table->facts[at]);
    }
    return status;
}

/* The node's path, so that what is read afterwards knows that it is about a property. */
static fmt_str find_path(const shape_reader *r, term_ref node) {
    const term_ref path = find_text(r, "<" SH_IRI "path>");
    const term_ref pattern[FACT_PLACES] = {node, path, 0};
    uint64_t looked = 0;
    const uint32_t at = path != 0 ? fact_table_next(&r->all->table, pattern, FACT_NONE, &looked) : FACT_NONE;
    return at != FACT_NONE ? text_at(r, &r->all->table.facts[at], FACT_OBJECT) : (fmt_str){"", 0};
}

static uint32_t line_of(const shape_reader *r, term_ref node) {
    const term_ref pattern[FACT_PLACES] = {node, 0, 0};
    uint64_t looked = 0;
    const uint32_t at = fact_table_next(&r->all->table, pattern, FACT_NONE, &looked);
    return at != FACT_NONE ? r->all->table.facts[at].line : 0;
}

static qn_status make_room(shape_reader *r, shape **items, uint32_t n_items, uint32_t *room) {
    if (n_items == SHAPES_MAX) {
        return FAIL(r->err, QN_LIMIT, "%s: more than %u shapes or properties", r->path, SHAPES_MAX);
    }
    if (n_items < *room) {
        return QN_OK;
    }
    const uint32_t wanted = *room == 0 ? 16 : *room * 2;
    shape *grown = realloc(*items, wanted * sizeof *grown);
    if (grown == NULL) {
        return FAIL(r->err, QN_NO_HOST_MEM, "%s: no memory for its shapes", r->path);
    }
    *items = grown;
    *room = wanted;
    return QN_OK;
}

static qn_status read_shape(shape_reader *r, term_ref node, shape *out) {
    *out = (shape){.node = term_pool_text(&r->all->table.pool, node), .line = line_of(r, node), .path = find_path(r, node)};
    const qn_status status = take_about(r, out, node);
    return status < 0 ? status : shape_finish(r, out);
}

/* ---------------------------------------------------------------- properties */

static qn_status add_property(shape_reader *r, term_ref node, const table_fact *statement) {
    shapes *all = r->all;
    qn_status status = make_room(r, &all->properties, all->n_properties, &all->properties_room);
    if (status < 0) {
        return status;
    }
    shape *property = &all->properties[all->n_properties];
    status = read_shape(r, node, property);
    all->n_properties++; /* also after a failure: it may own something */
    if (status >= 0 && property->path.size == 0) {
        const fmt_str name = term_pool_text(&all->table.pool, node);
        return shape_refuse(r, statement->line, "%.*s is a property without sh:path", (int)(name.size < 100 ? name.size : 100), name.data);
    }
    return status;
}

static bool has_targets(const shape *one) {
    for (int i = 0; i < N_TARGETS; i++) {
        if (one->targets[i].n_terms > 0) {
            return true;
        }
    }
    return false;
}

static qn_status add_properties(shape_reader *r, shape *one, term_ref node) {
    const fact_table *table = &r->all->table;
    const term_ref pattern[FACT_PLACES] = {node, find_text(r, "<" SH_IRI "property>"), 0};
    uint64_t looked = 0;
    qn_status status = QN_OK;
    one->first_property = r->all->n_properties;
    if (pattern[FACT_PREDICATE] == 0) {
        return QN_OK;
    }
    for (uint32_t at = fact_table_next(table, pattern, FACT_NONE, &looked); status >= 0 && at != FACT_NONE;
         at = fact_table_next(table, pattern, at, &looked)) {
        status = add_property(r, table->facts[at].terms[FACT_OBJECT], &table->facts[at]);
    }
    one->n_properties = r->all->n_properties - one->first_property;
    return status;
}

/* ---------------------------------------------------------------- shapes with targets */

static bool has_type(const shape_reader *r, term_ref node, const char *type) {
    const term_ref terms[FACT_PLACES] = {node, find_text(r, RDF_TYPE_TEXT), find_text(r, type)};
    return terms[FACT_PREDICATE] != 0 && terms[FACT_OBJECT] != 0 && fact_table_find(&r->all->table, terms) != FACT_NONE;
}

/* A shape that is itself a class is about the instances of that class. */
static qn_status add_own_class(shape_reader *r, shape *one, term_ref node) {
    const bool is_shape = has_type(r, node, "<" SH_IRI "NodeShape>") || has_type(r, node, "<" SH_IRI "PropertyShape>");
    const bool is_class = has_type(r, node, "<" RDFS_IRI "Class>") || has_type(r, node, "<http://www.w3.org/2002/07/owl#Class>");
    return is_shape && is_class ? shape_add_term(r, &one->targets[TARGET_CLASS], one->node) : QN_OK;
}

/* A property with targets of its own becomes a shape that has this one property. */
static qn_status add_targeted(shape_reader *r, term_ref node) {
    shapes *all = r->all;
    qn_status status = make_room(r, &all->targeted, all->n_targeted, &all->targeted_room);
    if (status < 0) {
        return status;
    }
    shape *one = &all->targeted[all->n_targeted];
    status = read_shape(r, node, one);
    status = status < 0 ? status : add_own_class(r, one, node);
    if (status < 0 || !has_targets(one)) {
        shape_free(one);
        return status;
    }
    all->n_targeted++;
    if (one->path.size == 0) {
        return add_properties(r, one, node);
    }
    status = make_room(r, &all->properties, all->n_properties, &all->properties_room);
    if (status < 0) {
        return status;
    }
    shape *property = &all->properties[all->n_properties];
    *property = *one; /* moves what it owns, but for the targets */
    memset(property->targets, 0, sizeof property->targets);
    const shape owner = {.node = one->node, .line = one->line, .is_deactivated = one->is_deactivated,
                         .first_property = all->n_properties++, .n_properties = 1};
    term_list targets[N_TARGETS];
    memcpy(targets, one->targets, sizeof targets);
    *one = owner;
    memcpy(one->targets, targets, sizeof targets);
    return QN_OK;
}

/* ---------------------------------------------------------------- nothing is left over */

static bool is_checked(const shape_reader *r, fmt_str node) {
    const shapes *all = r->all;
    for (uint32_t i = 0; i < all->n_targeted; i++) {
        if (all->targeted[i].node.data == node.data) { /* texts are kept once */
            return true;
        }
    }
    for (uint32_t i = 0; i < all->n_properties; i++) {
        if (all->properties[i].node.data == node.data) {
            return true;
        }
    }
    return false;
}

static qn_status refuse_type(shape_reader *r, const table_fact *statement) {
    static const char *const known[] = {"NodeShape", "PropertyShape", "PropertyGroup", "Shape"};
    const fmt_str name = shape_vocabulary_name(text_at(r, statement, FACT_OBJECT));
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        if (name.size == 0 || texts_equal(name, text_of(known[i]))) {
            return QN_OK;
        }
    }
    return shape_refuse(r, statement->line, "sh:%.*s is not offered", (int)(name.size < 60 ? name.size : 60), name.data);
}

/* Words that constrain, and are not offered, anywhere in the file. */
static qn_status refuse_words(shape_reader *r, const table_fact *statement) {
    const fmt_str predicate = text_at(r, statement, FACT_PREDICATE);
    const fmt_str name = shape_vocabulary_name(predicate);
    bool constrains;
    if (shape_is_known(predicate, &constrains)) {
        return texts_equal(predicate, text_of(RDF_TYPE_TEXT)) ? refuse_type(r, statement) : QN_OK;
    }
    const fmt_str shown = name.size > 0 ? name : predicate;
    return shape_refuse(r, statement->line, "%s%.*s is not offered, and a constraint is never left out without a word",
                        name.size > 0 ? "sh:" : "", (int)(shown.size < 100 ? shown.size : 100), shown.data);
}

static qn_status refuse_unchecked(shape_reader *r, const table_fact *statement) {
    bool constrains;
    const fmt_str node = text_at(r, statement, FACT_SUBJECT);
    shape_is_known(text_at(r, statement, FACT_PREDICATE), &constrains);
    return !constrains || is_checked(r, node)
               ? QN_OK
               : shape_refuse(r, statement->line, "nothing would ever check %.*s: it has no target, and no shape with one refers to it",
                              (int)(node.size < 100 ? node.size : 100), node.data);
}

typedef qn_status statement_fn(shape_reader *r, const table_fact *statement);

static qn_status each_statement(shape_reader *r, statement_fn *look) {
    qn_status status = QN_OK;
    for (uint32_t i = 0; status >= 0 && i < r->all->table.n_facts; i++) {
        status = look(r, &r->all->table.facts[i]);
    }
    return status;
}

/* ---------------------------------------------------------------- the file */

/* Does this statement make its node one that may have targets? Then it is read once, at its first such statement. */
static qn_status look_for_shape(shape_reader *r, const table_fact *statement) {
    const term_ref node = statement->terms[FACT_SUBJECT];
    const fmt_str predicate = text_at(r, statement, FACT_PREDICATE), name = shape_vocabulary_name(predicate);
    const bool is_target = name.size > 6 && memcmp(name.data, "target", 6) == 0;
    const bool is_typed = texts_equal(predicate, text_of(RDF_TYPE_TEXT)) && shape_vocabulary_name(text_at(r, statement, FACT_OBJECT)).size > 0;
    if (!is_target && !is_typed) {
        return QN_OK;
    }
    for (uint32_t i = 0; i < r->all->n_targeted; i++) {
        if (r->all->targeted[i].node.data == text_at(r, statement, FACT_SUBJECT).data) {
            return QN_OK;
        }
    }
    return add_targeted(r, node);
}

static qn_status read_shapes(shape_reader *r) {
    qn_status status = fact_table_init(&r->all->table, FACT_TABLE_MOST, r->err);
    status = status < 0 ? status : read_file(r);
    status = status < 0 ? status : each_statement(r, refuse_words);
    status = status < 0 ? status : each_statement(r, look_for_shape);
    status = status < 0 ? status : each_statement(r, refuse_unchecked);
    if (status >= 0 && r->all->n_targeted == 0) {
        return FAIL(r->err, QN_BAD_INPUT, "%s: there is no shape with a target in it", r->path);
    }
    return status;
}

qn_status shapes_read(const char *path, shapes **out_shapes, error_context *err) {
    shapes *all = calloc(1, sizeof *all);
    if (all == NULL) {
        return FAIL(err, QN_NO_HOST_MEM, "%s: no memory for its shapes", path);
    }
    shape_reader r = {all, path, err};
    const qn_status status = read_shapes(&r);
    if (status < 0) {
        shapes_free(all);
        return status;
    }
    *out_shapes = all;
    return QN_OK;
}

void shapes_free(shapes *all) {
    if (all == NULL) {
        return;
    }
    for (uint32_t i = 0; i < all->n_targeted; i++) {
        shape_free(&all->targeted[i]);
    }
    for (uint32_t i = 0; i < all->n_properties; i++) {
        shape_free(&all->properties[i]);
    }
    free(all->targeted);
    free(all->properties);
    term_pool_free(&all->messages);
    fact_table_deinit(&all->table);
    free(all);
}

void shapes_count(const shapes *all, uint32_t *out_shapes, uint32_t *out_properties) {
    *out_shapes = all->n_targeted;
    *out_properties = all->n_properties;
}

bool shapes_know_predicate(const shapes *all, fmt_str predicate) {
    for (uint32_t i = 0; i < all->n_properties; i++) {
        if (texts_equal(all->properties[i].path, predicate)) {
            return true;
        }
    }
    for (uint32_t i = 0; i < all->n_targeted; i++) {
        const shape *one = &all->targeted[i];
        if (shape_list_has(&one->targets[TARGET_SUBJECTS_OF], predicate) || shape_list_has(&one->targets[TARGET_OBJECTS_OF], predicate) ||
            shape_list_has(&one->ignored, predicate)) {
            return true;
        }
    }
    return false;
}
