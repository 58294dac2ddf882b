espalier gather --dist same -p 4 --gamma +1
