: | espalier tree
