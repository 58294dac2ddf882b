espalier gather --root best
