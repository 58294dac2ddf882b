#include "mpi/typeplan/tiers.h"

#include "base/settings.h"
#include "mpi/typeplan/admission.h"
#include "mpi/typeplan/engine_cost.h"

/* So many types decide against as many of which it was the other way round before. */
enum { OFTEN_MOST = 4 };
enum { SECOND = 2 };
/* Of a class whose uses save nothing now, one type in so many is looked at, and those that are used very often: some
   in a row, so that both sides of a call are, where they are of one class. */
enum { SAMPLED = 16, IN_A_ROW = 3 };
#define NEVER UINT64_MAX

/* One more type that says yes or no. */
static void decide(int8_t *counter, bool yes)
{
    *counter = (int8_t)(*counter + (yes ? *counter < OFTEN_MOST : -(*counter > -OFTEN_MOST)));
}

/* Uses, of `each` nanoseconds, until `price` is reached, `paid` of it being there; at least 1. */
static uint64_t uses_until(uint64_t price, uint64_t paid, uint64_t each)
{
    return paid >= price ? 1 : (price - paid - 1) / (each > 0 ? each : 1) + 1;
}

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static uint64_t most(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/* The family of a class, where something is known of it. */
static const struct espi_type_family *family(const struct espi_type_class *class)
{
    return class->family != NULL && class->family->make_ns > 0 ? class->family : NULL;
}

/* Types of the family mostly are used so often that planning pays. */
static bool is_often(const struct espi_type_class *class)
{
    return class->family != NULL && class->family->often > 0;
}

/* What the uses of a class that was counted may have lost so far: by what its family gains; but even where that is
   nothing, a part of what may be lost at most, as a family is no proof. */
static uint64_t spent(const struct espi_type_class *class)
{
    enum { PART_OF_MOST = 64 };
    const uint64_t bytes = class->items * (uint64_t)class->size,
                   at_most = espi_admission_spent(class->uses, bytes, class->dense) +
                             espi_admission_walked(class->uses, bytes, class->numbers);

    return family(class) != NULL ? most(class->uses * family(class)->gain_ns, at_most / PART_OF_MOST) : at_most;
}

static uint64_t price_of_first(const struct espi_type_class *class)
{
    return family(class) != NULL ? family(class)->make_ns : espi_admission_rules(class->numbers);
}

static bool second_may_pay(const struct espi_type_class *class)
{
    return class->tier == 1 && class->excess_ns > 0;
}

static uint64_t price_of_second(const struct espi_type_class *class)
{
    return espi_admission_tree(class->numbers, (uint64_t)class->size);
}

/* Planned for uses that fit one part of a message, and now used for longer ones. */
static bool outgrown(const struct espi_type_class *class)
{
    return !class->parts && class->uses > 0 &&
           class->items * (uint64_t)class->size / class->uses > ESPI_ENGINE_PART;
}

/* The uses at which it is to ask again. What it was told before planning had begun does not hold any more since. */
static uint64_t retry_of(const struct espi_type_class *class)
{
    return class->told > 0 && espi_admission_begins(0) ? 0 : class->retry;
}

/* Work of this price was earned. False: the budget is used up. */
static bool admit(struct espi_type_class *class, uint64_t price, bool dear)
{
    class->retry = retry_of(class);
    class->told = 0;
    if (class->uses < class->retry)
        return false;
    if (dear ? espi_admission_open_dear(price) : espi_admission_open(price))
        return true;
    class->retry = 2 * class->uses;
    return false;
}

/* Whether planning has begun in this process, or does now: what all classes have lost is worth that. If not, the
   class asks again when it has been used twice as often. */
static bool begins(struct espi_type_class *class)
{
    const uint64_t now = spent(class), more = now > class->told ? now - class->told : 0;

    if (espi_admission_begins(0))
        return true;
    if (class->uses < class->retry)
        return false;
    class->told = now;
    if (espi_admission_begins(more))
        return true;
    class->retry = 2 * class->uses;
    return false;
}

/* What a look at the next type of the class will take. */
static uint64_t price_of_look(const struct espi_type_class *class)
{
    return class->anew > 0 ? class->make_ns : class->look_ns;
}

/* What it takes to recognize a type is known when a few were: before, it is a guess. */
static bool is_to_be_proved(const struct espi_type_class *class)
{
    return class->anew <= 0 && class->recognized < ESPI_TIERS_PROVED;
}

/* At once where types of the class mostly are used so often that it pays; by their mean as long as none has ended
   since that is known. */
static uint64_t next_of_better(const struct espi_type_class *class, uint64_t made)
{
    uint64_t each = class->ended > 0 ? class->uses / class->ended : 0;
    const uint64_t price = price_of_look(class);
    if (class->idle && !is_to_be_proved(class)) /* but one day it may save something: processors move */
        return (class->ended + class->alive) % (SAMPLED * IN_A_ROW) < IN_A_ROW ? 1 : most(price, 1);
    const bool often = class->often != 0 ? class->often > 0 : each * class->gain_ns >= 2 * price;

    return often || is_to_be_proved(class) ? 1 : uses_until(price, made * class->gain_ns, class->gain_ns);
}

void espi_tiers_ended(struct espi_type_class *class, uint64_t made)
{
    class->ended++;
    if (class->family != NULL)
        decide(&class->family->again, made > 1);
    if (family(class) != NULL)
        decide(&class->family->often, made * class->family->gain_ns >= class->family->make_ns);
    if (class->state == ESPI_CLASS_BETTER)
        decide(&class->often, made * class->gain_ns >= price_of_look(class));
}

void espi_tiers_saved(struct espi_type_class *class, uint64_t ns_and_1)
{
    if (class->state != ESPI_CLASS_BETTER || ns_and_1 == 0)
        return;
    class->idle = ns_and_1 == 1;
    if (!class->idle)
        class->gain_ns = ns_and_1 - 1;
}

void espi_tiers_looked(struct espi_type_class *class, uint64_t took, uint64_t anew)
{
    const bool first = class->look_ns == 0;

    if (class->look_ns == 0 || took < class->look_ns)
        class->look_ns = took;
    if (anew > 0 && (class->make_ns == 0 || anew < class->make_ns))
        class->make_ns = anew;
    class->recognized = (uint8_t)(class->recognized + (anew == 0 && class->recognized < ESPI_TIERS_PROVED));
    if (first)
        return;
    decide(&class->anew, anew > 0);
}

void espi_tiers_learnt(struct espi_type_class *class)
{
    if (class->family == NULL || class->make_ns == 0 || class->cold)
        return;
    class->family->gain_ns = class->state == ESPI_CLASS_BETTER ? class->gain_ns : 0;
    class->family->make_ns =
        family(class) != NULL ? least(class->family->make_ns, class->make_ns) : class->make_ns;
}

uint64_t espi_tiers_next_look(const struct espi_type_class *class, int mode, uint64_t made, bool planned)
{
    const uint64_t again = made > ESPI_TIERS_AGAIN ? made : ESPI_TIERS_AGAIN;
    uint64_t wait;

    if (mode == ESPI_MODE_OFF)
        return NEVER;
    if (mode == ESPI_MODE_ALWAYS)
        return planned ? again : made == 0 ? 1 : NEVER;
    if (class == NULL)
        return SECOND;
    switch ((enum espi_class_state)class->state) {
    case ESPI_CLASS_NEW:
        return class->uses >= SECOND - 1 ? 1 : SECOND;
    case ESPI_CLASS_COUNTED:
        wait = is_often(class)
                   ? 1
                   : uses_until(price_of_first(class), spent(class),
                                class->uses > 0 ? spent(class) / class->uses : 0);
        return most(wait, retry_of(class) > class->uses ? retry_of(class) - class->uses : 1);
    case ESPI_CLASS_BETTER:
        if (!planned)
            return next_of_better(class, made);
        wait = again;
        break;
    case ESPI_CLASS_PLAIN:
        wait = class->parts || class->size > ESPI_ENGINE_PART ? NEVER : again;
        break;
    default:
        return NEVER;
    }
    if (second_may_pay(class))
        wait = least(wait, most(uses_until(price_of_second(class), class->uses * class->excess_ns, class->excess_ns),
                                retry_of(class) > class->uses ? retry_of(class) - class->uses : 1));
    return wait;
}

int espi_tiers_due(struct espi_type_class *class, int mode, bool known)
{
    uint64_t price;

    if (mode != ESPI_MODE_AUTO)
        return mode == ESPI_MODE_ALWAYS && !known ? 2 : 0;
    switch ((enum espi_class_state)class->state) {
    case ESPI_CLASS_COUNTED:
        price = price_of_first(class);
        if (spent(class) < price && !is_often(class))
            return 0;
        if (!begins(class))
            return 0;
        return admit(class, price, false) ? 1 : ESPI_TIERS_DENIED;
    case ESPI_CLASS_BETTER:
    case ESPI_CLASS_PLAIN:
        price = price_of_second(class);
        if (second_may_pay(class) && class->uses * class->excess_ns >= price && admit(class, price, true))
            return 2;
        return class->state == ESPI_CLASS_BETTER ? (known ? 0 : class->tier) : outgrown(class) ? class->tier : 0;
    default:
        return 0;
    }
}
