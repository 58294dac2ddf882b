espalier tree --colour
