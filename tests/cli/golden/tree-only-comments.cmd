printf '# nothing\n\n   \n' > map; espalier tree map
