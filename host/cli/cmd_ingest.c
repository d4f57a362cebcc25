/* cmd_ingest.c — quoin ingest: RDF files become a Q42 volume. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <quoin/ntriples.h>

#include "base/log.h"
#include "base/same_file.h"
#include "cli/command.h"
#include "cli/graph_command.h"
#include "graph/ingest.h"

enum { MOST_JOBS = 256, MOST_TIER = 4, LEAST_MEMORY = 32 << 20 };

static struct {
    const char *output, *graph, *base, *memory, *segment_size, *rejects, *terms, *long_literals, *format;
    uint32_t tier, jobs;
    bool is_commons, is_sanctuary, keeps_duplicates, is_forced;
} settings;

static const option *ingest_options_table(void) {
    settings.memory = "256M";
    settings.terms = "surface";
    settings.long_literals = "refuse";
    static const option table[] = {
        {OPTION_STRING, "output", 'o', "FILE", "volume to write (needed)", &settings.output, 0, 0, NULL, NULL},
        {OPTION_STRING, "format", 0, "F", "nt, nq, ttl or trig (default: by the name of each input; \"-\" is nq)",
         &settings.format, 0, 0, "nt|nq|ttl|turtle|trig", NULL},
        {OPTION_STRING, "graph", 'g', "IRI", "graph of the statements that name none", &settings.graph, 0, 0, NULL, NULL},
        {OPTION_STRING, "base", 0, "IRI", "what relative IRIs of Turtle and TriG stand against", &settings.base, 0, 0, NULL,
         NULL},
        {OPTION_UINT, "tier", 0, "N", "sensitivity: 0 public, 1 professional, 2 legal, 3 medical, 4 fiduciary",
         &settings.tier, 0, MOST_TIER, NULL, NULL},
        {OPTION_FLAG, "commons", 0, NULL, "declare the volume public", &settings.is_commons, 0, 0, NULL, NULL},
        {OPTION_FLAG, "sanctuary", 0, NULL, "declare that the volume must not leave this machine", &settings.is_sanctuary, 0,
         0, NULL, NULL},
        {OPTION_STRING, "segment-size", 0, "SIZE", "write a volume set whose files are at most this long (128K at least)",
         &settings.segment_size, 0, 0, NULL, NULL},
        {OPTION_STRING, "memory", 'm', "SIZE", "memory to work in, 32M at least (default 256M); the rest goes through files "
         "beside the output", &settings.memory, 0, 0, NULL, NULL},
        {OPTION_UINT, "jobs", 'j', "N", "worker threads (default: as many as may be used)", &settings.jobs, 1, MOST_JOBS,
         NULL, NULL},
        {OPTION_STRING, "reject", 0, "FILE", "leave faulty statements out and list them here", &settings.rejects, 0, 0, NULL,
         NULL},
        {OPTION_STRING, "long-literals", 0, "HOW", "terms over 65535 bytes: refuse (default), or reject (see --reject)",
         &settings.long_literals, 0, 0, "refuse|reject", NULL},
        {OPTION_STRING, "terms", 0, "T", "texts of terms: surface (default), or bare, which loses datatypes",
         &settings.terms, 0, 0, "surface|bare", NULL},
        {OPTION_FLAG, "keep-duplicates", 0, NULL, "store a statement as often as it comes", &settings.keeps_duplicates, 0, 0,
         NULL, NULL},
        {OPTION_FLAG, "force", 'f', NULL, "replace an existing output", &settings.is_forced, 0, 0, NULL, NULL},
        {OPTION_END, NULL, 0, NULL, NULL, NULL, 0, 0, NULL, NULL}};
    return table;
}

static int refuse_usage(command_context *c) {
    command_fail(c);
    return EXIT_USAGE;
}

/* What is wrong with an IRI is told by its column alone: an option has no lines. */
static qn_status check_iri(const char *option, const char *iri, error_context *err) {
    static char room[NTRIPLES_TERM_ROOM];
    static const char line[] = "line 1, ";
    ntriples_term term;
    fmt_diag diag;
    if (iri == NULL || ntriples_make_iri((fmt_str){iri, strlen(iri)}, room, &term, &diag) == FMT_OK) {
        return QN_OK;
    }
    const char *words = strncmp(diag.text, line, sizeof line - 1) == 0 ? diag.text + sizeof line - 1 : diag.text;
    return FAIL(err, QN_BAD_INPUT, "%s \"%.200s\" is no absolute IRI: %s", option, iri, words);
}

/* No file is read and replaced, and no two results have one name. */
static qn_status check_paths(const arguments *inputs, error_context *err) {
    for (uint32_t i = 0; i < inputs->n_items; i++) {
        const char *input = inputs->items[i];
        const char *clash = same_file(input, settings.output)                                      ? "-o"
                            : settings.rejects != NULL && same_file(input, settings.rejects) ? "--reject"
                                                                                                   : NULL;
        if (clash != NULL) {
            return FAIL(err, QN_BAD_INPUT, "%s is an input and the file of %s: give another one", input, clash);
        }
    }
    if (settings.rejects != NULL && same_file(settings.output, settings.rejects)) {
        return FAIL(err, QN_BAD_INPUT, "%s is the file of -o and of --reject: give another one", settings.rejects);
    }
    return QN_OK;
}

static qn_status check_arguments(command_context *c) {
    if (c->args.n_items == 0) {
        return FAIL(&c->err, QN_BAD_INPUT, "ingest needs at least one input; \"-\" is standard input");
    }
    if (settings.output == NULL) {
        return FAIL(&c->err, QN_BAD_INPUT, "ingest needs -o FILE");
    }
    if (settings.is_commons && (settings.is_sanctuary || settings.tier >= 2)) {
        return FAIL(&c->err, QN_BAD_INPUT, "--commons and %s contradict each other",
                    settings.is_sanctuary ? "--sanctuary" : "a tier of 2 or more");
    }
    if (strcmp(settings.long_literals, "reject") == 0 && settings.rejects == NULL) {
        return FAIL(&c->err, QN_BAD_INPUT, "--long-literals reject needs --reject FILE to list them in");
    }
    if (check_iri("--graph", settings.graph, &c->err) != QN_OK || check_iri("--base", settings.base, &c->err) != QN_OK) {
        return QN_BAD_INPUT;
    }
    if (check_paths(&c->args, &c->err) != QN_OK) {
        return QN_BAD_INPUT;
    }
    uint32_t n_standard = 0;
    for (uint32_t i = 0; i < c->args.n_items; i++) {
        n_standard += strcmp(c->args.items[i], "-") == 0 ? 1 : 0;
    }
    return n_standard > 1 ? FAIL(&c->err, QN_BAD_INPUT, "standard input can be read once; \"-\" is given %u times", n_standard)
                          : QN_OK;
}

static qn_status fill_options(command_context *c, ingest_options *out) {
    *out = (ingest_options){.inputs = c->args.items, .n_inputs = c->args.n_items, .base = settings.base,
                            .graph = settings.graph, .tier = settings.tier, .reject_path = settings.rejects,
                            .rejects_long = strcmp(settings.long_literals, "reject") == 0,
                            .terms = strcmp(settings.terms, "bare") == 0 ? TERMS_BARE : TERMS_SURFACE};
    out->volume = (volume_writer_options){.generation = 1, .is_forced = settings.is_forced,
                                          .is_commons = settings.is_commons, .is_sanctuary = settings.is_sanctuary,
                                          .keeps_duplicates = settings.keeps_duplicates};
    if (settings.format != NULL) {
        (void)rdf_format_find(settings.format, &out->format); /* one of the choices */
    }
    qn_status status = graph_parse_size("--memory", settings.memory, LEAST_MEMORY, &out->volume.memory, &c->err);
    if (status == QN_OK && settings.segment_size != NULL) {
        status = graph_parse_size("--segment-size", settings.segment_size, VOLUME_LEAST_SEGMENT, &out->volume.segment_bytes, &c->err);
    }
    return status == QN_OK ? volume_timestamp(&out->volume.timestamp_ms, &c->err) : status;
}

static int print_report(command_context *c, const ingest_report *r) {
    const volume_report *v = &r->volume;
    if (c->json) {
        return command_print_json(
            c, json_pack("{s:s, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:b, s:b}", "output", settings.output,
                         "statements", (json_int_t)r->n_statements, "quins", (json_int_t)v->n_quins, "duplicates",
                         (json_int_t)v->n_duplicates, "terms", (json_int_t)v->n_terms, "blocks", (json_int_t)v->n_blocks,
                         "bytes", (json_int_t)v->bytes, "files", (json_int_t)v->n_files, "rejected",
                         (json_int_t)r->n_rejected, "too_long", (json_int_t)r->n_long, "commons",
                         (v->flags & Q42_FLAG_COMMONS) != 0, "sanctuary", (v->flags & Q42_FLAG_SANCTUARY) != 0));
    }
    char line[700];
    const int n = snprintf(line, sizeof line,
                           "%.400s: %" PRIu64 " statements, %" PRIu64 " terms, %" PRIu64 " blocks, %" PRIu64
                           " bytes in %u file%s\n", settings.output, v->n_quins, v->n_terms, v->n_blocks, v->bytes,
                           v->n_files, v->n_files == 1 ? "" : "s");
    return command_write(line, (size_t)n) ? EXIT_DONE : EXIT_IO;
}

static void tell_notes(const ingest_report *r) {
    const volume_report *v = &r->volume;
    if (v->n_duplicates > 0) {
        log_line(QN_LOG_INFO, "%" PRIu64 " repetitions of statements were left out", v->n_duplicates);
    }
    if (r->n_rejected > 0) {
        log_line(QN_LOG_WARN, "%" PRIu64 " statements were rejected (%" PRIu64 " for a term that is too long); they are listed in %s",
                 r->n_rejected, r->n_long, settings.rejects);
    }
    if (v->sanctuary_was_needed && !settings.is_sanctuary) {
        log_line(QN_LOG_WARN, "the volume is marked Sanctuary: a statement's tier or label asks for it");
    }
}

static int ingest(command_context *c, const ingest_options *filled) {
    ingest_options options = *filled;
    ingest_report report;
    command_progress progress;
    command_begin_progress(&progress, c, "ingesting");
    options.progress = command_show_progress;
    options.progress_ctx = &progress;
    const qn_status status = ingest_run(settings.output, &options, c->workers, &report, &c->err);
    command_end_progress(&progress);
    if (status != QN_OK) {
        return command_fail(c);
    }
    tell_notes(&report);
    return print_report(c, &report);
}

static int run(command_context *c) {
    ingest_options options;
    if (check_arguments(c) != QN_OK || fill_options(c, &options) != QN_OK) {
        return refuse_usage(c);
    }
    command_catch_signals(c);
    c->threads = settings.jobs != 0 ? settings.jobs : c->threads;
    if (command_start_team(c) != QN_OK) {
        return command_fail(c);
    }
    return ingest(c, &options);
}

const command command_ingest = {
    .name = "ingest", .summary = "Load RDF files into a Q42 volume", .synopsis = "IN... -o OUT.q42 [options]",
    .example = "  quoin ingest schema.nt.gz people.ttl -o people.q42\n"
               "  zcat dump.nq.gz | quoin ingest - -o dump.q42 --segment-size 512M\n",
    .options = ingest_options_table, .run = run, .is_without_backend = true};
