espalier prune
