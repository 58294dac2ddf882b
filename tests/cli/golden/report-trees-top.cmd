espalier report --top 1 $data/run-trees.json | sed -n '/^Gathers/,/^$/p'
