#!/bin/sh
# The examples of reductions on derived types work under Espalier, and fail without it and with ESPALIER_REDUCE=off.
if [ -z "$MPIEXEC" ]; then
    echo "no MPICH launcher: skipped"
    exit 77
fi
status=0
work() { # PROGRAM EXPECTED
    LD_PRELOAD=$ESPI_YIELD "$MPIEXEC" -n 2 "$ESPI_BUILD/espalier" run "$ESPI_BUILD/examples/$1" >reduce.out 2>&1
    if ! grep -qxF "$2" reduce.out; then
        echo "$1 does not print '$2':"
        cat reduce.out
        status=1
    fi
}
refuse() { # HOW [espalier run ...] PROGRAM
    how=$1 ended=0
    shift
    # Hydra now and then ends before it has passed on what an aborting rank said (natively, too): then once more.
    for _ in 1 2 3 4 5 6 7 8 9; do
        ended=0
        LD_PRELOAD=$ESPI_YIELD "$MPIEXEC" -n 2 "$@" >reduce.out 2>&1 || ended=$?
        [ ! -s reduce.out ] || break
    done
    if [ "$ended" -eq 0 ] || ! grep -q 'MPI_SUM operation not defined' reduce.out; then
        echo "$how: MPI does not refuse it"
        cat reduce.out
        status=1
    fi
}
work vectorsum 'sum over 2 ranks: (1, 2, 0.5)'
work trapezoid 'trapezoid 300 x 400 over 2 ranks: 0 elements wrong'
refuse natively "$ESPI_BUILD/examples/vectorsum"
refuse ESPALIER_REDUCE=off "$ESPI_BUILD/espalier" run --set ESPALIER_REDUCE=off "$ESPI_BUILD/examples/vectorsum"
rm -f reduce.out
[ $status -eq 0 ] && echo "works under Espalier, refused without"
exit $status
