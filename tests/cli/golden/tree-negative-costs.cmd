printf '0\n' | espalier tree --costs idx=-1
