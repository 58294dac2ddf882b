#include "mpi/exchange/own_block.h"

#include <string.h>

#include "mpi/comm/self_comm.h"
#include "mpi/core/thread_state.h"
#include "mpi/selfcopy/self_copy.h"

enum { PIECE = 8192 };

/* Rows of either side that are so long are packed into, or unpacked from, one by one; a dense side is one row. Rows
   that no cache holds are not packed into: what is unpacked goes past the caches. */
enum { LONG_ROW = 4096 };

static bool is_in_long_rows(const struct espi_exchange_block *b, struct espi_rows *rows)
{
    return espi_exchange_in_rows(b, b->dense ? 1 : LONG_ROW, rows);
}

/* As many of the bytes first .. end - 1 as stand in one row, and where that is. */
static int64_t in_row(const struct espi_rows *rows, int64_t first, int64_t end, char **at)
{
    const int64_t left = rows->row - first % rows->row;

    *at = (char *)espi_rows_at(rows, first);
    return end - first < left ? end - first : left;
}

static void pack_part(const struct espi_exchange_block *from, int64_t first, int64_t bytes, char *onto)
{
    if (from->dense)
        memcpy(onto, from->data + first, (size_t)bytes);
    else
        espi_pack_range(from->pack, from->data, from->count, first, bytes, onto);
}

static void unpack_part(const struct espi_exchange_block *to, int64_t first, int64_t bytes, const char *from)
{
    if (to->dense)
        memcpy(to->data + first, from, (size_t)bytes);
    else
        espi_unpack_range(to->pack, from, to->data, to->count, first, bytes);
}

/* Bytes first .. end - 1: by long rows, or through a piece that stays in the nearest cache. */
static void copy_in_pieces(const struct espi_exchange_block *from, const struct espi_exchange_block *to,
                           int64_t first, int64_t end)
{
    _Alignas(64) char piece[PIECE];
    struct espi_rows out, in;
    const bool onto_rows = is_in_long_rows(to, &in) && (to->dense || !espi_pack_goes_past(to->bytes)),
               from_rows = is_in_long_rows(from, &out);
    char *row;

    for (int64_t done = first, n; done < end; done += n) {
        if (onto_rows) {
            n = in_row(&in, done, end, &row);
            pack_part(from, done, n, row);
        } else if (from_rows) {
            n = in_row(&out, done, end, &row);
            unpack_part(to, done, n, row);
        } else {
            n = end - done < PIECE ? end - done : PIECE;
            pack_part(from, done, n, piece);
            unpack_part(to, done, n, piece);
        }
    }
}

/* Types of which there is no program, where it fits a piece. A message to itself takes a rank twice as long. */
static int copy_packed(const struct espi_exchange_block *from, const struct espi_exchange_block *to)
{
    char piece[PIECE];
    const int result = espi_exchange_pack(from, piece);

    return result != MPI_SUCCESS ? result : espi_exchange_unpack(to, piece, from->bytes);
}

void espi_own_steps_go(struct espi_own_steps *steps, int64_t bytes)
{
    const int64_t end = steps->end - steps->done < bytes ? steps->end : steps->done + bytes;

    copy_in_pieces(steps->from, steps->to, steps->done, end);
    steps->done = end;
}

/* Where runs are so long, a copy without the piece between takes hardly less. */
static bool has_long_runs(const struct espi_exchange_block *b)
{
    enum { RUN = 128 };

    return b->dense || (b->pack != NULL && espi_pack_size(b->pack) >= RUN * espi_pack_blocks(b->pack));
}

/* Directly, where that was found to be faster. `known`: in pieces it can be copied, too, which has turns then. */
static bool copies_directly(struct espi_thread *thread, const struct espi_exchange_block *from,
                            const struct espi_exchange_block *to, bool known)
{
    enum { SHORT = 4096 };
    struct espi_selfcopy_block block = {.from = from->data,
                                        .onto = to->data,
                                        .send = {from->type, from->count},
                                        .receive = {to->type, to->count},
                                        .place = known ? ESPI_SELF_SHARED : ESPI_SELF_APART};

    if (from->bytes <= SHORT || espi_thread_state(thread) == NULL)
        return false;
    espi_thread_state(thread)->pairs.weight = 0; /* of another call that was looked at by lot */
    if (!espi_selfcopy_look(thread, &block))
        return false;
    if (block.turn.way != ESPI_BY_CALL) {
        espi_selfcopy_carry_out(thread, &block);
        return true;
    }
    if (!known)
        return false;
    const uint64_t begun = espi_stats_now();
    copy_in_pieces(from, to, 0, from->bytes);
    espi_selfcopy_called(&block, espi_stats_now() - begun);
    return true;
}

int espi_exchange_copy_own(struct espi_thread *thread, const struct espi_exchange_block *from,
                           const struct espi_exchange_block *to, struct espi_own_steps *steps)
{
    const int64_t bytes = from->bytes < to->bytes ? from->bytes : to->bytes;
    const bool known = (from->dense || from->pack != NULL) && (to->dense || to->pack != NULL);

    if (from->bytes == 0 || (from->data == to->data && from->dense && to->dense && from->bytes <= to->bytes))
        return MPI_SUCCESS;
    if (steps != NULL && from->bytes == to->bytes && has_long_runs(from) && has_long_runs(to)) {
        *steps = (struct espi_own_steps){from, to, 0, bytes};
        return MPI_SUCCESS;
    }
    if (from->bytes > to->bytes) /* MPICH 4.0 copies nothing; where an element is cut its own copy ends the program */
        return MPI_ERR_TRUNCATE;
    if (!known && from->bytes < to->bytes)
        return espi_self_copy(from->data, from->count, from->type, to->data, to->count, to->type);
    if (from->bytes == to->bytes && !(from->dense && to->dense) && copies_directly(thread, from, to, known))
        return MPI_SUCCESS;
    if (!known && bytes <= PIECE)
        return copy_packed(from, to);
    if (!known)
        return espi_self_copy(from->data, from->count, from->type, to->data, to->count, to->type);
    copy_in_pieces(from, to, 0, bytes);
    return MPI_SUCCESS;
}
