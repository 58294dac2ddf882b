/*
 * Common part of the programs harmless_*: ordinary MPI programs that know nothing of Espalier, live natively and
 * check their own bytes. Each prints `N passed, N failed` on rank 0 and exits with 0 when nothing failed. A rank that
 * makes no progress for ESPALIER_TEST_STALL seconds (default 60) says where it stands and ends with 86.
 */
#ifndef ESPI_TESTS_MPI_HARMLESS_H
#define ESPI_TESTS_MPI_HARMLESS_H

#include <mpi.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { HL_MOST = 16 }; /* ranks */
enum { HL_HUNG = 86 }; /* exit status of a rank that hangs */

extern int hl_rank, hl_size;
extern uint64_t hl_seed; /* ESPALIER_TEST_SEED, or of the time; the same on all ranks, printed by rank 0 */

/* MPI_Init_thread with `threads`, the seed (also rank 0's broadcast), the watchdog. */
void hl_start(int *argc, char ***argv, int threads);
/* For programs that call MPI_Init themselves, before it: the watchdog alone. */
void hl_watch(void);
/* Says that this rank goes on: what it does now. `where` must live on. */
void hl_at(const char *where, long number);
/* The same for Fortran programs, the watchdog included: call hl_fortran(rank, number). */
void hl_fortran_(const int *rank, const int *number);
/* Counts; prints the first few that are not good. Any thread may call it. */
void hl_check(int good, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Sums over all ranks, the last line, MPI_Finalize. Returns the exit status. */
int hl_end(void);
/* Without MPI: this rank's own count as the last line. */
int hl_end_alone(void);

/* A number made of another; and the next of a sequence, of 0 .. below-1. */
uint64_t hl_hash(uint64_t number);
unsigned hl_random(uint64_t *state, unsigned below);
int hl_class(int code);

/* ---- one gather or scatter ---- */

enum hl_op { HL_GATHERV, HL_SCATTERV, HL_GATHER, HL_SCATTER, HL_OPS };
extern const char *const hl_op_name[HL_OPS];

struct hl_call {
    /* To be set: */
    enum hl_op op;
    int large, derived, backwards, in_place; /* _c; a type with gaps at the root; last block first; at the root */
    MPI_Comm comm;
    int root, rank, size;
    uint64_t salt;       /* bytes depend on it; the same on all ranks */
    int counts[HL_MOST]; /* ints of each rank's block, even numbers; known to all; all equal without v */
    /* Arguments, set by hl_prepare, which a test may spoil: */
    void *own, *all;
    MPI_Count own_count, each;
    MPI_Datatype own_type, all_type;
    const int *c, *d;
    const MPI_Count *cc;
    const MPI_Aint *dd;
    int given_root;
    MPI_Comm given_comm;
    /* Behind them: */
    int *own_room, *all_room;
    size_t own_ints, all_ints, own_most, all_most;
    int c_room[HL_MOST], d_room[HL_MOST];
    MPI_Count cc_room[HL_MOST];
    MPI_Aint dd_room[HL_MOST];
};

void hl_prepare(struct hl_call *call);
int hl_issue(const struct hl_call *call);
/* As it must be after hl_issue; and as hl_prepare left it. */
int hl_right(const struct hl_call *call);
int hl_untouched(const struct hl_call *call);
/* All three; the error code of the call. `what` in the complaint. */
int hl_good_call(struct hl_call *call, const char *what);
void hl_release(struct hl_call *call);

#ifdef __cplusplus
}
#endif
#endif
