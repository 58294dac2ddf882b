espalier tree nothing
