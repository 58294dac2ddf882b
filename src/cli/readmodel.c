#include "cli/readmodel.h"

#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"

int cli_read_model(const char *file, const char *level, struct espi_commtree_model *model)
{
    const char *shown = strcmp(file, "-") == 0 ? "standard input" : file;
    struct espi_level_models models;
    struct espi_modelfile_error error;
    struct cli_text text;
    enum espi_level wanted;

    if (!cli_read_text(file, &text))
        return CLI_FAILURE;
    espi_status status = espi_modelfile_parse(text.data, text.len, &models, &error);
    free(text.data);
    if (status != ESPI_OK)
        return error.line > 0 ? cli_fail("%s:%d: %s", shown, error.line, error.what)
                              : cli_fail("%s: %s", shown, error.what);
    if (level == NULL)
        wanted = models.have[ESPI_LEVEL_NET] ? ESPI_LEVEL_NET : ESPI_LEVEL_NODE;
    else if (!espi_level_parse(level, &wanted))
        return cli_usage("--level: expected node or net, found '%s'", level);
    if (!models.have[wanted])
        return cli_fail("%s: has no constants for the level %s", shown, espi_level_name(wanted));
    *model = models.level[wanted];
    return CLI_OK;
}
