espalier report "$data/run-a.json"
