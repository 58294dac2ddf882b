#!/bin/sh
# The simulated cluster (scripts/testbed/sim) can still be built: its list of sources and its table of functions are
# its own. Where SimGrid is installed it is run as well.
sim=$ESPI_SOURCE/scripts/testbed/sim
"$sim" --build "${MPICC:-mpicc.mpich}" || exit 1
command -v smpirun >/dev/null || exit 0
out=$("$sim" 8 --rounds 1 --settle 60 --sizes 100 --dists skewed) || exit 1
rows=$(printf '%s\n' "$out" | grep -c '^\(gather\|scatter\).skewed')
[ "$rows" = 2 ] || {
    printf '%s\n' "$out"
    exit 1
}
