/*
 * One process, a few dozen types of every kind, moved and freed: small enough for valgrind. What it finds must be in
 * MPI alone: run-valgrind compares with a run without Espalier.
 */
#include <stdlib.h>

#include "bytes.h"

static void run(const struct family *f)
{
    for (int round = 0; round < 6; round++)
        for (int v = 0; v < FAMILY; v++) {
            struct side s, r;
            int w = 1 + v % (FAMILY - 1), position = 0, size;
            unsigned char *bytes = malloc(f->bytes + 1);
            side_send(&s, f, v, 1, 0);
            side_recv(&r, f, w, 1, 0);
            wire(f, v, 1, 0, 0, bytes);
            expect(&r, f, w, 0, bytes);
            CK(MPI_Sendrecv(s.origin, f->count[v], f->t[v].type, 0, 1, r.origin, f->count[w], f->t[w].type, 0, 1,
                            MPI_COMM_SELF, MPI_STATUS_IGNORE));
            check_side(&r, f, "Sendrecv", "alone");
            if (f->bytes) {
                MPI_Pack_size(f->count[w], f->t[w].type, MPI_COMM_SELF, &size);
                unsigned char *packed = malloc((size_t)size + 1);
                CK(MPI_Pack(r.origin, f->count[w], f->t[w].type, packed, size, &position, MPI_COMM_SELF));
                check_bytes(f, "Pack", "alone", packed, (size_t)position);
                free(packed);
            }
            free(bytes);
            side_free(&s);
            side_free(&r);
        }
}

int main(int argc, char **argv)
{
    prog_start(&argc, &argv, 0);
    prog_families(2, run);
    return prog_end("one_type");
}
