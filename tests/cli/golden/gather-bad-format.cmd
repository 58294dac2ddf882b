espalier gather --dist same -p 4 --format xml
