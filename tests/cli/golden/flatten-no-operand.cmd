espalier flatten
