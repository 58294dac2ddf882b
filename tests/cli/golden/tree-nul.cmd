printf '0\n\0\n' | espalier tree
