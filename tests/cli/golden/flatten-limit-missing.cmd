espalier flatten --limit
