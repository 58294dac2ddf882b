#!/bin/sh
# The sources keep the rules of scripts/dev/lint; and it does find a line that is too long, comment or not, a file that
# is, and an include that runs up.
work=$(mktemp -d) || exit 99
trap 'rm -rf "$work"' EXIT
for folder in src wrappers tests bench examples scripts .ci; do
    mkdir "$work/$folder"
done
mkdir "$work/src/low" "$work/src/high"
printf 'include src/%s/Makefile.mk\n' low high >"$work/Makefile.am"
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
echo '/**/' >"$work/src/a.c"
echo '#include "low/a.h"' >"$work/src/high/a.c"
"$ESPI_SOURCE/scripts/dev/lint" "$work" || { echo "FAILED: an include of a lower folder is refused"; exit 1; }
echo '#include "high/a.h"' >"$work/src/low/a.c"
found=$("$ESPI_SOURCE/scripts/dev/lint" "$work") && { echo "FAILED: an include of a higher folder passes"; exit 1; }
case $found in
"src/low/a.c:1: an include of a folder that Makefile.am lists after this one"*"lint: 1 breaches") ;;
*) echo "FAILED: $found"; exit 1 ;;
esac
"$ESPI_SOURCE/scripts/dev/lint" "$ESPI_SOURCE"
