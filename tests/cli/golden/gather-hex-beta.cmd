espalier gather --dist same -p 4 --beta 0x10
