espalier report $data/run-trees.json $data/run-trees-b.json | sed -n '/Gathers/,$p'
