#include "mpi/calls/late_credit.h"

#include "base/table.h"

enum { MOST = 128 }; /* what comes later is credited at once, by the models */

static struct noted {
    struct espi_stats_type *record;
    struct espi_way_question question; /* without the ranks */
    enum espi_message_way way;
    enum espi_stats_saved where;
    double calls;       /* what their shares come to */
    double most_ns;     /* that all of them can save */
    uint64_t modelled_ps;
} noted[MOST] ESPI_TABLE;
static int n;

static bool is_alike(const struct noted *e, const struct noted *f)
{
    return e->record == f->record && e->way == f->way && e->where == f->where &&
           e->question.bytes == f->question.bytes && e->question.call == f->question.call &&
           e->question.near == f->question.near && e->question.no_cells == f->question.no_cells &&
           e->question.typed == f->question.typed && e->question.doubtful == f->question.doubtful;
}

static void add(struct noted *to, const struct noted *e)
{
    to->calls += e->calls;
    to->most_ns += e->most_ns;
    to->modelled_ps += e->modelled_ps;
}

void espi_late_credit(struct espi_plan *plan, int64_t count, const struct espi_way_question *question,
                      enum espi_message_way way, const struct espi_plan_saving *modelled, double share)
{
    const struct noted e = {.record = plan->record,
                            .question = {.call = question->call,
                                         .near = question->near,
                                         .bytes = question->bytes,
                                         .no_cells = question->no_cells,
                                         .told = true,
                                         .typed = question->typed,
                                         .doubtful = question->doubtful},
                            .way = way,
                            .where = modelled->where,
                            .calls = share,
                            .most_ns = espi_plan_saves_at_most(plan, count),
                            .modelled_ps = modelled->ps};

    for (int i = 0; i < n; i++)
        if (is_alike(&noted[i], &e)) {
            add(&noted[i], &e);
            return;
        }
    if (n < MOST)
        noted[n++] = e;
    else
        espi_bump(&e.record->saved_ps[e.where], e.modelled_ps);
}

void espi_late_credits_end(void)
{
    while (n > 0) {
        const struct noted *e = &noted[--n];
        const double ns = espi_way_was_tried(&e->question) /* or what is known is of others */
                              ? espi_way_saved_in_all(&e->question, e->way) * e->calls
                              : -1;
        if (ns >= 0)
            espi_bump(&e->record->saved_ps[ESPI_SAVED_ALONE],
                      (uint64_t)(1000 * (ns < e->most_ns ? ns : e->most_ns)));
        else
            espi_bump(&e->record->saved_ps[e->where], e->modelled_ps);
    }
}
