#include "cli/readmodel.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/cli.h"

int cli_read_model(const char *file, const char *level, struct espi_commtree_model *model)
{
    const char *shown = strcmp(file, "-") == 0 ? "standard input" : file;
    struct espi_level_models models;
    struct espi_model_file_error error;
    struct cli_text text;
    enum espi_level wanted;

    if (!cli_read_text(file, &text))
        return CLI_FAILURE;
    espi_status status = espi_model_file_parse(text.data, text.len, &models, &error);
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

int cli_check_model(const char *file)
{
    struct espi_level_models models;
    struct espi_model_file_error error;
    struct cli_text text;
    struct stat status;

    if (stat(file, &status) != 0)
        return cli_fail("ESPALIER_MODEL: %s: %s", file, strerror(errno));
    if (S_ISDIR(status.st_mode))
        return cli_fail("ESPALIER_MODEL: %s: expected a file, found a folder", file);
    if (!S_ISREG(status.st_mode))
        return CLI_OK;
    if (status.st_size >= ESPI_MODELFILE_MOST)
        return cli_fail("ESPALIER_MODEL: %s: expected a file of less than %d KiB", file, ESPI_MODELFILE_MOST / 1024);
    if (!cli_read_text(strcmp(file, "-") == 0 ? "./-" : file, &text))
        return CLI_FAILURE;
    espi_status parsed = espi_model_file_parse(text.data, text.len, &models, &error);
    free(text.data);
    if (parsed == ESPI_OK)
        return CLI_OK;
    return error.line > 0 ? cli_fail("ESPALIER_MODEL: %s:%d: %s", file, error.line, error.what)
                          : cli_fail("ESPALIER_MODEL: %s: %s", file, error.what);
}
