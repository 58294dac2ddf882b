/*
 * Common part of the byte-comparing MPI programs (bytes_*.c). They are ordinary MPI programs that know nothing of
 * Espalier: `compare` runs them without it and with it and compares what they write.
 *
 * A family is a handful of datatypes with the same type signature (counts included) and different layouts, so that
 * any can be sent and all but the first received into. Each transfer is checked twice: against an oracle that moves
 * bytes by the type maps written down while the types were built, and, by `compare`, against the run without
 * Espalier: every transfer writes a digest of its whole buffer, gaps and margins included.
 */
#ifndef ESPI_TESTS_MPI_BYTES_H
#define ESPI_TESTS_MPI_BYTES_H

#include <mpi.h>

#include "typegen.h"

#define FAMILY 4

struct family {
    uint64_t seed;
    int kind;
    int base;                  /* the one base type, or -1 */
    struct tg_type t[FAMILY];  /* 0: may overlap itself, for sending only */
    int count[FAMILY];         /* of t[v], for one block */
    size_t bytes;              /* of data in one block */
};

/* A buffer with margins around [low, high); `want` is what it should hold in the end. */
struct side {
    unsigned char *mem, *want;
    unsigned char *origin;      /* the buffer address for MPI */
    size_t size, before;        /* of mem; bytes before origin */
};

struct program {
    int me, ranks;
    MPI_Comm comm;
    uint64_t seed;
    int passes;
    size_t budget;
    int only_kind;              /* or -1 */
    int only_base;              /* of all types, where family_make chooses one; or -1 */
    const char *only_call;      /* or NULL */
    int checks, failures;
};

extern struct program prog;

/* Init (with THREAD_MULTIPLE when asked), arguments: -o DIR for digests, -s SEED, -n PASSES, -b BUDGET, -k KIND,
 * -c CALL,CALL. */
void prog_start(int *argc, char ***argv, int threads);
/* Sums failures over all ranks, prints one line on rank 0, finalizes. Returns the exit status. */
int prog_end(const char *name);
/* Calls `run` for every combiner and pass. */
void prog_families(int copies, void (*run)(const struct family *f));

/* `copies`: that many blocks of each receivable type side by side do not overlap. */
void family_make(struct family *f, uint64_t seed, int kind, size_t budget, int copies);
void family_free(struct family *f);

/* Room for `blocks` blocks of variant v; filled with bytes that depend on the family, v and rank. */
void side_send(struct side *s, const struct family *f, int v, int blocks, int rank);
/* The same, filled with another pattern; `want` starts as a copy. */
void side_recv(struct side *s, const struct family *f, int v, int blocks, int rank);
void side_raw(struct side *s, MPI_Aint low, MPI_Aint high, uint64_t seed);
void side_free(struct side *s);
/* Where block b of variant v begins. */
MPI_Aint block_at(const struct family *f, int v, int b);
/* The bytes on the wire of block b that `rank` sends from side_send(f, v, blocks, rank). */
void wire(const struct family *f, int v, int blocks, int rank, int b, unsigned char *out);
/* Notes in `want` that the block's bytes arrive at `at` bytes from the origin. */
void expect(struct side *s, const struct family *f, int v, MPI_Aint at, const unsigned char *bytes);
/* Compares with `want`, writes the digest. */
void check_side(const struct side *s, const struct family *f, const char *call, const char *detail);
/* A value all runs must agree on. */
void check_value(const struct family *f, const char *call, const char *what, long long value);
/* A value that is known beforehand. */
void check_equal(const struct family *f, const char *call, const char *what, long long have, long long want);
/* Any bytes all runs must agree on. */
void check_bytes(const struct family *f, const char *call, const char *what, const void *data, size_t size);
void fail(const struct family *f, const char *call, const char *format, ...) __attribute__((format(printf, 3, 4)));
/* Whether -c asks for this call. */
int wanted(const char *call);
uint64_t mix(uint64_t a, uint64_t b);
/* Bytes that depend on the seed and on their places. */
void fill_bytes(void *data, size_t bytes, uint64_t seed);
/* MPI_Waitall with statuses of its own (compilers misread MPI_STATUSES_IGNORE); at most 8 requests. */
int wait_all(int n, MPI_Request *r);

#define CK(call)                                                                                                     \
    do {                                                                                                             \
        int ck_rc = (call);                                                                                          \
        if (ck_rc != MPI_SUCCESS)                                                                                    \
            fail(NULL, #call, "returned %d", ck_rc);                                                                 \
    } while (0)

#endif
