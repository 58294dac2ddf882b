#include "job/nodes.h"

#include <limits.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/number.h"

/* Ranks in turn: `each` on each of `nodes` nodes from number `first` on. */
enum { BLOCKS = 64 };
static struct block {
    int first, nodes, each;
} blocks[BLOCKS];
static int n_blocks;
static int64_t ranks; /* in all of them */

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

/* A number of at least `least` that ends before `end`; moves `text` behind that. */
static bool take_number(const char **text, char end, int least, int *number)
{
    const char *at = strchr(*text, end);
    int64_t value;

    if (at == NULL || !espi_whole_parse(*text, (size_t)(at - *text), &value) || value < least || value > INT_MAX)
        return false;
    *number = (int)value;
    *text = at + 1;
    return true;
}

void espi_job_nodes_learn(const char *mapping)
{
    static const char begin[] = "(vector";
    const char *text = mapping;

    n_blocks = 0;
    ranks = 0;
    if (text == NULL || strncmp(text, begin, sizeof begin - 1) != 0)
        return;
    for (text += sizeof begin - 1; *text == ','; n_blocks++) {
        struct block *b = &blocks[n_blocks];
        if (n_blocks == BLOCKS || text[1] != '(')
            break;
        text += 2;
        if (!take_number(&text, ',', 0, &b->first) || !take_number(&text, ',', 1, &b->nodes) ||
            !take_number(&text, ')', 1, &b->each))
            break;
        ranks += (int64_t)b->nodes * b->each;
    }
    if (strcmp(text, ")") != 0)
        n_blocks = 0;
}

int espi_job_node_of(int rank)
{
    int64_t left = rank;

    if (n_blocks == 0 || rank < 0)
        return -1;
    left %= ranks;
    for (int i = 0; i < n_blocks; i++) {
        const int64_t here = (int64_t)blocks[i].nodes * blocks[i].each;
        if (left < here)
            return blocks[i].first + (int)(left / blocks[i].each);
        left -= here;
    }
    return -1;
}
