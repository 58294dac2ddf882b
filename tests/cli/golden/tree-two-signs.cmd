printf '%s\n' 0 --5 | espalier tree
