printf 'vec(3,\n8,\nleaf(X))' | espalier flatten -
