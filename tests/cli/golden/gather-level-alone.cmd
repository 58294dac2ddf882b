espalier gather --dist same -p 4 --level node
