/* elf_view.h — what a linker reads of a shared object: needed libraries, exported and imported symbols, constructors, flags.
 *
 * The file is hostile: every offset is checked against the span. Nothing is loaded.
 *
 * Threading: pure.
 * Memory:    borrows the span; nothing is allocated.
 * Errors:    false with a sentence in `why`.
 */
#ifndef ELF_VIEW_H
#define ELF_VIEW_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <quoin/span.h>

#define ELF_WHY_SIZE 160

typedef struct elf_view {
    fmt_span file;
    uint64_t symbols_at, n_symbols;   /* Elf64_Sym of the dynamic symbol table */
    uint64_t strings_at, strings_bytes;
    uint64_t dynamic_at, n_dynamic;   /* Elf64_Dyn */
    uint64_t n_constructors;          /* entries of .preinit_array and .init_array */
    bool has_executable_stack;
    bool has_writable_code;           /* a segment that is written and executed */
} elf_view;

bool elf_view_read(fmt_span file, elf_view *out, char why[ELF_WHY_SIZE]);

/* Entry i of DT_NEEDED, or null behind the last. */
const char *elf_view_needed(const elf_view *view, uint32_t i);
/* DT_TEXTREL, or DF_TEXTREL in DT_FLAGS. */
bool elf_view_has_text_relocations(const elf_view *view);

/* Dynamic symbol i, or null behind the last; *out_is_export tells definition from import. Local ones are passed over by giving "". */
const char *elf_view_symbol(const elf_view *view, uint64_t i, bool *out_is_export);

#endif
