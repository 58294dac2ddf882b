printf '0\n+8\n' | espalier tree
