espalier gather --dist same -p 70000 --algorithm optimal
