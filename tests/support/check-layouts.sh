#!/bin/sh
# bench/layouts: each way of a few rows delivers the same bytes, and a line of its times has all it should have;
# scripts/bench/layouts: its table for made-up processes, of which the ratios are known, and the picture of that table.
table=$ESPI_SOURCE/scripts/bench/layouts-table
command -v python3 >/dev/null || { echo "no python3"; exit 77; }
case $MPIEXEC in
'') echo "no MPI launcher"; exit 77 ;;
esac
work=$(mktemp -d) || exit 99
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 99
failed=0
fail() {
    echo "FAILED: $*"
    failed=1
}

# ---- bytes and times; every kind of row: struct by addresses, lists, nested vectors, the three collective calls ----
"$ESPI_SOURCE/scripts/bench/layouts" --check --sizes small \
    --rows 'wrf_x|mg_x|lammps_full|specfem_(cm2|mt)|rowcol|fft2|pencil_12|halo3' >said 2>&1 || fail "status $?: $(cat said)"
test "$(grep -c 'same bytes$' said)" -eq 27 || fail "rows that were looked at: $(cat said)"
"$ESPI_SOURCE/scripts/bench/layouts" --quick --millis 1 --settings auto --rows '^(lu_y|halo3)$' --sizes small \
    --raw raw >found 2>&1 || fail "status $?: $(cat found)"
test "$(grep -c '^auto' raw)" -eq 40 || fail "lines of single processes: $(cat raw)"
awk -F '\t' '
    /^auto/ {
        for (i = 10; i <= 12; i++)
            if ($i + 0 <= 0)
                print "FAILED: no time: " $0
        pieces = split($14, piece, ",")
        if (($13 != "-") != ($6 == 10 || $6 == 40) || ($14 != "-") != ($6 == "never" && $7 ~ /native|espalier/))
            print "FAILED: late or first: " $0
        if ($14 != "-" && pieces != 20)
            print "FAILED: pieces of the first uses: " $0
        for (i = 1; $14 != "-" && i <= pieces; i++)
            if (piece[i] + 0 <= 0)
                print "FAILED: no time of a piece: " $0
        if ($8 < 3 || $11 > $10 || $11 > $12)
            print "FAILED: median, minimum and mean: " $0
    }' raw >odd
test ! -s odd || { cat odd; failed=1; }
"$ESPI_SOURCE/scripts/bench/layouts" --rows nothing >said 2>&1 && fail "a row that is not there"

# ---- whole runs of a layout, and pairs of them ----
"$ESPI_SOURCE/scripts/bench/bench-pairs" --yield --rounds 1 --raw raw short slab/small/10 halo3/small/never >found 2>&1 ||
    fail "status $?: $(cat found)"
for name in slab/small/10 halo3/small/never; do
    for way in native espalier; do
        awk -v way="$way" -v name="$name" '$1 == 1 && $2 == way && $3 == name && $4 == "run" && $5 > 0 { n++ }
            END { exit n != 1 }' raw || fail "seconds of $name, $way: $(cat raw)"
    done
    grep -q "^$name *run *espalier " found || fail "no figures of $name: $(cat found)"
done
test "$(grep -cE '^#@uses=(slab/small/10|halo3/small/never) [1-9][0-9]+$' found)" -eq 2 || fail "uses: $(cat found)"
for name in slab/tiny/10 slab/small 'slab/small/,' none/small/10 slab/small,medium/10; do
    "$ESPI_SOURCE/scripts/bench/bench-pairs" --yield --rounds 1 short "$name" >found 2>&1 && fail "$name is no layout"
done

# ---- the table: two settings, two processes of one, a line that only one setting has ----
process() { # SETTING NUMBER ROW K NATIVE HAND ESPALIER [FIRST]
    awk -v OFS='\t' -v s="$1" -v p="$2" -v row="$3" -v k="$4" -v n="$5" -v h="$6" -v e="$7" -v first="${8:-}" 'BEGIN {
        split("native hand pack espalier contiguous", way)
        split(n " " h " " n " " e " " n / 4, t)
        for (i = 1; i <= 5; i++)
            print s, p, row, "large", 1000, k, way[i], 3, 40, t[i], t[i] / 2, t[i] * (i == 4 ? 3 : 2),
                k == 10 ? t[i] * (i == 4 ? 2 : 1) : "-", i == 1 && k == "never" ? (first ~ /,/ ? n "," n / 2 "," n : n) : i == 4 && k == "never" ? first : "-"
    }'
}
{
    echo "#@made=up"
    process auto 1 a 10 100 200 50
    process always 1 a 10 200 100 300
    process auto 2 a 10 100 200 150
    process auto 1 b never 400 100 100 400,100,800
    process auto 2 b never 400 100 100 4000,100,800 # a piece that was disturbed
    process auto 3 b never 400 100 100 400,900,800  # and another one
    process auto 1 c never 400 100 100 800,800,800
    process auto 2 c never 400 100 100 400 # one piece, or a mean of all, as files once had it
} >raw
cat >expected <<'END'
#@made=up
#row size bytes k native hand pack contiguous auto always auto/native auto/hand auto/best auto:mean auto:min auto:late auto:late/best auto:first always/native always/hand always/best always:mean always:min always:late always:late/best always:first
a large 1000 10 100 200 100 25 100 300 1.000 0.500 1.000 1.500 1.000 2.000 2.000 - 1.500 3.000 3.000 2.250 1.500 3.000 6.000 -
b large 1000 never 400 100 400 100 100 - 0.250 1.000 1.000 0.375 0.250 - - 1.167 - - - - - - - -
c large 1000 never 400 100 400 100 100 - 0.250 1.000 1.000 0.375 0.250 - - 1.833 - - - - - - - -
geometric mean - - 10 - - - - - - 1.000 0.500 1.000 1.500 1.000 2.000 2.000 - 1.500 3.000 3.000 2.250 1.500 3.000 6.000 -
geometric mean - - never - - - - - - 0.250 1.000 1.000 0.375 0.250 - - 1.462 - - - - - - - -
geometric mean - - all - - - - - - 0.397 0.794 1.000 0.595 0.397 2.000 2.000 1.462 1.500 3.000 3.000 2.250 1.500 3.000 6.000 -
END
sed -i -e 's/ /\t/g' -e 's/^geometric\tmean/geometric mean/' expected
"$table" raw >found || failed=1
diff expected found || fail "the table of made-up processes"
"$ESPI_SOURCE/scripts/bench/layouts-picture" found >picture || failed=1
python3 -c 'import sys, xml.dom.minidom as d; d.parse(sys.argv[1])' picture || fail "the picture is no XML"
grep -q '>b</text>' picture || fail "the picture lacks a row"
echo "layouts: bytes, times, a made-up table and its picture"
exit $failed
