/* What tests of src/mpi/typeplan/tiers.h share: classes, and what is thought of them. */
#ifndef ESPI_TESTS_WHITEBOX_TIERS_SETUP_H
#define ESPI_TESTS_WHITEBOX_TIERS_SETUP_H

#include "base/settings.h"
#include "clock.h"
#include "mpi/typeplan/admission.h"
#include "mpi/typeplan/engine_cost.h"
#include "mpi/typeplan/tiers.h"

enum { AUTO = ESPI_MODE_AUTO, PART = ESPI_ENGINE_PART };
#define NEVER UINT64_MAX

static inline uint64_t next(const struct espi_type_class *c, uint64_t made, bool planned)
{
    return espi_tiers_next_look(c, AUTO, made, planned);
}

static inline void open_budget(void)
{
    test_clock_stands();
    espi_admission_start(INT64_C(1) << 34);
    espi_admission_begins(UINT64_C(1) << 40);
}

/* A class that was counted: `uses` uses of one item. */
static inline struct espi_type_class counted(uint64_t uses, int64_t size, uint64_t numbers)
{
    return (struct espi_type_class){.hint = 1, .uses = uses, .items = uses, .alive = 1,
                                    .state = ESPI_CLASS_COUNTED, .size = size, .numbers = numbers};
}

/* What its uses are estimated to have lost. */
static inline uint64_t lost(const struct espi_type_class *c)
{
    return espi_admission_spent(c->uses, c->items * (uint64_t)c->size, c->dense) +
           espi_admission_walked(c->uses, c->items * (uint64_t)c->size, c->numbers);
}

/* What a use of one item of such a class is estimated to lose. */
static inline uint64_t each_of(const struct espi_type_class *c)
{
    return espi_admission_spent(1, (uint64_t)c->size, c->dense) +
           espi_admission_walked(1, (uint64_t)c->size, c->numbers);
}

#endif
