/*
 * What ranks and launchers say to each other on the descriptor PMI_FD (pmi_message.c): PMI-1, lines of text, and
 * PMI-2, texts with their length in six digits in front. Both begin with a line "cmd=init pmi_version=...". Every
 * question has one answer, and there is one at a time: some launchers (Slurm) take what they read at once for one
 * question. Nothing here reads or writes.
 *
 * "Text" is a message without its frame: without the end of line, without the six digits.
 */
#ifndef ESPI_JOB_PMI_MESSAGE_H
#define ESPI_JOB_PMI_MESSAGE_H

#include <stdbool.h>
#include <stddef.h>

enum espi_pmi_version { ESPI_PMI_UNKNOWN, ESPI_PMI_1, ESPI_PMI_2 };
enum {
    ESPI_PMI_SPACE = 256,  /* room for the name of a key-value space */
    ESPI_PMI_KEY = 64,     /* room for a key */
    ESPI_PMI_VALUE = 1000, /* room for a value of ours */
    ESPI_PMI_MAPPING = 768, /* room for the mapping of ranks to nodes; a longer one is not heard */
    /* Room for a question. Slurm reads 1,024 bytes at most of one. */
    ESPI_PMI_QUESTION = 1024,
    ESPI_PMI_DIGITS = 6, /* of a length in PMI-2 */
    ESPI_PMI_BARRIER_MOST = 128
};

/* Which protocol the first text of a conversation opens. */
enum espi_pmi_version espi_pmi_opens(const char *text);

/* A question with its frame into `to`: to store `value`, or to be told it where `value` is NULL. `space` is the name
   of the job's key-value space, of which PMI-2 needs none (""). Returns its length, 0 when it does not fit or cannot
   be asked. */
size_t espi_pmi_question(enum espi_pmi_version version, const char *space, const char *key, const char *value,
                         char to[ESPI_PMI_QUESTION]);

/* The value of a field of `text`, copied to `value`. False: there is none, or it does not fit. */
bool espi_pmi_field(enum espi_pmi_version version, const char *text, const char *name, char *value, size_t size);

/* Of an answer: whether it is one to such a question at all, and whether the value was stored, or found and copied to
   `value` (one that does not fit counts as not found). */
enum espi_pmi_heard { ESPI_PMI_ASTRAY, ESPI_PMI_NO, ESPI_PMI_YES };
enum espi_pmi_heard espi_pmi_stored(enum espi_pmi_version version, const char *text);
enum espi_pmi_heard espi_pmi_found(enum espi_pmi_version version, const char *text, char *value, size_t size);

/* Whether this answer tells the name of the space, which is then in `space`. */
bool espi_pmi_names_space(enum espi_pmi_version version, const char *text, char space[ESPI_PMI_SPACE]);

/* The same for the mapping of ranks to nodes (nodes.h), which the library asks for. */
bool espi_pmi_tells_mapping(enum espi_pmi_version version, const char *text, char mapping[ESPI_PMI_MAPPING]);

/* Whether these first bytes of a rank's message, frame included, are a barrier: no, perhaps, or they are all of it,
   which is ESPI_PMI_BARRIER_MOST bytes at most. */
enum espi_pmi_barrier { ESPI_PMI_NOT_BARRIER, ESPI_PMI_PERHAPS_BARRIER, ESPI_PMI_BARRIER };
enum espi_pmi_barrier espi_pmi_barrier(enum espi_pmi_version version, const char *bytes, size_t length);

/* The length that six digits tell; -1: none. */
long espi_pmi_length(const char *digits);

#endif
