espalier gather --sizes missing
