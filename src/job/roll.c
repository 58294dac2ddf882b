/*
 * Before its first barrier each rank puts a key of its own; rank 0 before that its settings, in pieces, unless
 * they are the defaults. Ranks stand in groups of about the root of their number. Before the second barrier the
 * first rank of each group reads the keys of its members and puts one for all of them. Before the third, rank 0
 * reads those of the groups and puts one for the whole job. So no rank reads more than twice the root of their
 * number, and whoever wants to know reads one key. Where one group is all, that key is there behind the second
 * barrier, and each rank reads it before the third: ranks that wait for a launcher do not poll, as they may behind
 * MPI_Init, where an answer would have to wait for a processor. Few ranks read the keys of all of them before the
 * second barrier, their own too, and none puts more: two ranks ask twice each at the same time then, where else one
 * would ask twice while the other waits, and both once more. In between, where there are few groups, each rank reads
 * the keys of all groups before the third barrier, and none is put for the whole job: that would be there behind it.
 *
 * A library whose MPI_Init has but two barriers (MPICH 4.0.2 with one rank on each node; with several it has three)
 * leaves the last key out, one with a single barrier those of the groups, too. Then the others are read in their
 * place. Which ones is decided by what is in the store, and that is the same for all who ask: a barrier of the
 * launcher is one of all ranks, so the k-th of one rank is the k-th of each, and no rank has its k-th behind it
 * before all have come to theirs, with what they put before. A rank that has left MPI_Init behind k barriers
 * therefore finds what was put before the k-th of any rank. Nothing is put later: all ranks run the same library,
 * whose MPI_Init has as many barriers on one rank as on another (otherwise they would not meet in them, or in
 * MPI_Finalize's).
 *
 * A key is right for a reader when this version of Espalier has put it. A rank that lacks the core, cannot put or has
 * another version leaves a gap, for which whoever reads in its place puts ABSENT; of few ranks each sees it.
 */
#include "job/roll.h"

#include <config.h>

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#define KEY "espalier-"
#define KEY_GROUP "espalier-group-"
#define KEY_WHOLE "espalier-all"
#define VALUE "espalier-world-" PACKAGE_VERSION "-" /* behind it a hash of settings, a level, and what is said */
enum {
    FEW = 4,          /* ranks that each read the keys of all */
    SOME = 64,        /* that each read those of all groups, in MPI_Init where it has three barriers */
    GROUP_LEAST = 16, /* ranks in a group: fewer would not be worth another step */
    PIECE = 200       /* bytes of settings in one value, two digits each */
};

static int group_of(int size)
{
    int group = GROUP_LEAST;
    while ((int64_t)group * group < size)
        group++;
    return group;
}

static int groups_of(int size)
{
    return (size - 1) / group_of(size) + 1;
}

static bool are_few(int size)
{
    return size <= FEW;
}

static bool are_some(int size)
{
    return size <= SOME && groups_of(size) > 1;
}

/* Before which barrier each rank asks for the verdict; 0: not in MPI_Init. And how often: of few, all their keys. */
static int asks_before(int size)
{
    return are_few(size) ? 2 : groups_of(size) == 1 || are_some(size) ? 3 : 0;
}

static int asks_most(int size)
{
    return are_few(size) ? INT_MAX : are_some(size) ? groups_of(size) : 1;
}

static void write_value(char value[ESPI_PMI_VALUE], const struct espi_roll *roll, enum espi_roll_level level)
{
    snprintf(value, ESPI_PMI_VALUE, "%s%016" PRIx64 "-%d%s%s", VALUE, roll->hash, (int)level,
             roll->said[0] != '\0' ? "-" : "", roll->said);
}

/* False: of another version, or something else. */
static bool read_value(const char *value, uint64_t *hash, enum espi_roll_level *level, const char **said)
{
    int number = -1, length = 0;
    if (value == NULL || strncmp(value, VALUE, sizeof VALUE - 1) != 0)
        return false;
    value += sizeof VALUE - 1;
    if (sscanf(value, "%16" SCNx64 "-%1d%n", hash, &number, &length) != 2 || number < 0 ||
        number > ESPI_ROLL_ON_NODE)
        return false;
    *level = (enum espi_roll_level)number;
    *said = value + length + (value[length] == '-');
    return value[length] == '\0' || (value[length] == '-' && **said != '\0' && strlen(*said) < ESPI_ROLL_SAID);
}

static void join_level(enum espi_roll_level *level, const char *value)
{
    uint64_t hash;
    const char *said;
    enum espi_roll_level other;
    if (!read_value(value, &hash, &other, &said))
        other = ESPI_ROLL_ABSENT;
    if (other < *level)
        *level = other;
}

/* ---- what is put ---- */

static int pieces_of(const struct espi_roll *roll)
{
    return roll->rank == 0 ? (int)((roll->length + PIECE - 1) / PIECE) : 0;
}

void espi_roll_piece_key(int piece, char key[ESPI_PMI_KEY])
{
    snprintf(key, ESPI_PMI_KEY, "%s-%d", ESPI_ROLL_SETTINGS, piece);
}

/* Settings, their number of pieces, and the rank's own key, which therefore tells that all the others are there. */
static bool next_of_own(const struct espi_roll_talk *talk, const struct espi_roll *roll, struct espi_roll_question *q)
{
    const int pieces = pieces_of(roll), own = pieces > 0 ? pieces + 1 : 0;
    if (talk->refused || talk->step > own)
        return false;
    q->puts = true;
    if (talk->step == own) {
        snprintf(q->key, sizeof q->key, "%s%d", KEY, roll->rank);
        write_value(q->value, roll, roll->level);
    } else if (talk->step == pieces) {
        snprintf(q->key, sizeof q->key, "%s", ESPI_ROLL_SETTINGS);
        snprintf(q->value, sizeof q->value, "%d", pieces);
    } else {
        const size_t from = (size_t)talk->step * PIECE;
        const size_t end = roll->length - from < PIECE ? roll->length : from + PIECE;
        espi_roll_piece_key(talk->step, q->key);
        for (size_t i = from; i < end; i++)
            snprintf(q->value + 2 * (i - from), 3, "%02x", (unsigned char)roll->text[i]);
    }
    return true;
}

/* The keys with the numbers from `first` to before `end`, as long as all are there, and then one for all of them. */
static bool next_of_others(struct espi_roll_talk *talk, const struct espi_roll *roll, const char *base, int first,
                           int end, const char *verdict, struct espi_roll_question *q)
{
    const int number = talk->level == ESPI_ROLL_ABSENT && talk->step < end - first ? end : first + talk->step;
    if (number > end)
        return false;
    q->puts = number == end;
    if (q->puts) {
        talk->step = end - first; /* nothing behind it */
        snprintf(q->key, sizeof q->key, "%s", verdict);
        write_value(q->value, roll, talk->level);
    } else {
        snprintf(q->key, sizeof q->key, "%s%d", base, number);
    }
    return true;
}

bool espi_roll_next(struct espi_roll_talk *talk, const struct espi_roll *roll, int barrier,
                    struct espi_roll_question *question)
{
    const int group = group_of(roll->size), groups = groups_of(roll->size);
    const int end = roll->size - roll->rank < group ? roll->size : roll->rank + group;
    char verdict[ESPI_PMI_KEY];
    bool more = false;
    if (barrier != talk->barrier) {
        talk->barrier = barrier;
        talk->step = 0;
        if (barrier == 2)
            talk->level = talk->refused ? ESPI_ROLL_ABSENT : roll->level;
    }
    if (barrier == 1) {
        more = next_of_own(talk, roll, question);
    } else if (barrier == asks_before(roll->size)) {
        question->puts = false;
        more = talk->step < asks_most(roll->size) &&
               espi_roll_ask_next(&talk->ask, roll->size, question->key);
    } else if (barrier == 2 && roll->rank % group == 0) {
        snprintf(verdict, sizeof verdict, "%s%d", KEY_GROUP, roll->rank / group);
        more = next_of_others(talk, roll, KEY, roll->rank + 1, end, groups == 1 ? KEY_WHOLE : verdict, question);
    } else if (barrier == 3 && roll->rank == 0 && groups > 1) {
        more = next_of_others(talk, roll, KEY_GROUP, 1, groups, KEY_WHOLE, question);
    }
    talk->puts = more && question->puts;
    return more;
}

void espi_roll_heard(struct espi_roll_talk *talk, const struct espi_roll *roll, bool good, const char *value)
{
    if (talk->barrier == asks_before(roll->size))
        espi_roll_ask_heard(&talk->ask, roll->size, good ? value : NULL);
    else if (!talk->puts)
        join_level(&talk->level, good ? value : NULL);
    else if (talk->barrier == 1)
        talk->refused = talk->refused || !good;
    talk->step++;
}

/* ---- what is asked for ---- */

bool espi_roll_ask_next(struct espi_roll_ask *ask, int size, char key[ESPI_PMI_KEY])
{
    if (are_few(size) && ask->keys < ESPI_ROLL_RANKS)
        ask->keys = ESPI_ROLL_RANKS;
    if (are_some(size) && ask->keys < ESPI_ROLL_GROUPS)
        ask->keys = ESPI_ROLL_GROUPS;
    if (ask->keys == ESPI_ROLL_RANKS && ask->next > 0 && size > ESPI_ROLL_EACH_MOST) {
        ask->level = ESPI_ROLL_ABSENT;
        ask->keys = ESPI_ROLL_DONE;
    }
    if (ask->keys == ESPI_ROLL_DONE)
        return false;
    if (ask->keys == ESPI_ROLL_WHOLE)
        snprintf(key, ESPI_PMI_KEY, "%s", KEY_WHOLE);
    else
        snprintf(key, ESPI_PMI_KEY, "%s%d", ask->keys == ESPI_ROLL_GROUPS ? KEY_GROUP : KEY, ask->next);
    return true;
}

void espi_roll_ask_heard(struct espi_roll_ask *ask, int size, const char *value)
{
    uint64_t hash;
    enum espi_roll_level level;
    const char *said;
    const bool good = read_value(value, &hash, &level, &said);
    if (ask->next == 0 && !good) { /* rank 0 has not put such a key */
        ask->keys++;
        return;
    }
    if (ask->next == 0) {
        ask->first_known = true;
        ask->first_hash = hash;
        strcpy(ask->first_said, said); /* it fits */
        ask->level = level;
    } else if (!good) {
        ask->level = ESPI_ROLL_ABSENT;
    } else if (level < ask->level) {
        ask->level = level;
    }
    const int end = ask->keys == ESPI_ROLL_WHOLE ? 1 : ask->keys == ESPI_ROLL_GROUPS ? groups_of(size) : size;
    if (++ask->next >= end || ask->level == ESPI_ROLL_ABSENT)
        ask->keys = ESPI_ROLL_DONE;
}

int espi_roll_pieces(const char *value)
{
    int pieces, length = 0;
    if (sscanf(value, "%2d%n", &pieces, &length) != 1 || value[length] != '\0' || pieces < 1 ||
        pieces > (ESPI_ROLL_TEXT + PIECE - 1) / PIECE)
        return -1;
    return pieces;
}

bool espi_roll_piece(const char *value, char *text, size_t size, size_t *length)
{
    unsigned byte;
    for (; *value; value += 2) {
        if (*length == size || value[1] == '\0' || sscanf(value, "%2x", &byte) != 1)
            return false;
        text[(*length)++] = (char)byte;
    }
    return true;
}
