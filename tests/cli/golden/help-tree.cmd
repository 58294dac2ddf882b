espalier tree --help
