espalier settings -h; espalier -h | head -1
