espalier gather --dist same -p 4 -b 3000000000000000 --algorithm optimal | cut -f 3
espalier gather --dist same -p 4 -b 3000000000000000 --algorithm optimal --format svg | grep -o 'rank 0: .*<'
