printf '9223372036854775807\n1\n' > sizes; espalier gather --sizes sizes
