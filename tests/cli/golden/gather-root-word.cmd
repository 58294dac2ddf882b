espalier gather --dist same -p 4 --root first
