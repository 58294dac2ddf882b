/* Calls that are made inside of MPI calls: by MPI itself, for requests of files that all ranks write together, and by
   a callback of the program. 10 MPI_Isend and 11 MPI_Pack are the program's own. Who calls is not asked of the loader
   again and again, which takes longer than many a call. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <link.h>
#include <mpi.h>
#include <stdio.h>

static int packed;
static int asked; /* questions to the loader, by whomever */

#define SEEN_BY_LIBRARIES __attribute__((visibility("default")))

SEEN_BY_LIBRARIES int dladdr(const void *address, Dl_info *info)
{
    static int (*next)(const void *, Dl_info *);

    asked++;
    if (next == NULL)
        *(void **)&next = dlsym(RTLD_NEXT, "dladdr");
    return next(address, info);
}

SEEN_BY_LIBRARIES int dl_iterate_phdr(int (*see)(struct dl_phdr_info *, size_t, void *), void *data)
{
    static int (*next)(int (*)(struct dl_phdr_info *, size_t, void *), void *);

    asked++;
    if (next == NULL)
        *(void **)&next = dlsym(RTLD_NEXT, "dl_iterate_phdr");
    return next(see, data);
}

static int delete(MPI_Datatype type, int key, void *value, void *extra)
{
    char room[16];
    int one = 1, position = 0;
    (void)type, (void)key, (void)value, (void)extra;
    if (MPI_Pack(&one, 1, MPI_INT, room, sizeof room, &position, MPI_COMM_SELF) == MPI_SUCCESS)
        packed += position;
    return MPI_SUCCESS;
}

static void messages(int rank, int size, int n)
{
    for (int i = 0; i < n; i++) {
        MPI_Request requests[2];
        int in, out = rank;
        MPI_Irecv(&in, 1, MPI_INT, (rank + size - 1) % size, 1, MPI_COMM_WORLD, &requests[0]);
        MPI_Isend(&out, 1, MPI_INT, (rank + 1) % size, 1, MPI_COMM_WORLD, &requests[1]);
        MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
        MPI_Wait(&requests[1], MPI_STATUS_IGNORE);
    }
}

int main(int argc, char **argv)
{
    enum { N = 512 };
    int rank, size, wrong = 0, key, back[N], data[N];
    MPI_Datatype type, kept;
    MPI_Request request;
    MPI_File file;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    messages(rank, size, 5);
    if (argc < 2 || MPI_File_open(MPI_COMM_WORLD, argv[1], MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file))
        MPI_Abort(MPI_COMM_WORLD, 2);
    MPI_Type_vector(3 * N, 1, size, MPI_INT, &type);
    MPI_Type_commit(&type);
    MPI_File_set_view(file, (MPI_Offset)sizeof(int) * rank, MPI_INT, type, "native", MPI_INFO_NULL);
    for (int i = 0; i < N; i++)
        data[i] = rank * 10000 + i;
    for (int i = 0; i < 3; i++) {
        asked = 0;
        MPI_File_iwrite_at_all(file, N * i, data, N, MPI_INT, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    for (int i = 0; i < 3; i++)
        MPI_File_read_at_all(file, N, back, N, MPI_INT, MPI_STATUS_IGNORE);
    wrong += asked != 0;
    for (int i = 0; i < N; i++)
        wrong += back[i] != data[i];
    MPI_File_close(&file);
    MPI_Type_free(&type);
    messages(rank, size, 5);

    delete(MPI_DATATYPE_NULL, 0, NULL, NULL); /* outside of any call, once */
    MPI_Type_create_keyval(MPI_TYPE_NULL_COPY_FN, delete, &key, NULL);
    for (int i = 0; i < 10; i++) {
        MPI_Type_contiguous(3, MPI_INT, &type);
        MPI_Type_commit(&type);
        MPI_Type_set_attr(type, key, NULL);
        MPI_Type_free(&type);
    }
    MPI_Type_free_keyval(&key);
    /* 300 uses of a type that nothing is better than, whatever the machine: one block, and a gap behind it. */
    MPI_Type_create_resized(MPI_INT, 0, 2 * sizeof(int), &kept);
    MPI_Type_commit(&kept);
    for (int i = 0; i < 300; i++)
        MPI_Bcast(data, 1, kept, 0, MPI_COMM_WORLD);
    for (int i = 0; i < 200; i++) { /* lives of which most are begun and ended without history */
        MPI_Type_vector(3, 1, 2, MPI_INT, &type);
        MPI_Type_commit(&type);
        MPI_Type_free(&type);
    }
    MPI_Type_commit(&kept); /* no new life */
    MPI_Type_free(&kept);
    if (rank == 0)
        printf("wrong %d, packed %d\n", wrong, packed);
    MPI_Finalize();
    return wrong != 0;
}
