espalier gather --sizes "$data/garbage.bin"
