/* elf_view.c — section headers, dynamic table and dynamic symbols, each step inside the file. */
#include "file/elf_view.h"

#include <elf.h>
#include <stdio.h>
#include <string.h>

#include "common/checked.h"

static bool fail(char why[ELF_WHY_SIZE], const char *text) {
    snprintf(why, ELF_WHY_SIZE, "%s", text);
    return false;
}

static bool read_header(fmt_span file, Elf64_Ehdr *out, char why[ELF_WHY_SIZE]) {
    if (file.size < sizeof *out || memcmp(file.data, ELFMAG, SELFMAG) != 0) {
        return fail(why, "this is no ELF file");
    }
    memcpy(out, file.data, sizeof *out);
    if (out->e_ident[EI_CLASS] != ELFCLASS64 || out->e_ident[EI_DATA] != ELFDATA2LSB || out->e_type != ET_DYN) {
        return fail(why, "this is no shared object of 64 bits, little-endian");
    }
    if (out->e_phentsize != sizeof(Elf64_Phdr) || !checked_range(out->e_phoff, (uint64_t)out->e_phnum * sizeof(Elf64_Phdr), file.size)) {
        return fail(why, "its program headers lie outside the file");
    }
    if (out->e_shnum == 0 || out->e_shentsize != sizeof(Elf64_Shdr) ||
        !checked_range(out->e_shoff, (uint64_t)out->e_shnum * sizeof(Elf64_Shdr), file.size)) {
        return fail(why, "it has no section headers, or they lie outside the file");
    }
    return true;
}

static void read_segments(const Elf64_Ehdr *header, elf_view *out) {
    for (uint32_t i = 0; i < header->e_phnum; i++) {
        Elf64_Phdr segment;
        memcpy(&segment, out->file.data + header->e_phoff + i * sizeof segment, sizeof segment);
        const bool is_both = (segment.p_flags & (PF_W | PF_X)) == (PF_W | PF_X);
        out->has_executable_stack = out->has_executable_stack || (segment.p_type == PT_GNU_STACK && (segment.p_flags & PF_X) != 0);
        out->has_writable_code = out->has_writable_code || (segment.p_type == PT_LOAD && is_both);
    }
}

static bool take_section(const Elf64_Shdr *section, const Elf64_Shdr *linked, elf_view *out, char why[ELF_WHY_SIZE]) {
    if (section->sh_type != SHT_NOBITS && !checked_range(section->sh_offset, section->sh_size, out->file.size)) {
        return fail(why, "a section lies outside the file");
    }
    switch (section->sh_type) {
    case SHT_DYNSYM:
        out->symbols_at = section->sh_offset;
        out->n_symbols = section->sh_size / sizeof(Elf64_Sym);
        out->strings_at = linked->sh_offset;
        out->strings_bytes = linked->sh_size;
        return linked->sh_type == SHT_STRTAB && checked_range(linked->sh_offset, linked->sh_size, out->file.size)
                   ? true : fail(why, "its dynamic symbols have no names");
    case SHT_DYNAMIC:
        out->dynamic_at = section->sh_offset;
        out->n_dynamic = section->sh_size / sizeof(Elf64_Dyn);
        return true;
    case SHT_INIT_ARRAY:
    case SHT_PREINIT_ARRAY: out->n_constructors += section->sh_size / sizeof(uint64_t); return true;
    default: return true;
    }
}

static bool read_sections(const Elf64_Ehdr *header, elf_view *out, char why[ELF_WHY_SIZE]) {
    for (uint32_t i = 0; i < header->e_shnum; i++) {
        Elf64_Shdr section, linked = {0};
        memcpy(&section, out->file.data + header->e_shoff + i * sizeof section, sizeof section);
        if (section.sh_link < header->e_shnum) {
            memcpy(&linked, out->file.data + header->e_shoff + section.sh_link * sizeof linked, sizeof linked);
        }
        if (!take_section(&section, &linked, out, why)) {
            return false;
        }
    }
    if (out->n_symbols == 0 || out->n_dynamic == 0) {
        return fail(why, "it has no dynamic symbols or no dynamic table");
    }
    return true;
}

bool elf_view_read(fmt_span file, elf_view *out, char why[ELF_WHY_SIZE]) {
    Elf64_Ehdr header;
    memset(out, 0, sizeof *out);
    out->file = file;
    if (!read_header(file, &header, why)) {
        return false;
    }
    read_segments(&header, out);
    return read_sections(&header, out, why);
}

/* A terminated name of the string table, or "". */
static const char *name_at(const elf_view *view, uint64_t at) {
    const char *strings = (const char *)view->file.data + view->strings_at;
    return at < view->strings_bytes && memchr(strings + at, '\0', (size_t)(view->strings_bytes - at)) != NULL ? strings + at : "";
}

static Elf64_Dyn read_dynamic(const elf_view *view, uint64_t i) {
    Elf64_Dyn entry;
    memcpy(&entry, view->file.data + view->dynamic_at + i * sizeof entry, sizeof entry);
    return entry;
}

const char *elf_view_needed(const elf_view *view, uint32_t i) {
    for (uint64_t d = 0; d < view->n_dynamic; d++) {
        const Elf64_Dyn entry = read_dynamic(view, d);
        if (entry.d_tag == DT_NEEDED && i-- == 0) {
            return name_at(view, entry.d_un.d_val);
        }
    }
    return NULL;
}

bool elf_view_has_text_relocations(const elf_view *view) {
    for (uint64_t d = 0; d < view->n_dynamic; d++) {
        const Elf64_Dyn entry = read_dynamic(view, d);
        if (entry.d_tag == DT_TEXTREL || (entry.d_tag == DT_FLAGS && (entry.d_un.d_val & DF_TEXTREL) != 0)) {
            return true;
        }
    }
    return false;
}

const char *elf_view_symbol(const elf_view *view, uint64_t i, bool *out_is_export) {
    Elf64_Sym symbol;
    *out_is_export = false;
    if (i >= view->n_symbols) {
        return NULL;
    }
    memcpy(&symbol, view->file.data + view->symbols_at + i * sizeof symbol, sizeof symbol);
    const unsigned visibility = ELF64_ST_VISIBILITY(symbol.st_other);
    *out_is_export = symbol.st_shndx != SHN_UNDEF && (visibility == STV_DEFAULT || visibility == STV_PROTECTED);
    return ELF64_ST_BIND(symbol.st_info) == STB_LOCAL ? "" : name_at(view, symbol.st_name);
}
