/*
 * Calls past the preload: types that are freed, and others that are committed, by functions that the program takes
 * from the MPI library's own handle (as a library does that is loaded with RTLD_DEEPBIND); MPI gives the same handles
 * again. And MPICH told by MPI_T not to mind a buffer that is given twice. Argument `multiple`: with
 * MPI_THREAD_MULTIPLE. Prints `N passed, N failed` on rank 0.
 */
#include <dlfcn.h>
#include <string.h>

#include "harmless.h"

enum { TYPES = 60, USES = 40, ITEMS = 32 };

typedef int (*type_function)(MPI_Datatype *);

static type_function past(const char *name)
{
    void *library = dlopen("libmpich.so.12", RTLD_NOW | RTLD_NOLOAD);
    union {
        void *object;
        type_function function;
    } found = {library ? dlsym(library, name) : NULL};
    return found.function;
}

static void types(void)
{
    type_function commit = past("MPI_Type_commit"), release = past("MPI_Type_free");
    hl_check(commit && release, "no functions in the library");
    for (int t = 0; commit && release && t < TYPES; t++) {
        int start[ITEMS], data[ITEMS * 8], got[ITEMS];
        MPI_Datatype type;
        for (int i = 0; i < ITEMS; i++)
            start[i] = i * (2 + t % 5) + i % 2;
        MPI_Type_create_indexed_block(ITEMS, 1, start, MPI_INT, &type);
        if (t % 2)
            commit(&type);
        else
            MPI_Type_commit(&type);
        for (int k = 0; k < USES; k++) {
            hl_at("a type", t * 1000 + k);
            for (int i = 0; i < ITEMS * 8; i++)
                data[i] = t * 7 + k + i;
            memset(got, 0, sizeof got);
            MPI_Sendrecv(data, 1, type, hl_rank, 5, got, ITEMS, MPI_INT, hl_rank, 5, MPI_COMM_WORLD,
                         MPI_STATUS_IGNORE);
            int good = 1, at = 0;
            for (int i = 0; i < ITEMS; i++)
                good = good && got[i] == data[start[i]];
            memset(got, 0, sizeof got);
            MPI_Pack(data, 1, type, got, sizeof got, &at, MPI_COMM_WORLD);
            for (int i = 0; i < ITEMS; i++)
                good = good && got[i] == data[start[i]];
            hl_check(good, "type %d, use %d", t, k);
        }
        release(&type);
    }
}

/* A root's own block given at its place. */
static void blocks(void)
{
    int all[4 * HL_MOST], counts[HL_MOST], displs[HL_MOST], index, elements, off = 0;
    MPI_T_cvar_handle handle;
    MPI_Datatype vector, type;
    MPI_Type_vector(2, 1, 2, MPI_INT, &vector); /* of a predefined type MPICH copies it onto itself, and dies */
    MPI_Type_create_resized(vector, 0, 16, &type);
    MPI_Type_commit(&type);
    MPI_Type_free(&vector);
    for (int r = 0; r < hl_size; r++)
        counts[r] = 1, displs[r] = r;
    if (MPI_T_cvar_get_index("MPIR_CVAR_COLL_ALIAS_CHECK", &index) != MPI_SUCCESS ||
        MPI_T_cvar_handle_alloc(index, NULL, &handle, &elements) != MPI_SUCCESS)
        return;
    for (int k = 0; k < 60; k++) {
        int own[4] = {hl_rank + 100 * k, 0, hl_rank + 100 * k, 0};
        hl_at("a block given twice", k);
        if (k == 10)
            MPI_T_cvar_write(handle, &off);
        memset(all, 0, sizeof all);
        if (hl_rank == 0)
            memcpy(all, own, sizeof own);
        int twice = hl_rank == 0 && k >= 10;
        int rc = MPI_Gatherv(twice ? all : own, 1, type, all, counts, displs, type, 0, MPI_COMM_WORLD);
        hl_check(rc == MPI_SUCCESS, "class %d, call %d", hl_class(rc), k);
        for (int r = 0; hl_rank == 0 && r < hl_size; r++)
            hl_check(all[4 * r] == r + 100 * k && all[4 * r + 2] == r + 100 * k, "block %d of call %d", r, k);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    MPI_T_cvar_handle_free(&handle);
    MPI_Type_free(&type);
}

int main(int argc, char **argv)
{
    int multiple = argc > 1 && strcmp(argv[1], "multiple") == 0, given;
    MPI_T_init_thread(multiple ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &given);
    hl_start(&argc, &argv, multiple ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE);
    types();
    blocks();
    MPI_T_finalize();
    return hl_end();
}
