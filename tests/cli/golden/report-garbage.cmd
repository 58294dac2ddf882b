espalier report "$data/garbage.bin"
