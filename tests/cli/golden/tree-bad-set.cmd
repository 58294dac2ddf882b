espalier tree --set all
