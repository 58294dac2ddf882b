espalier report "$data/run-a.json" "$data/run-b.json"
