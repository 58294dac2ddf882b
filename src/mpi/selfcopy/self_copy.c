/*
 * Pairs of layouts and their plans.
 *
 * Three tables. A thread's own pairs (recent_pairs.h). Slots of pairs by the identities of their types (a number
 * that no other type of the process ever gets), which count uses until the pair is decided. And the plans by layout,
 * which nothing but the end of MPI frees: a call may run one at any time, and there are at most PLANS_MOST. `lock` is
 * never held over an MPI call; `planning` is, but only ever tried.
 */
#include "mpi/selfcopy/self_copy.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/table.h"
#include "mpi/typeplan/admission.h"
#include "mpi/datatype/decode.h"
#include "mpi/core/runtime.h"
#include "mpi/selfcopy/pair_class.h"
#include "mpi/typeplan/type_class.h"
#include "mpi/core/thread_state.h"
#include "mpi/core/pmpi.h"
#include "mpi/typeplan/type_cache.h"
#include "stats/stats.h"
#include "type_hint.h"

/* Plans stay for the life of the process: no more are made than so many, or when these take so many bytes. */
enum { SLOTS = 4096, NEAR = 4, PLANS_MOST = 1024, BYTES_MOST = 64 << 20, NUMBERS_MOST = 1 << 20 };
/* In setting auto: to look at a pair costs more than a call may. So it waits until the pair was used a few times, or
   the uses of its kind have earned it together. Hints of lists that are LISTED long do not see all of them, so that
   lists which differ are of one kind if MPI says the same of them. */
enum { FIRST_LOOK = 8, LISTED = 4 * ESPI_HINT_SAMPLED };
struct slot {
    struct espi_selfcopy_key key;
    uint64_t uses, look;               /* look: number of uses at which planning is considered again */
    uint64_t told;                     /* uses that its kind was told of */
    struct espi_selfcopy_plan *plan;
    unsigned generation;
    bool decided;
};

struct layouts {
    uint64_t key;
    uint64_t kind; /* of the pair that was read back last */
    struct espi_arena arena;
    const struct espi_node *from, *onto;
    struct espi_selfcopy_plan *plan;
    UT_hash_handle hh;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards slots and plans */
static pthread_mutex_t planning = PTHREAD_MUTEX_INITIALIZER;
static struct slot slots[SLOTS] ESPI_TABLE;
static struct layouts *plans;
static unsigned plans_made;
static size_t plans_bytes;
static atomic_uint generation; /* raised when all plans go: what threads remember is then stale */

/* What a pair is like, as far as is known without reading its types back. */
struct facts {
    uint64_t kind; /* how its types were made, and its counts (pair_class.h) */
    uint64_t bytes, numbers;
    bool same;  /* as many bytes on either side */
    bool alike; /* pairs of the kind have the same layouts, as far as can be known */
};

/* Under the lock. A new one takes a place that is free, or that of a pair whose types are no more, or of the one that
   was used least. */
static struct slot *slot_of(const struct espi_selfcopy_key *key)
{
    uint64_t h = espi_mix(espi_mix(0, key->from), key->onto);
    h = espi_mix(espi_mix(h, (uint64_t)key->from_count), (uint64_t)key->onto_count);
    struct slot *const first = &slots[h % SLOTS / NEAR * NEAR], *place = NULL, *least = first;
    const unsigned now = atomic_load_explicit(&generation, memory_order_relaxed);
    for (struct slot *s = first; s < first + NEAR; s++) {
        if (s->generation == now && memcmp(&s->key, key, sizeof *key) == 0)
            return s;
        if (s->generation != now || s->key.from == 0)
            place = s;
    }
    for (struct slot *s = first; s < first + NEAR && place == NULL; s++) {
        if (espi_selfcopy_is_gone(&s->key))
            place = s;
        least = s->uses < least->uses ? s : least;
    }
    if (place == NULL)
        place = least;
    *place = (struct slot){.key = *key, .look = FIRST_LOOK, .generation = now};
    return place;
}

/* Under the lock. */
static struct layouts *find_layouts(uint64_t key, const struct espi_node *from, const struct espi_node *onto)
{
    struct layouts *l;
    HASH_FIND(hh, plans, &key, sizeof key, l);
    return l != NULL && espi_node_equal(l->from, from) && espi_node_equal(l->onto, onto) ? l : NULL;
}

/* The tree of all items of one side. */
static espi_status tree_of(struct espi_arena *arena, const struct espi_selfcopy_side *side,
                           const struct espi_node **out)
{
    struct espi_decoded layout;
    espi_base base;
    espi_status status;

    if (espi_type_is_predefined(side->type)) {
        base = espi_base_of_handle(side->type);
        if (base == ESPI_BASE_NONE)
            return ESPI_ERR_UNSUPPORTED;
        status = espi_node_leaf(arena, base, &layout.tree);
        layout.extent = status == ESPI_OK ? layout.tree->true_ub : 0;
        MPI_Count lb, extent;
        if (status == ESPI_OK && espi_pmpi.Type_get_extent_c(side->type, &lb, &extent) == MPI_SUCCESS)
            layout.extent = extent;
    } else {
        status = espi_decode(arena, side->type, NUMBERS_MOST, &layout);
    }
    if (status != ESPI_OK)
        return status;
    if (side->count == 1) {
        *out = layout.tree;
        return ESPI_OK;
    }
    return espi_node_vec(arena, side->count, layout.extent, layout.tree, out);
}

/* Under `planning`. Remembers the plan for equal layouts; the arena of the trees goes over to it. */
static struct espi_selfcopy_plan *keep_plan(uint64_t key, uint64_t kind, struct espi_arena *arena,
                                                  const struct espi_selfcopy_request *r,
                                                  struct espi_selfcopy_plan *plan)
{
    struct layouts *l = calloc(1, sizeof *l);
    if (l == NULL) {
        espi_selfcopy_plan_free(plan);
        return NULL;
    }
    l->key = key;
    l->kind = kind;
    l->from = r->from_tree;
    l->onto = r->onto_tree;
    l->plan = plan;
    pthread_mutex_lock(&lock);
    HASH_ADD(hh, plans, key, sizeof l->key, l);
    bool added = l->hh.tbl != NULL;
    pthread_mutex_unlock(&lock);
    if (!added) {
        free(l);
        espi_selfcopy_plan_free(plan);
        return NULL;
    }
    plans_made++;
    plans_bytes += arena->bytes + espi_selfcopy_plan_bytes(plan);
    l->arena = *arena;
    *arena = ESPI_ARENA_INIT;
    return plan;
}

/* Under `planning`. Finds or makes the plan; `*decided` false: not yet. */
static struct espi_selfcopy_plan *consider(const struct espi_selfcopy_side *from,
                                                 const struct espi_selfcopy_side *onto,
                                                 bool fresh, uint64_t kind, bool *decided)
{
    struct espi_arena arena = ESPI_ARENA_INIT;
    struct espi_selfcopy_request r = {.from = *from, .onto = *onto, .mode = espi_settings.datatypes,
                                      .check = espi_settings.check};
    struct espi_selfcopy_plan *plan = NULL;
    struct layouts *known;
    uint64_t key, begun = espi_stats_now();
    espi_status status = tree_of(&arena, from, &r.from_tree);

    *decided = true;
    if (status == ESPI_OK && onto->type == from->type && onto->count == from->count)
        r.onto_tree = r.from_tree;
    else if (status == ESPI_OK)
        status = tree_of(&arena, onto, &r.onto_tree);
    begun = espi_stats_now() - begun;
    espi_count_anywhere(ESPI_COUNT_time_decode, begun);
    espi_admission_book(begun);
    if (r.mode == ESPI_MODE_AUTO)
        espi_pair_class_tried(kind, begun, 0);
    if (status != ESPI_OK || r.from_tree->entries != r.onto_tree->entries || r.from_tree->size != r.onto_tree->size) {
        espi_count_anywhere(status == ESPI_ERR_LIMIT ? ESPI_COUNT_pairs_too_large : ESPI_COUNT_pairs_unsupported, 1);
        goto done;
    }
    key = espi_mix(espi_mix(0, r.from_tree->hash), r.onto_tree->hash);
    pthread_mutex_lock(&lock);
    known = find_layouts(key, r.from_tree, r.onto_tree);
    pthread_mutex_unlock(&lock);
    if (r.mode == ESPI_MODE_AUTO && known != NULL) {
        espi_pair_class_tried(known->kind, 0, espi_selfcopy_gained(known->plan));
        known->kind = kind;
    }
    if (r.mode == ESPI_MODE_AUTO && fresh && known == NULL && !espi_layout_seen(key)) {
        *decided = false;
        goto done;
    }
    if (known != NULL) {
        plan = known->plan;
    } else if (plans_made == PLANS_MOST || plans_bytes >= BYTES_MOST) {
        espi_count_anywhere(ESPI_COUNT_plan_budget, 1);
    } else {
        struct espi_selfcopy_plan *made = espi_selfcopy_plan_make(&r);
        if (made != NULL) {
            made->made_ns += begun;
            plan = keep_plan(key, kind, &arena, &r, made);
        }
    }
done:
    espi_arena_release(&arena);
    return plan;
}

/* How a type was made, as a hint; 0: MPI does not say, or it is no type that could be copied. `*alike`: others of the
   hint were made alike; else MPI says the same of them. */
static uint64_t hint_of(MPI_Datatype type, bool *alike)
{
    const struct espi_type_slot *slot;
    uint64_t how, hint;

    *alike = true;
    if (espi_type_is_predefined(type)) /* by its bits */
        return espi_base_of_handle(type) != ESPI_BASE_NONE ? espi_hint_of((uint64_t)(uint32_t)type << 8, 0) : 0;
    slot = espi_slot_of(type);
    how = slot != NULL ? slot->how : 0; /* another thread may look the class up just now */
    hint = how % 2 != 0 || how == 0 ? how : ((const struct espi_type_class *)(uintptr_t)how)->hint;
    *alike = hint != 0 && espi_hint_numbers(hint) < LISTED;
    return *alike ? hint : espi_class_hint_asked(type);
}

static bool ask(const struct espi_selfcopy_side *from, const struct espi_selfcopy_side *onto, struct facts *facts)
{
    bool from_alike, onto_alike = false;
    const uint64_t a = hint_of(from->type, &from_alike), b = a != 0 ? hint_of(onto->type, &onto_alike) : 0;
    MPI_Count from_size, onto_size;

    if (b == 0 || espi_pmpi.Type_size_c(from->type, &from_size) != MPI_SUCCESS ||
        espi_pmpi.Type_size_c(onto->type, &onto_size) != MPI_SUCCESS)
        return false;
    facts->kind = espi_mix(espi_mix(espi_mix(espi_mix(1, a), b), (uint64_t)from->count), (uint64_t)onto->count);
    facts->numbers = espi_hint_numbers(a) + espi_hint_numbers(b);
    facts->bytes = (uint64_t)from_size * (uint64_t)from->count;
    facts->alike = from_alike && onto_alike;
    facts->same = facts->bytes == (uint64_t)onto_size * (uint64_t)onto->count;
    return true;
}

static bool tie(MPI_Datatype type)
{
    return espi_type_is_predefined(type) || espi_types_tie(type);
}

/* What planning takes, about, which setting always does not ask for; `little`: against one use, and others come. */
struct price {
    uint64_t ns;
    bool little;
};

/* Under `planning`, when a plan was earned. */
static void plan_pair(struct slot *s, const struct facts *facts, const struct price *price,
                      const struct espi_selfcopy_side *from, const struct espi_selfcopy_side *onto)
{
    bool decided = true;

    if (espi_settings.datatypes != ESPI_MODE_ALWAYS && !espi_admission_open(price->ns)) {
        espi_pair_class_denied(facts->kind);
        espi_count_anywhere(ESPI_COUNT_plan_budget, 1);
        return;
    }
    if (facts->same && tie(from->type) && tie(onto->type))
        s->plan = consider(from, onto, s->told == 0 && !price->little, facts->kind, &decided);
    s->decided = decided;
    if (s->plan != NULL && facts->alike)
        espi_pair_class_planned(facts->kind);
}

/* To read back types made like this one costs more than copies of them save. */
static void not_worth_it(MPI_Datatype type)
{
    const struct espi_type_slot *slot = espi_type_is_predefined(type) ? NULL : espi_slot_of(type);

    if (slot != NULL && espi_slot_class(slot) != NULL)
        espi_slot_class(slot)->own_way = ESPI_OWN_LEFT;
}

/* Whether the uses of a pair, or those of its kind together, have earned a plan, and what that will cost. New uses
   are told to the kind. */
static bool has_earned(const struct slot *s, const struct facts *facts, const struct espi_selfcopy_side *from,
                       const struct espi_selfcopy_side *onto, struct price *price)
{
    const uint64_t new_uses = s->uses - s->told;
    const struct espi_pair_kind kind = espi_pair_class_use(facts->kind, new_uses, facts->bytes * new_uses);
    const uint64_t spent = espi_admission_spent(kind.uses, kind.bytes, false),
                   ns = kind.planned ? espi_admission_rules(facts->numbers) /* to read both back */
                                     : espi_admission_estimate(facts->numbers, facts->bytes);
    const bool little = espi_admission_is_little(espi_admission_spent(1, facts->bytes, false), ns);
    *price = (struct price){ns, little && facts->alike && kind.hopeful && !kind.waits};
    if (kind.waits)
        return false;
    if (!kind.hopeful) {
        not_worth_it(from->type);
        not_worth_it(onto->type);
    }
    if (s->uses >= s->look &&
        espi_admission_earned(s->uses, espi_admission_spent(s->uses, facts->bytes * s->uses, false), ns))
        return true;
    return espi_admission_earned(kind.uses, spent, ns) && (s->told > 0 || kind.hopeful);
}

/* Whether to plan the pair, and that. `s` is a copy, of which `plan`, `decided` and `look` change. */
static void look_at_pair(struct slot *s, const struct espi_selfcopy_side *from, const struct espi_selfcopy_side *onto)
{
    struct facts facts;
    struct price price = {0, false};

    if (!ask(from, onto, &facts)) {
        s->decided = true;
        return;
    }
    if (espi_settings.datatypes != ESPI_MODE_ALWAYS && !has_earned(s, &facts, from, onto, &price)) {
        s->look = price.little ? s->uses + 1 : s->look;
        return;
    }
    if (pthread_mutex_trylock(&planning) != 0)
        return;
    plan_pair(s, &facts, &price, from, onto);
    pthread_mutex_unlock(&planning);
    espi_stats_slow_path();
    if (s->decided && s->plan != NULL && s->plan->copy == NULL)
        s->plan = NULL;
}

/* From now on every use that may come to this is looked at, or only few of them. */
static void pair(MPI_Datatype type, unsigned what)
{
    struct espi_type_slot *slot = espi_type_is_predefined(type) ? NULL : espi_slot_of(type);
    if (slot != NULL)
        espi_slot_pair(slot, type,
                       (atomic_load_explicit(&slot->paired, memory_order_relaxed) & ~(unsigned)ESPI_PAIRED_OPEN) |
                           what);
    struct espi_type_class *class = slot != NULL ? espi_slot_class(slot) : NULL;
    if (class == NULL)
        return;
    class->own = what != ESPI_PAIRED_LEFT;
    if (what == ESPI_PAIRED_LEFT)
        class->own_way = ESPI_OWN_LEFT;
    else if ((what & (ESPI_PAIRED_COPIED | ESPI_PAIRED_APART | ESPI_PAIRED_LATE | ESPI_PAIRED_MESSAGE)) != 0)
        class->own_way = ESPI_OWN_COPIED;
}

void espi_selfcopy_mark(const struct espi_selfcopy_plan *plan, MPI_Datatype from, MPI_Datatype onto)
{
    const unsigned marks = atomic_load_explicit(&plan->marks, memory_order_relaxed);

    pair(from, marks);
    pair(onto, marks);
}

static __attribute__((noinline)) struct espi_selfcopy_plan *slow(struct espi_selfcopy_cache *cache,
                                                                       struct espi_selfcopy_known *place,
                                                                       unsigned now,
                                                                       const struct espi_selfcopy_key *key,
                                                                       uint64_t uses,
                                                                       const struct espi_selfcopy_side *from,
                                                                       const struct espi_selfcopy_side *onto)
{
    struct slot copy, *s;

    pthread_mutex_lock(&lock);
    s = slot_of(key);
    s->uses += uses;
    const bool due = !s->decided && (s->told == 0 || s->uses >= s->look);
    copy = *s;
    s->told = due ? s->uses : s->told;
    if (s->uses >= s->look)
        s->look = 2 * s->uses;
    const uint64_t look = s->look;
    pthread_mutex_unlock(&lock);
    if (due)
        look_at_pair(&copy, from, onto);
    if (copy.look <= copy.uses) /* as it was */
        copy.look = look;
    if (due && (copy.decided || copy.look < look)) {
        pthread_mutex_lock(&lock);
        s = slot_of(key);
        s->look = copy.look;
        if (copy.decided) {
            s->plan = copy.plan;
            s->decided = true;
        }
        pthread_mutex_unlock(&lock);
    }
    if (!copy.decided)
        copy.plan = NULL;
    if (due && copy.decided)
        cache->in_vain = 0;
    else if (!copy.decided)
        cache->in_vain++;
    unsigned marks = 0;
    if (copy.decided && copy.plan == NULL) {
        pair(from->type, ESPI_PAIRED_LEFT);
        pair(onto->type, ESPI_PAIRED_LEFT);
    } else if (copy.decided && (marks = atomic_load_explicit(&copy.plan->marks, memory_order_relaxed)) != 0) {
        espi_selfcopy_mark(copy.plan, from->type, onto->type);
    }
    *place = (struct espi_selfcopy_known){*key, now, marks, copy.plan, 0, 0};
    if (!copy.decided)
        place->wait = copy.look > copy.uses ? copy.look - copy.uses : 1;
    return copy.plan;
}

static struct espi_selfcopy_key key_of(const struct espi_selfcopy_side *from, const struct espi_selfcopy_side *onto)
{
    return (struct espi_selfcopy_key){espi_selfcopy_identity(from->type), espi_selfcopy_identity(onto->type),
                                      from->count, onto->count};
}

const struct espi_selfcopy_known *espi_selfcopy_known(struct espi_thread *thread,
                                                      const struct espi_selfcopy_side *from,
                                                      const struct espi_selfcopy_side *onto)
{
    const struct espi_selfcopy_key key = key_of(from, onto);

    return espi_selfcopy_where(&espi_thread_state(thread)->pairs, &key);
}

struct espi_selfcopy_plan *espi_selfcopy_plan_there(const struct espi_selfcopy_known *known,
                                                    const struct espi_selfcopy_side *from,
                                                    const struct espi_selfcopy_side *onto)
{
    const bool is_it = known->key.from_count == from->count && known->key.onto_count == onto->count &&
                       known->key.from == espi_selfcopy_identity(from->type) &&
                       known->key.onto == espi_selfcopy_identity(onto->type) &&
                       known->wait == 0 && known->plan != NULL &&
                       known->generation == atomic_load_explicit(&generation, memory_order_relaxed) &&
                       known->marks == atomic_load_explicit(&known->plan->marks, memory_order_relaxed);

    return is_it ? known->plan : NULL;
}

struct espi_selfcopy_plan *espi_selfcopy_plan(struct espi_thread *thread, const struct espi_selfcopy_side *from,
                                              const struct espi_selfcopy_side *onto)
{
    unsigned now = atomic_load_explicit(&generation, memory_order_relaxed);
    const struct espi_selfcopy_key key = key_of(from, onto);
    struct espi_selfcopy_cache *cache = &espi_thread_state(thread)->pairs;

    if (key.from == 0 || key.onto == 0)
        return NULL;
    unsigned weight = cache->weight > 0 ? cache->weight : 1;
    cache->weight = 0;
    struct espi_selfcopy_known *place = espi_selfcopy_where(cache, &key);
    const bool is_there = place->generation == now && memcmp(&place->key, &key, sizeof key) == 0;
    if (is_there || (place->generation == now && place->key.from != 0 && !espi_selfcopy_is_gone(&place->key)))
        espi_selfcopy_found(cache, is_there);
    if (!is_there)
        return slow(cache, espi_selfcopy_where(cache, &key), now, &key, weight, from, onto);
    if (place->wait == 0 && place->plan != NULL &&
        atomic_load_explicit(&place->plan->marks, memory_order_relaxed) != place->marks)
        return slow(cache, place, now, &key, 1, from, onto); /* these types may be marked as before */
    if (place->wait == 0)
        return place->plan && (espi_type_is_predefined(from->type) || espi_types_is_tied(from->type)) &&
                       (espi_type_is_predefined(onto->type) || espi_types_is_tied(onto->type))
                   ? place->plan
                   : NULL;
    if ((place->waited += weight) >= place->wait)
        return slow(cache, place, now, &key, place->waited, from, onto);
    cache->in_vain++;
    return NULL;
}

void espi_selfcopy_stop(void)
{
    struct layouts *l, *next;
    espi_pair_classes_reset();
    pthread_mutex_lock(&planning);
    pthread_mutex_lock(&lock);
    HASH_ITER(hh, plans, l, next) {
        HASH_DELETE(hh, plans, l);
        espi_selfcopy_plan_free(l->plan);
        espi_arena_release(&l->arena);
        free(l);
    }
    plans_made = 0;
    plans_bytes = 0;
    atomic_fetch_add(&generation, 1);
    pthread_mutex_unlock(&lock);
    pthread_mutex_unlock(&planning);
}
