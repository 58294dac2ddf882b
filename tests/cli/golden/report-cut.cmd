head -c 900 "$data/run-a.json" > cut; espalier report cut
