printf '# none\n' > sizes; espalier gather --sizes sizes
