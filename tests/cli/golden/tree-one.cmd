echo -7 | espalier tree
