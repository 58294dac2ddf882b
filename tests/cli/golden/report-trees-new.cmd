espalier report $data/run-a.json $data/run-trees.json | sed -n '/Gathers/,$p'
