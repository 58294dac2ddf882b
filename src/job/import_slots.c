/*
 * In the ELF format the calls that an object makes of other objects' functions go through slots that the loader
 * fills, at the start or at the first call (System V ABI, "Dynamic Linking"). A table of relocations, DT_JMPREL or
 * DT_RELA, names the slot of each by the number of a symbol that the object does not define, whatever the processor
 * calls that kind of relocation. Where slots are made read-only after the start (PT_GNU_RELRO), their page is made
 * writable for the moment.
 */
#define _GNU_SOURCE
#include "job/import_slots.h"

#include <link.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { TABLES = 2 };

struct object {
    uintptr_t inside;
    bool found;
    struct dl_phdr_info info;
    /* What its dynamic section says: */
    const ElfW(Sym) *symbols;
    const char *names;
    const ElfW(Rela) *relocations[TABLES];
    size_t bytes[TABLES];
};

static bool is_in(const struct object *object, uintptr_t address)
{
    for (int i = 0; i < object->info.dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &object->info.dlpi_phdr[i];
        if (part->p_type == PT_LOAD && address - (object->info.dlpi_addr + part->p_vaddr) < part->p_memsz)
            return true;
    }
    return false;
}

static int find_object(struct dl_phdr_info *info, size_t size, void *data)
{
    struct object *object = data;
    (void)size;
    object->info = *info;
    object->found = is_in(object, object->inside);
    return object->found;
}

/* Some loaders have added the object's own address, others have not. */
static const void *address_of(const struct object *object, ElfW(Addr) address)
{
    if (address < object->info.dlpi_addr)
        address += object->info.dlpi_addr;
    return (const void *)address; // NOLINT: the loader's numbers
}

static void read_entry(struct object *object, const ElfW(Dyn) *entry)
{
    switch (entry->d_tag) {
    case DT_SYMTAB:
        object->symbols = address_of(object, entry->d_un.d_ptr);
        break;
    case DT_STRTAB:
        object->names = address_of(object, entry->d_un.d_ptr);
        break;
    case DT_JMPREL:
        object->relocations[0] = address_of(object, entry->d_un.d_ptr);
        break;
    case DT_PLTRELSZ:
        object->bytes[0] = entry->d_un.d_val;
        break;
    case DT_PLTREL:
        object->found = entry->d_un.d_val == DT_RELA; /* tables of another shape: older processors */
        break;
    case DT_RELA:
        object->relocations[1] = address_of(object, entry->d_un.d_ptr);
        break;
    case DT_RELASZ:
        object->bytes[1] = entry->d_un.d_val;
        break;
    default:
        break;
    }
}

/* The object at object->inside. */
static bool read_object(struct object *object)
{
    dl_iterate_phdr(find_object, object);
    for (int i = 0; object->found && i < object->info.dlpi_phnum; i++)
        if (object->info.dlpi_phdr[i].p_type == PT_DYNAMIC) {
            const ElfW(Dyn) *entry = (const void *)(object->info.dlpi_addr + object->info.dlpi_phdr[i].p_vaddr);
            while (object->found && entry->d_tag != DT_NULL)
                read_entry(object, entry++);
        }
    return object->found && object->symbols != NULL && object->names != NULL;
}

#if __SIZEOF_POINTER__ == 8
#define SYMBOL_OF(info) ELF64_R_SYM(info)
#else
#define SYMBOL_OF(info) ELF32_R_SYM(info)
#endif

static espi_function *find_slot(const struct object *object, const char *name)
{
    for (int t = 0; t < TABLES; t++)
        for (size_t i = 0; i < object->bytes[t] / sizeof(ElfW(Rela)); i++) {
            const ElfW(Rela) *relocation = &object->relocations[t][i];
            const ElfW(Sym) *symbol = &object->symbols[SYMBOL_OF(relocation->r_info)];
            if (symbol->st_shndx == SHN_UNDEF && relocation->r_addend == 0 &&
                strcmp(object->names + symbol->st_name, name) == 0)
                return (espi_function *)(object->info.dlpi_addr + relocation->r_offset); // NOLINT
        }
    return NULL;
}

static uintptr_t page_of(uintptr_t address)
{
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    return address / page * page;
}

/* The loader protects whole pages; where the last one is not all of that part (ld sees to it that it is), it holds
   data, too, and stays writable. */
static bool is_read_only(const struct object *object, const espi_function *slot)
{
    for (int i = 0; i < object->info.dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &object->info.dlpi_phdr[i];
        const uintptr_t begin = object->info.dlpi_addr + part->p_vaddr;
        if (part->p_type == PT_GNU_RELRO && (uintptr_t)slot >= page_of(begin) &&
            (uintptr_t)slot < page_of(begin + part->p_memsz))
            return true;
    }
    return false;
}

static bool protect(const espi_function *slot, int protection)
{
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    return mprotect((void *)page_of((uintptr_t)slot), page, protection) == 0; // NOLINT: whole pages
}

static bool fill(const struct espi_import *import, espi_function function)
{
    if (import->read_only && !protect(import->slot, PROT_READ | PROT_WRITE))
        return false;
    __atomic_store_n(import->slot, function, __ATOMIC_RELEASE);
    if (import->read_only)
        protect(import->slot, PROT_READ);
    return true;
}

void espi_imports_restore(const struct espi_import *imports, int n)
{
    for (int i = 0; i < n; i++)
        fill(&imports[i], imports[i].before);
}

bool espi_imports_lead(const void *inside, struct espi_import *imports, int n)
{
    struct object object = {.inside = (uintptr_t)inside};
    if (!read_object(&object))
        return false;
    for (int i = 0; i < n; i++) {
        struct espi_import *import = &imports[i];
        import->slot = find_slot(&object, import->name);
        if (import->slot == NULL)
            return false;
        import->before = *import->slot;
        import->read_only = is_read_only(&object, import->slot);
        if (!is_in(&object, (uintptr_t)import->before))
            import->next = import->before;
    }
    for (int i = 0; i < n; i++)
        if (!fill(&imports[i], imports[i].instead)) {
            espi_imports_restore(imports, i);
            return false;
        }
    return true;
}
