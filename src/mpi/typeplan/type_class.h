/*
 * The class of a type: how it was made.
 *
 * A program that makes the same type again and again, each time step, say, makes it by the same constructor calls.
 * The stub sees these calls, and hashes their arguments (wrappers/type_hint.h): the function, its numbers, a few
 * elements of each array, and the hints of the types that the new one is made from. That takes some nanoseconds
 * however long a list is, and asks MPI nothing. The core sees the commit, and finds the class by this hint.
 *
 * So the class is a strong hint, and not a proof: two lists may differ in elements that were not looked at, and a
 * handle may have been freed and made anew where we do not see it (some Fortran layers, libraries that call MPI past
 * the preload). Nothing is concluded from it but whether a look at the type is worth its price: what was learnt of
 * types of the class before (bytes, uses, whether something better was found, what it saved, what the look took). The
 * look asks MPI: whether the type was made as the last one of the class (espi_plan_recognize), or else its layout.
 *
 * Classes stand in a table of fixed size. One that no type belongs to at the moment makes room for another.
 *
 * Long lists that a program makes anew are mostly other lists, of another class each: of atoms near a border, say. So
 * what was learnt of the last one is kept for its family, too: lists of the same constructor and about as long.
 */
#ifndef ESPI_MPI_TYPEPLAN_TYPE_CLASS_H
#define ESPI_MPI_TYPEPLAN_TYPE_CLASS_H

#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>

#include "abi.h"

struct espi_stats_type;

enum { ESPI_CLASSES = 1 << 14 };

enum espi_class_state {
    ESPI_CLASS_NEW,     /* nothing is known of its types */
    ESPI_CLASS_COUNTED, /* their size is known; none was decoded */
    ESPI_CLASS_PLAIN,   /* planned: their own form is best */
    ESPI_CLASS_BETTER,  /* planned: there is a better form */
    ESPI_CLASS_REFUSED  /* cannot be decoded or planned */
};

enum espi_own_way { ESPI_OWN_OPEN, ESPI_OWN_COPIED, ESPI_OWN_LEFT };

/* Written under a lock of type_cache.c, or where calls do not overlap. */
/* What planning a list of the family took, and gained. */
struct espi_type_family {
    uint32_t key;     /* 0: nothing is known yet */
    int8_t often;     /* > 0 where most of the last types were used so often that planning paid */
    uint64_t gain_ns; /* what a use of the last one that was planned saves, by the model; 0: nothing better */
    uint64_t make_ns; /* what it took to read one back and plan it, at least */
    int8_t again;     /* > 0 where most of the last types were used more than once */
    struct espi_once_brake {
        int8_t worth;    /* of programs for one use (pack_once.h): up where one was of use, down where not */
        uint8_t passing; /* uses that pass before one is thought of again */
    } once;
};

struct espi_type_class {
    uint64_t hint;              /* 0: the entry is free */
    uint64_t uses, items;       /* of its types, as far as their slots have told */
    uint64_t ended;             /* types that have ended */
    uint32_t alive;             /* slots that refer to it */
    uint8_t state;              /* enum espi_class_state; of setting auto */
    bool dense;                 /* no gaps, nor any between items (or some overlap) */
    bool own;                   /* a rank gives itself blocks of such types: each use is to be seen */
    uint8_t own_way;            /* enum espi_own_way: what was found to be best for these blocks */
    bool parts;                 /* planned for uses of more than one part of a message */
    bool staged;                /* when one was looked at, the library was to pack it into a buffer of its own */
    bool exchanged;             /* one was looked at for a call without the library, where any program is of use */
    bool packs;                 /* a pack program has done a use of its types that was not staged, */
    bool packs_others;          /* and was no message */
    atomic_uchar packs_alone;   /* 0, or: one would do MPI_Pack, but as all uses were in other calls there is no plan.
                                   From ESPI_CLASS_ALONE on, one less each time that it is seen; 1: it is due */
    int8_t passed;              /* uses in calls that no pack program does, before the first that one does, less those
                                   that the library stages and one does */
    bool idle;                  /* BETTER: uses of the last one that says so saved nothing */
    uint8_t tier;               /* of the plan */
    int8_t often;               /* BETTER: > 0 where most of the last types were used so often that a look paid */
    uint8_t recognized;         /* types that were recognized, up to some */
    uint8_t untimed;            /* looks since, of which most are not timed */
    int8_t anew;                /* > 0 where most of the last looks recognized nothing */
    bool cold;                  /* the last one read back was the first of the process: the family learns nothing */
    int64_t size;               /* bytes of one item; -1: MPI was not asked yet */
    uint64_t numbers;           /* counts and displacements of its constructors, about */
    uint64_t retry;             /* uses at which to ask again for a budget that was used up, or to begin */
    uint64_t told;              /* of what its uses have lost, before planning began: ns */
    uint64_t gain_ns;           /* BETTER: what a use of the usual count saves, by the model */
    uint64_t excess_ns;         /* and what the best conceivable form would save on top of it */
    uint64_t look_ns;           /* what recognizing a type of it, and tying it to its plan, took at least */
    uint64_t make_ns;           /* and what it took to read one back, which most often is planned then */
    struct espi_type_family *family; /* NULL: not a long list */
    struct espi_stats_type *record; /* of the plan, which counts the uses of PLAIN types; NULL: none */
};

/* Whether a type of this hint was made before; notes it. Hints meet in a small filter, and replace each other there:
   a program that makes many types once does not touch the table of classes. */
bool espi_class_seen(uint64_t hint);

/* The class of this hint (not 0), with one more type alive; made when it is new. NULL: there is no room. */
struct espi_type_class *espi_class_enter(uint64_t hint);
/* One of its types is gone. */
void espi_class_leave(struct espi_type_class *class);

/* Asks MPI for size, density and numbers of a type of the class; false when MPI does not answer. */
bool espi_class_ask(struct espi_type_class *class, MPI_Datatype type);
/* For a type whose making was not seen: a hint from what MPI tells cheaply (envelope, size, extents). 0: nothing. */
uint64_t espi_class_hint_asked(MPI_Datatype type);

/* Plans that are better for nothing but a pack program: after so many uses that none can do, the types of the class
   are left alone. */
enum { ESPI_CLASS_PASSED_MOST = 16, ESPI_CLASS_ALONE = 3 };

/* Whether types that were left alone are to be looked at in MPI_Pack: it was seen as often as that takes, or another
   type of the class has been looked at so. */
static inline bool espi_class_would_pack(const struct espi_type_class *class)
{
    return atomic_load_explicit(&class->packs_alone, memory_order_relaxed) == 1 ||
           (class->packs_others && class->state == ESPI_CLASS_BETTER);
}

/* Forgets all. No slot refers to a class. */
void espi_classes_reset(void);

#endif
