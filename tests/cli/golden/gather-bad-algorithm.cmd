espalier gather --dist same -p 4 --algorithm linear,tree
