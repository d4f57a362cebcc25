/* fuzz_elf_note.c — the reader of plugin notes on any bytes. */
#include <stdlib.h>
#include <string.h>

#include "backends/elf_note.h"

#define REQUIRE(condition) \
    do { \
        if (!(condition)) { \
            abort(); \
        } \
    } while (0)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    elf_facts facts;
    error_context err = {0};
    const qn_machine machine = {.size = sizeof machine, .arch = QN_NOTE_ARCH};
    if (elf_note_read((fmt_span){data, size}, &facts, &err) < 0) {
        REQUIRE(strlen(error_text(&err)) > 10);
        return 0;
    }
    REQUIRE(strlen(facts.build_id) < sizeof facts.build_id);
    if (facts.has_note) {
        REQUIRE(strlen(facts.note.name) < sizeof facts.note.name && strlen(facts.note.version) < sizeof facts.note.version);
        if (elf_note_judge("mine", &facts.note, &machine, &err) < 0) {
            REQUIRE(strstr(error_text(&err), "refused at note") != NULL);
        }
    }
    return 0;
}
