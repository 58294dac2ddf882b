#include "base/status.h"

const char *espi_status_text(espi_status status)
{
    switch (status) {
    case ESPI_OK:
        return "success";
    case ESPI_ERR_MEMORY:
        return "out of memory";
    case ESPI_ERR_ARGUMENT:
        return "argument outside its domain";
    case ESPI_ERR_OVERFLOW:
        return "value does not fit 64 bits";
    case ESPI_ERR_LIMIT:
        return "limit reached";
    case ESPI_ERR_UNSUPPORTED:
        return "not supported";
    case ESPI_ERR_SYNTAX:
        return "syntax error";
    case ESPI_ERR_IO:
        return "input or output error";
    case ESPI_ERR_MPI:
        return "MPI call failed";
    }
    return "unknown status";
}
