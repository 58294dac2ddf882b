espalier tree "$data/garbage.bin"
