espalier gather --dist same -p 4 --model /dev/null
