espalier report "$data/run-a.json" "$data/run-a.json"
