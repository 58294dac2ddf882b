#!/bin/sh
# scripts/bench/bench-instructions: the native count of an iteration does not depend on how many there are (so that
# nothing else is counted), the same run gives the same counts, Espalier is there where it should be, and what --where
# names adds up to the table.
command -v valgrind >/dev/null || { echo "no valgrind"; exit 77; }
count=$ESPI_SOURCE/scripts/bench/bench-instructions
work=$(mktemp -d) || exit 99
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 99
failed=0
fail() {
    echo "FAILED: $*"
    failed=1
}

"$count" --count 200 --warm 50 --where plain type >first || fail "status $?"
"$count" --count 400 --warm 100 --ways off plain type >second || fail "status $?"
"$count" --count 200 --warm 50 --ways off --jobs 1 plain type >again || fail "status $?"
cat first
for loop in plain type; do
    for run in first second again; do
        grep "^$loop " $run >row || fail "$run: no row for $loop"
        awk '{ print $2 }' row >"$run.native"
        awk '{ print $3 }' row >"$run.off"
    done
    awk '{ x = $1; getline <"first.native"; exit !($1 > 100 && x > 0.998 * $1 && x < 1.002 * $1) }' second.native ||
        fail "$loop natively: $(cat first.native second.native) in 200 and in 400 iterations"
    awk '{ exit !($1 > 0) }' first.off || fail "$loop: $(cat first.off) more with ESPALIER=0: was it preloaded?"
    cmp -s first.off again.off || fail "$loop: $(cat first.off again.off) more with ESPALIER=0"
done
awk '
    /^[a-z]/ { extra[$1 ", off"] = $3; extra[$1 ", auto"] = $5; next }
    /^#[a-z]+, / { title = $0; sub(/^#/, "", title); sub(/:.*/, "", title); next }
    /^ +[-+]/ { if (substr($0, 39, 2) == "  ") functions[title] += $1; else objects[title] += $1; lines[title]++ }
    function near(a, b, lines) { return a - b < 0.01 * (lines + 1) && b - a < 0.01 * (lines + 1) }
    END {
        for (title in extra) {
            tables++
            if (!lines[title] || !near(objects[title], extra[title], lines[title]) ||
                !near(functions[title], extra[title], lines[title]))
                print "FAILED: " title ": " extra[title] " more; objects " objects[title] + 0 ", functions " \
                    functions[title] + 0
        }
        if (tables != 4)
            print "FAILED: " tables + 0 " tables"
    }' first >odd
# Calls that pass through untouched leave the library what it was.
awk '/^#/ { inside = /^#plain, off/ } inside' first >plain.where
grep -q ' libespalier\.so' plain.where || fail "libespalier.so is not named"
grep -q '     MPI_Send$' plain.where || fail "MPI_Send is not named"
awk '/^#/ { inside = /^#type, off/ } inside' first >type.where
grep 'libespalier-core' type.where && fail "the core works although ESPALIER is 0"
grep 'libmpi' plain.where && fail "the stub's instructions are said to be the library's"
if [ -s odd ]; then
    cat odd
    failed=1
fi

# What ends without having been looked at is not looked at then: that took 2,700 instructions.
"$count" --count 200 --warm 50 comm >ended || fail "status $? of comm"
awk '/^comm / { found = $5 < 400 } END { exit !found }' ended || fail "comm: $(grep '^comm ' ended)"

# The counts of a small reduction say that there is nothing to look at: that took 2,700 instructions, too.
"$count" --count 200 --warm 50 scatter >small || fail "status $? of scatter"
awk '/^scatter / { found = $5 < 600 } END { exit !found }' small || fail "scatter: $(grep '^scatter ' small)"

# Without valgrind, and with arguments that do not exist.
mkdir bin
for tool in bash dirname cat sed; do
    ln -s "$(command -v $tool)" bin
done
said=$(PATH=$work/bin "$work/bin/bash" "$count" plain)
status=$?
case $status:$said in
77:*valgrind*) ;;
*) fail "without valgrind: status $status, $said" ;;
esac
"$count" --ways off,fast plain >out 2>&1 && fail "takes a way that does not exist"
"$count" --ways off plain nothing >out 2>&1 && fail "takes a loop that does not exist"
grep -q 'nothing.*sendrecv' out || fail "does not say which loops there are: $(cat out)"
"$count" --ways off --count x plain >out 2>&1 && fail "takes a count that is none"
grep -q 'count' out || fail "does not say what is wrong: $(cat out)"
exit $failed
