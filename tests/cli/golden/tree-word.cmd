printf '0\nfour\n' > map; espalier tree map
