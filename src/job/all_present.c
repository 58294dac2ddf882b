/*
 * Before the real MPI_Init every rank that has the core says so, in one of two places. MPI_Init on more than one rank
 * has all of them wait for each other, so when it has returned, whoever was ever going to say so has done it, and
 * each rank that looks sees the same: the verdicts agree without a word between ranks.
 *
 * Ranks of one node post a note on its board (presence.h), which takes microseconds. Others, and those that can not,
 * put a key into the launcher's store (pmi.h), whose answers have to be waited for. A rank that has posted a note
 * looks for the notes of all others, and one that has put a key for the keys of all others, and nobody does both: all
 * are present where all chose the same place, and otherwise nobody finds all. A rank that Hydra has not started, as
 * far as it can know (job/hydra.h), says nothing in any place.
 *
 * Rank 0 leaves its settings in the launcher's store, in pieces, unless they are the defaults. Those who want to know
 * them are the ranks that have others.
 */
#include "job/all_present.h"

#include <config.h>

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "job/hydra.h"
#include "job/presence.h"
#include "job/pmi.h"

#define KEY "espalier-"
#define KEY_SETTINGS "espalier-settings"
#define VALUE "espalier-world-" PACKAGE_VERSION "-" /* behind it a hash of the settings */
enum {
    PIECE = 400, /* bytes of settings in one value, two digits each */
    PIECES = (ESPI_ALL_PRESENT_TEXT + PIECE - 1) / PIECE
};

static enum { ABSENT, ON_BOARD, IN_STORE } place = ABSENT;
static uint64_t own_settings = 0; /* hash of this rank's settings */
static int own_rank = 0;

static const char *note_of_rank(int rank)
{
    static char note[24] = "";
    snprintf(note, sizeof note, "%d", rank);
    return note;
}

/* Rank 0 has this one instead where its settings are not the defaults, and one that tells them. */
#define NOTE_FIRST "0-settings"

static const char *note_of_settings(uint64_t hash)
{
    static char note[32];
    snprintf(note, sizeof note, "settings-%016" PRIx64, hash);
    return note;
}

/* A pair for each piece, and one for their number. */
static int cut_pairs(const char *text, size_t length, struct espi_pmi_pair *pairs)
{
    int count = 0;
    for (size_t at = 0; at < length; at += PIECE, count++) {
        size_t end = length - at < PIECE ? length : at + PIECE;
        snprintf(pairs[count].key, sizeof pairs[count].key, "%s-%d", KEY_SETTINGS, count);
        for (size_t i = at; i < end; i++)
            sprintf(pairs[count].value + 2 * (i - at), "%02x", (unsigned char)text[i]);
    }
    if (count == 0)
        return 0;
    snprintf(pairs[count].key, sizeof pairs[count].key, "%s", KEY_SETTINGS);
    snprintf(pairs[count].value, sizeof pairs[count].value, "%d", count);
    return count + 1;
}

void espi_all_present_announce(uint64_t hash, const char *text, size_t length)
{
    static struct espi_pmi_pair pairs[PIECES + 2];
    struct espi_hydra hydra;
    if (place != ABSENT || !espi_hydra_find(&hydra) || hydra.size < 2 || hydra.size > ESPI_ALL_PRESENT_MAX ||
        length > ESPI_ALL_PRESENT_TEXT)
        return; /* one rank has nobody to ask */
    own_settings = hash;
    own_rank = hydra.rank;
    int count = hydra.rank == 0 ? cut_pairs(text, length, pairs) : 0;
    /* A proxy may serve spawned ranks, too, whose numbers begin with 0 again. */
    if (hydra.one_node && !hydra.spawned && espi_presence_find(hydra.proxy) &&
        (hydra.rank != 0 || hash == ESPI_ALL_PRESENT_DEFAULTS
             ? espi_presence_post(note_of_rank(hydra.rank))
             : espi_presence_post(note_of_settings(hash)) && espi_presence_post(NOTE_FIRST))) {
        place = ON_BOARD;
    } else {
        espi_presence_clear();
        place = IN_STORE;
        snprintf(pairs[count].key, sizeof pairs[count].key, "%s%d", KEY, hydra.rank);
        snprintf(pairs[count++].value, sizeof pairs[0].value, "%s%016" PRIx64, VALUE, hash);
    }
    if (count > 0 && !espi_pmi_put(pairs, count)) {
        espi_presence_clear();
        place = ABSENT;
    }
}

static bool first_is_on_board(void)
{
    return espi_presence_has(note_of_rank(0)) || espi_presence_has(NOTE_FIRST);
}

/* Whether rank 0 is where this rank is, with other settings. */
static bool first_has_others(void)
{
    char value[128];
    uint64_t hash;
    if (place == ON_BOARD)
        return own_settings == ESPI_ALL_PRESENT_DEFAULTS
                   ? espi_presence_has(NOTE_FIRST)
                   : !espi_presence_has(note_of_settings(own_settings)) && first_is_on_board();
    return place == IN_STORE && espi_pmi_get(KEY "0", value, sizeof value) &&
           strncmp(value, VALUE, sizeof VALUE - 1) == 0 &&
           sscanf(value + sizeof VALUE - 1, "%" SCNx64, &hash) == 1 && hash != own_settings;
}

static bool join_pairs(const char *value, char *text, size_t size, size_t *length)
{
    unsigned byte;
    for (; *value; value += 2) {
        if (*length == size || value[1] == '\0' || sscanf(value, "%2x", &byte) != 1)
            return false;
        text[(*length)++] = (char)byte;
    }
    return true;
}

bool espi_all_present_settings(int rank, char *text, size_t size, size_t *length)
{
    char value[1024], key[64];
    int pieces = 0;
    *length = 0;
    if (rank == 0 || !first_has_others())
        return false;
    if (espi_pmi_get(KEY_SETTINGS, value, sizeof value) &&
        (sscanf(value, "%d", &pieces) != 1 || pieces < 1 || pieces > PIECES))
        return false;
    for (int piece = 0; piece < pieces; piece++) {
        snprintf(key, sizeof key, "%s-%d", KEY_SETTINGS, piece);
        if (!espi_pmi_get(key, value, sizeof value) || !join_pairs(value, text, size, length))
            return false;
    }
    return true;
}

bool espi_all_present(int size)
{
    if (size == 1)
        return true;
    if (size > ESPI_ALL_PRESENT_MAX || place == ABSENT)
        return false;
    if (place == IN_STORE)
        return espi_pmi_all(KEY, size, VALUE);
    return espi_presence_has_all(note_of_rank, 1, size, own_rank) && (own_rank == 0 || first_is_on_board());
}

bool espi_all_present_is_local(void)
{
    return place != IN_STORE;
}

bool espi_all_present_on_node(void)
{
    return place == ON_BOARD;
}
