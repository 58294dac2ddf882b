printf '0\nx\n' >onto; printf '0\n1\n' | espalier tree --onto onto
