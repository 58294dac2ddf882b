espalier run --help
