#!/bin/sh
# The sources keep the rules of scripts/lint.
exec "$ESPI_SOURCE/scripts/lint" "$ESPI_SOURCE"
