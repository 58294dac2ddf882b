#!/bin/sh
# The chosen few of Debian's ScaLAPACK and PBLAS testers, natively and under Espalier: same results. Takes some twenty
# seconds; a machine that is busy with other things makes do with fewer.
ESPI_TESTER_SECONDS=90
export ESPI_TESTER_SECONDS
exec "$ESPI_SOURCE/scripts/scalapack/run" --some --seconds 120
