#!/bin/sh
# The example receives the right data natively and under Espalier, in each treatment of types.
if [ -z "$MPIEXEC" ]; then
    echo "no MPICH launcher: skipped"
    exit 77
fi
status=0
for treatment in native off auto always; do
    case $treatment in
    native) set -- ;;
    *) set -- "$ESPI_BUILD/espalier" run --set ESPALIER_DATATYPES=$treatment ;;
    esac
    echo "$treatment:"
    if ! LD_PRELOAD=$ESPI_YIELD "$MPIEXEC" -n 2 "$@" "$ESPI_BUILD/examples/rowcol" 300 >rowcol.out 2>&1 ||
        ! grep -q '^elements received wrongly: 0$' rowcol.out; then
        status=1
        echo "failed"
    fi
    cat rowcol.out
    rm -f rowcol.out
done
exit $status
