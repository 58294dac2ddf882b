sed 's/"schema_version": 1/"schema_version": 9/' "$data/run-a.json" > other; espalier report other
