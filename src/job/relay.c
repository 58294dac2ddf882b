/*
 * The library's barrier is the moment: it has said all that it had to say, waits, and what is put before its barrier
 * reaches the launcher is there for every rank behind it. So that message is held back until all our questions are
 * answered, one after the other, and their answers are kept from the library. It has asked nothing else then, so that
 * the answers are ours. Other messages are passed on as they come; of a message that may become a barrier the bytes
 * that decide about it are waited for, which the launcher would do, too.
 *
 * When anything is not as expected, the relay only passes on from there: what a rank says in the roll call it says in
 * its order, and perhaps not to the end.
 */
#include "job/relay.h"

#include <string.h>

void espi_relay_begin(struct espi_relay *relay, const struct espi_roll *roll)
{
    memset(relay, 0, sizeof *relay);
    relay->roll = roll;
    relay->passes = roll == NULL;
}

static void give(struct espi_relay_out *out, const char *bytes, size_t length)
{
    if (length > out->room - out->used)
        length = out->room - out->used; /* never, see ESPI_RELAY_ADDS */
    memcpy(out->bytes + out->used, bytes, length);
    out->used += length;
}

static void let_go(struct espi_relay *relay, struct espi_relay_out *launcher)
{
    give(launcher, relay->held, relay->held_used);
    relay->held_used = 0;
}

void espi_relay_only_passes(struct espi_relay *relay, struct espi_relay_out *launcher)
{
    let_go(relay, launcher);
    relay->passes = true;
    relay->asking = false;
}

bool espi_relay_is_quiet(const struct espi_relay *relay)
{
    return relay->held_used == 0 && !relay->asking && (relay->passes || relay->waiting == 0);
}

/* ---- messages ---- */

/* Takes the next byte of a side. True: it ends a message. `counts`: messages begin with their length. *wrong: they
   should and do not. */
static bool take_byte(struct espi_relay_side *side, char byte, bool counts, bool *wrong)
{
    if (!side->inside) {
        side->inside = true;
        side->counted = counts;
        side->rest = -1;
        side->used = 0;
    }
    if (side->used < sizeof side->begin - 1)
        side->begin[side->used++] = byte;
    if (!side->counted)
        side->inside = byte != '\n';
    else if (side->rest < 0 && side->used == ESPI_PMI_DIGITS)
        side->inside = (side->rest = espi_pmi_length(side->begin)) != 0;
    else if (side->rest > 0)
        side->inside = --side->rest > 0;
    *wrong = side->counted && side->rest < 0 && side->used >= ESPI_PMI_DIGITS;
    return !side->inside;
}

/* What there is of the message that has just ended. */
static const char *text_of(struct espi_relay_side *side)
{
    side->begin[side->used] = '\0';
    if (side->counted)
        return side->begin + ESPI_PMI_DIGITS;
    side->begin[strcspn(side->begin, "\n")] = '\0';
    return side->begin;
}

/* ---- the library ---- */

/* The next question of ours, or else the barrier itself. */
static void go_on(struct espi_relay *relay, struct espi_relay_out *launcher)
{
    struct espi_roll_question question;
    char bytes[ESPI_PMI_QUESTION];
    relay->asking = false;
    if (!espi_roll_next(&relay->talk, relay->roll, relay->barriers, &question)) {
        let_go(relay, launcher);
        relay->waiting++;
        return;
    }
    size_t length = espi_pmi_question(relay->version, relay->space, question.key,
                                      question.puts ? question.value : NULL, bytes);
    if (length == 0) {
        espi_relay_only_passes(relay, launcher);
        return;
    }
    relay->asking = true;
    relay->gets = !question.puts;
    give(launcher, bytes, length);
}

static void end_of_question(struct espi_relay *relay)
{
    const char *text = text_of(&relay->library);
    if (!relay->opened) {
        relay->opened = true;
        relay->version = espi_pmi_opens(text);
        relay->passes = relay->version == ESPI_PMI_UNKNOWN;
    }
    if (strncmp(text, "mcmd=", 5) == 0)
        relay->passes = true; /* has several lines */
    relay->waiting++;
}

/* One byte that the library has said. */
static void hear_library(struct espi_relay *relay, char byte, struct espi_relay_out *launcher)
{
    const bool begins = !relay->library.inside;
    const bool counts = relay->version == ESPI_PMI_2;
    bool wrong, ends = take_byte(&relay->library, byte, counts, &wrong);
    if (relay->opened && (begins || relay->held_used > 0)) {
        relay->held[relay->held_used++] = byte;
        switch (espi_pmi_barrier(relay->version, relay->held, relay->held_used)) {
        case ESPI_PMI_PERHAPS_BARRIER:
            break;
        case ESPI_PMI_NOT_BARRIER:
            let_go(relay, launcher);
            break;
        case ESPI_PMI_BARRIER:
            relay->barriers++;
            if (relay->waiting > 0)
                espi_relay_only_passes(relay, launcher);
            else
                go_on(relay, launcher);
            return;
        }
    } else {
        give(launcher, &byte, 1);
    }
    if (wrong)
        espi_relay_only_passes(relay, launcher);
    else if (ends)
        end_of_question(relay);
}

void espi_relay_said(struct espi_relay *relay, const char *bytes, size_t length, struct espi_relay_out *launcher)
{
    size_t i = 0;
    while (i < length && !relay->passes && !relay->asking)
        hear_library(relay, bytes[i++], launcher);
    if (relay->asking && i < length)
        espi_relay_only_passes(relay, launcher); /* it does not wait for its barrier */
    give(launcher, bytes + i, length - i);
}

/* ---- the launcher ---- */

static void hear_ours(struct espi_relay *relay, const char *text, struct espi_relay_out *launcher)
{
    char value[ESPI_PMI_SPACE];
    enum espi_pmi_heard heard = relay->gets ? espi_pmi_found(relay->version, text, value, sizeof value)
                                            : espi_pmi_stored(relay->version, text);
    if (heard == ESPI_PMI_ASTRAY) {
        espi_relay_only_passes(relay, launcher);
        return;
    }
    espi_roll_heard(&relay->talk, relay->roll, heard == ESPI_PMI_YES, relay->gets ? value : NULL);
    go_on(relay, launcher);
}

/* The answer to a question of the library has come to its end. */
static void hear_others(struct espi_relay *relay, const char *text)
{
    if (relay->waiting > 0)
        relay->waiting--;
    if (relay->space[0] == '\0')
        espi_pmi_names_space(relay->version, text, relay->space);
    if (relay->mapping[0] == '\0')
        espi_pmi_tells_mapping(relay->version, text, relay->mapping);
}

void espi_relay_answered(struct espi_relay *relay, const char *bytes, size_t length, struct espi_relay_out *launcher,
                         struct espi_relay_out *library)
{
    size_t i = 0;
    while (i < length && !relay->passes) {
        /* The answer to "init" is a line in either protocol. */
        const bool counts = relay->version == ESPI_PMI_2 && relay->answers > 0, ours = relay->asking;
        bool wrong, ends = take_byte(&relay->launcher, bytes[i], counts, &wrong);
        if (wrong) {
            espi_relay_only_passes(relay, launcher);
            break;
        }
        if (!ours)
            give(library, &bytes[i], 1);
        i++;
        if (!ends)
            continue;
        relay->answers++;
        if (ours)
            hear_ours(relay, text_of(&relay->launcher), launcher);
        else
            hear_others(relay, text_of(&relay->launcher));
    }
    give(library, bytes + i, length - i);
}
