printf '0\n1\n' | espalier tree --onto -
