printf '0\n8 \n' | tr '\n' '\0' | espalier tree
