espalier --prune
