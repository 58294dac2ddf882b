espalier flatten --help
