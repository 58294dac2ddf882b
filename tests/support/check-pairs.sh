#!/bin/sh
# scripts/bench/bench-pairs --from: its figures for made-up runs, of which medians and ratios are known;
# scripts/bench/fit-grids: each form of process grids, what must stay as it is, and Debian's input files where they
# are installed.
pairs=$ESPI_SOURCE/scripts/bench/bench-pairs
fit=$ESPI_SOURCE/scripts/bench/fit-grids
work=$(mktemp -d) || exit 99
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 99
failed=0

same() { # WHAT EXPECTED FOUND
    diff "$2" "$3" && return
    echo "FAILED: $1"
    failed=1
}

# Seven programs, not in the order of their length, whose ratio is the same in each round: every mean drawn is the
# mean. One long round (the last, natively and otherwise) moves no median. Round 0 counts for nothing. In two files,
# of three rounds and of two.
runs() { # FIRST LAST FACTOR-OF-THE-LAST
    awk -v first="$1" -v last="$2" -v factor="$3" 'BEGIN {
        split("d a g b f c e", name)
        split("4 1 64 2 32 1.5 8", native)
        split("1.5 1.1 1.01 1.2 0.8 1.3 1", ratio)
        for (round = 0; round <= last - first + 1; round++)
            for (i = 1; i <= 7; i++) {
                x = native[i] * (round == 0 ? 1000 : round == last - first + 1 ? factor : 1)
                print round, "native", name[i], "wall", x
                print round, "espalier", name[i], "wall", x * (round == 0 ? 1000 : ratio[i])
                print round, "control", name[i], "wall", x * (i == 7 ? 2 : 1)
                if (i > 3)
                    continue
                print round, "native", name[i], "cpu", 10 - i
                print round, "espalier", name[i], "cpu", (10 - i) * 1.25
            }
    }'
}
runs 1 3 1 >one
runs 4 5 50 >two
cat >expected <<'END'
#name              what   way            native         way   ratio   median and quartiles of pairs
d                  wall   espalier       4.0000      6.0000  1.5000   1.5000, 1.5000 to 1.5000
d                  cpu    espalier       9.0000     11.2500  1.2500   1.2500, 1.2500 to 1.2500
a                  wall   espalier       1.0000      1.1000  1.1000   1.1000, 1.1000 to 1.1000
a                  cpu    espalier       8.0000     10.0000  1.2500   1.2500, 1.2500 to 1.2500
g                  wall   espalier      64.0000     64.6400  1.0100   1.0100, 1.0100 to 1.0100
g                  cpu    espalier       7.0000      8.7500  1.2500   1.2500, 1.2500 to 1.2500
b                  wall   espalier       2.0000      2.4000  1.2000   1.2000, 1.2000 to 1.2000
f                  wall   espalier      32.0000     25.6000  0.8000   0.8000, 0.8000 to 0.8000
c                  wall   espalier       1.5000      1.9500  1.3000   1.3000, 1.3000 to 1.3000
e                  wall   espalier       8.0000      8.0000  1.0000   1.0000, 1.0000 to 1.0000
geometric mean     cpu    espalier                           1.2500   1.2500 to 1.2500
geometric mean     wall   espalier                           1.1103   1.1103 to 1.1103
d                  wall   control        4.0000      4.0000  1.0000   1.0000, 1.0000 to 1.0000
a                  wall   control        1.0000      1.0000  1.0000   1.0000, 1.0000 to 1.0000
g                  wall   control       64.0000     64.0000  1.0000   1.0000, 1.0000 to 1.0000
b                  wall   control        2.0000      2.0000  1.0000   1.0000, 1.0000 to 1.0000
f                  wall   control       32.0000     32.0000  1.0000   1.0000, 1.0000 to 1.0000
c                  wall   control        1.5000      1.5000  1.0000   1.0000, 1.0000 to 1.0000
e                  wall   control        8.0000     16.0000  2.0000   2.0000, 2.0000 to 2.0000
geometric mean     wall   control                            1.1041   1.1041 to 1.1041
#by length         what   way            native         way   ratio   geometric mean and its interval
shortest 1         cpu    espalier       8.0000     10.0000  1.2500   1.2500, 1.2500 to 1.2500
middle 1           cpu    espalier       9.0000     11.2500  1.2500   1.2500, 1.2500 to 1.2500
longest 1          cpu    espalier       7.0000      8.7500  1.2500   1.2500, 1.2500 to 1.2500
all 3              cpu    espalier      24.0000     30.0000  1.2500   1.2500, 1.2500 to 1.2500
shortest 2         wall   espalier       2.5000      3.0500  1.2200   1.1958, 1.1958 to 1.1958
middle 2           wall   espalier       6.0000      8.4000  1.4000   1.3416, 1.3416 to 1.3416
longest 3          wall   espalier     104.0000     98.2400  0.9446   0.9314, 0.9314 to 0.9314
all 7              wall   espalier     112.5000    109.6900  0.9750   1.1103, 1.1103 to 1.1103
shortest 2         wall   control        2.5000      2.5000  1.0000   1.0000, 1.0000 to 1.0000
middle 2           wall   control        6.0000      6.0000  1.0000   1.0000, 1.0000 to 1.0000
longest 3          wall   control      104.0000    112.0000  1.0769   1.2599, 1.2599 to 1.2599
all 7              wall   control      112.5000    120.5000  1.0711   1.1041, 1.1041 to 1.1041
END
"$pairs" --from one two >found || failed=1
same "figures of made-up runs" expected found
# Two programs are no thirds.
grep -E ' [ab] ' one >few
"$pairs" --from few >found || failed=1
! grep -q '^#by length' found || { echo "FAILED: a table by length of two programs"; failed=1; }

# With ratios that vary, means drawn lie to both sides of the mean, and within the least and the greatest ratio.
awk 'BEGIN {
    for (round = 1; round <= 9; round++)
        for (i = 1; i <= 3; i++) {
            print round, "native", "p" i, "wall", i
            print round, "espalier", "p" i, "wall", i * (1 + (round * i % 9 - 4) / 100)
        }
}' >varied
awk '$1 <= 5' varied >varied1
awk '$1 > 5 { $1 -= 5; print }' varied >varied2
"$pairs" --from varied >expected && "$pairs" --from varied1 varied2 >found || failed=1
same "rounds in two files" expected found
awk '/^#by length/ { inside = 1; next }
    inside {
        lines++
        sub(",", "", $8)
        if (!($9 < $8 && $8 < $11 && $9 >= 0.96 && $11 <= 1.04 && $11 - $9 > 0.005))
            print "FAILED: an interval that cannot be: " $0
    }
    END { if (lines != 4) print "FAILED: " lines + 0 " lines by length" }' found >odd
test ! -s odd || { cat odd; failed=1; }

# ---- process grids ----
printf '%s\n' "'pairs'" "4	number of NB's" "2 3	values of NB" "4		number of process grids (ordered pairs of P & Q)" \
    "2 1 2 1 4 2 3 8	values of P" "2 2 1 4 1 3 2 1  values of Q " "1.0	threshold" \
    " 3   Number of processor grids (ordered P & Q)" "1 1 4 values of P" "1 4 1 values of Q" \
    " 4      number of process grids" " 1 2 3 4   values of \"Number of Process Columns\"" \
    "4	number of process grids" "1 2	values of Probs" "1 2	values of Q" \
    "2	number of processor configurations (P, Q, NB)" "1 1 values of P (NPROW)" >input
for ranks in 1 2 6; do
    case $ranks in
    1) many=1 p='1' q='1' ;;
    2) many=2 p='1 2' q='2 1' ;;
    6) many=4 p='1 2 3 6' q='6 3 2 1' ;;
    esac
    printf '%s\n' "'pairs'" "4	number of NB's" "2 3	values of NB" \
        "$many		number of process grids (ordered pairs of P & Q)" "$p	values of P" "$q  values of Q " "1.0	threshold" \
        "$many   Number of processor grids (ordered P & Q)" "$p values of P" "$q values of Q" \
        "1      number of process grids" "$ranks   values of \"Number of Process Columns\"" \
        "4	number of process grids" "1 2	values of Probs" "1 2	values of Q" \
        "2	number of processor configurations (P, Q, NB)" "1 1 values of P (NPROW)" >expected
    "$fit" -v ranks=$ranks input >found || failed=1
    same "grids of $ranks ranks" expected found
done
# Not more pairs than testers take.
"$fit" -v ranks=720 input | grep -qx '1 2 3 4 5 6 8 9	values of P' || { echo "FAILED: pairs of 720 ranks"; failed=1; }
# Lists in parallel: only with fewer ranks than the file asks for.
for line in '4 			maximum number of processes' '4				maxnodes'; do
    printf '%s\n' "$line" "5	number of processor configurations (P, Q, NB)" "1 1 2 3 2	values of P (NPROW)" \
        "1 2 2 1 2	values of Q (NPCOL)" "1 3 1 1 8	values of NB " "1	number of matrix types" >input
    "$fit" -v ranks=4 input >found || failed=1
    same "lists in parallel, as many ranks as asked for" input found
    "$fit" -v ranks=9 input >found || failed=1
    same "lists in parallel, more ranks than asked for" input found
    printf '%s\n' "2${line#4}" "5	number of processor configurations (P, Q, NB)" "1 2 1 2 1	values of P (NPROW)" \
        "2 1 2 1 2	values of Q (NPCOL)" "1 3 1 1 8	values of NB " "1	number of matrix types" >expected
    "$fit" -v ranks=2 input >found || failed=1
    same "lists in parallel" expected found
done
"$fit" input >found 2>said && { echo "FAILED: works without a number of ranks"; failed=1; }
grep -q ranks=N said || { echo "FAILED: does not say what is missing: $(cat said)"; failed=1; }

# Debian's files: two lines of grids in a file or more, and every grid of two ranks.
looked=0
for file in /usr/share/scalapack/*.dat /usr/share/scalapack/PBLAS/*.dat; do
    [ -e "$file" ] || continue
    "$fit" -v ranks=2 "$file" | awk -v file="$file" '
        /values of P([ \t(]|$)/ { p = $0; next }
        /values of Q/ {
            lists++
            split(p, rows)
            split($0, columns)
            for (i = 1; rows[i] ~ /^[0-9]+$/ || columns[i] ~ /^[0-9]+$/; i++)
                if (rows[i] * columns[i] != 2)
                    print "FAILED: " file ":" FNR ": a grid of " rows[i] " x " columns[i]
        }
        /Number of Process Columns/ { lists++; if ($1 != 2) print "FAILED: " file ":" FNR ": " $1 " columns" }
        END { if (!lists) print "FAILED: " file ": no process grids found" }' >odd
    test ! -s odd || { cat odd; failed=1; }
    looked=$((looked + 1))
done
echo "pairs: made-up runs, process grids, $looked installed input files"
exit $failed
