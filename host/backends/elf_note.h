/* elf_note.h — what a plugin file says of itself, read from its bytes: the note of <quoin/note.h> and the linker's build id.
 *
 *     ELF header ─► program headers ─► PT_NOTE segments ─► notes: "QUOIN" type 1, "GNU" type 3
 *
 * The file is hostile: every offset and size is checked against the span before it is used. No code of it is run.
 *
 * Threading: pure.
 * Memory:    a value without pointers; nothing is allocated.
 * Errors:    QN_BAD_FILE with the byte and what was found there; QN_TOO_NEW for a note of a later ABI. *out is then unspecified.
 */
#ifndef HOST_ELF_NOTE_H
#define HOST_ELF_NOTE_H
#include <stdbool.h>

#include <quoin/note.h>
#include <quoin/span.h>

#include "base/error.h"

#define ELF_BUILD_ID_SIZE 65

typedef struct elf_facts {
    bool has_note;
    qn_note note;                         /* valid with has_note; its texts are terminated and printable */
    char build_id[ELF_BUILD_ID_SIZE];     /* of the linker, in hexadecimal; "" when there is none */
} elf_facts;

/* A 64-bit little-endian shared object for this machine; a file without note is none of its errors. */
qn_status elf_note_read(fmt_span file, elf_facts *out, error_context *err);

/* May a file with this note be loaded here? Refuses, at stage "note", another name than `name`, another ABI, another machine, CPU
 * features that are not there, and a sanitizer that this program was not built with. */
qn_status elf_note_judge(const char *name, const qn_note *note, const qn_machine *machine, error_context *err);

/* "cpu", "gpu", "igpu", "accelerator", "remote" or "unknown". Static. */
const char *elf_note_class_name(uint32_t device_class);

#endif
