#!/bin/sh
# The arguments of scripts/run-tests: help is printed, and what nobody knows is refused, before anything is installed or
# built; what is for configure comes there. In a tree that has nothing but the scripts, and a configure that fails.
work=$(mktemp -d) || exit 99
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/scripts/dev" && cd "$work" || exit 99
cp "$ESPI_SOURCE/scripts/run-tests" "$ESPI_SOURCE/scripts/common.sh" scripts || exit 99
: >scripts/packages # nothing to install
: >scripts/dev/packages-slurm
: >Makefile.in
printf '#!/bin/sh\nprintf "%%s\\n" "$@" >"%s/arguments"\nexit 1\n' "$work" >configure
chmod 755 configure
unset ESPI_BUILD
failed=0

fail() { # WHAT
    echo "FAILED: $*"
    failed=1
}

run() { # ARGUMENTS...
    rm -rf _build-tests arguments
    timeout 60 scripts/run-tests "$@" >out 2>err </dev/null
}

untouched() { # WHAT
    if test -e _build-tests || test -e arguments; then fail "$1: something was done"; fi
}

for argument in --help -h; do
    run "$argument" || fail "$argument: exit code $?"
    untouched "$argument"
    grep -q '^  scripts/run-tests \[--no-install\]' out || fail "$argument: no line of use"
    if grep -q '^set \|^#' out; then fail "$argument: more than the text"; fi
done
run --no-install --with-something --help || fail "--help behind others: exit code $?"
untouched "--help behind others"

for argument in --no-instal --frobnicate check '' =; do
    run "$argument"
    test $? = 2 || fail "'$argument' is not refused"
    untouched "'$argument'"
    grep -q "'$argument'" err || fail "'$argument' is not named"
    test "$(wc -l <err)" = 1 || fail "'$argument': more than one line"
done

for first in --no-install --enable-x; do
    run "$first" --without-y --with-z=1 --prefix /p --libdir=/l -q CC=c CPPFLAGS='-a -b'
    { echo --enable-warnings-as-errors; test $first = --no-install || echo $first
        printf '%s\n' --without-y --with-z=1 --prefix /p --libdir=/l -q CC=c 'CPPFLAGS=-a -b'; } >expected
    cmp -s expected arguments || fail "$first: configure got other arguments"
done
exit $failed
