printf '#!/bin/sh -e\ntrue\n' > s; espalier info ./s >o; rc=$?; tail -1 o; exit $rc
