#include "cli/elf.h"

#include <elf.h>
#include <link.h>
#include <paths.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/cli.h"

/* A piece of the file, or NULL when it does not lie inside. */
static const void *file_piece(const struct cli_text *file, size_t at, size_t len)
{
    return at <= file->len && len <= file->len - at ? file->data + at : NULL;
}

static bool read_header(const struct cli_text *file, size_t index, ElfW(Phdr) *out)
{
    ElfW(Ehdr) elf;
    memcpy(&elf, file->data, sizeof elf);
    size_t offset;
    if (index >= elf.e_phnum || elf.e_phentsize < sizeof *out ||
        __builtin_mul_overflow(index, elf.e_phentsize, &offset) ||
        __builtin_add_overflow(offset, elf.e_phoff, &offset))
        return false;
    const void *at = file_piece(file, offset, sizeof *out);
    if (at == NULL)
        return false;
    memcpy(out, at, sizeof *out);
    return true;
}

/* The place in the file of an address in memory. */
static bool file_place(const struct cli_text *file, size_t address, size_t *place)
{
    ElfW(Phdr) segment;
    for (size_t i = 0; read_header(file, i, &segment); i++)
        if (segment.p_type == PT_LOAD && address >= segment.p_vaddr && address - segment.p_vaddr < segment.p_filesz) {
            *place = segment.p_offset + (address - segment.p_vaddr);
            return true;
        }
    return false;
}

static bool copy_text(const struct cli_text *file, size_t place, char *out, size_t size)
{
    if (place >= file->len)
        return false;
    size_t len = strnlen(file->data + place, file->len - place);
    if (len == file->len - place || len >= size)
        return false;
    memcpy(out, file->data + place, len + 1);
    return true;
}

static bool read_needed(const struct cli_text *file, const ElfW(Phdr) *dynamic, struct cli_elf *elf)
{
    size_t count = dynamic->p_filesz / sizeof(ElfW(Dyn)), strings = 0;
    bool have_strings = false;
    const char *table = file_piece(file, dynamic->p_offset, dynamic->p_filesz);

    if (table == NULL)
        return false;
    for (size_t i = 0; i < count; i++) {
        ElfW(Dyn) entry;
        memcpy(&entry, table + i * sizeof entry, sizeof entry);
        if (entry.d_tag == DT_STRTAB)
            have_strings = file_place(file, entry.d_un.d_ptr, &strings);
    }
    elf->needed = calloc(count + 1, sizeof *elf->needed);
    if (elf->needed == NULL || !have_strings)
        return false;
    for (size_t i = 0; i < count; i++) {
        ElfW(Dyn) entry;
        memcpy(&entry, table + i * sizeof entry, sizeof entry);
        if (entry.d_tag == DT_NULL)
            break;
        if (entry.d_tag != DT_NEEDED)
            continue;
        size_t place;
        if (__builtin_add_overflow(strings, (size_t)entry.d_un.d_val, &place) ||
            !copy_text(file, place, elf->needed[elf->n], sizeof elf->needed[0]))
            return false;
        elf->n++;
    }
    return true;
}

static bool read_segments(const struct cli_text *file, struct cli_elf *elf)
{
    ElfW(Phdr) segment;
    elf->kind = CLI_PROGRAM_STATIC;
    for (size_t i = 0; read_header(file, i, &segment); i++) {
        if (segment.p_type == PT_INTERP) {
            elf->kind = CLI_PROGRAM_DYNAMIC;
            if (!copy_text(file, segment.p_offset, elf->interpreter, sizeof elf->interpreter))
                return false;
        } else if (segment.p_type == PT_DYNAMIC && (elf->needed != NULL || !read_needed(file, &segment, elf))) {
            return false; /* none has two */
        }
    }
    return true;
}

/* The kernel starts what is of the class, byte order and machine of this program. */
static bool is_of_this_machine(const struct cli_text *file)
{
    ElfW(Ehdr) elf, self;
    if (file->len < sizeof elf || memcmp(file->data, ELFMAG, SELFMAG) != 0)
        return false;
    memcpy(&elf, file->data, sizeof elf);
    FILE *stream = fopen("/proc/self/exe", "rb");
    if (stream == NULL || fread(&self, sizeof self, 1, stream) != 1)
        self = elf; /* /proc is hidden: this program cannot be looked at */
    if (stream != NULL)
        fclose(stream);
    return elf.e_ident[EI_CLASS] == (sizeof(void *) == 8 ? ELFCLASS64 : ELFCLASS32) &&
           elf.e_ident[EI_DATA] == self.e_ident[EI_DATA] && elf.e_machine == self.e_machine;
}

/* What execvp hands to sh, as the kernel does not know it: a text, by its first line. */
static bool is_text(const struct cli_text *file)
{
    const char *end = memchr(file->data, '\n', file->len);
    size_t len = end != NULL ? (size_t)(end - file->data) : file->len;
    return file->len > 0 && memchr(file->data, '\0', len) == NULL;
}

bool cli_elf_read(const char *name, struct cli_elf *elf)
{
    struct cli_text file;
    struct stat status;
    bool good = true;

    *elf = (struct cli_elf){.kind = CLI_PROGRAM_OTHER};
    /* Opening a pipe waits for who writes into it, and some devices never end; folders cli_read_text refuses. */
    if (stat(name, &status) == 0 && !S_ISREG(status.st_mode) && !S_ISDIR(status.st_mode)) {
        cli_fail("%s: expected a program, found no regular file", name);
        return false;
    }
    if (!cli_read_text(name, &file))
        return false;
    if (file.len >= 2 && memcmp(file.data, "#!", 2) == 0) {
        size_t from = 2 + strspn(file.data + 2, " \t");
        size_t len = strcspn(file.data + from, " \t\r\n");
        elf->kind = CLI_PROGRAM_SCRIPT;
        if (len < sizeof elf->interpreter)
            memcpy(elf->interpreter, file.data + from, len);
        from += len + strspn(file.data + from + len, " \t");
        len = strcspn(file.data + from, "\r\n");
        if (len < sizeof elf->argument)
            memcpy(elf->argument, file.data + from, len);
    } else if (is_of_this_machine(&file)) {
        good = read_segments(&file, elf);
        if (!good)
            cli_fail("%s: damaged: its ELF tables are those of no program", name);
    } else if (is_text(&file)) {
        elf->kind = CLI_PROGRAM_SCRIPT;
        strcpy(elf->interpreter, _PATH_BSHELL);
    }
    free(file.data);
    if (!good) {
        free(elf->needed);
        *elf = (struct cli_elf){.kind = CLI_PROGRAM_OTHER};
    }
    return good;
}
