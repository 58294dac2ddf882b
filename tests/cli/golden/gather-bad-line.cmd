printf '3\n1 x7\n' > sizes; espalier gather --sizes sizes
