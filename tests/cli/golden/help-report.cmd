espalier report --help
