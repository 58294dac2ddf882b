espalier tree a b
