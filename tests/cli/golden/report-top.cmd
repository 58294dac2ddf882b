espalier report --top 1 "$data/run-a.json"
