espalier gather --dist same -p 4 -b 9223372036854775807
