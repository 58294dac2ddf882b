sed 's/"own_time"/"my_time"/' "$data/run-a.json" > other; espalier report other
