yes 7 | head -n 1000000 | espalier tree --set extended
