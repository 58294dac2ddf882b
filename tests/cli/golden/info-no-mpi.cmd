espalier info /bin/sh >o; rc=$?; tail -1 o; exit $rc
