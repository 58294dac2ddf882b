espalier tree --unit 0
