printf '3\n\n-1\n' > sizes; espalier gather --sizes sizes
