#include "job/nodes.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/number.h"

static bool is_number(const char *variable, int64_t wanted)
{
    const char *text = getenv(variable);
    int64_t value;

    return text != NULL && espi_whole_parse(text, strlen(text), &value) && value == wanted;
}

bool espi_job_on_one_node(int size)
{
    if (getenv("MPI_LOCALNRANKS") != NULL)
        return is_number("MPI_LOCALNRANKS", size);
    return size == 1 || is_number("SLURM_STEP_NUM_NODES", 1);
}
