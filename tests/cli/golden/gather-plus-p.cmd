espalier gather --dist same -p +4
