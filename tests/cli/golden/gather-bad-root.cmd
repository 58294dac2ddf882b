espalier gather --dist same -p 4 --root 4
