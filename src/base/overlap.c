#include "base/overlap.h"

bool espi_calls_overlap = true;
