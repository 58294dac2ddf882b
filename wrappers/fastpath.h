/*
 * The fast path: which calls an entry passes on by itself, without the core. Made from api.def, for entry.c.
 *
 * A call goes straight on when all of this holds; what is missing sends it to entry_slow.c, which is always right:
 *  1. the next MPI_X is known, and is the MPI library's own (`fast_next`; for PMPI_X the mark and `plain` are asked);
 *  2. the core has said that calls of this treatment are plain (enum espi_plain), or `fast_next` would be NULL: MPI
 *     calls do not overlap, no gather may go along a tree, no call through shared memory, no request is
 *     the core's;
 *  3. by its arguments the core has nothing to do (ESPI_IS_SHORT_WAY; the way is the row's treatment, or
 *     ESPI_WAY_NAME below for LIFE; constructors, MAKE, see entry_slow.c):
 *     SUBSTITUTE            no derived type, or each has credit for a use (of collective calls: on_credit.h)
 *     COUNT                 no derived type, or the core need not see them (ESPI_PLAIN_TYPES)
 *     TREE, EXCHANGE        no derived type, or on_credit.h
 *     REDUCE, SYNC_REDUCE   the program's own operation; or no derived type, and too few elements for a reduction in
 *                           pieces
 *     SYNC, REQUESTS        always
 *     COMMIT                always; the core is told (ESPI_END_COMMIT)
 *     FREE                  of a handle that has credit of its own, and of a type that is not to be kept
 *                           (of types that are kept both are done without MPI: ESPI_IS_DONE_WAY, kept.h)
 *     NEVER                 never
 * A further condition on arguments goes into ESPI_IS_SHORT_WAY, one on the state into enum espi_plain (abi.h) and
 * lifecycle.c.
 *
 * For each row there are, of its arguments,
 *   derived_NAME   the number of types that are not predefined; large where the types are an array
 *   objects_NAME   the same, in fewer instructions: pair types count, too
 *   credit_NAME    whether each derived type has credit for a use (struct espi_hot)
 *   sides_NAME     how many it describes: buffers, or the target of a one-sided call
 *   use_NAME       makes these uses
 *   few_NAME       whether it has at most `reduce_most` elements
 *   note_NAME      notes the receiver (self_sends.h), for rows of kind ESPI_LEAVES
 */
#ifndef ESPI_WRAPPERS_FASTPATH_H
#define ESPI_WRAPPERS_FASTPATH_H

#include "kept.h"
#include "stub.h"
#include "words.h"

#define ESPI_INLINE static inline __attribute__((always_inline, unused))
enum { ESPI_MANY = 1000, ESPI_ANY_TAG = -1 };

/* As espi_hot_add, where MPI calls do not overlap (enum espi_plain), for what only calls touch: compilers then need
   not load twice what they have, and count in one instruction. */
ESPI_INLINE void espi_add_alone(_Atomic uint64_t *value)
{
    ++*(uint64_t *)value;
}

ESPI_INLINE unsigned char *espi_credit_alone(uint32_t at)
{
    return (unsigned char *)&espi_hot.types[at].credit;
}

/* Not while the program has a type to commit that MPI takes for committed, as the core has MPI refuse that one. */
ESPI_INLINE bool espi_types_are_plain(void)
{
    return (atomic_load_explicit(&espi_hot.plain, memory_order_relaxed) & ESPI_PLAIN_TYPES) &&
           atomic_load_explicit(&espi_hot.kept_given, memory_order_relaxed) == 0;
}

/* For a call with so many sides, as one type may describe all of them. */
ESPI_INLINE bool espi_credit_is_at(uint32_t at, unsigned sides)
{
    return (unsigned char)(*espi_credit_alone(at) - (1 + sides)) < ESPI_CREDIT_ENDED - (1 + sides);
}

/* The same for a type; not where any of `watched` (enum espi_own) holds for it. */
ESPI_INLINE bool espi_has_credit(espi_word type, int64_t count, unsigned sides, unsigned watched)
{
    uint32_t bits = (uint32_t)type, at = espi_credit_at(bits);
    if (at < ESPI_CREDITS)
        return (uint64_t)count - 1 < ESPI_CREDIT_MOST &&
               (watched == 0 || (*(const unsigned char *)&espi_hot.types[at].own & watched) == 0) &&
               espi_credit_is_at(at, sides);
    return espi_is_no_object(bits);
}

ESPI_INLINE void espi_use_credit_at(uint32_t at)
{
    --*espi_credit_alone(at);
    espi_add_alone(&espi_hot.on_credit);
}

ESPI_INLINE void espi_use_items(uint32_t at, int64_t items)
{
    espi_use_credit_at(at);
    if (items > 1)
        *(uint32_t *)&espi_hot.types[at].more += (uint32_t)(items - 1);
}

/* Two uses of a type, with so many items. */
ESPI_INLINE void espi_use_both(uint32_t at, int64_t items)
{
    *espi_credit_alone(at) = (unsigned char)(*espi_credit_alone(at) - 2);
    *(uint64_t *)&espi_hot.on_credit += 2;
    if (items > 2)
        *(uint32_t *)&espi_hot.types[at].more += (uint32_t)(items - 2);
}

ESPI_INLINE void espi_use_credit(espi_word type, int64_t items)
{
    uint32_t at = espi_credit_at((uint32_t)type);
    if (at < ESPI_CREDITS)
        espi_use_items(at, items);
}

/* Not every row uses all of its arguments. */
#define ESPI_UNUSED(n) (void)(const espi_word[]){ESPI_ARGS_##n};

#define ESPI_NONE

/* ---- derived_NAME, objects_NAME ---- */
#define ESPI_COUNT_TYPE(type) +!is_left((uint32_t)a##type)
#define ESPI_ONE(buffer, count, type) ESPI_COUNT_TYPE(type)
#define ESPI_V(buffer, counts, type) ESPI_COUNT_TYPE(type)
#define ESPI_W(buffer, counts, types) +ESPI_MANY
#define ESPI_ONE_AT_ROOT(buffer, count, type) ESPI_COUNT_TYPE(type)
#define ESPI_V_AT_ROOT(buffer, counts, type) ESPI_COUNT_TYPE(type)
#define ESPI_SEND(buffer, count, type, dest, tag) ESPI_COUNT_TYPE(type)
#define ESPI_RECV(buffer, count, type, source, tag) ESPI_COUNT_TYPE(type)
#define ESPI_BOTH_WAYS(buffer, count, type, dest, sendtag, source, recvtag) ESPI_COUNT_TYPE(type)
#define ESPI_TARGET(count, type, rank) ESPI_COUNT_TYPE(type)
#define ESPI_API(name, n, large, treatment, kind, comm, root, reason, ...)                                           \
    ESPI_INLINE int left_##name(ESPI_PARAMS_##n, bool (*is_left)(uint32_t))                                          \
    {                                                                                                                \
        ESPI_UNUSED(n)                                                                                               \
        (void)is_left;                                                                                               \
        return 0 __VA_ARGS__;                                                                                        \
    }                                                                                                                \
    ESPI_INLINE int derived_##name(ESPI_PARAMS_##n)                                                                  \
    {                                                                                                                \
        return left_##name(ESPI_ARGS_##n, espi_is_predefined);                                                       \
    }                                                                                                                \
    ESPI_INLINE int objects_##name(ESPI_PARAMS_##n)                                                                  \
    {                                                                                                                \
        return left_##name(ESPI_ARGS_##n, espi_is_no_object);                                                        \
    }
#include "api.def"
#include "typed_end.h"

/* ---- sides_NAME ---- */
#define ESPI_ONE(...) +1
#define ESPI_V(...) +1
#define ESPI_W(...) +1
#define ESPI_ONE_AT_ROOT(...) +1
#define ESPI_V_AT_ROOT(...) +1
#define ESPI_SEND(...) +1
#define ESPI_RECV(...) +1
#define ESPI_BOTH_WAYS(...) +1
#define ESPI_TARGET(...) +1
#define ESPI_API(name, n, large, treatment, kind, comm, root, reason, ...) enum { sides_##name = 0 __VA_ARGS__ };
#include "api.def"
#include "typed_end.h"

/* ---- credit_NAME ---- */
#define ESPI_COUNT_WORD(count) (large_counts ? (int64_t)a##count : (int64_t)(int)a##count)
#define ESPI_HAS_CREDIT(count, type) &&espi_has_credit(a##type, ESPI_COUNT_WORD(count), sides, watched)
#define ESPI_ONE(buffer, count, type) ESPI_HAS_CREDIT(count, type)
#define ESPI_V(buffer, counts, type) &&espi_is_no_object((uint32_t)a##type)
#define ESPI_W(buffer, counts, types) &&false
#define ESPI_ONE_AT_ROOT(buffer, count, type) &&espi_is_no_object((uint32_t)a##type)
#define ESPI_V_AT_ROOT(buffer, counts, type) &&espi_is_no_object((uint32_t)a##type)
#define ESPI_SEND(buffer, count, type, dest, tag) ESPI_HAS_CREDIT(count, type)
#define ESPI_RECV(buffer, count, type, source, tag) ESPI_HAS_CREDIT(count, type)
#define ESPI_BOTH_WAYS(buffer, count, type, dest, sendtag, source, recvtag) ESPI_HAS_CREDIT(count, type)
#define ESPI_TARGET(count, type, rank) ESPI_HAS_CREDIT(count, type)
#define ESPI_API(name, n, large, treatment, kind, comm, root, reason, ...)                                           \
    ESPI_INLINE bool credit_##name(ESPI_PARAMS_##n)                                                                  \
    {                                                                                                                \
        enum { large_counts = large, sides = sides_##name, watched = (kind) & ESPI_OWN ? ESPI_OWN_WATCHED : 0 };     \
        ESPI_UNUSED(n)                                                                                               \
        return true __VA_ARGS__;                                                                                     \
    }
#include "api.def"
#include "typed_end.h"

/* ---- use_NAME ---- */
#define ESPI_ONE(buffer, count, type) espi_use_credit(a##type, ESPI_COUNT_WORD(count));
#define ESPI_V(buffer, counts, type)
#define ESPI_W(buffer, counts, types)
#define ESPI_ONE_AT_ROOT(buffer, count, type)
#define ESPI_V_AT_ROOT(buffer, counts, type)
#define ESPI_SEND(buffer, count, type, dest, tag) espi_use_credit(a##type, ESPI_COUNT_WORD(count));
#define ESPI_RECV(buffer, count, type, source, tag) espi_use_credit(a##type, ESPI_COUNT_WORD(count));
#define ESPI_BOTH_WAYS(buffer, count, type, dest, sendtag, source, recvtag)                                          \
    espi_use_credit(a##type, ESPI_COUNT_WORD(count));
#define ESPI_TARGET(count, type, rank) espi_use_credit(a##type, ESPI_COUNT_WORD(count));
#define ESPI_API(name, n, large, treatment, kind, comm, root, reason, ...)                                           \
    ESPI_INLINE void use_##name(ESPI_PARAMS_##n)                                                                     \
    {                                                                                                                \
        enum { large_counts = large };                                                                               \
        ESPI_UNUSED(n)                                                                                               \
        __VA_ARGS__                                                                                                  \
    }
#include "api.def"
#include "typed_end.h"

/* ---- few_NAME ---- */
#define ESPI_FEW(count) &&(uint64_t)ESPI_COUNT_WORD(count) <= most /* a negative one is not */
#define ESPI_ONE(buffer, count, type) ESPI_FEW(count)
#define ESPI_V(buffer, counts, type) &&false
#define ESPI_W(buffer, counts, types) &&false
#define ESPI_ONE_AT_ROOT(buffer, count, type) &&false
#define ESPI_V_AT_ROOT(buffer, counts, type) &&false
#define ESPI_SEND(buffer, count, type, dest, tag) &&false
#define ESPI_RECV(buffer, count, type, source, tag) &&false
#define ESPI_BOTH_WAYS(buffer, count, type, dest, sendtag, source, recvtag) &&false
#define ESPI_TARGET(count, type, rank) &&false
#define ESPI_API(name, n, large, treatment, kind, comm, root, reason, ...)                                           \
    ESPI_INLINE bool few_##name(ESPI_PARAMS_##n)                                                                     \
    {                                                                                                                \
        enum { large_counts = large };                                                                               \
        uint64_t most = atomic_load_explicit(&espi_hot.reduce_most, memory_order_relaxed);                           \
        ESPI_UNUSED(n)                                                                                               \
        return most > 0 __VA_ARGS__;                                                                                 \
    }
#include "api.def"
#include "typed_end.h"

/* ---- note_NAME: see self_sends.h, which does the same for calls that the core sees ---- */
#define ESPI_ANSWER(source, tag)                                                                                     \
    if (blocks && (int)a##source == to && ((int)a##tag == sent || (int)a##tag == ESPI_ANY_TAG))                      \
        return;
#define ESPI_ONE(buffer, count, type)
#define ESPI_V(buffer, counts, type)
#define ESPI_W(buffer, counts, types)
#define ESPI_ONE_AT_ROOT(buffer, count, type)
#define ESPI_V_AT_ROOT(buffer, counts, type)
#define ESPI_SEND(buffer, count, type, dest, tag) to = (int)a##dest, sent = (int)a##tag;
#define ESPI_RECV(buffer, count, type, source, tag) ESPI_ANSWER(source, tag)
#define ESPI_BOTH_WAYS(buffer, count, type, dest, sendtag, source, recvtag)                                          \
    to = (int)a##dest, sent = (int)a##sendtag;                                                                       \
    ESPI_ANSWER(source, recvtag)
#define ESPI_TARGET(count, type, rank)
#define ESPI_API(name, n, large, treatment, kind, comm, root, reason, ...)                                           \
    ESPI_INLINE void note_##name(ESPI_PARAMS_##n)                                                                    \
    {                                                                                                                \
        const espi_word args[n] = {ESPI_ARGS_##n};                                                                   \
        const bool blocks = !((kind) & ESPI_NONBLOCKING);                                                            \
        int to = 0, sent = 0;                                                                                        \
        (void)blocks;                                                                                                \
        __VA_ARGS__                                                                                                  \
        (void)sent;                                                                                                  \
        uint32_t at = espi_self_sends_at((uint32_t)args[(comm) < 0 ? 0 : (comm)], to);                               \
        atomic_store_explicit(&espi_hot.pending[at], 1, memory_order_relaxed);                                       \
    }
#include "api.def"
#include "typed_end.h"

/* ---- which calls are short, by the way of their row; these see an entry's variables ---- */

/* Setting the uses of a call apart from asking for them: what is asked for has no effect. */
ESPI_INLINE bool espi_counted(struct espi_entry *entry)
{
    espi_add_alone(&entry->calls);
    return true;
}

ESPI_INLINE bool espi_passed(void)
{
    espi_add_alone(&espi_hot.passed);
    return true;
}

/* ESPI_IS_DONE_WAY: whether nothing is left to do for the call, which succeeds: of a type that is kept (kept.h). */
#define ESPI_IS_DONE_SUBSTITUTE(may) false
#define ESPI_IS_DONE_COUNT(may) false
#define ESPI_IS_DONE_TREE(may) false
#define ESPI_IS_DONE_EXCHANGE(may) false
#define ESPI_IS_DONE_REDUCE(may) false
#define ESPI_IS_DONE_SYNC(may) false
#define ESPI_IS_DONE_SYNC_REDUCE(may) false
#define ESPI_IS_DONE_REQUESTS(may) false
#define ESPI_IS_DONE_NEVER(may) false
#define ESPI_IS_DONE_COMMIT(may)                                                                                     \
    ((may) && a0 != 0 && espi_kept_commit(&espi_hot, *(const uint32_t *)a0) && espi_counted(entry))
#define ESPI_IS_DONE_FREE(may)                                                                                       \
    ((may) && a0 != 0 && espi_here.frame == 0 && espi_kept_take(&espi_hot, (uint32_t *)a0) && espi_counted(entry))

/* ESPI_FLAGS_WAY: the flags of enum espi_plain without which no call is short; ESPI_IS_SHORT_WAY: whether one is with
   them. */
#define ESPI_FLAGS_SUBSTITUTE ESPI_PLAIN
#define ESPI_FLAGS_COUNT ESPI_PLAIN
#define ESPI_FLAGS_TREE ESPI_PLAIN_TREE
#define ESPI_FLAGS_EXCHANGE ESPI_PLAIN_EXCHANGE
#define ESPI_FLAGS_REDUCE ESPI_PLAIN
#define ESPI_FLAGS_SYNC ESPI_PLAIN_TREE
#define ESPI_FLAGS_SYNC_REDUCE ESPI_PLAIN_TREE
#define ESPI_FLAGS_REQUESTS ESPI_PLAIN_REQUESTS
#define ESPI_FLAGS_COMMIT ESPI_PLAIN_TYPES
#define ESPI_FLAGS_FREE ESPI_PLAIN_TYPES
#define ESPI_FLAGS_NEVER 0
#define ESPI_IS_COLLECTIVE(kind) (((kind) & (ESPI_COLLECTIVE | ESPI_NEIGHBOUR)) != 0) /* with types: on_credit.h */
/* A persistent message that may be packed: one request may be many uses. */
#define ESPI_IS_STARTED(kind)                                                                                        \
    (((kind) & (ESPI_PERSISTENT | ESPI_PARTITIONED | ESPI_BUFFERED | ESPI_COLLECTIVE)) == ESPI_PERSISTENT)
#define ESPI_IS_SHORT_SUBSTITUTE(name, n, kind)                                                                      \
    ((objects_##name(ESPI_ARGS_##n) == 0 ||                                                                          \
      (!ESPI_IS_COLLECTIVE(kind) && !ESPI_IS_STARTED(kind) && credit_##name(ESPI_ARGS_##n) &&                        \
       (use_##name(ESPI_ARGS_##n), true))) &&                                                                        \
     espi_counted(entry))
#define ESPI_IS_SHORT_COUNT(name, n, kind)                                                                           \
    ((derived_##name(ESPI_ARGS_##n) == 0 ||                                                                          \
      (espi_types_are_plain() && derived_##name(ESPI_ARGS_##n) < ESPI_MANY && espi_passed())) &&                     \
     espi_counted(entry))
#define ESPI_IS_SHORT_EXCHANGE(name, n, kind) ESPI_IS_SHORT_SUBSTITUTE(name, n, kind)
#define ESPI_IS_SHORT_TREE(name, n, kind) (derived_##name(ESPI_ARGS_##n) == 0 && espi_counted(entry))
#define ESPI_IS_SHORT_REDUCE(name, n, kind)                                                                          \
    ((espi_is_programs_operation((uint32_t)a4) ||                                                                    \
      (derived_##name(ESPI_ARGS_##n) == 0 && few_##name(ESPI_ARGS_##n))) &&                                          \
     espi_counted(entry))
#define ESPI_IS_SHORT_SYNC(name, n, kind) espi_counted(entry)
#define ESPI_IS_SHORT_SYNC_REDUCE(name, n, kind) ESPI_IS_SHORT_REDUCE(name, n, kind)
#define ESPI_IS_SHORT_REQUESTS(name, n, kind) true
#define ESPI_IS_SHORT_COMMIT(name, n, kind) espi_counted(entry) /* MPI refuses a null pointer */
#define ESPI_IS_SHORT_FREE(name, n, kind)                                                                            \
    (a0 != 0 && !espi_may_be_kept(a0) && espi_ends(a0) && espi_counted(entry))
#define ESPI_IS_SHORT_NEVER(name, n, kind) ((void)entry, false)

/* Whether types that are committed now pass unseen (abi.h). */
ESPI_INLINE bool espi_types_pass_unseen(void)
{
    return atomic_load_explicit(&espi_hot.unseen, memory_order_relaxed) > 0;
}

/* Whether types are kept that the program has freed (abi.h). */
ESPI_INLINE bool espi_types_are_kept(void)
{
    return atomic_load_explicit(&espi_hot.kept, memory_order_relaxed) > 0;
}

/* The commit of a type that was made unseen, of a handle that nothing is known of. False: the core is told. */
ESPI_INLINE bool espi_commits_unseen(uint32_t type)
{
    uint32_t at = espi_credit_at(type);
    if (!espi_types_pass_unseen() || at == ESPI_CREDITS || *espi_credit_alone(at) != 0 ||
        atomic_load_explicit(&espi_hot.types[at].hint, memory_order_relaxed) != 0)
        return false;
    espi_passes_unseen_at(&espi_hot, at);
    --*(int *)&espi_hot.unseen;
    espi_add_alone(&espi_hot.commits);
    return true;
}

/* Tells the core of a type that was committed. What MPI calls meanwhile is inside of a call. */
static __attribute__((noinline, unused)) void espi_tells_commit(uint32_t type)
{
    struct espi_thread *here = &espi_here;
    uintptr_t outer = here->frame;
    char mark;
    here->frame = (uintptr_t)&mark;
    atomic_load_explicit(&espi_hot.committed, memory_order_relaxed)(here, type);
    here->frame = outer;
}

/* After a call of MPI_Type_commit, unless it failed or was of no object. */
ESPI_INLINE void espi_commits(espi_word result, espi_word type)
{
    if ((int)result == 0 && !espi_is_no_object(*(const uint32_t *)type) &&
        !espi_commits_unseen(*(const uint32_t *)type))
        espi_tells_commit(*(const uint32_t *)type);
}

/* Whether the core is asked to keep the type that is to be freed: it is known how it was made, or it is kept. */
ESPI_INLINE bool espi_may_be_kept(espi_word type)
{
    uint32_t at = espi_credit_at(*(const uint32_t *)type);
    if (at == ESPI_CREDITS || atomic_load_explicit(&espi_hot.freed, memory_order_relaxed) == NULL)
        return false;
    return (atomic_load_explicit(&espi_hot.types[at].hint, memory_order_relaxed) & ~(uint64_t)ESPI_HINT_UNSEEN) != 0;
}

/* Before MPI_Type_free: no use of the type goes straight on any more. What the core knows of it that must end at once
   ends by an attribute of the datatype; the rest when the core sees the next type of this handle committed. False:
   the handle has no credit of its own. */
ESPI_INLINE bool espi_ends(espi_word type)
{
    uint32_t at = espi_credit_at(*(const uint32_t *)type);
    if (at == ESPI_CREDITS)
        return false;
    if (__builtin_expect(espi_unshare(&espi_hot.types[at]), 0))
        return true;
    bool unseen = atomic_load_explicit(&espi_hot.types[at].hint, memory_order_relaxed) == ESPI_HINT_UNSEEN;
    atomic_store_explicit(&espi_hot.types[at].hint, 0, memory_order_relaxed);
    *(uint64_t *)&espi_hot.direct &= ~espi_direct_bit(*(const uint32_t *)type);
    if ((unsigned char)(*espi_credit_alone(at) - 1) < ESPI_CREDIT_ENDED - 1) { /* neither freed nor uncommitted */
        *espi_credit_alone(at) = unseen ? 0 : (unsigned char)(*espi_credit_alone(at) + ESPI_CREDIT_ENDED);
        espi_add_alone(&espi_hot.frees);
    }
    return true;
}

/* ESPI_END_WAY: what follows a short call. */
#define ESPI_END_SUBSTITUTE
#define ESPI_END_COUNT
#define ESPI_END_TREE
#define ESPI_END_EXCHANGE
#define ESPI_END_REDUCE
#define ESPI_END_SYNC
#define ESPI_END_SYNC_REDUCE
#define ESPI_END_REQUESTS
#define ESPI_END_FREE
#define ESPI_END_NEVER
#define ESPI_END_COMMIT espi_commits(result, a0);

/* Rows treated as LIFE. */
#define ESPI_WAY_Type_commit COMMIT
#define ESPI_WAY_Type_free FREE
#define ESPI_WAY_Type_dup NEVER
#define ESPI_WAY_Type_create_keyval NEVER
#define ESPI_WAY_Type_set_name NEVER
#define ESPI_WAY_Type_get_contents NEVER
#define ESPI_WAY_Type_get_contents_c NEVER
#define ESPI_WAY_Comm_free NEVER
#define ESPI_WAY_Comm_disconnect NEVER
#define ESPI_WAY_Comm_idup NEVER
#define ESPI_WAY_Comm_idup_with_info NEVER
#define ESPI_WAY_Init NEVER
#define ESPI_WAY_Init_thread NEVER
#define ESPI_WAY_Session_init NEVER
#define ESPI_WAY_Session_finalize NEVER
#define ESPI_WAY_Start REQUESTS
#define ESPI_WAY_Startall REQUESTS
#define ESPI_WAY_Wait REQUESTS
#define ESPI_WAY_Waitall REQUESTS
#define ESPI_WAY_Waitany REQUESTS
#define ESPI_WAY_Waitsome REQUESTS
#define ESPI_WAY_Test REQUESTS
#define ESPI_WAY_Testall REQUESTS
#define ESPI_WAY_Testany REQUESTS
#define ESPI_WAY_Testsome REQUESTS
#define ESPI_WAY_Request_get_status REQUESTS
#define ESPI_WAY_Request_free REQUESTS
#define ESPI_WAY_Cancel REQUESTS

#endif
