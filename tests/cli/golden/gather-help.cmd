espalier gather --help
