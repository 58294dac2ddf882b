#include "mpi/mapping.h"

#include <stdbool.h>
#include <string.h>

#define BEGIN "(vector,"
enum { LARGEST = 9999999 };

struct block {
    int first, nodes, each;
};

static bool read_sign(const char **text, char sign)
{
    return *(*text)++ == sign;
}

/* Digits and nothing else, so few that sums of products fit 63 bits. */
static bool read_number(const char **text, int least, int *number)
{
    const char *begin = *text;
    *number = 0;
    for (; **text >= '0' && **text <= '9' && *number <= LARGEST; ++*text)
        *number = 10 * *number + (**text - '0');
    bool leading_zero = *begin == '0' && *text - begin > 1;
    return *text > begin && !leading_zero && *number >= least && *number <= LARGEST;
}

/* Reads the block at `*text` and goes on behind it. */
static bool read_block(const char **text, struct block *block)
{
    return read_sign(text, '(') && read_number(text, 0, &block->first) && read_sign(text, ',') &&
           read_number(text, 1, &block->nodes) && read_sign(text, ',') && read_number(text, 1, &block->each) &&
           read_sign(text, ')');
}

/* All ranks from this block to the end; -1 where the text is not understood. `*again` is where the second round of
   ranks begins: MPICH takes the first block that starts with node 0 for it, or the first one. */
static long long ranks_from(const char *text, const char **again)
{
    long long ranks = 0;
    struct block block;
    for (;; text++) {
        const char *here = text;
        if (!read_block(&text, &block))
            return -1;
        if (again != NULL && *again == NULL && block.first == 0)
            *again = here;
        ranks += (long long)block.nodes * block.each;
        if (*text != ',')
            return strcmp(text, ")") == 0 ? ranks : -1;
    }
}

int espi_mapping_node(const char *mapping, int rank)
{
    const char *text, *again = NULL;
    struct block block;
    long long left = rank;

    if (rank < 0 || strncmp(mapping, BEGIN, strlen(BEGIN)) != 0)
        return -1;
    text = mapping + strlen(BEGIN);
    long long ranks = ranks_from(text, &again);
    if (ranks < 0)
        return -1;
    if (left >= ranks) {
        left -= ranks;
        if (again != NULL)
            text = again;
        left %= ranks_from(text, NULL);
    }
    while (read_block(&text, &block)) {
        long long here = (long long)block.nodes * block.each;
        if (left < here)
            return block.first + (int)(left / block.each);
        left -= here;
        text++;
    }
    return -1;
}
