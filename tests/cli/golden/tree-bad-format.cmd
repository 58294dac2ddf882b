espalier tree --format pdf
