espalier tree --base int
