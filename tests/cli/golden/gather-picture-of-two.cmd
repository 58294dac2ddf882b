espalier gather --dist same -p 4 --algorithm all --format dot
