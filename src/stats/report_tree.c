#include <stdlib.h>

#include "base/table.h"
#include "stats/report.h"

/* For one report on its way in or out, never both: no memory is asked for, so that a rank that has none left still
   passes on those of others. Touched on ranks of runs with statistics only. */
static unsigned char room[ESPI_REPORT_BYTES] ESPI_TABLE;

/* Takes in the report of other ranks that stands in `room`. */
static espi_status take_in(struct espi_report *report, bool *have, size_t len, const struct espi_sketch *sketch)
{
    struct espi_report other = ESPI_REPORT_INIT;
    espi_status status = espi_report_unpack(&other, room, len);
    if (status != ESPI_OK)
        return status;
    espi_report_order(&other, sketch);
    if (*have) {
        status = espi_report_merge(report, &other);
        espi_report_release(&other);
    } else {
        *report = other;
        *have = true;
    }
    return status;
}

/* What comes from one rank, until it says that it was the last. */
static void receive_all(struct espi_report *report, bool *have, int rank, int from, const struct espi_sketch *sketch,
                        const struct espi_report_link *link)
{
    bool last = false;
    while (!last) {
        last = true;
        size_t len = link->receive(link->with, from, &last, room, sizeof room);
        if (len > 0 && take_in(report, have, len, sketch) == ESPI_ERR_MEMORY && rank > 0)
            link->send(link->with, rank & (rank - 1), false, room, len);
    }
}

bool espi_report_tree(struct espi_report *report, bool have, int rank, int size, const struct espi_sketch *sketch,
                      const struct espi_report_link *link)
{
    for (int64_t bit = 1; bit < size; bit <<= 1) {
        if (rank & bit) {
            struct espi_buffer bytes = espi_buffer_over(room, sizeof room);
            if (have && espi_report_pack(report, &bytes) != ESPI_OK)
                bytes.len = 0;
            link->send(link->with, (int)(rank - bit), true, room, bytes.len);
            break;
        }
        if (rank + bit < size)
            receive_all(report, &have, rank, (int)(rank + bit), sketch, link);
    }
    return have;
}
