espalier run --summary=1 true
