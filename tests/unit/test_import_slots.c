/* Calls of one object that are led elsewhere (src/job/import_slots.c): its own, no others, and not for longer than
   asked for. Linked twice, with slots that the loader fills at the first call and with read-only ones. */
#define _GNU_SOURCE
#include <check.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "job/import_slots.h"
#include "runner.h"

static int refused; /* the n-th change of protection from now on; 0: none */

int __real_mprotect(void *address, size_t length, int protection);
int __wrap_mprotect(void *address, size_t length, int protection);
int __wrap_mprotect(void *address, size_t length, int protection)
{
    return refused > 0 && --refused == 0 ? (errno = EACCES, -1) : __real_mprotect(address, length, protection);
}

static pid_t fake_parent(void)
{
    return -5;
}

static gid_t fake_group(void)
{
    return 12345;
}

static const void *here(void)
{
    static const char inside;
    return &inside;
}

enum { PARENT, GROUP, CALLS };

static const struct espi_import wanted[CALLS] = {
    {.name = "getppid", .instead = (espi_function)fake_parent},
    {.name = "getgid", .instead = (espi_function)fake_group},
};

/* Whether the loader, or another, has made the page of a slot read-only. */
static bool is_read_only(const espi_function *slot)
{
    unsigned long begin, end;
    char line[512], rights[8];
    bool found = false;
    FILE *maps = fopen("/proc/self/maps", "re");
    ck_assert_ptr_nonnull(maps);
    while (!found && fgets(line, sizeof line, maps) != NULL)
        found = sscanf(line, "%lx-%lx %7s", &begin, &end, rights) == 3 && (unsigned long)slot - begin < end - begin;
    fclose(maps);
    ck_assert(found);
    return rights[1] != 'w';
}

static void check_native(void)
{
    ck_assert_int_ne(getppid(), -5);
    ck_assert_uint_ne(getgid(), 12345);
}

START_TEST(led)
{
    for (int turn = 0; turn < 3; turn++) { /* first called natively, or not before */
        struct espi_import imports[CALLS] = {wanted[PARENT], wanted[GROUP]};
        if (turn == 1)
            check_native();
        ck_assert(espi_imports_lead(here(), imports, CALLS));
        ck_assert_int_eq(getppid(), -5);
        ck_assert_uint_eq(getgid(), 12345);
        for (int i = 0; i < CALLS; i++) {
            ck_assert_int_eq(imports[i].read_only, ESPI_TEST_READ_ONLY);
            ck_assert_int_eq(is_read_only(imports[i].slot), ESPI_TEST_READ_ONLY);
        }
        espi_imports_restore(imports, CALLS);
        check_native();
        ck_assert_int_eq(is_read_only(imports[PARENT].slot), ESPI_TEST_READ_ONLY);
    }
}
END_TEST

/* All of them or none. */
START_TEST(not_called)
{
    const char *const names[] = {"getpgid", "no such function", "here", ""};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        struct espi_import imports[CALLS] = {wanted[PARENT], wanted[GROUP]};
        imports[GROUP].name = names[i];
        ck_assert_msg(!espi_imports_lead(here(), imports, CALLS), "%s", names[i]);
        check_native();
    }
}
END_TEST

START_TEST(elsewhere)
{
    struct espi_import imports[CALLS] = {wanted[PARENT], wanted[GROUP]};
    int on_the_stack = 0;
    ck_assert(!espi_imports_lead(&on_the_stack, imports, CALLS));
    ck_assert(!espi_imports_lead(NULL, imports, CALLS));
    struct espi_import other = wanted[PARENT];
    const void *in_library = (const void *)(uintptr_t)qsort;
    espi_imports_lead(in_library, &other, 1); /* the C library calls no getppid by a slot */
    check_native();
}
END_TEST

START_TEST(protected)
{
    struct espi_import imports[CALLS] = {wanted[PARENT], wanted[GROUP]};
    if (!ESPI_TEST_READ_ONLY)
        return;
    for (int n = 1; n <= 3; n += 2) { /* the first slot, the second */
        refused = n;
        ck_assert(!espi_imports_lead(here(), imports, CALLS));
        ck_assert_int_eq(refused, 0);
        check_native();
    }
}
END_TEST

/* Another tool's function stands there: it is what comes next. */
START_TEST(second)
{
    struct espi_import tool = {.name = "getppid", .instead = (espi_function)getpgrp};
    struct espi_import import = wanted[PARENT];
    import.next = (espi_function)getpid;
    ck_assert(espi_imports_lead(here(), &tool, 1));
    ck_assert_int_eq(getppid(), getpgrp());
    ck_assert(espi_imports_lead(here(), &import, 1));
    ck_assert(import.next == (espi_function)getpgrp);
    espi_imports_restore(&import, 1);
    ck_assert_int_eq(getppid(), getpgrp());
    espi_imports_restore(&tool, 1);
    check_native();
    import.next = (espi_function)getpid;
    ck_assert(espi_imports_lead(here(), &import, 1));
    espi_imports_restore(&import, 1); /* getppid's address is what is in the slot */
    ck_assert(import.next == (espi_function)getpid || import.next == (espi_function)getppid);
}
END_TEST

int main(void)
{
    return RUN_SUITE("test-import-slots", 60, NULL, NULL, led, not_called, elsewhere, protected, second);
}
