espalier settings --help
