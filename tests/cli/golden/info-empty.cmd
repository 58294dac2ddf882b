: > empty; espalier info ./empty >o; rc=$?; tail -1 o; exit $rc
