espalier flatten a b
