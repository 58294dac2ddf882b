espalier gather --dist same -p 4 --alpha ' 1'
