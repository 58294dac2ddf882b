#!/bin/sh
# Two ranks and input files whose process grids fit them (scripts/bench/fit-grids): the testers run all cases
# natively, on both ranks, and pass; scripts/bench/bench-pairs --grids hands them such files.
programs=
for folder in /usr/lib/*/scalapack/mpich-tests; do
    [ ! -d "$folder" ] || programs=$folder
done
[ -n "$programs" ] || { echo "package scalapack-mpi-test is not installed"; exit 77; }
[ -n "$MPIEXEC" ] || { echo "no MPI launcher"; exit 77; }
work=$(mktemp -d) || exit 99
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 99
for file in /usr/share/scalapack/*.dat /usr/share/scalapack/PBLAS/*.dat; do
    "$ESPI_SOURCE/scripts/bench/fit-grids" -v ranks=2 "$file" >"$(basename "$file")" || exit 1
done
failed=0
cases() { # TESTER CASES PATTERN: of lines that a case on two ranks prints
    LD_PRELOAD=$ESPI_YIELD timeout -k 5 120 "$MPIEXEC" -n 2 "$programs/$1" >out 2>err </dev/null
    status=$?
    found=$(cat out ./*.out ./*.SUMM 2>/dev/null | grep -cE "$3")
    echo "$1: $found cases on two ranks"
    if [ $status != 0 ] || [ "$found" != "$2" ]; then
        echo "FAILED: status $status, $2 were expected"
        tail -n 5 out err
        failed=1
    fi
    rm -f ./*.out ./*.SUMM
}
grid='(1 +2|2 +1) '
cases xdbrd 32 "WALL.* ${grid}.*PASSED"
cases xdgblu 6 " 1 +2 .*PASSED"
cases xdsvd 18 "^Passed.* 1 +2 "
cases xdgsep 120 "${grid}.*PASSED"
cases PBLAS/dpb1tst 8 "Test number .* (1 x +2|2 x +1) process grid"
"$ESPI_SOURCE/scripts/bench/bench-pairs" --grids --yield --rounds 1 --raw raw \
    scalapack xdbrd xdsvd PBLAS/dpb1tst >table || failed=1
grep -q '^all 3  *wall  *espalier ' table || { echo "FAILED: no figures"; cat table; failed=1; }
exit $failed
