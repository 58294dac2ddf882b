head -c 200 /bin/sh > cut; espalier info ./cut >o; rc=$?; tail -1 o; exit $rc
