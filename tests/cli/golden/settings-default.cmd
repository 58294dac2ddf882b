espalier settings | head -9
