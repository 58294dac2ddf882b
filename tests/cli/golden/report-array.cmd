echo '[1]' > other; espalier report other
