head -c 1000000 /dev/zero | espalier tree
