espalier run --fast true
