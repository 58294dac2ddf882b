/* Many types at a time, some of which were kept before: see kept.c. */
#include <string.h>

#include "kept.h"

/* More types at a time than are kept, and some that are never freed again. */
void many(void)
{
    enum { AT_A_TIME = 150 };
    static MPI_Datatype types[AT_A_TIME];

    for (int life = 0; life < 6; life++) {
        for (int i = 0; i < AT_A_TIME; i++) {
            CK(MPI_Type_vector(3, 1, 2 + i, MPI_SHORT, &types[i]));
            CK(MPI_Type_commit(&types[i]));
        }
        for (int i = 0; i < AT_A_TIME; i += 7)
            use(types[i], life);
        for (int i = 0; i < AT_A_TIME; i++)
            CK(MPI_Type_free(&types[i]));
    }
}

/* One type at a time, of ten layouts in turns: more than MPICH has types at hand. */
void in_turns(void)
{
    enum { LAYOUTS = 10, IN_ALL = 40000, SHOWN = 97 };

    for (int life = 0; life < IN_ALL; life++) {
        MPI_Datatype type;
        int at = 0;
        memset(packed, 0, 64);
        CK(MPI_Type_vector(2 + life % LAYOUTS, 1, 3, MPI_SHORT, &type));
        CK(MPI_Type_commit(&type));
        CK(MPI_Pack(data, 1, type, packed, sizeof packed, &at, MPI_COMM_SELF));
        if (life % SHOWN == 0)
            digest(packed, 64);
        CK(MPI_Type_free(&type));
    }
}

/* Types without end that do not come again, so that types pass unseen; and then one that does. */
void asleep(void)
{
    enum { ONCE = 3000, AGAIN = 600, SHOWN = 97 };

    for (int life = 0; life < ONCE + AGAIN; life++) {
        MPI_Datatype type;
        int at = 0;
        memset(packed, 0, 64);
        CK(MPI_Type_vector(2, 1, life < ONCE ? 2 + life % (ROOM / 4) : 3, life < ONCE / 2 ? MPI_CHAR : MPI_SHORT,
                           &type));
        CK(MPI_Type_commit(&type));
        CK(MPI_Pack(data, 1, type, packed, sizeof packed, &at, MPI_COMM_SELF));
        if (life % SHOWN == 0)
            digest(packed, 64);
        CK(MPI_Type_free(&type));
    }
}

/* Lives before a type is looked at that comes again. */
enum { ROUNDS = 14 };

/* Two numbers, so many apart, in the last of its lives; those before have ended. */
static MPI_Datatype after_lives(int apart)
{
    MPI_Datatype type = MPI_DATATYPE_NULL;

    for (int life = 0; life < ROUNDS; life++) {
        if (life > 0)
            CK(MPI_Type_free(&type));
        CK(MPI_Type_vector(2, 1, apart, MPI_FLOAT, &type));
        CK(MPI_Type_commit(&type));
    }
    return type;
}

/* A type that the program has a second reference to, by MPI_Type_get_contents, while so many others come and go that
   what is known of it makes room. It is freed, and an equal one made but not committed: the first one stays good. */
void second_reference(void)
{
    enum { LAYOUTS = 150 };
    MPI_Datatype first = after_lives(7), whole, part, equal;
    int at = 0, three;
    MPI_Aint none;

    CK(MPI_Type_contiguous(3, first, &whole));
    CK(MPI_Type_get_contents(whole, 1, 0, 1, &three, &none, &part));
    for (int i = 0; i < LAYOUTS * ROUNDS; i++) {
        MPI_Datatype other;
        CK(MPI_Type_vector(2, 1, 2 + i % LAYOUTS, MPI_DOUBLE, &other));
        CK(MPI_Type_commit(&other));
        CK(MPI_Type_free(&other));
    }
    for (int i = 0; i < LAYOUTS * ROUNDS; i++) { /* and what came instead is old, too */
        MPI_Datatype other;
        CK(MPI_Type_vector(2, 1, 2 + i % 3, MPI_INT, &other));
        CK(MPI_Type_commit(&other));
        CK(MPI_Type_free(&other));
    }
    CK(MPI_Type_free(&first));
    CK(MPI_Type_vector(2, 1, 7, MPI_FLOAT, &equal));
    memset(packed, 0, sizeof packed);
    CK(MPI_Pack(data, 1, part, packed, sizeof packed, &at, MPI_COMM_SELF));
    digest(packed, 64);
    CK(MPI_Type_free(&equal));
    CK(MPI_Type_free(&part));
    CK(MPI_Type_free(&whole));
}

/* A struct of a type twice is read back while the program has that type, and both references are freed: it stays the
   program's, whatever is made then, and if it has a name none that is made afterwards has it. */
void twice_inside(void)
{
    MPI_Datatype first, whole, equal, parts[2];
    int three[3], at = 0, length;
    MPI_Aint places[2];
    char name[MPI_MAX_OBJECT_NAME];

    for (int named = 0; named < 2; named++) {
        first = after_lives(9);
        if (named)
            CK(MPI_Type_set_name(first, "mine"));
        CK(MPI_Type_create_struct(2, (const int[]){1, 1}, (const MPI_Aint[]){0, 400},
                                  (const MPI_Datatype[]){first, first}, &whole));
        CK(MPI_Type_get_contents(whole, 3, 2, 2, three, places, parts));
        for (int i = 0; i < 2; i++)
            CK(MPI_Type_free(&parts[i]));
        CK(MPI_Type_vector(2, 1, 9, MPI_FLOAT, &equal)); /* not committed */
        at = 0;
        memset(packed, 0, sizeof packed);
        CK(MPI_Pack(data, 1, first, packed, sizeof packed, &at, MPI_COMM_SELF));
        digest(packed, 64);
        CK(MPI_Type_free(&equal));
        CK(MPI_Type_free(&whole));
        CK(MPI_Type_free(&first));
        CK(MPI_Type_vector(2, 1, 9, MPI_FLOAT, &equal));
        CK(MPI_Type_get_name(equal, name, &length));
        digest(name, length);
        CK(MPI_Type_free(&equal));
    }
}

/* Nowhere to put what is to be made, in the life after one that was kept: an error, and nothing is lost. */
void nowhere(void)
{
    enum { KINDS = 4, LIVES = 12 };

    CK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    CK(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
    for (int life = 0; life < KINDS * LIVES; life++) {
        MPI_Datatype type = MPI_DATATYPE_NULL;
        const int kind = life % KINDS;
        for (MPI_Datatype *to = life / KINDS % 3 == 2 ? NULL : &type; type == MPI_DATATYPE_NULL; to = &type) {
            int class, error = kind == 0   ? MPI_Type_contiguous(3, MPI_INT, to)
                               : kind == 1 ? MPI_Type_vector(3, 1, 2, MPI_INT, to)
                               : kind == 2 ? MPI_Type_create_hvector(3, 1, 12, MPI_INT, to)
                                           : MPI_Type_create_resized(MPI_INT, 0, 16, to);
            CK(MPI_Error_class(error, &class));
            digest(&class, sizeof class);
        }
        CK(MPI_Type_commit(&type));
        use(type, life);
        CK(MPI_Type_free(&type));
    }
    CK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL));
    CK(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL));
}

/* A program with many types keeps the handles that it would have: MPICH 4.0.2 packs dense types of high ones short.
   It makes them with types that are kept; by constructors, by duplicates, and in an error handler. */
enum { CROWD = 440 };
static MPI_Datatype crowd[CROWD];

static void keep_some(void)
{
    enum { KEPT = 90 };

    for (int life = 0; life < 4; life++) {
        for (int i = 0; i < KEPT; i++)
            CK(MPI_Type_vector(2, 1, 2 + i, MPI_CHAR, &crowd[i]));
        for (int i = 0; i < KEPT; i++)
            CK(MPI_Type_free(&crowd[i]));
    }
}

static void pack_crowd(void)
{
    for (int i = 0; i < CROWD; i++) {
        int at = 0;
        CK(MPI_Type_commit(&crowd[i]));
        memset(packed, 0, sizeof packed);
        CK(MPI_Pack(data, 1, crowd[i], packed, sizeof packed, &at, MPI_COMM_SELF));
        digest(packed, 64);
        digest(&at, sizeof at);
        CK(MPI_Type_free(&crowd[i]));
    }
}

static void make_crowd(void)
{
    for (int i = 0; i < CROWD; i++)
        CK(MPI_Type_contiguous(7, MPI_CHAR, &crowd[i]));
}

void high(void)
{
    keep_some();
    make_crowd();
    pack_crowd();
}

void high_dup(void)
{
    MPI_Datatype one;

    keep_some();
    CK(MPI_Type_contiguous(3, MPI_CHAR, &one));
    for (int i = 0; i < CROWD; i++)
        CK(MPI_Type_dup(one, &crowd[i]));
    CK(MPI_Type_free(&one));
    pack_crowd();
}

static void note_error(MPI_Comm *comm, int *error, ...)
{
    (void)comm, (void)error;
    make_crowd();
}

void high_inside(void)
{
    MPI_Errhandler handler, before;
    MPI_Datatype type;

    keep_some();
    CK(MPI_Comm_create_errhandler(note_error, &handler));
    CK(MPI_Comm_get_errhandler(MPI_COMM_SELF, &before));
    CK(MPI_Comm_set_errhandler(MPI_COMM_SELF, handler));
    CK(MPI_Type_vector(3, 1, 2, MPI_INT, &type));
    CK(MPI_Type_commit(&type));
    if (MPI_Send(data, 1, type, 77, 0, MPI_COMM_SELF) == MPI_SUCCESS)
        fail(NULL, "MPI_Send", "to rank 77 of 1");
    CK(MPI_Type_free(&type));
    CK(MPI_Comm_set_errhandler(MPI_COMM_SELF, before));
    CK(MPI_Errhandler_free(&before));
    CK(MPI_Errhandler_free(&handler));
    pack_crowd();
}
