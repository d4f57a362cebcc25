/* file_kind.c — the table of kinds. */
#include "graph/file_kind.h"

#include <string.h>
#include <sys/stat.h>

#include "common/endian.h"
#include "graph/verify_files.h"

static qn_status verify_mapped_volume(const mapped_file *file, const verify_volume_options *options, team *workers,
                                      volume_report_list *out_list, error_context *err) {
    return verify_volume(file->path, options, workers, out_list, err);
}

static const file_kind kinds[] = {
    {"Q42 volume", Q42_FILE_VOLUME, false, verify_mapped_volume},
    {"old Q42 volume", Q42_FILE_OLD_VOLUME, false, verify_foreign},
    {"early Q42 import", Q42_FILE_EARLY_VOLUME, false, verify_foreign},
    {"Q42LEX sidecar", Q42_FILE_LEXICON, false, verify_sidecar_lexicon},
    {"BIDX sidecar", Q42_FILE_BIDX, false, verify_sidecar_index},
    {"Q42J journal", Q42_FILE_JOURNAL, false, verify_journal},
    {"QCHK envelope", Q42_FILE_ENVELOPE, false, verify_envelope},
    {"Q42W weights", Q42_FILE_OLD_WEIGHTS, false, verify_foreign},
    {"QKVP page", Q42_FILE_KV_PAGE, false, verify_foreign},
    {"Q42 version 1 blocks", Q42_FILE_RAW, false, verify_raw},
    {"framed Q42 transport", Q42_FILE_FRAMED, false, verify_framed},
    {"bare quins", Q42_FILE_FLAT, false, verify_flat},
    {"CAR archive", Q42_FILE_CAR, false, verify_archive},
    {"QWAL log", Q42_FILE_WAL, false, verify_log},
};
static const file_kind nameless = {"unknown", Q42_FILE_UNKNOWN, false, verify_foreign};
static const file_kind vault = {"vault manifest", Q42_FILE_UNKNOWN, true, verify_vault};

static bool has_suffix(const char *path, const char *suffix) {
    const size_t n = strlen(path), m = strlen(suffix);
    return n >= m && strcmp(path + n - m, suffix) == 0;
}

/* What host/model explains best: GGUF by its magic, a Safetensors header (length, then an object), or its names. */
static bool is_of_model(fmt_span span, const char *path) {
    return has_suffix(path, ".safetensors") || has_suffix(path, ".safetensors.index.json") ||
           (span.size >= 4 && memcmp(span.data, "GGUF", 4) == 0) ||
           (span.size >= 9 && span.data[8] == '{' && load_u64(span.data) <= span.size - 8);
}

/* Kinds without a magic, which a file of any content may happen to look like. */
static bool is_guess(q42_file_kind kind) {
    return kind == Q42_FILE_RAW || kind == Q42_FILE_FRAMED || kind == Q42_FILE_CAR || kind == Q42_FILE_FLAT ||
           kind == Q42_FILE_UNKNOWN;
}

static const file_kind *find_kind(fmt_span span, const char *path, bool is_flat) {
    const q42_file_kind found = q42_detect(span);
    if (is_guess(found) && is_of_model(span, path)) {
        return NULL;
    }
    const bool has_no_mark = found == Q42_FILE_UNKNOWN || (found == Q42_FILE_FLAT && !is_flat);
    if (has_no_mark && has_suffix(path, ".qualia")) {
        return &vault;
    }
    if (has_no_mark && has_suffix(path, ".q42")) {
        return &nameless; /* so that the message speaks of volumes */
    }
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        if (kinds[i].q42 == found && (is_flat || found != Q42_FILE_FLAT)) {
            return &kinds[i];
        }
    }
    return NULL;
}

qn_status file_kind_detect(const char *path, bool is_flat, const file_kind **out_kind, error_context *err) {
    struct stat info;
    mapped_file file;
    *out_kind = NULL;
    if (stat(path, &info) == 0 && S_ISDIR(info.st_mode)) {
        return QN_OK;
    }
    QN_TRY(mapped_file_open(path, &file, err), err, "opening %s", path);
    *out_kind = find_kind(file.span, path, is_flat);
    mapped_file_close(&file);
    return QN_OK;
}

qn_status file_kind_verify(const file_kind *kind, const char *path, const verify_volume_options *options, team *workers,
                           volume_report_list *out_list, error_context *err) {
    mapped_file file;
    memset(out_list, 0, sizeof *out_list);
    QN_TRY(mapped_file_open(path, &file, err), err, "verifying %s", path);
    qn_status status = kind->verify(&file, options, workers, out_list, err);
    status = status == QN_OK ? mapped_file_check(&file, err) : status;
    mapped_file_close(&file);
    verify_report_fold(out_list);
    return status;
}
