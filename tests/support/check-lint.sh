#!/bin/sh
# The sources keep the rules of scripts/dev/lint; and it does find a line that is too long, comment or not,
# and a file that is.
work=$(mktemp -d) || exit 99
trap 'rm -rf "$work"' EXIT
for folder in src wrappers tests bench examples scripts .ci; do
    mkdir "$work/$folder"
done
printf '#!/bin/bash\n' | tee "$work/autogen.sh" >"$work/scripts/common.sh"
printf '/* %0112d */\n' 0 >"$work/src/a.c"
cp "$work/src/a.c" "$work/bench/a.def"
"$ESPI_SOURCE/scripts/dev/lint" "$work" || { echo "FAILED: lines of 118 characters are refused"; exit 1; }
for long in src/a.c bench/a.def; do
    printf '/* %0113d */\n' 0 >>"$work/$long"
    found=$("$ESPI_SOURCE/scripts/dev/lint" "$work") && { echo "FAILED: a long line in $long passes"; exit 1; }
    case $found in
    "$long:2: a line of more than 118 characters"*"lint: 1 breaches") ;;
    *) echo "FAILED: $found"; exit 1 ;;
    esac
    printf '/* %0112d */\n' 0 >"$work/$long"
done
yes '/**/' | head -n 500 >"$work/src/a.c"
"$ESPI_SOURCE/scripts/dev/lint" "$work" || { echo "FAILED: a file of 500 lines is refused"; exit 1; }
echo '/**/' >>"$work/src/a.c"
found=$("$ESPI_SOURCE/scripts/dev/lint" "$work") && { echo "FAILED: a file of 501 lines passes"; exit 1; }
case $found in
"src/a.c:501: a file of more than 500 lines"*"lint: 1 breaches") ;;
*) echo "FAILED: $found"; exit 1 ;;
esac
"$ESPI_SOURCE/scripts/dev/lint" "$ESPI_SOURCE"
