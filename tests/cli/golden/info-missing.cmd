espalier info ./no-such-program >o; rc=$?; tail -1 o; exit $rc
