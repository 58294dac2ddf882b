espalier tree --onto x --format svg y
