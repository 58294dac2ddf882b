/*
 * Types that are made, committed, used and freed again and again, in the same way as before, so that Espalier keeps
 * them (kept_types.h): by each constructor, from predefined types and from others, with lists that differ in one
 * element alone, freed while a message is under way, with names, attributes, contents that the program asks for, and
 * used without a commit. All that a program can see of them goes into the digest: the same natively.
 */
#include <stdlib.h>
#include <string.h>

#include "kept.h"

enum { KINDS = 24, VARIANTS = 3, LIVES = 12, LIST = 200 };

unsigned char data[2 * ROOM], packed[2 * ROOM];
const char *part_of_test;

/* The constructor `kind`, with arguments that all differ from each other; `from` is what the type is made from. */
static int make(int kind, int variant, MPI_Datatype from, MPI_Datatype *type)
{
    const int v = variant + 1, lens[3] = {1, v, 2}, disps[3] = {7, 0, 3 + v}, sizes[2] = {5, 6 + v},
              subs[2] = {2, 3}, starts[2] = {1, v}, dist[2] = {MPI_DISTRIBUTE_BLOCK, MPI_DISTRIBUTE_CYCLIC},
              dargs[2] = {MPI_DISTRIBUTE_DFLT_DARG, 2}, procs[2] = {1, 2};
    const MPI_Aint at[3] = {640, 0, 160 + 32 * v};
    const MPI_Count lens_c[3] = {1, v, 2}, disps_c[3] = {7, 0, 3 + v}, at_c[3] = {640, 0, 160 + 32 * v},
                    sizes_c[2] = {5, 6 + v}, subs_c[2] = {2, 3}, starts_c[2] = {1, v};
    const MPI_Datatype types[3] = {from, MPI_INT, MPI_DOUBLE};

    switch (kind) {
    case 0:
        return MPI_Type_contiguous(4 + v, from, type);
    case 1:
        return MPI_Type_contiguous_c(4 + v, from, type);
    case 2:
        return MPI_Type_vector(3, v, 5, from, type);
    case 3:
        return MPI_Type_vector_c(3, v, 5, from, type);
    case 4:
        return MPI_Type_create_hvector(3, v, 320, from, type);
    case 5:
        return MPI_Type_create_hvector_c(3, v, 320, from, type);
    case 6:
        return MPI_Type_indexed(3, lens, disps, from, type);
    case 7:
        return MPI_Type_indexed_c(3, lens_c, disps_c, from, type);
    case 8:
        return MPI_Type_create_hindexed(3, lens, at, from, type);
    case 9:
        return MPI_Type_create_hindexed_c(3, lens_c, at_c, from, type);
    case 10:
        return MPI_Type_create_indexed_block(3, v, disps, from, type);
    case 11:
        return MPI_Type_create_indexed_block_c(3, v, disps_c, from, type);
    case 12:
        return MPI_Type_create_hindexed_block(3, v, at, from, type);
    case 13:
        return MPI_Type_create_hindexed_block_c(3, v, at_c, from, type);
    case 14:
        return MPI_Type_create_struct(3, lens, at, types, type);
    case 15:
        return MPI_Type_create_struct_c(3, lens_c, at_c, types, type);
    case 16:
        return MPI_Type_create_subarray(2, sizes, subs, starts, v % 2 ? MPI_ORDER_C : MPI_ORDER_FORTRAN, from, type);
    case 17:
        return MPI_Type_create_subarray_c(2, sizes_c, subs_c, starts_c, MPI_ORDER_FORTRAN, from, type);
    case 18:
        return MPI_Type_create_darray(2, v % 2, 2, sizes, dist, dargs, procs, MPI_ORDER_C, from, type);
    case 19:
        return MPI_Type_create_darray_c(2, v % 2, 2, sizes_c, dist, dargs, procs, MPI_ORDER_FORTRAN, from, type);
    case 20:
        return MPI_Type_create_resized(from, -16 * v, 160, type);
    case 21:
        return MPI_Type_create_resized_c(from, 0, 160 + 16 * v, type);
    case 22:
        return MPI_Type_dup(from, type);
    default:
        return MPI_Type_vector(2, 1, 2 + v, from, type);
    }
}

/* What MPI says of a type. The handles that it is made from are freed: they are the program's, too. */
static void tell_of(MPI_Datatype type)
{
    enum { MOST = 4 * LIST };
    MPI_Count ints, addrs, counts, types, size, lb, extent;
    static int i[MOST];
    static MPI_Aint a[MOST];
    static MPI_Count c[MOST];
    static MPI_Datatype t[MOST];
    int combiner;

    CK(MPI_Type_get_envelope_c(type, &ints, &addrs, &counts, &types, &combiner));
    CK(MPI_Type_size_c(type, &size));
    CK(MPI_Type_get_extent_c(type, &lb, &extent));
    const MPI_Count all[] = {ints, addrs, counts, types, combiner, size, lb, extent};
    digest(all, sizeof all);
    CK(MPI_Type_get_contents_c(type, ints, addrs, counts, types, i, a, c, t));
    digest(i, (size_t)ints * sizeof *i);
    digest(a, (size_t)addrs * sizeof *a);
    digest(c, (size_t)counts * sizeof *c);
    for (int k = 0; k < types; k++) {
        MPI_Count inside;
        int named;
        CK(MPI_Type_get_envelope_c(t[k], &ints, &addrs, &counts, &inside, &named));
        digest(&named, sizeof named);
        if (named != MPI_COMBINER_NAMED)
            CK(MPI_Type_free(&t[k]));
    }
}

void use(MPI_Datatype type, int how)
{
    MPI_Count extent, lb;
    int at = 0, end = 0;

    CK(MPI_Type_get_extent_c(type, &lb, &extent));
    for (int i = 0; i < 2 * ROOM; i++)
        data[i] = (unsigned char)mix((uint64_t)how, (uint64_t)i);
    memset(packed, 0, sizeof packed);
    if (how % 2 == 0) {
        CK(MPI_Pack(data + 1024, 2, type, packed, sizeof packed, &at, MPI_COMM_SELF));
        CK(MPI_Unpack(packed, at, &end, data + 1024, 2, type, MPI_COMM_SELF));
    } else {
        CK(MPI_Sendrecv(data + 1024, 2, type, 0, 3, packed, sizeof packed, MPI_BYTE, 0, 3, MPI_COMM_SELF,
                        MPI_STATUS_IGNORE));
    }
    digest(packed, sizeof packed);
    digest(&at, sizeof at);
    CK(MPI_Bcast(data + 1024, 1, type, 0, MPI_COMM_WORLD));
    digest(data, sizeof data);
}

/* Each constructor, and types made from others. */
static void constructors(void)
{
    for (int life = 0; life < LIVES; life++)
        for (int kind = 0; kind < KINDS; kind++)
            for (int variant = 0; variant < VARIANTS; variant++) {
                MPI_Datatype part, type;
                const int nested = (kind + variant) % 3;
                CK(MPI_Type_vector(2, 1, 2, MPI_INT, &part));
                CK(make(kind, variant, nested == 0 ? part : nested == 1 ? MPI_DOUBLE : MPI_SHORT_INT, &type));
                CK(MPI_Type_free(&part));
                CK(MPI_Type_commit(&type));
                use(type, life + kind);
                if (life % 4 == 3)
                    tell_of(type);
                CK(MPI_Type_free(&type));
                digest(&type, sizeof type); /* MPI_DATATYPE_NULL */
            }
}

/* Lists of one hint, of which one element is another each time, or now and then. */
static void lists(void)
{
    static int disps[LIST];

    for (int life = 0; life < 5 * LIVES; life++) {
        MPI_Datatype type;
        for (int i = 0; i < LIST; i++)
            disps[i] = 3 * i;
        disps[LIST / 2 + 1] += life < 2 * LIVES ? 1 + life % 2 : life % 7 == 0 ? 2 : 0;
        CK(MPI_Type_create_indexed_block(LIST, 1, disps, MPI_INT, &type));
        CK(MPI_Type_commit(&type));
        use(type, life);
        CK(MPI_Type_free(&type));
    }
}

/* Freed, and made again, while messages of it are under way. Two of the same at a time. */
static void under_way(void)
{
    static int from[64], to[2][64];

    for (int life = 0; life < LIVES; life++) {
        MPI_Datatype type[2];
        MPI_Request request[4];
        for (int i = 0; i < 64; i++)
            from[i] = life * 100 + i;
        memset(to, 0, sizeof to);
        for (int k = 0; k < 2; k++) {
            CK(MPI_Type_vector(8, 1, 8, MPI_INT, &type[k]));
            CK(MPI_Type_commit(&type[k]));
            CK(MPI_Irecv(to[k], 1, type[k], 0, k, MPI_COMM_SELF, &request[k]));
        }
        CK(MPI_Type_free(&type[0]));
        CK(MPI_Isend(from, 1, type[1], 0, 0, MPI_COMM_SELF, &request[2]));
        CK(MPI_Type_vector(8, 1, 8, MPI_INT, &type[0]));
        CK(MPI_Type_commit(&type[0]));
        CK(MPI_Isend(from + 1, 1, type[0], 0, 1, MPI_COMM_SELF, &request[3]));
        CK(MPI_Type_free(&type[0]));
        CK(MPI_Type_free(&type[1]));
        CK(wait_all(4, request));
        digest(to, sizeof to);
    }
}

static int copied, deleted;
static int note_copy(MPI_Datatype type, int key, void *extra, void *in, void *out, int *flag)
{
    (void)type, (void)key, (void)extra;
    *(void **)out = in;
    *flag = 1;
    copied++;
    return MPI_SUCCESS;
}

static int note_delete(MPI_Datatype type, int key, void *value, void *extra)
{
    (void)type, (void)key, (void)value, (void)extra;
    deleted++;
    return MPI_SUCCESS;
}

/* A name of one life is not that of the next. */
static void names(void)
{
    for (int life = 0; life < 2 * LIVES; life++) {
        MPI_Datatype type;
        char name[MPI_MAX_OBJECT_NAME];
        int length;
        CK(MPI_Type_vector(4, 1, 3, MPI_FLOAT, &type));
        CK(MPI_Type_get_name(type, name, &length));
        digest(name, (size_t)length);
        if (life % 4 == 2)
            CK(MPI_Type_set_name(type, "mine"));
        CK(MPI_Type_commit(&type));
        use(type, life);
        CK(MPI_Type_get_name(type, name, &length));
        digest(name, (size_t)length);
        CK(MPI_Type_free(&type));
    }
}

/* Committed, and named, in a callback, by the names that Fortran 2008 and tools call. */
static int inside(MPI_Comm comm, int key, void *type, void *extra)
{
    static int calls;

    (void)comm, (void)key, (void)extra;
    if (calls++ % 8 == 7)
        CK(PMPI_Type_set_name(*(MPI_Datatype *)type, "inside"));
    CK(PMPI_Type_commit(type));
    return MPI_SUCCESS;
}

static void nested(void)
{
    int key;

    CK(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, inside, &key, NULL));
    for (int life = 0; life < 2 * LIVES; life++) {
        MPI_Datatype type;
        MPI_Comm comm;
        char name[MPI_MAX_OBJECT_NAME];
        int length;
        CK(MPI_Type_vector(3, 2, 4, MPI_INT, &type));
        if (life % 2 == 0)
            CK(MPI_Type_commit(&type));
        CK(MPI_Comm_dup(MPI_COMM_SELF, &comm));
        CK(MPI_Comm_set_attr(comm, key, &type));
        CK(MPI_Type_get_name(type, name, &length));
        digest(name, (size_t)length);
        CK(MPI_Comm_free(&comm));
        use(type, life);
        CK(MPI_Type_get_name(type, name, &length));
        digest(name, (size_t)length);
        CK(MPI_Type_free(&type));
    }
    CK(MPI_Comm_free_keyval(&key));
}

/* Attributes of one life are not those of the next, and their callbacks run when they do natively: also of a type
   that others are made from, which are freed before it. */
static void marks(void)
{
    int key;

    CK(MPI_Type_create_keyval(note_copy, note_delete, &key, NULL));
    for (int life = 0; life < 2 * LIVES; life++) {
        MPI_Datatype type, other, whole;
        int flag;
        void *value;
        CK(MPI_Type_vector(4, 1, 3, MPI_FLOAT, &type));
        CK(MPI_Type_contiguous(3, type, &whole));
        CK(MPI_Type_get_attr(type, key, &value, &flag));
        digest(&flag, sizeof flag);
        CK(MPI_Type_commit(&type));
        if (life % 3 == 1)
            CK(MPI_Type_free(&whole));
        if (life % 4 == 3)
            CK(MPI_Type_set_attr(type, key, &deleted));
        if (life % 3 != 1)
            CK(MPI_Type_free(&whole));
        CK(MPI_Type_dup(type, &other));
        use(other, life);
        CK(MPI_Type_free(&type));
        digest(&deleted, sizeof deleted);
        use(other, life + 1);
        CK(MPI_Type_free(&other));
        digest(&deleted, sizeof deleted);
        digest(&copied, sizeof copied);
    }
    CK(MPI_Type_free_keyval(&key));
}

/* A part that the program has in two ways: as its own, and by the contents of a type that is made from it. */
static void contents(void)
{
    for (int life = 0; life < 2 * LIVES; life++) {
        MPI_Datatype part, type, again;
        int ints[3];
        CK(MPI_Type_vector(2, 1, 2, MPI_INT, &part));
        CK(MPI_Type_contiguous(3, part, &type));
        CK(MPI_Type_commit(&type));
        if (life % 3 == 2)
            CK(MPI_Type_free(&part));
        if (life % 2 == 1) {
            CK(MPI_Type_get_contents(type, 1, 0, 1, ints, NULL, &again));
            CK(MPI_Type_free(&again));
        }
        if (life % 6 == 1) { /* the program still has the part, so that this is another type */
            char name[MPI_MAX_OBJECT_NAME];
            int length;
            CK(MPI_Type_vector(2, 1, 2, MPI_INT, &again));
            CK(MPI_Type_set_name(again, "another"));
            CK(MPI_Type_get_name(part, name, &length));
            digest(name, (size_t)length);
            CK(MPI_Type_free(&again));
        }
        use(type, life);
        if (life % 3 != 2) {
            CK(MPI_Type_commit(&part));
            use(part, life);
            CK(MPI_Type_free(&part));
        }
        use(type, life + 1);
        CK(MPI_Type_free(&type));
    }
}

/* A struct of parts of which some are equal. They are freed in another order each time. */
static void equals(void)
{
    enum { PARTS = 8, EQUAL = 5, MANY = 100 };
    static const int ones[PARTS] = {1, 1, 1, 1, 1, 1, 1, 1};
    MPI_Aint at[PARTS];

    for (int i = 0; i < PARTS; i++)
        at[i] = 64 * (MPI_Aint)((3 * i) % PARTS);
    for (int life = 0; life < MANY; life++) {
        MPI_Datatype part[PARTS], type;
        for (int i = 0; i < PARTS; i++)
            CK(MPI_Type_vector(i < EQUAL ? 3 : 2, 1, 4, MPI_INT, &part[i]));
        CK(MPI_Type_create_struct(PARTS, ones, at, part, &type));
        CK(MPI_Type_commit(&type));
        for (int i = 0; i < PARTS; i++)
            CK(MPI_Type_free(&part[(5 * i + life) % PARTS]));
        use(type, life);
        CK(MPI_Type_free(&type));
    }
}

/* Used before the commit, in each life: MPI refuses that, and the type is good afterwards. */
static void uncommitted(void)
{
    MPI_Errhandler before;

    CK(MPI_Comm_get_errhandler(MPI_COMM_SELF, &before));
    CK(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
    for (int life = 0; life < LIVES; life++)
        for (int kind = 0; kind < 22; kind++) {
            MPI_Datatype type;
            char text[MPI_MAX_ERROR_STRING];
            int length, class, at = 0, error;
            CK(make(kind, 0, MPI_DOUBLE, &type));
            if (life % 5 == 4)
                CK(MPI_Type_set_name(type, "not committed"));
            error = MPI_Pack(data, 1, type, packed, sizeof packed, &at, MPI_COMM_SELF);
            CK(MPI_Error_class(error, &class));
            digest(&class, sizeof class);
            CK(MPI_Error_string(error, text, &length));
            const char *name = strstr(text, "USER<");
            digest(name != NULL ? name : "", name != NULL ? strcspn(name, ">") : 0);
            MPI_Aint size = 0;
            if (kind == 2) /* of some others MPICH dies */
                CK(MPI_Pack_external_size("external32", 3, type, &size));
            digest(&size, sizeof size);
            int room = 0;
            error = MPI_Pack_size(1, type, MPI_COMM_SELF, &room);
            CK(MPI_Error_class(error, &class));
            digest(&class, sizeof class);
            error = MPI_Recv(data, 1, type, MPI_PROC_NULL, 0, MPI_COMM_SELF, MPI_STATUS_IGNORE);
            CK(MPI_Error_class(error, &class));
            digest(&class, sizeof class);
            error = MPI_Bcast(data, 1, type, 0, MPI_COMM_SELF);
            CK(MPI_Error_class(error, &class));
            digest(&class, sizeof class);
            CK(MPI_Type_commit(&type));
            use(type, life);
            CK(MPI_Type_free(&type));
        }
    CK(MPI_Comm_set_errhandler(MPI_COMM_SELF, before));
    CK(MPI_Errhandler_free(&before));
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run)(void);
    } parts[] = {{"constructors", constructors}, {"lists", lists},   {"under_way", under_way},
                 {"names", names},               {"nested", nested}, {"contents", contents},
                 {"equals", equals},             {"uncommitted", uncommitted}, {"many", many},
                 {"in_turns", in_turns},         {"second_reference", second_reference},
                 {"twice_inside", twice_inside},
                 {"nowhere", nowhere},           {"asleep", asleep},
                 {"constructors", constructors},
                 {"high", high},                 {"high_dup", high_dup}, {"high_inside", high_inside},
                 {"marks", marks},               {"constructors", constructors}};

    prog_start(&argc, &argv, 0);
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (wanted(part_of_test = parts[i].name))
            parts[i].run();
    return prog_end("kept");
}
