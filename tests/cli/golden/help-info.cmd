espalier info --help
