espalier report --top ' 3' "$data/run-a.json"
