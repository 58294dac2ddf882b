#!/bin/sh
# The chosen few of Debian's ScaLAPACK and PBLAS testers, natively and under Espalier: same results.
exec "$ESPI_SOURCE/scripts/run-scalapack" --some
