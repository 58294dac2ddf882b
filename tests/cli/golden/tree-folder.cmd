espalier tree .
