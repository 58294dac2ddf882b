espalier gather --dist same -p 4 -b 1000 --model $data/two-level.model --level node --root 0
