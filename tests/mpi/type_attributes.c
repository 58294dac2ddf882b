/*
 * Attributes of the program's own on its datatypes, of which Espalier knows something by then: each value that is
 * replaced or removed is given to the delete function at once, and a value that was removed is gone. MPICH 4.0.2
 * keeps the attributes of a type in the order of their keys, or wrongly. Prints `N passed, N failed`.
 *
 *   type_attributes [multiple]    at MPI_THREAD_MULTIPLE
 */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

enum { BLOCKS = 100, ITEMS = 8 * BLOCKS, USES = 3000, TYPES = 4, LIVES = 14 };

static int passed, failed, deletes;
static long deleted;

static void check(const char *what, int good)
{
    good ? passed++ : failed++;
    if (!good)
        printf("%s\n", what);
}

static int delete_value(MPI_Datatype type, int key, void *value, void *extra)
{
    (void)type, (void)key, (void)extra;
    deletes++;
    deleted = (long)value;
    return MPI_SUCCESS;
}

static int ignore(MPI_Comm comm, int key, void *value, void *extra)
{
    (void)comm, (void)key, (void)value, (void)extra;
    return MPI_SUCCESS;
}

static MPI_Datatype make_type(int step)
{
    int displacements[BLOCKS], lengths[BLOCKS];
    MPI_Datatype type;

    for (int i = 0; i < BLOCKS; i++) {
        displacements[i] = 7 * i + i % step;
        lengths[i] = 1 + i % 2;
    }
    MPI_Type_indexed(BLOCKS, lengths, displacements, MPI_INT, &type);
    MPI_Type_commit(&type);
    return type;
}

static void use(MPI_Datatype type)
{
    static int data[ITEMS];
    static char packed[2 * sizeof data];

    for (int i = 0; i < USES; i++) {
        int at = 0;
        MPI_Pack(data, 1, type, packed, sizeof packed, &at, MPI_COMM_WORLD);
    }
}

static void set_and_replace(MPI_Datatype type, int key)
{
    void *value;
    int there;

    deletes = 0;
    for (long i = 1; i <= 3; i++) {
        MPI_Type_set_attr(type, key, (void *)i);
        check("a value that is replaced is deleted, once", deletes == i - 1 && (i == 1 || deleted == i - 1));
        MPI_Type_get_attr(type, key, &value, &there);
        check("the value is the last one", there && value == (void *)i);
    }
    MPI_Type_delete_attr(type, key);
    check("a value that is removed is deleted, once", deletes == 3 && deleted == 3);
    MPI_Type_get_attr(type, key, &value, &there);
    check("a value that is removed is gone", !there);
}

/* A type that comes again, as it was made and freed like that before: there is an attribute on it, too. `spare`: a
   key whose number the program's first one for datatypes gets. */
static void comes_again(int spare)
{
    MPI_Datatype type = MPI_DATATYPE_NULL;
    int key;

    for (int life = 0; life < LIVES; life++) {
        if (life > 0)
            MPI_Type_free(&type);
        MPI_Type_vector(2, 1, 9, MPI_FLOAT, &type);
        MPI_Type_commit(&type);
    }
    MPI_Comm_free_keyval(&spare);
    MPI_Type_create_keyval(MPI_TYPE_NULL_COPY_FN, delete_value, &key, NULL);
    set_and_replace(type, key);
    MPI_Type_free_keyval(&key);
    MPI_Type_free(&type);
}

int main(int argc, char **argv)
{
    int level, spare, other, key, late;

    MPI_Init_thread(&argc, &argv,
                    argc > 1 && strcmp(argv[1], "multiple") == 0 ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &level);
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, ignore, &spare, NULL);
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, ignore, &other, NULL);
    comes_again(other);
    use(MPI_INT);
    for (int i = 1; i <= TYPES; i++) {
        MPI_Datatype type = make_type(i);
        if (i == 1)
            MPI_Type_create_keyval(MPI_TYPE_NULL_COPY_FN, delete_value, &key, NULL);
        use(type);
        set_and_replace(type, key);
        if (i == 1)
            MPI_Comm_free_keyval(&spare); /* the next key has its number */
        MPI_Type_create_keyval(MPI_TYPE_NULL_COPY_FN, delete_value, &late, NULL);
        set_and_replace(type, late);
        MPI_Type_free_keyval(&late);
        MPI_Type_set_attr(type, key, (void *)9L);
        deletes = 0;
        MPI_Type_free(&type);
        check("a value is deleted with its type", deletes == 1 && deleted == 9);
    }
    MPI_Type_free_keyval(&key);
    printf("%d passed, %d failed\n", passed, failed);
    MPI_Finalize();
    return failed > 0;
}
