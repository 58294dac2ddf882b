/* The constants of the communication model per level, and the file that holds them (ESPALIER_MODEL, espalier
   calibrate, espalier gather --model).

   Lines `name = value`, in seconds and seconds per byte; # begins a comment. Names are alpha, beta, gamma and
   latency, for one level as node.alpha or net.alpha, plain for all levels that do not name their own. A level counts
   as given when its alpha and beta are; gamma and latency are then 0 unless given. Anything else is refused with its
   line. */
#ifndef ESPI_COMMTREE_MODEL_FILE_H
#define ESPI_COMMTREE_MODEL_FILE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/status.h"
#include "commtree/commtree.h"

enum espi_level {
    ESPI_LEVEL_NODE, /* both ranks on one node */
    ESPI_LEVEL_NET,  /* on different nodes */
    ESPI_LEVELS
};

struct espi_level_models {
    struct espi_commtree_model level[ESPI_LEVELS]; /* seconds and bytes, early_copy true; set where `have` */
    bool have[ESPI_LEVELS];
};

/* "node", "net". */
const char *espi_level_name(enum espi_level level);
bool espi_level_parse(const char *name, enum espi_level *level);

#define ESPI_MODELFILE_MOST 65536 /* a model file has fewer bytes */

struct espi_model_file_error {
    int line; /* 0: the file as a whole */
    char what[160];
};

/* ESPI_ERR_SYNTAX: `error` says where and what was expected, `models` is unspecified. */
espi_status espi_model_file_parse(const char *text, size_t len, struct espi_level_models *models,
                                  struct espi_model_file_error *error);
/* The four lines of each level given, as text that the parser reads; returns its length as snprintf. */
size_t espi_model_file_write(const struct espi_level_models *models, char *buf, size_t size);

#endif
