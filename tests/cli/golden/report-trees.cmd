espalier report $data/run-trees.json
