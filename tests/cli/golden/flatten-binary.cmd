espalier flatten - < "$data/garbage.bin"
