/* zoo_plugin.c — the reference backend with one fault, chosen when it is compiled: query, table and note. */
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <quoin/note.h>

#include "zoo.h"

qn_status QN_CALL quoin_reference_query(const qn_query_in *in, qn_query_out *out);
QN_EXPORT qn_status QN_CALL quoin_backend_query_0(const qn_query_in *in, qn_query_out *out);

const qn_plugin *zoo_honest;
qn_host zoo_host;

static qn_plugin verbs;

#if defined(__GNUC__)
/* Exported where the fault is has_two_exports: the other plugins are linked with the list of one symbol. */
QN_EXPORT int zoo_second_export(void);

QN_EXPORT int zoo_second_export(void) {
    return 1;
}
#endif

/* The table of somebody who put a verb of his own before the others. */
static void insert_a_verb(void) {
    const size_t from = offsetof(qn_plugin, devices), n = offsetof(qn_plugin, get_ext) - from;
    memmove((char *)&verbs + from + sizeof verbs.devices, (char *)&verbs + from, n);
}

static bool has_a_device(void) {
    const int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (fd >= 0) {
        close(fd);
    }
    return fd >= 0;
}

qn_status QN_CALL quoin_backend_query_0(const qn_query_in *in, qn_query_out *out) {
    static uint32_t n_queries;
    static char version[16];
    if (IS(exits_in_query)) {
        exit(0);
    }
    if (IS(looks_for_its_device) && !has_a_device()) {
        return QN_UNAVAILABLE;
    }
    const qn_status status = quoin_reference_query(in, out);
    if (status < 0) {
        return status;
    }
    zoo_honest = out->plugin;
    if (n_queries == 0) {
        verbs = *zoo_honest;
        zoo_fill_device(&verbs);
        zoo_fill_step(&verbs);
        zoo_fill_lost(&verbs);
        if (IS(inserts_a_verb)) {
            insert_a_verb();
        }
    }
    n_queries++;
    out->plugin = &verbs;
    out->name = ZOO_TEXT(FAULT);
    out->version = "3.1";
    if (IS(counts_queries)) {
        snprintf(version, sizeof version, "3.%u", n_queries);
        out->version = n_queries % 2 == 0 ? version : "3.1";
    }
    return QN_OK;
}

static const qn_elf_note note __attribute__((section(".note.quoin"), used, aligned(4))) = {
    sizeof QN_NOTE_OWNER, sizeof(qn_note), QN_NOTE_TYPE, QN_NOTE_OWNER,
    {sizeof(qn_note), 1u << QN_ABI_MAJOR, {QN_ABI_MINOR, 0, 0, 0}, QN_NOTE_ARCH, QN_NOTE_OS, {0}, QN_DEVICE_GPU, 0, QN_NOTE_SANITIZER, 0,
     ZOO_TEXT(FAULT), "3.1", "Apache-2.0", "1"}};
