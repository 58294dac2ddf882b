espalier gather --dist same -p 4 --model $data/two-level.model --alpha 1
