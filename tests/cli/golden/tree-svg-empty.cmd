espalier tree --format svg </dev/null
