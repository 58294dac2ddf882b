espalier gather --dist same -p 4 --model $data/garbage.bin
