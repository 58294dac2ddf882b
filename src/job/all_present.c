/*
 * Every rank that has the core says so while MPI_Init goes on, in the conversation that the MPI library has with the
 * launcher (relay_calls.h), by keys in the launcher's store (roll.h). MPI_Init on more than one rank has all of them
 * wait for each other, so when it has returned, whoever was ever going to say so has done it. Those who ask then read
 * the same keys and come to the same verdict, without a word between ranks. One that cannot ask has put no key, and
 * all others find that it is missing.
 *
 * Where the launcher says that all are on one node, rank 0 says something to all beside (struct espi_meeting).
 *
 * Who wants to know rank 0's settings are the ranks that have others: the first key that is read tells which it has.
 */
#include "job/all_present.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/number.h"
#include "job/nodes.h"
#include "job/pmi.h"
#include "job/relay_calls.h"

static struct espi_roll roll;
static int wire = -1;
static bool begun, heard; /* the relay stands, has stood */
static struct espi_roll_ask ask;
static const struct espi_meeting *meeting;

/* -1: none. */
static int number_in_environment(const char *name)
{
    const char *text = getenv(name);
    int64_t value;
    return text != NULL && espi_whole_parse(text, strlen(text), &value) && value >= 0 && value <= INT_MAX ? (int)value
                                                                                                         : -1;
}

static void all_are_known(const struct espi_roll_ask *known)
{
    if (known->level == ESPI_ROLL_ON_NODE && known->first_said[0] != '\0')
        meeting->meets(roll.rank, roll.size, known->first_said);
}

void espi_all_present_announce(const void *library, uint64_t hash, const char *text, size_t length,
                               const struct espi_meeting *where)
{
    const int size = number_in_environment("PMI_SIZE"), rank = number_in_environment("PMI_RANK");
    if (begun || heard || size < 2 || rank < 0 || rank >= size || length > ESPI_ROLL_TEXT)
        return; /* one rank has nobody to ask */
    roll = (struct espi_roll){
        .rank = rank,
        .size = size,
        .level = espi_job_on_one_node(size) ? ESPI_ROLL_ON_NODE : ESPI_ROLL_PRESENT,
        .hash = hash,
        .text = text,
        .length = length,
    };
    meeting = roll.level == ESPI_ROLL_ON_NODE ? where : NULL;
    if (meeting != NULL && meeting->says != NULL && rank == 0)
        meeting->says(size, roll.said);
    wire = number_in_environment("PMI_FD");
    begun = espi_relay_start(wire, library, &roll, meeting != NULL ? all_are_known : NULL);
}

void espi_all_present_announced(void)
{
    struct espi_relay_ended ended;
    if (begun && espi_relay_stop(&ended)) {
        heard = true;
        ask = ended.ask;
        espi_job_nodes_learn(ended.mapping);
        espi_pmi_open(wire, ended.version, ended.space);
    }
    begun = false;
    roll.text = NULL; /* a library that has a barrier still to come says no more of it */
    roll.length = 0;
}

/* The next key. False: there is no more to be known. */
static bool ask_one(void)
{
    char key[ESPI_PMI_KEY], value[ESPI_PMI_VALUE];
    if (!heard || !espi_roll_ask_next(&ask, roll.size, key))
        return false;
    espi_roll_ask_heard(&ask, roll.size, espi_pmi_get(key, value, sizeof value) ? value : NULL);
    return true;
}

bool espi_all_present_settings(int rank, char *text, size_t size, size_t *length)
{
    char value[ESPI_PMI_VALUE], key[ESPI_PMI_KEY];
    *length = 0;
    while (!ask.first_known && ask_one())
        ;
    if (rank == 0 || !ask.first_known || ask.first_hash == roll.hash)
        return false;
    if (ask.first_hash == ESPI_ALL_PRESENT_DEFAULTS)
        return true;
    if (!espi_pmi_get(ESPI_ROLL_SETTINGS, value, sizeof value))
        return false;
    const int pieces = espi_roll_pieces(value);
    for (int piece = 0; piece < pieces; piece++) {
        espi_roll_piece_key(piece, key);
        if (!espi_pmi_get(key, value, sizeof value) || !espi_roll_piece(value, text, size, length))
            return false;
    }
    return pieces > 0;
}

bool espi_all_present(int size)
{
    if (size == 1)
        return true;
    if (!heard || size != roll.size)
        return false;
    while (ask_one())
        ;
    return ask.level != ESPI_ROLL_ABSENT;
}

bool espi_all_present_is_local(void)
{
    return !heard || ask.keys == ESPI_ROLL_DONE;
}

bool espi_all_present_is_heard(void)
{
    return heard;
}

bool espi_all_present_on_node(void)
{
    return heard && ask.keys == ESPI_ROLL_DONE && ask.level == ESPI_ROLL_ON_NODE;
}
