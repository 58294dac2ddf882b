espalier gather --dist zipf -p 4
